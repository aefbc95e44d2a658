#include "daemon/net/port.h"
#include "base/log.h"
#include "base/memory.h"
#include "daemon/daemon.h"
#include "daemon/net/conn.h"
#include "tls/listen.h"
#include <openssl/crypto.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REASONS    8 /* why connections were refused, in REASON_US */
#define REASON_US  ((int64_t)10000000)
#define JOINED_MAX 256 /* handed over and not yet taken by the loop: more are closed */

struct port_key {
	char identity[SW_CONN_PEER]; /* "": free */
	unsigned char key[SW_PORT_KEY];
};

struct port_joined {
	char identity[SW_CONN_PEER];
	int fd;
};

struct port_reason {
	char why[160];
	int64_t until_us; /* more of them are counted; 0: free */
	unsigned long more;
};

struct sw_port {
	struct sw_daemon *d;
	struct sw_tls_listener *listener;
	uv_async_t wake;
	pthread_mutex_t lock; /* of what follows */
	struct port_key *keys;
	size_t key_n;
	struct port_joined joined[JOINED_MAX];
	size_t joined_n;
	struct port_reason reasons[REASONS]; /* the last is also for those beyond */
};

static struct port_key *find_key(struct sw_port *p, const char *identity)
{
	for (size_t i = 0; i < p->key_n; i++)
		if (strcmp(p->keys[i].identity, identity) == 0)
			return &p->keys[i];
	return NULL;
}

/* --- on the listener's thread --- */

static bool on_key(void *user, const char *identity, unsigned char key[SW_PORT_KEY])
{
	struct sw_port *p = user;

	pthread_mutex_lock(&p->lock);
	/* "" is what a free place has. */
	const struct port_key *k = *identity != '\0' ? find_key(p, identity) : NULL;
	if (k != NULL)
		memcpy(key, k->key, sizeof k->key);
	pthread_mutex_unlock(&p->lock);
	return k != NULL;
}

static void on_joined(void *user, const char *identity, int fd)
{
	struct sw_port *p = user;

	pthread_mutex_lock(&p->lock);
	const bool room = p->joined_n < JOINED_MAX;
	if (room) {
		struct port_joined *j = &p->joined[p->joined_n++];

		(void)snprintf(j->identity, sizeof j->identity, "%s", identity);
		j->fd = fd;
	}
	pthread_mutex_unlock(&p->lock);
	if (room)
		(void)uv_async_send(&p->wake);
	else
		(void)close(fd); /* it dials again */
}

/* The place of a reason; else a free one; else the last. */
static struct port_reason *find_reason(struct sw_port *p, const char *why)
{
	struct port_reason *free_one = &p->reasons[REASONS - 1];

	for (size_t i = REASONS; i-- > 0;) {
		struct port_reason *r = &p->reasons[i];

		if (r->until_us != 0 && strcmp(r->why, why) == 0)
			return r;
		if (r->until_us == 0)
			free_one = r;
	}
	return free_one;
}

/* The first of a reason is logged, then how many followed: anyone who reaches the port can be
 * refused as often as the machine can. Who it was is no part of the reason. */
static void on_refused(void *user, const char *from, const char *why)
{
	struct sw_port *p = user;
	char reason[sizeof p->reasons[0].why];

	(void)snprintf(reason, sizeof reason, "%.*s", (int)strcspn(why, "("), why);
	pthread_mutex_lock(&p->lock);
	struct port_reason *r = find_reason(p, reason);
	if (r->until_us == 0) {
		*r = (struct port_reason){.until_us = p->d->clock->mono_us() + REASON_US};
		memcpy(r->why, reason, sizeof reason);
		sw_log(SW_LOG_WARN, "port.refused", "from=\"%s\" why=\"%s\"", from, why);
	} else {
		r->more++;
	}
	pthread_mutex_unlock(&p->lock);
}

static const struct sw_tls_events events = {
	.key = on_key,
	.joined = on_joined,
	.refused = on_refused,
};

/* --- on the loop --- */

