/* The budget that is left, and the trial that is next: one that waits, a paused or a new one. */
#include "sched/sweep/sweep.h"
#include "sched/sweep/sweep_internal.h"

uint64_t sw_sweep_made(const struct sw_sweep *s)
{
	return s->trial_n - s->given.n;
}

uint64_t sw_sweep_points(const struct sw_sweep *s)
{
	const uint64_t points = sw_sampler_points(s->sampler);

	return points != 0 ? points + s->config.n_init : 0;
}

/* A sampler that ends, ends the sweep; trials that the user enqueued come on top of its points. */
uint64_t sw_sweep_base_cap(const struct sw_sweep *s)
{
	const uint64_t points = sw_sweep_points(s);
	const uint64_t end = points != 0 ? points + s->given.n - s->given.children : 0;

	/* One of the two is 0, and the sum is the other. */
	if (s->user_cap == 0 || end == 0)
		return s->user_cap + end;
	return s->user_cap < end ? s->user_cap : end;
}

uint64_t sw_sweep_run_cap(const struct sw_sweep *s)
{
	const uint64_t base = sw_sweep_base_cap(s);

	return base != 0 ? base + s->given.children : 0;
}

uint64_t sw_sweep_asked_cap(const struct sw_sweep *s)
{
	return s->user_cap != 0 ? s->user_cap + s->given.children : sw_sweep_run_cap(s);
}

bool sw_sweep_can_create(const struct sw_sweep *s)
{
	const uint64_t cap = sw_sweep_run_cap(s);

	return !s->ending && (cap == 0 || s->trial_n < cap);
}

uint64_t sw_sweep_resumable(const struct sw_sweep *s)
{
	return s->ending ? 0 : sw_pruner_next(s->pruner);
}

void sw_sweep_tell_waiting(struct sw_sweep *s)
{
	const uint64_t cap = sw_sweep_run_cap(s);
	const uint64_t unmade = !sw_sweep_can_create(s) ? 0 : cap == 0 ? 1 : cap - s->trial_n;

	/* A trial that waits for its end in a slice does not wait for a lane. */
	sw_pruner_waiting(s->pruner, s->ending ? 0 : s->counts[SW_TRIAL_PENDING], unmade);
}

/* True if, in a population, a paused member or one that is not made yet goes before the first that
 * is pending. Members take turns by their steps: children that always went first could go on for
 * ever. */
static bool is_overtaken(const struct sw_sweep *s)
{
	const uint64_t first = s->pending.v[0], paused = sw_sweep_resumable(s);
	const uint64_t its = s->trial[first - 1].resume_step;

	if (sw_pruner_kind(s->pruner) != SW_PRUNER_PBT)
		return false;
	if (paused == 0)
		/* Members that are not made yet begin at step 0, so only a child from there may go
		 * before them. */
		return its > 0 && sw_sweep_can_create(s);
	const uint64_t ours = s->trial[paused - 1].step;

	return ours < its || (ours == its && paused < first);
}

bool sw_sweep_pending_next(const struct sw_sweep *s)
{
	return s->counts[SW_TRIAL_PENDING] > 0 && !is_overtaken(s);
}

enum sw_idle sw_sweep_idle(const struct sw_sweep *s)
{
	const uint64_t most = s->config.max_concurrent;

	if (s->state != SW_SWEEP_RUNNING)
		return s->state == SW_SWEEP_PAUSED ? SW_IDLE_PAUSED : SW_IDLE_DONE;
	if (s->ending)
		return SW_IDLE_WAITING;
	if (most != 0 && s->counts[SW_TRIAL_RUNNING] >= most)
		return SW_IDLE_BUSY;
	return s->counts[SW_TRIAL_PENDING] > 0 || sw_sweep_can_create(s) ||
			       sw_sweep_resumable(s) != 0
		       ? SW_IDLE_NOT
		       : SW_IDLE_WAITING;
}

bool sw_sweep_has_work(const struct sw_sweep *s)
{
	return sw_sweep_idle(s) == SW_IDLE_NOT;
}

uint64_t sw_sweep_could_begin(const struct sw_sweep *s, uint64_t most)
{
	const uint64_t at_once = s->config.max_concurrent, running = s->counts[SW_TRIAL_RUNNING];
	const uint64_t cap = sw_sweep_run_cap(s);

	if (!sw_sweep_has_work(s))
		return 0;
	/* Fewer run than may, or there would be no work: the difference is above 0. */
	if (at_once != 0 && most > at_once - running)
		most = at_once - running;
	uint64_t n = s->counts[SW_TRIAL_PENDING] + sw_pruner_next_n(s->pruner, most);
	if (sw_sweep_can_create(s))
		n += cap == 0 ? most : cap - s->trial_n;
	return n < most ? n : most;
}

uint64_t sw_sweep_next_trial(const struct sw_sweep *s)
{
	if (!sw_sweep_has_work(s))
		return 0;
	return sw_sweep_pending_next(s) ? s->pending.v[0] : sw_sweep_resumable(s);
}

uint64_t sw_sweep_wants_suggestions(const struct sw_sweep *s, uint64_t asks)
{
	const uint64_t most = s->config.max_concurrent, running = s->counts[SW_TRIAL_RUNNING];
	const uint64_t cap = sw_sweep_run_cap(s);
	const uint64_t made = sw_sweep_made(s), init = s->sampling.n_init;

	if (!s->learns || !sw_sweep_has_work(s) || !sw_sweep_can_create(s))
		return 0;
	if (most != 0 && asks > most - running)
		asks = most - running;
	const uint64_t pending = sw_sweep_pending_next(s) ? s->counts[SW_TRIAL_PENDING] : 0;
	asks = asks > pending ? asks - pending : 0;
	/* Paused trials that may go on come before new ones. */
	asks -= sw_pruner_next_n(s->pruner, asks);
	if (cap != 0 && asks > cap - s->trial_n)
		asks = cap - s->trial_n;
	/* Points that the user listed need no sampler. */
	const uint64_t given = made < init ? init - made : 0;
	return asks > given ? asks - given : 0;
}

bool sw_sweep_wants_suggestion(const struct sw_sweep *s)
{
	return sw_sweep_wants_suggestions(s, 1) > 0;
}
