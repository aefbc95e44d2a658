/*
 * daemon/sweep/change.h — one transaction: rows gathered, then committed, then acted on.
 *
 * The rule of the house: store first, then act or answer. Everything else waits for the commit:
 * the answer to the call, and what was added by sw_change_after().
 */
#ifndef SW_DAEMON_SWEEP_CHANGE_H
#define SW_DAEMON_SWEEP_CHANGE_H

#include "base/buf.h"
#include "sched/sweep/sweep.h"
#include "store/store.h"
#include <stdbool.h>
#include <stdint.h>

struct sw_call;
struct sw_daemon;

struct sw_change {
	struct sw_daemon *d;
	struct sw_tx *tx;
	struct sw_call *call; /* answered with `reply` after the commit; NULL: nobody waits */
	struct sw_buf reply;
	struct sw_change_effect *effects,
		**effects_tail;    /* in the order in which they were added */
	struct sw_actions actions; /* of the last step (daemon/sweep/run/driver.h) */
	uint64_t ev;               /* and the number of its event */
	int64_t uid;               /* who asked; -1: the daemon itself */
	int64_t now_ms;
	int64_t over_ms; /* when the attempt that it ends was last heard of, if it ended while no
			    daemon looked; 0: it ends now */
};

/* Dies without memory: see sw_daemon_die(). call may be NULL. */
struct sw_change *sw_change_begin(struct sw_daemon *d, struct sw_call *call);
/* run(arg) is called once the change is stored, after its call was answered. arg is the caller's;
 * dies without memory. */
void sw_change_after(struct sw_change *c, void (*run)(void *arg), void *arg);
/* Hands the change to the store. Takes it. */
void sw_change_commit(struct sw_change *c);
/* Nothing was changed: frees it; its call is not answered, and nothing runs. */
void sw_change_drop(struct sw_change *c);

/* Is the store able to take changes? Otherwise the call is answered (disk full, or too much waits)
 * and false returned. */
bool sw_change_allowed(struct sw_call *call);

#endif
