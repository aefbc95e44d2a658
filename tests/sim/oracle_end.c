/* The sweep's end: what waits, what is paused, by the user's word what runs; a slice at a time. */
#include "tests/sim/oracle.h"
#include <inttypes.h>

/* Does the end take it, and as what? */
static bool takes(const struct sim_oracle *o, const struct sim_trial *t, enum sw_trial_state *to,
		  const char **cause)
{
	*to = SW_TRIAL_CANCELLED;
	*cause = o->killed ? o->kill_cause : "sweep-ended";
	if (t->state == SW_TRIAL_PAUSED && (!o->killed || o->to == SW_SWEEP_COMPLETED)) {
		*to = SW_TRIAL_PRUNED;
		*cause = NULL;
	}
	return t->state == SW_TRIAL_PENDING || t->state == SW_TRIAL_PAUSED ||
	       (t->state == SW_TRIAL_RUNNING && o->killed);
}

static uint64_t left(const struct sim_oracle *o)
{
	return o->counts[SW_TRIAL_PENDING] + o->counts[SW_TRIAL_PAUSED] +
	       (o->killed ? o->counts[SW_TRIAL_RUNNING] : 0);
}

/* In the order of their numbers, at most a slice, none of which is further on than 32 times
 * that. */
static void slice(struct sim_oracle *o, struct sim_answer *a)
{
	const uint64_t most = o->plan->sweep.slice, first = o->settle_at;

	for (uint64_t ended = 0; left(o) > 0; o->settle_at++) {
		const uint64_t i = o->settle_at;
		enum sw_trial_state to;
		const char *cause;

		if (most != 0 && (ended == most || i == first + 32 * most))
			return;
		if (!takes(o, &o->trial[i - 1], &to, &cause))
			continue;
		if (o->trial[i - 1].state == SW_TRIAL_RUNNING) {
			const struct sw_action *const v = sim_answer_next(a, SW_ACTION_STOP, i);

			SIM_CHECK(v->attempt == o->trial[i - 1].attempt, "attempt of the stop",
				  "trial %" PRIu64, i);
		}
		sim_oracle_end(o, a, i, to, cause);
		ended++;
	}
}

/* Is there nothing more to do than to end what is paused? */
static bool done(const struct sim_oracle *o)
{
	return !sim_oracle_can_create(o) &&
	       o->counts[SW_TRIAL_PENDING] + o->counts[SW_TRIAL_RUNNING] == 0 &&
	       (o->closed || sim_prune_next(o) == 0);
}

void sim_oracle_settle(struct sim_oracle *o, struct sim_answer *a, bool own)
{
	if (sim_oracle_ended(o) || (o->settling && !own))
		return;
	const bool natural = !o->closed;
	if (natural && !done(o))
		return;
	slice(o, a);
	o->settling = left(o) > 0;
	o->closed = o->closed || o->settling;
	if (o->settling || !done(o))
		return;
	const uint64_t cap = sim_oracle_cap(o);
	SIM_CHECK(o->closed || o->n == cap, "budget",
		  "the sweep ends by itself with %" PRIu64 " trials of %" PRIu64, o->n, cap);
	if (o->killed)
		sim_oracle_enter(o, a, o->to);
	else
		sim_oracle_enter(o, a,
				 natural && o->counts[SW_TRIAL_FAILED] == o->n
					 ? SW_SWEEP_FAILED
					 : SW_SWEEP_COMPLETED);
}

void sim_oracle_kill(struct sim_oracle *o, enum sw_sweep_state to, const char *cause)
{
	o->closed = o->killed = true;
	o->settling = false;
	o->to = to;
	o->kill_cause = cause;
	o->settle_at = 1;
}
