#include "tls/dial.h"
#include "base/log.h"
#include "base/memory.h"
#include "tls/loop.h"
#include <errno.h>
#include <netdb.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LAST_US ((int64_t)10000000)
#define TURNS   60 /* each of 2, 3, 4, 5 or 6 addresses has as many */

struct sw_tls_dial {
	char host[256], service[16];
	char identity[SW_TLS_IDENTITY_CAP];
	unsigned char key[SW_TLS_KEY_BYTES];
	unsigned turn;  /* of the host's addresses: a failure turns to the next */
	char said[160]; /* what the log says of the last failure; "": none since it was there */
	char folder[100], path[sizeof((struct sockaddr_un *)0)->sun_path];
	SSL_CTX *context;
	struct sw_tls_loop loop;
};

static bool on_key(void *dial, const char *identity, unsigned char key[SW_TLS_KEY_BYTES])
{
	const struct sw_tls_dial *d = dial;

	(void)identity; /* ours */
	memcpy(key, d->key, SW_TLS_KEY_BYTES);
	return true;
}

static void failed(struct sw_tls_dial *d, const char *why)
{
	/* A host may have several addresses, of which some do not lead here: the next attempt takes
	 * the next one. */
	d->turn = (d->turn + 1) % TURNS;
	if (strcmp(d->said, why) != 0)
		sw_log(SW_LOG_WARN, "tls.not_dialled", "host=\"%s\" port=%s why=\"%s\"", d->host,
		       d->service, why);
	snprintf(d->said, sizeof d->said, "%s", why);
}

/* A socket on its way to the host; -1: it was said why not. Whether it gets there the handshake
 * finds out. */
static int connect_far(struct sw_tls_dial *d)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	const struct addrinfo *a;
	struct addrinfo *found;
	int fd, rc;

	/* On this thread, which serves only these links: a name server that is slow holds up no
	 * training. */
	rc = getaddrinfo(d->host, d->service, &hints, &found);
	if (rc != 0) {
		failed(d, rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
		return -1;
	}
	a = found;
	for (unsigned i = 0; i < d->turn; i++)
		a = a->ai_next ? a->ai_next : found;
	fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || (connect(fd, a->ai_addr, a->ai_addrlen) != 0 && errno != EINPROGRESS)) {
		failed(d, strerror(errno));
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(found);
	return fd;
}

static struct sw_bridge *on_come(void *dial, int near)
{
	struct sw_tls_dial *d = dial;
	const int far = connect_far(d);

	if (far < 0) {
		close(near);
		return NULL;
	}
	struct sw_bridge *b = sw_bridge_create(d->context, false, far, near);

	if (b)
		b->party = (struct sw_tls_party){.key = on_key, .user = d, .identity = d->identity};
	else
		failed(d, "no memory for a connection");
	return b;
}

static bool on_shook(void *dial, struct sw_bridge *b)
{
	struct sw_tls_dial *d = dial;

	(void)b;
	sw_log(SW_LOG_INFO, "tls.dialled", "host=\"%s\" port=%s", d->host, d->service);
	d->said[0] = '\0';
	return true;
}

static void on_failed(void *dial, const struct sw_bridge *b)
{
	failed(dial, b->why);
}

/* The listening socket in a folder of its own, which nobody else may enter; -1: err says why. */
static int open_door(struct sw_tls_dial *d, struct sw_err *err)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	const char *tmp = getenv("TMPDIR");
	int fd;

	/* a socket's path is short */
	if (!tmp || *tmp != '/' || strlen(tmp) + sizeof "/sweepd-XXXXXX" > sizeof d->folder)
		tmp = "/tmp";
	snprintf(d->folder, sizeof d->folder, "%s/sweepd-XXXXXX", tmp);
	/* Mode 0700: a process that could connect here would speak with this pilot's key. */
	if (!mkdtemp(d->folder)) {
		(void)sw_err_set(err, SW_IO, "no folder %s: %s", d->folder, strerror(errno));
		d->folder[0] = '\0';
		return -1;
	}
	snprintf(d->path, sizeof d->path, "%s/dial", d->folder);
	strcpy(at.sun_path, d->path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof at) == 0 &&
	    listen(fd, 64) == 0)
		return fd;
	(void)sw_err_set(err, SW_IO, "no socket %s: %s", d->path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static void dial_free(struct sw_tls_dial *d)
{
	if (*d->folder) {
		(void)unlink(d->path);
		(void)rmdir(d->folder);
	}
	SSL_CTX_free(d->context);
	OPENSSL_cleanse(d->key, sizeof d->key);
	free(d);
}

sw_status sw_tls_dial(struct sw_tls_dial **out, const char *host, unsigned port,
		      const char *identity, const unsigned char key[32], struct sw_err *err)
{
	static const struct sw_tls_role role = {on_come, on_shook, on_failed};
	struct sw_tls_dial *d;
	sw_status rc = SW_IO;
	int door;

	*out = NULL;
	if (!sw_tls_identity_ok(identity, strlen(identity)) || port == 0 || port > 65535 ||
	    strlen(host) >= sizeof d->host)
		return sw_err_set(err, SW_INVALID,
				  "no such host, port or identity: %.100s:%u %.64s", host, port,
				  identity);
	d = sw_calloc(1, sizeof *d);
	if (!d || !(d->context = sw_tls_context(false))) {
		free(d);
		return sw_err_set(err, SW_NOMEM, "no memory to dial the daemon");
	}
	snprintf(d->host, sizeof d->host, "%s", host);
	snprintf(d->service, sizeof d->service, "%u", port);
	snprintf(d->identity, sizeof d->identity, "%s", identity);
	memcpy(d->key, key, sizeof d->key);
	door = open_door(d, err);
	if (door >= 0)
		rc = sw_tls_loop_start(&d->loop, door, &role, d, LAST_US, err);
	if (rc != SW_OK) {
		dial_free(d);
		return rc;
	}
	*out = d;
	return SW_OK;
}

const char *sw_tls_dial_path(const struct sw_tls_dial *d)
{
	return d->path;
}

void sw_tls_dial_close(struct sw_tls_dial *d)
{
	if (!d)
		return;
	/* It joins the thread: nothing uses the key and the context afterwards. */
	sw_tls_loop_stop(&d->loop);
	dial_free(d);
}
