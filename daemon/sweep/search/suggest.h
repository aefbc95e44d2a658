/*
 * daemon/sweep/search/suggest.h — suggestions made ahead of time, on another thread, for samplers
 * that are costly (bayes). Those that are quick make theirs inside the step.
 *
 * A suggester keeps a queue of prepared suggestions for the next trials, a chain: each takes those
 * before it as pending. Results that arrive make it stale, and a fresh one is begun at once; the
 * stale ones stay as a reserve. An ask waits up to the sweep's suggest_wait_ms for a suggestion
 * that knows every result taken before it, then takes the best prepared one; without one it waits
 * for the model, at most SW_SUGGEST_MAX_US.
 *
 * Threads  One job at a time for each sweep, on libuv's pool, working on a copy of the history. All
 *          else is the loop thread's.
 */
#ifndef SW_DAEMON_SWEEP_SEARCH_SUGGEST_H
#define SW_DAEMON_SWEEP_SEARCH_SUGGEST_H

#include "base/status.h"
#include "sched/sampler/sampler.h"
#include <stdbool.h>
#include <stdint.h>

#define SW_SUGGEST_MAX_US  ((int64_t)60 * 1000000)
#define SW_SUGGEST_MAX_ASK 1024 /* calls of one sweep that may wait; more are refused */

struct sw_call;
struct sw_daemon;
struct sw_running;

/* Gives the sweep a suggester if its sampler needs one: for the caller that adds a sweep, or
 * rebuilds one. SW_NOMEM. */
SW_NODISCARD sw_status sw_suggest_attach(struct sw_running *live);
bool sw_suggest_busy(const struct sw_running *live); /* its job is under way */
void sw_suggest_free(struct sw_running *live);       /* while it is not */
void sw_suggest_free_all(struct sw_daemon *d);       /* after the loop has ended */

/* Can a trial.ask that comes now be answered at once? If not, sw_suggest_wait() keeps it: it waits
 * from then on, whatever others waited before it. */
bool sw_suggest_has(struct sw_running *live, const struct sw_call *call);
void sw_suggest_wait(struct sw_running *live, struct sw_call *call);
/* Can the next ASK of a slot be taken now? True when it needs no suggestion. When not, work is
 * under way, and d->slot.due follows. */
bool sw_suggest_ready(struct sw_running *live);

/* Is an ASK possible now at all? False: it wants a suggestion that is not there. *out holds what to
 * pass with the event (NULL: nothing). Valid until the next step. */
bool sw_suggest_peek(const struct sw_running *live, struct sw_suggestion **out);

/* A step has changed the sweep: what was handed out leaves the queue, what is stale is renewed. */
void sw_suggest_changed(struct sw_running *live);
/* The sweep is due: answers the asks that can be answered, and begins what is worth doing. */
void sw_suggest_go_on(struct sw_running *live);

void sw_suggest_tick(struct sw_daemon *d, int64_t now_us); /* the long limit */

#endif
