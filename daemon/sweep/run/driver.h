/*
 * daemon/sweep/run/driver.h — event -> state machine -> rows and effects of a change.
 *
 * A step's rows go into the change (daemon/sweep/change.h); the word to a worker that it must stop,
 * and the end of files that nobody needs, wait for its commit.
 */
#ifndef SW_DAEMON_SWEEP_RUN_DRIVER_H
#define SW_DAEMON_SWEEP_RUN_DRIVER_H

#include "base/status.h"
#include "daemon/sweep/change.h"
#include "sched/sweep/sweep.h"
#include <stdint.h>

struct sw_call;
struct sw_running;

/* How those above are told; d->sweep.driver_events, none of them NULL. */
struct sw_driver_events {
	/* A step was taken and is in the change: they may have steps of their own to take,
	 * later. */
	void (*stepped)(struct sw_change *c, struct sw_running *live);
	/* A trial.ask that waited (daemon/sweep/search/suggest.h) is to be answered now, with the
	 * suggestions that there are. */
	void (*ready)(struct sw_running *live, struct sw_call *call);
};

/*
 * Feeds one event to a sweep and gathers its rows; slot is where a START goes (-1: a client). The
 * step's actions are in the change until the next one, the event's number, too. An error means that
 * nothing changed. For a REPORT the caller adds the report's row with that number.
 */
SW_NODISCARD sw_status sw_driver_step(struct sw_change *c, struct sw_running *live,
				      const struct sw_event *event, int32_t slot,
				      struct sw_err *err);

/* The change of one step that a call asked for, to be answered and committed. NULL: the step was
 * refused, and the call has the error. */
struct sw_change *sw_driver_change(struct sw_running *live, struct sw_call *call,
				   const struct sw_event *event);

/* The sweep ends by itself with that cause, in a change of its own: FAIL (no further point can be
 * found) or STOP (a budget is spent). */
void sw_driver_end(struct sw_running *live, enum sw_event_kind kind, const char *cause);
void sw_driver_fail(struct sw_running *live, const char *cause);

/* An attempt on a slot ended by itself, at over_ms (0: now): LOST or RELEASE, in a change of its
 * own. Nothing happens when that attempt is no longer live. */
void sw_driver_attempt_over(struct sw_running *live, enum sw_event_kind kind, uint64_t trial,
			    uint32_t attempt, const char *cause, int64_t over_ms);

#endif
