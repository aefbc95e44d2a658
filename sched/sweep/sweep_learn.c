/*
 * A trial's values come from the sampler, a suggestion made elsewhere or the user; a sampler that
 * learns is told how the trial went. A sweep whose sampler does not learn keeps no history, unless
 * its points can be counted: its values can be made again from the trial's number, but for those
 * that the user enqueued.
 */
#include "base/memory.h"
#include "sched/sweep/samplers.h"
#include "sched/sweep/sweep.h"
#include "sched/sweep/sweep_internal.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double turn(const struct sw_sweep *s, size_t metric, double value)
{
	const bool maximize = metric == 0 ? s->config.maximize
					  : s->config.maximize_more[metric - 1];

	/* A negated NaN has other bytes, and the same events must give the same bytes. */
	return maximize && !isnan(value) ? -value : value;
}

double sw_sweep_turn(const struct sw_sweep *s, double value)
{
	return turn(s, 0, value);
}

static size_t metric_n(const struct sw_sweep *s)
{
	return s->sampling.n_metrics;
}

/* Rungs of bracket 0 are those of every bracket: bracket b starts at its rung b. */
static void set_levels(struct sw_sweep *s)
{
	const enum sw_pruner_kind kind = s->config.pruner.kind;
	const bool rungs = kind == SW_PRUNER_ASHA || kind == SW_PRUNER_PROMOTE;
	const size_t n = rungs ? sw_pruner_rung_n(s->pruner, 0) : 0;

	assert(n <= SW_SAMPLER_LEVELS_MAX);
	s->sampling.n_levels = n;
	s->sampling.pauses = kind == SW_PRUNER_PROMOTE;
	for (size_t k = 0; k < n; k++)
		s->sampling.levels[k] = sw_pruner_rung_step(s->pruner, 0, k);
}

static sw_status copy_init(struct sw_sweep *s)
{
	const size_t n = s->config.n_init * sw_space_size(s->space);

	if (n == 0)
		return SW_OK;
	struct sw_value *init = sw_malloc(n * sizeof *init);
	if (init == NULL)
		return SW_NOMEM;
	memcpy(init, s->config.init, n * sizeof *init);
	s->init = init;
	s->sampling.n_init = s->config.n_init;
	s->sampling.init = init;
	return SW_OK;
}

static sw_status copy_prior(struct sw_sweep *s)
{
	const size_t n = sw_space_size(s->space), m = metric_n(s);
	double y[SW_METRICS_MAX];
	sw_status rc = SW_OK;

	for (size_t i = 0; rc == SW_OK && s->learns && i < s->config.n_prior; i++) {
		for (size_t k = 0; k < m; k++)
			y[k] = turn(s, k, s->config.prior_y[i * m + k]);
		rc = sw_history_add_prior(&s->history, s->config.prior + i * n, y);
	}
	return rc;
}

sw_status sw_sweep_learn_init(struct sw_sweep *s, struct sw_err *err)
{
	const struct sw_sweep_config *c = &s->config;

	s->sampling = (struct sw_sampler_config){.kind = c->sampler,
						 .seed = c->seed,
						 .space = s->space,
						 .n_metrics = c->n_metrics != 0 ? c->n_metrics : 1,
						 .shuffle = c->shuffle};
	set_levels(s);
	sw_history_init(&s->history, sw_space_size(s->space), metric_n(s));
	sw_history_init(&s->seen, sw_space_size(s->space), metric_n(s));
	sw_status rc = copy_init(s);
	if (rc != SW_OK)
		return sw_err_set(err, rc, "no memory for the sweep");
	rc = sw_samplers_create(&s->sampler, &s->sampling, err);
	s->ranges[0].sampler = s->sampler;
	if (rc != SW_OK) {
		/* Constraints stand beside the parameters in a spec, all else that it points at
		 * within them. */
		if (err == NULL || strncmp(err->ptr, "/constraints", 12) != 0)
			sw_err_prefix(err, "/parameters");
		return rc;
	}
	/* Any number past the user's own points tells, since those are never learned from a
	 * history. */
	s->learns = sw_sampler_learns(s->sampler, UINT64_MAX);
	/* Where points can be counted, the sampler asks which of them the trials have had. */
	s->keeps = s->learns || sw_space_points(s->space) != 0;
	rc = copy_prior(s);
	/* The arrays below are indexed even while they are empty. */
	if (rc == SW_OK)
		rc = sw_sweep_learn_grow(s, 1);
	return rc == SW_OK ? rc : sw_err_set(err, rc, "no memory for the sweep");
}

