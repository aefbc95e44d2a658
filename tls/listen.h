/*
 * tls/listen.h — the port that pilots dial: TLS 1.3 by a key of 32 bytes that both ends know before
 * (external PSK with (EC)DHE), and by nothing else. There is no certificate, ticket or early data,
 * and nothing is parsed before the handshake has ended.
 *
 * A connection that got in is joined with a unix socket pair: the holder of the other end needs no
 * TLS. Bytes that one side does not read are kept back in the sender (16 KiB wait here a way).
 *
 * Limits   10 s a handshake; at most 64 that are open, then the oldest goes as soon as it is 200 ms
 *          old; at most 64 that fail in 200 ms; SW_TLS_CONNECTIONS in all. Others wait in the
 *          system's queue of 1,024.
 * Threads  One of its own, with all signals blocked, on which the events come.
 * Cost     About 60 KiB and two descriptors a connection here, and the callee's one.
 */
#ifndef SW_TLS_LISTEN_H
#define SW_TLS_LISTEN_H

#include "base/status.h"
#include <stdbool.h>

#define SW_TLS_CONNECTIONS 1100

struct sw_tls_events {
	/* Fills the key of an identity: 1 to 63 bytes of [A-Za-z0-9._-]. false: unknown. */
	bool (*key)(void *user, const char *identity, unsigned char key[32]);
	/* After the handshake. fd: the callee's end of the pair, non-blocking, closed by it. */
	void (*joined)(void *user, const char *identity, int fd);
	/* One line for a log, once for a connection that did not get in: from ("127.0.0.1:4711"),
	 * and why. What the peer said stands in neither but as an identity of the bytes above. */
	void (*refused)(void *user, const char *from, const char *why);
};

struct sw_tls_listener; /* opaque */

/* host: an address or a name; port 0: any free one. The events may come before this returns. The
 * struct is copied. Errors: SW_NOMEM; SW_IO with one line that names host and port. */
SW_NODISCARD sw_status sw_tls_listen(struct sw_tls_listener **out, const char *host, unsigned port,
				     const struct sw_tls_events *events, void *user,
				     struct sw_err *err);

unsigned sw_tls_listener_port(const struct sw_tls_listener *l);

/* Ends the connections of that identity, those in their handshake too; the callee's end then reads
 * the end of the stream. Forget the key first: then none gets in afterwards. Any thread, but not
 * with a lock held that the events take. O(connections). */
void sw_tls_cut(struct sw_tls_listener *l, const char *identity);

/* Waits at most a second until what was written to ends that are closed by now has gone out, then
 * ends all. NULL is allowed. */
void sw_tls_listener_close(struct sw_tls_listener *l);

#endif
