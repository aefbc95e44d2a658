#include "tls/listen.h"
#include "base/memory.h"
#include "tls/loop.h"
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define QUEUE   1024
#define LAST_US ((int64_t)1000000)

struct sw_tls_listener {
	struct sw_tls_events events;
	void *user;
	unsigned port;
	SSL_CTX *context;
	struct sw_tls_loop loop;
};

/* The identity is noted before the key is looked up: a caller that takes the key away and then cuts
 * finds the connection, or has been earlier than the look. */
static bool on_key(void *bridge, const char *identity, unsigned char key[SW_TLS_KEY_BYTES])
{
	struct sw_bridge *b = bridge;
	struct sw_tls_loop *loop = b->loop;
	const struct sw_tls_listener *l = loop->user;

	pthread_mutex_lock(&loop->lock);
	snprintf(b->identity, sizeof b->identity, "%s", identity);
	pthread_mutex_unlock(&loop->lock);
	return l->events.key(l->user, identity, key);
}

static unsigned address_text(const struct sockaddr *at, socklen_t len, char *out, size_t cap)
{
	char host[48], port[8];

	*out = '\0';
	if (getnameinfo(at, len, host, sizeof host, port, sizeof port,
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return 0;
	snprintf(out, cap, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
	return (unsigned)strtoul(port, NULL, 10);
}

static struct sw_bridge *on_come(void *listener, int fd)
{
	struct sw_tls_listener *l = listener;
	struct sockaddr_storage at;
	socklen_t len = sizeof at;
	char from[64];

	if (getpeername(fd, (struct sockaddr *)&at, &len) != 0)
		len = 0;
	(void)address_text((struct sockaddr *)&at, len, from, sizeof from);
	struct sw_bridge *b = sw_bridge_create(l->context, true, fd, -1);

	if (!b) {
		l->events.refused(l->user, from, "no memory for one more connection");
		return NULL;
	}
	b->party = (struct sw_tls_party){.key = on_key, .user = b};
	strcpy(b->from, from);
	return b;
}

static bool on_shook(void *listener, struct sw_bridge *b)
{
	struct sw_tls_listener *l = listener;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
		snprintf(b->why, sizeof b->why, "no socket pair for it: %s", strerror(errno));
		return false;
	}
	/* The other end is the daemon's, as a connection like any: it knows nothing of TLS. */
	b->near = pair[0];
	l->events.joined(l->user, b->identity, pair[1]);
	return true;
}

static void on_failed(void *listener, const struct sw_bridge *b)
{
	struct sw_tls_listener *l = listener;
	char why[sizeof b->why + sizeof b->identity + 8];

	snprintf(why, sizeof why, "%s%s%s%s", b->why, *b->identity ? " (" : "", b->identity,
		 *b->identity ? ")" : "");
	l->events.refused(l->user, b->from, why);
}

/* A listening socket at the first of the host's addresses that can be had; -1: *why says it. */
static int open_door(const char *host, unsigned port, const char **why)
{
	const struct addrinfo hints = {
		.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	struct addrinfo *found;
	char service[16];
	int fd = -1, rc;

	snprintf(service, sizeof service, "%u", port);
	rc = getaddrinfo(host, service, &hints, &found);
	if (rc != 0) {
		*why = gai_strerror(rc);
		return -1;
	}
	for (const struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fd >= 0 &&
		    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) == 0 &&
		    bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, QUEUE) == 0)
			break;
		*why = strerror(errno);
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(found);
	return fd;
}

sw_status sw_tls_listen(struct sw_tls_listener **out, const char *host, unsigned port,
			const struct sw_tls_events *events, void *user, struct sw_err *err)
{
	static const struct sw_tls_role role = {on_come, on_shook, on_failed};
	struct sw_tls_listener *l = sw_calloc(1, sizeof *l);
	const char *why = "";
	sw_status rc;
	int door;

	*out = NULL;
	if (!l || !(l->context = sw_tls_context(true))) {
		free(l);
		return sw_err_set(err, SW_NOMEM, "no memory for the port of the pilots");
	}
	l->events = *events;
	l->user = user;
	door = port <= 65535 ? open_door(host, port, &why) : -1;
	if (door < 0) {
		rc = sw_err_set(err, SW_IO, "cannot listen at %s:%u: %s", host, port,
				port <= 65535 ? why : "no such port");
	} else {
		struct sockaddr_storage at;
		socklen_t len = sizeof at;
		char text[64];

		if (getsockname(door, (struct sockaddr *)&at, &len) == 0)
			l->port = address_text((struct sockaddr *)&at, len, text, sizeof text);
		rc = sw_tls_loop_start(&l->loop, door, &role, l, LAST_US, err);
	}
	if (rc != SW_OK) {
		SSL_CTX_free(l->context);
		free(l);
		return rc;
	}
	*out = l;
	return SW_OK;
}

unsigned sw_tls_listener_port(const struct sw_tls_listener *l)
{
	return l->port;
}

void sw_tls_cut(struct sw_tls_listener *l, const char *identity)
{
	pthread_mutex_lock(&l->loop.lock);
	/* Also those that shake hands: one whose key has just been looked up is cut before it
	 * joins. */
	for (int state = 0; state < SW_BRIDGE_OVER; state++) {
		struct sw_bridge *b;

		/* the thread reads its end, as if the peer had closed */
		TAILQ_FOREACH (b, &l->loop.lists[state], link)
			if (strcmp(b->identity, identity) == 0)
				(void)shutdown(b->far, SHUT_RDWR);
	}
	pthread_mutex_unlock(&l->loop.lock);
}

void sw_tls_listener_close(struct sw_tls_listener *l)
{
	if (!l)
		return;
	sw_tls_loop_stop(&l->loop);
	SSL_CTX_free(l->context);
	free(l);
}
