/*
 * tls/loop.h — a thread with a listening socket and its bridges: what listen.c and dial.c share.
 *
 * Numbers  SHAKING and ENDING ones have a limit of 10 s. A list for each state holds them in the
 *          order in which they came to it, so that the first is the next whose time is over.
 * Threads  All of a bridge is the thread's. `lock` is for sw_tls_cut(): it is held to change the
 *          lists, an identity, and to close.
 */
#ifndef SW_TLS_LOOP_H
#define SW_TLS_LOOP_H

#include "base/status.h"
#include "tls/bridge.h"
#include <pthread.h>
#include <stdatomic.h>

struct sw_tls_role { /* all on the thread */
	/* One has connected. Takes fd. NULL: it is refused, which the role has said. */
	struct sw_bridge *(*come)(void *user, int fd);
	/* The handshake is over. false: it goes, and b->why says why. */
	bool (*shook)(void *user, struct sw_bridge *b);
	void (*failed)(void *user, const struct sw_bridge *b);
};

TAILQ_HEAD(sw_bridge_list, sw_bridge);

struct sw_tls_loop {
	const struct sw_tls_role *role;
	void *user;
	int64_t last_us; /* how long the end of the loop waits for bridges */
	int door, epoll, wake;
	bool door_open;    /* watched */
	int64_t accept_us; /* not before: the system had no room */
	int64_t failed_us; /* since then so many have failed */
	unsigned failed_n;
	atomic_bool stopping;
	int64_t stop_us; /* when it must be over; 0: it is not to stop */
	pthread_t thread;
	pthread_mutex_t lock;
	struct sw_bridge_list lists[SW_BRIDGE_STATE_N];
	unsigned n[SW_BRIDGE_STATE_N];
};

/* Begins; door: a listening socket, non-blocking, which the loop takes, also when this fails. */
SW_NODISCARD sw_status sw_tls_loop_start(struct sw_tls_loop *l, int door,
					 const struct sw_tls_role *role, void *user,
					 int64_t last_us, struct sw_err *err);
/* Stops accepting, waits for the ends of what is open (at most last_us), closes all. */
void sw_tls_loop_stop(struct sw_tls_loop *l);

#endif
