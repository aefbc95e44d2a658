#include "sched/sweep.h"
#include "base/fault.h"
#include "sched/sweep_internal.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[SW_SWEEP_STATE_N] = {
	[SW_SWEEP_RUNNING] = "RUNNING",     [SW_SWEEP_PAUSED] = "PAUSED",
	[SW_SWEEP_COMPLETED] = "COMPLETED", [SW_SWEEP_CANCELLED] = "CANCELLED",
	[SW_SWEEP_FAILED] = "FAILED",
};

static sw_status make_parts(struct sw_sweep *s, struct sw_space *space, struct sw_err *err)
{
	const struct sw_sweep_config *c = &s->config;

	sw_status rc = sw_space_seal(space, err);
	if (rc != SW_OK)
		return rc;
	rc = sw_pruner_create(&s->pruner, &c->pruner, c->seed, err);
	if (rc != SW_OK) {
		sw_err_prefix(err, "/early_terminate");
		return rc;
	}
	s->space = space; /* borrowed until the end is known */
	return sw_sweep_learn_init(s, err);
}

sw_status sw_sweep_create(struct sw_sweep **out, const struct sw_sweep_config *config,
			  struct sw_space *space, struct sw_err *err)
{
	*out = NULL;
	if (sw_space_size(space) == 0)
		return sw_err_at(err, SW_INVALID, "/parameters",
				 "a sweep needs at least one parameter");
	struct sw_sweep *s = sw_calloc(1, sizeof *s);
	if (s == NULL)
		return sw_err_set(err, SW_NOMEM, "no memory for the sweep");
	s->config = *config;
	s->state = SW_SWEEP_RUNNING;
	sw_pending_init(&s->pending);
	const sw_status rc = make_parts(s, space, err);
	if (rc != SW_OK) {
		s->space = NULL;
		sw_sweep_destroy(s);
		return rc;
	}
	s->user_cap = config->run_cap;
	*out = s;
	return SW_OK;
}

void sw_sweep_destroy(struct sw_sweep *s)
{
	if (s == NULL)
		return;
	sw_pending_fini(&s->pending);
	free(s->trial);
	sw_sweep_learn_fini(s);
	sw_pruner_destroy(s->pruner);
	sw_space_destroy(s->space);
	free(s);
}

enum sw_sweep_state sw_sweep_state(const struct sw_sweep *s)
{
	return s->state;
}

const char *sw_sweep_state_name(enum sw_sweep_state state)
{
	assert(state < SW_SWEEP_STATE_N);
	return names[state];
}

sw_status sw_sweep_state_find(const char *name, enum sw_sweep_state *out)
{
	for (unsigned i = 0; i < SW_SWEEP_STATE_N; i++) {
		if (strcmp(name, names[i]) == 0) {
			*out = (enum sw_sweep_state)i;
			return SW_OK;
		}
	}
	return SW_INVALID;
}

const char *sw_sweep_cause(const struct sw_sweep *s)
{
	return s->cause;
}

uint64_t sw_sweep_trial_n(const struct sw_sweep *s)
{
	return s->trial_n;
}

const struct sw_trial *sw_sweep_trial(const struct sw_sweep *s, uint64_t trial)
{
	return trial >= 1 && trial <= s->trial_n ? &s->trial[trial - 1] : NULL;
}

void sw_sweep_counts(const struct sw_sweep *s, uint64_t counts[SW_TRIAL_STATE_N])
{
	memcpy(counts, s->counts, sizeof s->counts);
}

/* A sampler that ends, ends the sweep; trials that the user enqueued come on top of its points. */
uint64_t sw_sweep_run_cap(const struct sw_sweep *s)
{
	const uint64_t points = sw_sweep_points(s);
	const uint64_t end = points != 0 ? points + s->enqueued.n : 0;

	if (s->user_cap == 0 || end == 0)
		return s->user_cap + end;
	return s->user_cap < end ? s->user_cap : end;
}

