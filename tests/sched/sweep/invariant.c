#include "tests/sched/sweep/invariant.h"
#include "sched/sweep/sweep_internal.h"
#include <assert.h>
#include <string.h>

/* Every value at a rung belongs to a trial of the bracket that has settled the rung; a trial that
 * jumped over it has settled it without a value. */
static void rungs_invariant(const struct sw_sweep *s)
{
	for (uint32_t b = 0; b < sw_pruner_bracket_n(s->pruner); b++) {
		for (size_t k = 0; k < sw_pruner_rung_n(s->pruner, b); k++) {
			uint64_t settled = 0;

			for (uint64_t i = 0; i < s->trial_n; i++)
				settled += s->trial[i].prune.bracket == b &&
					   (s->trial[i].prune.filled >> k & 1) != 0;
			assert(sw_pruner_rung_count(s->pruner, b, k) <= settled);
		}
	}
}

static void trial_invariant(const struct sw_sweep *s, uint64_t i)
{
	const struct sw_trial *t = &s->trial[i];

	assert(t->state < SW_TRIAL_STATE_N);
	assert((t->attempt >= 1 || t->state == SW_TRIAL_PENDING ||
		t->state == SW_TRIAL_CANCELLED) && /* given, not yet started */
	       t->lost <= t->attempt &&
	       t->lost <= s->config.retries + 1ull);
	assert(t->step >= t->seq);
	/* The clock of a child begins where its parent's stood. */
	assert(t->prune.step == 0 || t->has_value || sw_sweep_parent(s, i + 1) != 0);
	struct sw_prune_trial fresh;
	sw_pruner_enter(s->pruner, i + 1, &fresh);
	assert(t->prune.bracket == fresh.bracket);
	assert((t->state == SW_TRIAL_PAUSED) == (t->prune.paused != 0));
	assert((t->state != SW_TRIAL_PAUSED && t->state != SW_TRIAL_RUNNING) ||
	       t->resume_step <= t->step);
	assert(!t->inherited || (t->resume_step != 0 && sw_sweep_parent(s, i + 1) != 0));
}

/* What the pruner would resume is paused, and nothing else is. */
static void queue_invariant(const struct sw_sweep *s)
{
	const uint64_t next = sw_pruner_next(s->pruner), paused = s->counts[SW_TRIAL_PAUSED];
	const uint64_t n = sw_pruner_next_n(s->pruner, s->trial_n + 1);

	assert(next == 0 || s->trial[next - 1].state == SW_TRIAL_PAUSED);
	assert((next == 0) == (n == 0) && n <= paused);
}

static void given_invariant(const struct sw_sweep *s)
{
	uint64_t children = 0;

	for (size_t i = 0; i < s->given.n; i++) {
		assert(s->given.trial[i] <= s->trial_n && s->given.parent[i] < s->given.trial[i]);
		assert(i == 0 || s->given.trial[i - 1] < s->given.trial[i]);
		children += s->given.parent[i] != 0;
	}
	assert(children == s->given.children);
	for (size_t i = 1; i < s->ranges_n; i++)
		assert(s->ranges[i - 1].made <= s->ranges[i].made);
	assert(s->ranges[s->ranges_n - 1].made <= sw_sweep_made(s));
	assert(s->ranges[s->ranges_n - 1].space == s->space);
}

static void pending_invariant(const struct sw_sweep *s)
{
	const struct sw_pending *h = &s->pending;
	uint64_t waiting = 0;

	for (size_t i = 0; i < h->n; i++) {
		assert(h->v[i] >= 1 && h->v[i] <= s->trial_n);
		assert(i == 0 || h->v[(i - 1) / 2] < h->v[i]);
		waiting += s->trial[h->v[i] - 1].state == SW_TRIAL_PENDING;
	}
	assert(waiting == s->counts[SW_TRIAL_PENDING]);
	assert(h->n == 0 || s->trial[h->v[0] - 1].state == SW_TRIAL_PENDING);
}

/* What a slice has passed has ended, or runs on. */
static void settling_invariant(const struct sw_sweep *s)
{
	assert(!s->settling || (s->ending && !sw_sweep_ended(s)));
	assert(!s->kill.on || s->ending);
	assert(s->settle_at >= 1 && s->settle_at <= s->trial_n + 1);
	for (uint64_t i = 1; i < s->settle_at; i++) {
		const enum sw_trial_state state = (enum sw_trial_state)s->trial[i - 1].state;

		assert(sw_trial_ended(state) || (state == SW_TRIAL_RUNNING && !s->kill.on));
	}
}

void sweep_invariant(const struct sw_sweep *s)
{
	uint64_t counts[SW_TRIAL_STATE_N] = {0};

	for (uint64_t i = 0; i < s->trial_n; i++) {
		trial_invariant(s, i);
		counts[s->trial[i].state]++;
	}
	const uint64_t most = s->crowd > s->config.max_concurrent ? s->crowd
								  : s->config.max_concurrent;

	assert(memcmp(counts, s->counts, sizeof counts) == 0);
	assert(sw_sweep_run_cap(s) == 0 || s->trial_n <= sw_sweep_run_cap(s));
	assert(s->config.max_concurrent == 0 || counts[SW_TRIAL_RUNNING] <= most);
	/* A sweep has ended exactly when nothing is left to do, or somebody ended it. */
	const uint64_t waiting = counts[SW_TRIAL_PENDING] + counts[SW_TRIAL_PAUSED];
	if (sw_sweep_ended(s))
		assert(waiting + counts[SW_TRIAL_RUNNING] == 0);
	else
		assert(counts[SW_TRIAL_PENDING] + counts[SW_TRIAL_RUNNING] > 0 ||
		       sw_sweep_can_create(s) || sw_sweep_resumable(s) != 0 || s->settling);
	assert(!s->ending || waiting == 0 || s->settling);
	settling_invariant(s);
	queue_invariant(s);
	given_invariant(s);
	pending_invariant(s);
	if (s->config.pruner.kind == SW_PRUNER_ASHA || s->config.pruner.kind == SW_PRUNER_PROMOTE)
		rungs_invariant(s);
	sw_pruner_invariant(s->pruner);
}
