/*
 * daemon/net/port.h — the port that pilots dial, by TLS and a key for each (tls/listen.h).
 *
 * Who has shown that it knows the key of an identity gets a connection as those of the unix socket,
 * with conn->peer set; on it only the worker's methods are there (daemon/net/dispatch.c).
 *
 * Threads  The loop's. The listener's thread uses the table of keys alone, under its lock.
 * Memory   Keys are wiped where they go.
 */
#ifndef SW_DAEMON_NET_PORT_H
#define SW_DAEMON_NET_PORT_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>

struct sw_daemon;

#define SW_PORT_KEY 32 /* bytes */

/* Listens there; port 0: any that is free. keys: room for so many at a time. After a failure it may
 * be called again. */
SW_NODISCARD sw_status sw_port_start(struct sw_daemon *d, const char *host, unsigned port,
				     size_t keys, struct sw_err *err);
unsigned sw_port_number(const struct sw_daemon *d); /* 0: it does not listen */
/* Accepts this key for this identity. False: the table is full, or the identity has a key. */
bool sw_port_add_key(struct sw_daemon *d, const char *identity,
		     const unsigned char key[SW_PORT_KEY]);
/* Forgets the identity and ends its connections. */
void sw_port_drop_key(struct sw_daemon *d, const char *identity);
/* Stops listening. sw_port_free() comes after the loop's end. */
void sw_port_stop(struct sw_daemon *d);
void sw_port_free(struct sw_daemon *d);

#endif