bool sw_sweep_has_work(const struct sw_sweep *s)
{
	const uint64_t most = s->config.max_concurrent;

	return s->state == SW_SWEEP_RUNNING && (most == 0 || s->counts[SW_TRIAL_RUNNING] < most) &&
	       (s->counts[SW_TRIAL_PENDING] > 0 || sw_sweep_can_create(s));
}

uint64_t sw_sweep_parent(const struct sw_sweep *s, uint64_t trial)
{
	(void)s;
	(void)trial;
	return 0;
}

uint64_t sw_sweep_from(const struct sw_sweep *s, uint64_t trial)
{
	const struct sw_trial *t = sw_sweep_trial(s, trial);

	return t != NULL && t->resume_step != 0 ? trial : 0;
}

uint64_t sw_sweep_epoch(const struct sw_sweep *s)
{
	(void)s;
	return 0;
}

const struct sw_pruner *sw_sweep_pruner(const struct sw_sweep *s)
{
	return s->pruner;
}

sw_status sw_sweep_place(const struct sw_sweep *s, uint64_t trial, struct sw_pruner_place *out)
{
	const struct sw_trial *t = sw_sweep_trial(s, trial);

	if (t == NULL)
		return SW_NOT_FOUND;
	if (t->state != SW_TRIAL_PAUSED)
		return SW_CONFLICT;
	sw_pruner_place(s->pruner, trial, &t->prune, out);
	return SW_OK;
}

bool sw_sweep_enqueued(const struct sw_sweep *s, uint64_t trial)
{
	size_t low = 0, high = s->enqueued.n;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (s->enqueued.trial[mid] < trial)
			low = mid + 1;
		else
			high = mid;
	}
	return low < s->enqueued.n && s->enqueued.trial[low] == trial;
}

const struct sw_space *sw_sweep_space(const struct sw_sweep *s)
{
	return s->space;
}

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
			(void)settled;
		}
	}
}

static void trial_invariant(const struct sw_sweep *s, uint64_t i)
{
	const struct sw_trial *t = &s->trial[i];

	assert(t->state < SW_TRIAL_STATE_N);
	assert((t->attempt >= 1 || t->state == SW_TRIAL_PENDING ||
		t->state == SW_TRIAL_CANCELLED) && /* enqueued, not yet started */
	       t->lost <= t->attempt &&
	       t->lost <= s->config.retries + 1ull);
	assert(t->step >= t->seq);
	assert(t->prune.step == 0 || t->has_value);
	assert(t->prune.bracket == sw_pruner_bracket(s->pruner, i + 1));
	(void)t;
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
	(void)waiting;
}

void sw_sweep_invariant(const struct sw_sweep *s)
{
	uint64_t counts[SW_TRIAL_STATE_N] = {0};

	for (uint64_t i = 0; i < s->trial_n; i++) {
		trial_invariant(s, i);
		counts[s->trial[i].state]++;
	}
	assert(memcmp(counts, s->counts, sizeof counts) == 0);
	assert(sw_sweep_run_cap(s) == 0 || s->trial_n <= sw_sweep_run_cap(s));
	assert(s->config.max_concurrent == 0 ||
	       counts[SW_TRIAL_RUNNING] <= s->config.max_concurrent);
	/* A sweep has ended exactly when nothing is left to do, or somebody ended it. */
	const bool open = counts[SW_TRIAL_PENDING] + counts[SW_TRIAL_RUNNING] > 0;
	if (sw_sweep_ended(s))
		assert(!open);
	else
		assert(open || sw_sweep_can_create(s));
	(void)open;
	pending_invariant(s);
	if (s->config.pruner.kind == SW_PRUNER_ASHA || s->config.pruner.kind == SW_PRUNER_PROMOTE)
		rungs_invariant(s);
	sw_pruner_invariant(s->pruner);
}
