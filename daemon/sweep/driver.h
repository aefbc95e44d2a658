/*
 * daemon/sweep/driver.h — event -> state machine -> transaction -> commit -> effects.
 *
 * The rule of the house: store first, then act or answer. A step's rows go into one transaction;
 * the answer, and the word to a worker that it must stop, leave in the commit's callback.
 */
#ifndef SW_DAEMON_SWEEP_DRIVER_H
#define SW_DAEMON_SWEEP_DRIVER_H

#include "base/buf.h"
#include "base/status.h"
#include "daemon/sweep/checkpoint.h"
#include "sched/sweep/sweep.h"
#include "store/store.h"
#include <stdint.h>

struct sw_call;
struct sw_daemon;
struct sw_host;

/* The names that stored events and decisions go by. */
SW_NODISCARD sw_status sw_event_find(const char *name, enum sw_event_kind *out);
const char *sw_decision_name(enum sw_decision decision);

/* One change under way: rows gathered, then committed, then acted on. */
struct sw_change {
	struct sw_daemon *d;
	struct sw_tx *tx;
	struct sw_call *call; /* answered with `reply` after the commit; NULL: nobody waits */
	struct sw_buf reply;
	void (*then)(void *arg); /* called after the commit; NULL: nothing */
	void *arg;
	struct sw_stop {
		int32_t slot;
		int64_t sweep, trial, attempt;
	} * stops; /* attempts to be stopped on slots */
	size_t stop_n, stop_cap;
	struct sw_checkpoint *unneeded; /* files that nobody goes on from once this is stored */
	size_t unneeded_n, unneeded_cap;
	struct sw_host *shrink; /* its files may be over its max_mb; NULL: none */
	int64_t uid;            /* who asked; -1: the daemon itself */
	int64_t now_ms;
	int64_t over_ms; /* when the attempt that it ends was last heard of, if it ended while no
			    daemon looked; 0: it ends now */
};

/* Dies without memory: see sw_daemon_die(). call may be NULL. */
struct sw_change *sw_change_begin(struct sw_daemon *d, struct sw_call *call);
/* Hands the change to the store. Takes it. */
void sw_change_commit(struct sw_change *c);
/* Nothing was changed: frees it; its call is not answered. */
void sw_change_drop(struct sw_change *c);

/* Is the store able to take changes? Otherwise the call is answered (disk full, or too much waits)
 * and false returned. */
bool sw_change_allowed(struct sw_call *call);

/*
 * Feeds one event to a sweep and gathers its rows. actions are those of the step, valid until the
 * next one; slot is where a START goes (-1: a client). An error means that nothing changed.
 * For a REPORT the caller adds the report's row with *ev, the event's number.
 */
SW_NODISCARD sw_status sw_driver_step(struct sw_change *c, struct sw_host *h,
				      const struct sw_event *event, int32_t slot,
				      const struct sw_actions **actions, uint64_t *ev,
				      struct sw_err *err);

/* The sweep ends by itself with that cause, in a change of its own: FAIL (no point can be found any
 * more) or STOP (a budget is spent). */
void sw_driver_end(struct sw_host *h, enum sw_event_kind kind, const char *cause);
void sw_driver_fail(struct sw_host *h, const char *cause);

/* An attempt on a slot ended by itself, at over_ms (0: now): LOST or RELEASE, in a change of its
 * own. Nothing happens when that attempt is no longer live. */
void sw_driver_attempt_over(struct sw_host *h, enum sw_event_kind kind, uint64_t trial,
			    uint32_t attempt, const char *cause, int64_t over_ms);

#endif