void sw_sweep_learn_fini(struct sw_sweep *s)
{
	free(s->init);
	sw_history_fini(&s->history);
	sw_history_fini(&s->seen);
	sw_suggestion_fini(&s->suggestion);
	free(s->last);
	free(s->given.trial);
	free(s->given.parent);
	free(s->given.values);
}

/* An event ends every open trial at most, fills every rung, and makes one trial. */
sw_status sw_sweep_learn_reserve(struct sw_sweep *s, struct sw_err *err)
{
	const uint64_t open = s->counts[SW_TRIAL_PENDING] + s->counts[SW_TRIAL_RUNNING] +
			      s->counts[SW_TRIAL_PAUSED];
	const size_t most = open + SW_SAMPLER_LEVELS_MAX + 2;

	if (!s->keeps)
		return SW_OK;
	sw_status rc = sw_history_reserve(&s->history, 1, most);
	if (rc == SW_OK && s->masked)
		rc = sw_history_reserve(&s->seen, 1, most);
	return rc == SW_OK ? rc : sw_err_set(err, rc, "no memory for the sweep's history");
}

sw_status sw_sweep_learn_grow(struct sw_sweep *s, uint64_t trial_cap)
{
	if (!s->learns && s->config.plateau.top == 0) /* nobody asks for last values */
		return SW_OK;
	return sw_array_resize(&s->last, trial_cap * metric_n(s), sizeof *s->last) ? SW_OK
										   : SW_NOMEM;
}

bool sw_sweep_learns(const struct sw_sweep *s)
{
	return s->learns;
}

const struct sw_sampler_config *sw_sweep_sampler_config(const struct sw_sweep *s)
{
	return &s->sampling;
}

const struct sw_history *sw_sweep_history(const struct sw_sweep *s)
{
	return !s->keeps ? NULL : s->masked ? &s->seen : &s->history;
}

const unsigned char *sw_sweep_sampler_state(const struct sw_sweep *s, size_t *n)
{
	*n = s->suggestion.state_n;
	return s->suggestion.state;
}

/* A suggestion made elsewhere becomes the sweep's own, and its sampler goes on from there. */
static sw_status take_given(struct sw_sweep *s, const struct sw_suggestion *given,
			    struct sw_err *err)
{
	unsigned char *state = NULL;

	if (given->state_n > 0) {
		const sw_status rc =
			sw_sampler_restore(s->sampler, given->state, given->state_n, err);
		if (rc != SW_OK)
			return sw_err_set(err, rc, "no memory for a suggestion");
		state = sw_malloc(given->state_n);
		if (state == NULL)
			return sw_err_set(err, SW_NOMEM, "no memory for a suggestion");
		memcpy(state, given->state, given->state_n);
	}
	sw_suggestion_fini(&s->suggestion);
	s->suggestion = *given;
	s->suggestion.state = state;
	return SW_OK;
}

sw_status sw_sweep_learn_suggest(struct sw_sweep *s, const struct sw_suggestion *given,
				 struct sw_err *err)
{
	const uint64_t made = sw_sweep_made(s) + 1;
	const bool learns = sw_sampler_learns(s->sampler, made);
	struct sw_suggestion fresh = {.state = NULL};

	if (learns && given != NULL)
		return take_given(s, given, err);
	const sw_status rc = sw_sampler_suggest(s->sampler, sw_sweep_history(s), made, &fresh, err);
	/* Without a new one the old one stays: its state is what the sampler goes on from. */
	if (rc == SW_OK) {
		sw_suggestion_fini(&s->suggestion);
		s->suggestion = fresh;
	} else {
		sw_suggestion_fini(&fresh);
	}
	return rc;
}

