/*
 * tls/bridge.h — one TLS connection (far) joined with one unix socket (near), both non-blocking.
 *
 *   SHAKING --handshake--> OPEN --either side ends--> ENDING --the rest has gone out--> OVER
 *      +------------------------------- it fails ----------------------------------------^
 *
 * A step does what can be done now, at most one read each way, and then says what to wait for. A
 * side is read only when all that came from it before has gone: 16 KiB a way is all that waits.
 */
#ifndef SW_TLS_BRIDGE_H
#define SW_TLS_BRIDGE_H

#include "tls/psk.h"
#include <stdint.h>
#include <sys/queue.h>

enum sw_bridge_state {
	SW_BRIDGE_SHAKING,
	SW_BRIDGE_OPEN,
	SW_BRIDGE_ENDING,
	SW_BRIDGE_OVER,
	SW_BRIDGE_STATE_N
};

struct sw_bridge_way { /* bytes[at .. at + len) wait */
	size_t at, len;
	char *bytes;
};

struct sw_bridge {
	enum sw_bridge_state state; /* tls/loop.c changes it */
	SSL *ssl;
	int far, near;                  /* near -1: none yet */
	bool far_over, near_over;       /* nothing more comes from it, or can go to it */
	bool said_end;                  /* to far */
	struct sw_bridge_way in, out;   /* to near, to far */
	uint32_t far_wants, near_wants; /* EPOLLIN | EPOLLOUT, of the last step */
	char why[160];                  /* a handshake that failed */
	char from[64];                  /* far's address, or "" */

	/* its owner's */
	struct sw_tls_party party;
	char identity[SW_TLS_IDENTITY_CAP]; /* a server: as shown last, which is not yet proof */

	/* tls/loop.c's */
	void *loop;
	int64_t since_us; /* in this state */
	uint32_t far_watched, near_watched;
	TAILQ_ENTRY(sw_bridge) link; /* of those in this state */
};

/* Takes far and near, also when it fails. NULL: no memory. The caller fills party before the first
 * step, and closes by sw_bridge_destroy(). */
struct sw_bridge *sw_bridge_create(SSL_CTX *context, bool server, int far, int near);
void sw_bridge_destroy(struct sw_bridge *b);

/* false: the handshake failed, b->why says it. *done: it is over, by the key. */
bool sw_bridge_shake(struct sw_bridge *b, bool *done);

/* Moves what an open or ending one can move; returns the state that follows. */
enum sw_bridge_state sw_bridge_step(struct sw_bridge *b);

#endif
