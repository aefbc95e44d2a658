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

#define REFUSED_US ((int64_t)10000000) /* from one line about those refused to the next */
#define JOINED_MAX 256 /* handed over and not yet taken by the loop: more are closed */

struct port_key {
	char identity[SW_CONN_PEER]; /* "": free */
	unsigned char key[SW_PORT_KEY];
};

struct port_joined {
	char identity[SW_CONN_PEER];
	int fd;
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
	/* the listener's thread's */
	unsigned long refused;
	int64_t refused_us; /* the next line about it */
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
	/* "" is what a free place has. Copied out under the lock: sw_port_drop_key() wipes the
	 * place, and OpenSSL uses the key for the rest of the handshake. */
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
	/* The table bounds what a flood of handshakes can leave here while the loop is busy; each
	 * place holds a descriptor. */
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

/* Anyone who reaches the port can be refused as often as the machine can. */
static void on_refused(void *user, const char *from, const char *why)
{
	struct sw_port *p = user;
	const int64_t now_us = p->d->clock->mono_us();

	p->refused++;
	if (now_us < p->refused_us)
		return;
	p->refused_us = now_us + REFUSED_US;
	sw_log(SW_LOG_WARN, "port.refused", "from=\"%s\" why=\"%s\" refused=%lu", from, why,
	       p->refused);
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
	/* A copy, so that the lock is not held while connections are made: the listener's thread
	 * would stand still with all handshakes behind it. */
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
	/* An identity is a job's name, which is never given twice (daemon/pilot): a second key for
	 * one would let an old job speak for a new one. */
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
		/* The lock is not needed: the thread that shared the table has ended. */
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