void sw_sweep_learn_made(struct sw_sweep *s, const struct sw_value *values)
{
	for (size_t k = 0; s->last != NULL && k < metric_n(s); k++)
		s->last[(s->trial_n - 1) * metric_n(s) + k] = NAN;
	if (!s->keeps)
		return;
	const sw_status rc = sw_history_add_trial(&s->history, values);
	assert(rc == SW_OK); /* reserved by sw_sweep_learn_reserve() */
	(void)rc;
	sw_sweep_seen_trial(s, s->trial_n);
}

bool sw_sweep_finite(const struct sw_sweep *s, const struct sw_event *ev)
{
	bool finite = isfinite(ev->value);

	for (size_t k = 1; k < metric_n(s); k++)
		finite = finite && isfinite(ev->more[k - 1]);
	return finite;
}

bool sw_sweep_believes(const struct sw_sweep *s, double value)
{
	const struct sw_threshold_config *c = &s->config.pruner.threshold;

	return isfinite(value) && (s->config.pruner.kind != SW_PRUNER_THRESHOLD || !c->has_lower ||
				   turn(s, 0, value) >= c->lower);
}

static void observe(struct sw_sweep *s, struct sw_obs obs, const double *y)
{
	const sw_status rc = sw_history_observe(&s->history, obs, y);

	assert(rc == SW_OK); /* reserved by sw_sweep_learn_reserve() */
	(void)rc;
	sw_sweep_seen_observe(s, obs, y);
}

/* Each rung that this report filled, with the value that belongs to it: this one at the report's
 * own step, else the one before. */
static void observe_rungs(struct sw_sweep *s, const struct sw_event *ev,
			  const struct sw_trial *before, const struct sw_trial *after)
{
	const uint64_t filled = after->prune.filled & ~before->prune.filled;

	for (size_t k = 0; k < sw_pruner_rung_n(s->pruner, after->prune.bracket); k++) {
		const uint64_t step = sw_pruner_rung_step(s->pruner, after->prune.bracket, k);
		const struct sw_obs obs = {.trial = ev->trial,
					   .kind = SW_OBS_RUNG,
					   .level = (uint32_t)(k + after->prune.bracket)};

		if ((filled >> k & 1) == 0)
			continue;
		if (step == ev->step)
			observe(s, obs, &after->prune.value);
		else if (before->prune.step != 0 && before->prune.step <= step)
			observe(s, obs, &before->prune.value);
	}
}

void sw_sweep_learn_report(struct sw_sweep *s, const struct sw_event *ev,
			   const struct sw_trial *before, const struct sw_trial *after)
{
	if (s->last == NULL || !ev->has_value || !sw_sweep_finite(s, ev))
		return;
	double *last = s->last + (ev->trial - 1) * metric_n(s);
	/* Without a last value a trial that ends is infeasible. */
	last[0] = sw_sweep_believes(s, ev->value) ? turn(s, 0, ev->value) : (double)NAN;
	for (size_t k = 1; k < metric_n(s); k++)
		last[k] = turn(s, k, ev->more[k - 1]);
	if (s->learns && s->sampling.n_levels > 0)
		observe_rungs(s, ev, before, after);
}

void sw_sweep_learn_end(struct sw_sweep *s, uint64_t trial, enum sw_trial_state end)
{
	struct sw_obs obs = {.trial = trial, .kind = SW_OBS_INFEASIBLE};

	if (!s->learns)
		return;
	const double *last = s->last + (trial - 1) * metric_n(s);
	/* A cancel says nothing of the values. A trial that ends without a finite one is
	 * infeasible. */
	if (end == SW_TRIAL_CANCELLED)
		obs.kind = SW_OBS_NONE;
	else if (end == SW_TRIAL_FAILED)
		obs.kind = SW_OBS_FAILED;
	else if (end == SW_TRIAL_COMPLETED && isfinite(last[0]))
		obs.kind = SW_OBS_FINAL;
	else if (end == SW_TRIAL_PRUNED && isfinite(last[0]))
		obs.kind = SW_OBS_PRUNED;
	observe(s, obs, obs.kind == SW_OBS_FINAL || obs.kind == SW_OBS_PRUNED ? last : NULL);
}