static void on_wake(uv_async_t *a)
{
	struct sw_port *p = a->data;
	struct port_joined j[JOINED_MAX];
	size_t n;

	pthread_mutex_lock(&p->lock);
	n = p->joined_n;
	p->joined_n = 0;
	memcpy(j, p->joined, n * sizeof j[0]);
	for (size_t i = 0; i < n; i++) /* its key may have gone meanwhile */
		if (find_key(p, j[i].identity) == NULL) {
			(void)close(j[i].fd);
			j[i].fd = -1;
		}
	pthread_mutex_unlock(&p->lock);
	for (size_t i = 0; i < n; i++)
		if (j[i].fd >= 0)
			sw_conn_adopt(p->d, j[i].fd, j[i].identity);
}

sw_status sw_port_start(struct sw_daemon *d, const char *host, unsigned port, size_t keys,
			struct sw_err *err)
{
	struct sw_port *p = d->net.port;

	if (p != NULL) /* another port, after one that could not be had */
		return sw_tls_listen(&p->listener, host, port, &events, p, err);
	p = sw_calloc(1, sizeof *p);
	if (p == NULL || (p->keys = sw_calloc(keys, sizeof *p->keys)) == NULL) {
		free(p);
		return sw_err_set(err, SW_NOMEM, "out of memory");
	}
	p->d = d;
	p->key_n = keys;
	pthread_mutex_init(&p->lock, NULL);
	if (uv_async_init(d->loop, &p->wake, on_wake) != 0) {
		free(p->keys);
		free(p);
		return sw_err_set(err, SW_IO, "no descriptor for the pilots' port");
	}
	p->wake.data = p;
	d->net.port = p;
	return sw_tls_listen(&p->listener, host, port, &events, p, err);
}

void sw_port_tick(struct sw_daemon *d, int64_t now_us)
{
	struct sw_port *p = d->net.port;

	if (p == NULL)
		return;
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < REASONS; i++) {
		struct port_reason *r = &p->reasons[i];

		if (r->until_us == 0 || now_us < r->until_us)
			continue;
		if (r->more > 0)
			sw_log(SW_LOG_WARN, "port.refused", "more=%lu why=\"%s\"", r->more, r->why);
		r->until_us = 0;
	}
	pthread_mutex_unlock(&p->lock);
}

unsigned sw_port_number(const struct sw_daemon *d)
{
	const struct sw_port *p = d->net.port;

	return p != NULL && p->listener != NULL ? sw_tls_listener_port(p->listener) : 0;
}

bool sw_port_add_key(struct sw_daemon *d, const char *identity,
		     const unsigned char key[SW_PORT_KEY])
{
	struct sw_port *p = d->net.port;
	struct port_key *k;

	/* It stops. */
	if (p == NULL)
		return false;
	pthread_mutex_lock(&p->lock);
	k = find_key(p, identity) == NULL ? find_key(p, "") : NULL;
	if (k != NULL) {
		(void)snprintf(k->identity, sizeof k->identity, "%s", identity);
		memcpy(k->key, key, sizeof k->key);
	}
	pthread_mutex_unlock(&p->lock);
	return k != NULL;
}

void sw_port_drop_key(struct sw_daemon *d, const char *identity)
{
	struct sw_port *p = d->net.port;
	struct port_key *k;

	if (p == NULL)
		return;
	pthread_mutex_lock(&p->lock);
	k = find_key(p, identity);
	if (k != NULL)
		OPENSSL_cleanse(k, sizeof *k);
	pthread_mutex_unlock(&p->lock);
	/* After it: what joins from here on has no key. */
	if (p->listener != NULL)
		sw_tls_cut(p->listener, identity);
}

void sw_port_stop(struct sw_daemon *d)
{
	struct sw_port *p = d->net.port;

	if (p == NULL || uv_is_closing((uv_handle_t *)&p->wake))
		return;
	if (p->listener != NULL)
		sw_tls_listener_close(p->listener); /* ends its thread: nobody else is left */
	p->listener = NULL;
	for (size_t i = 0; i < p->joined_n; i++)
		(void)close(p->joined[i].fd);
	p->joined_n = 0;
	uv_close((uv_handle_t *)&p->wake, NULL);
}

void sw_port_free(struct sw_daemon *d)
{
	struct sw_port *p = d->net.port;

	if (p == NULL)
		return;
	OPENSSL_cleanse(p->keys, p->key_n * sizeof *p->keys);
	free(p->keys);
	(void)pthread_mutex_destroy(&p->lock);
	free(p);
	d->net.port = NULL;
}
