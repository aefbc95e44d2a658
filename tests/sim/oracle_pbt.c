/*
 * A population. t->valued: the step at which the trial was judged last; of a child at first, the
 * step that it goes on from. Members are the trials that have not ended and have a score.
 */
#include "tests/sim/oracle.h"
#include <inttypes.h>

static const struct sw_pbt_config *config(const struct sim_oracle *o)
{
	return &o->plan->sweep.pruner.pbt;
}

static bool member(const struct sim_trial *t)
{
	return t->has && !sw_trial_ended(t->state);
}

/* Who has not had a turn: what waits for a lane, and what is not made yet. */
static bool others_wait(const struct sim_oracle *o)
{
	return o->counts[SW_TRIAL_PENDING] > 0 || sim_oracle_can_create(o);
}

uint64_t sim_pbt_until(const struct sim_oracle *o, const struct sim_trial *t)
{
	const uint64_t next = t->valued + config(o)->perturbation_interval;
	const uint64_t due = next > config(o)->burn_in_period ? next : config(o)->burn_in_period;

	return config(o)->last_step != 0 && due >= config(o)->last_step ? 0 : due;
}

/* The paused one that is least far, by step and then by number. */
uint64_t sim_pbt_next(const struct sim_oracle *o)
{
	uint64_t next = 0;

	if (sim_oracle_can_create(o))
		return 0;
	for (uint64_t i = 1; i <= o->n; i++)
		if (o->trial[i - 1].state == SW_TRIAL_PAUSED &&
		    (next == 0 || o->trial[i - 1].valued < o->trial[next - 1].valued))
			next = i;
	return next;
}

/* Those that wait take turns with those that are paused: by step, then by number. */
bool sim_pbt_before(const struct sim_oracle *o, uint64_t paused, uint64_t pending)
{
	const uint64_t a = o->trial[paused - 1].step, b = o->trial[pending - 1].resume_step;

	return a < b || (a == b && paused < pending);
}

/* Members before it, by score and then by number. */
static uint64_t place(const struct sim_oracle *o, uint64_t trial)
{
	const double y = o->trial[trial - 1].best;
	uint64_t n = 0;

	for (uint64_t i = 1; i <= o->n; i++) {
		const struct sim_trial *const t = &o->trial[i - 1];

		n += member(t) && (t->best < y || (t->best == y && i < trial));
	}
	return n;
}

enum sw_verdict sim_pbt_report(struct sim_oracle *o, const struct sw_event *ev, double y,
			       const struct sw_judgement *j)
{
	struct sim_trial *const t = sim_oracle_trial(o, ev->trial);
	uint64_t n = 0;

	const uint64_t due = sim_pbt_until(o, t), last = config(o)->last_step;

	const bool complete = last != 0 && ev->step >= last;

	if (complete || due == 0 || ev->step < due) {
		t->has = t->has && !complete; /* nobody goes on from there */
		SIM_CHECK(j->rung == 0, "judged", "trial %" PRIu64 " out of its time", ev->trial);
		return SW_VERDICT_CONTINUE;
	}
	t->has = true;
	t->best = y; /* the score: the last, not the best */
	t->valued = ev->step;
	t->bare = ev->stateless && t->resume_step == 0;
	for (uint64_t i = 0; i < o->n; i++)
		n += member(&o->trial[i]);
	const double wanted = ceil((double)n * config(o)->quantile_fraction);
	const uint64_t half = n / 2, q = wanted < (double)half ? (uint64_t)wanted : half;
	const uint64_t rank = place(o, ev->trial);
	uint64_t donors = 0;

	for (uint64_t i = 1; i <= o->n; i++)
		donors += member(&o->trial[i - 1]) && !o->trial[i - 1].bare && place(o, i) < q;
	SIM_CHECK(j->rung == ev->step && j->n == n && j->better == rank && j->keep == n - q, "rank",
		  "trial %" PRIu64 ": rank %" PRIu64 " of %" PRIu64 ", not %" PRIu64 " of %" PRIu64,
		  ev->trial, j->better + 1, j->n, rank + 1, n);
	if (ev->final)
		return SW_VERDICT_CONTINUE;
	if (rank >= n - q && donors > 0) {
		SIM_CHECK(j->donor >= 1 && j->donor <= o->n && member(&o->trial[j->donor - 1]) &&
				  !o->trial[j->donor - 1].bare && place(o, j->donor) < q,
			  "donor", "trial %" PRIu64 " is none of the first %" PRIu64, j->donor, q);
		return SW_VERDICT_STOP;
	}
	SIM_CHECK(j->donor == 0, "donor", "of trial %" PRIu64 ", which goes on", ev->trial);
	if (t->bare || (!others_wait(o) && o->counts[SW_TRIAL_PAUSED] == 0))
		return SW_VERDICT_CONTINUE;
	return o->closed || sim_oracle_reached(o, y) ? SW_VERDICT_CONTINUE : SW_VERDICT_PAUSE;
}
