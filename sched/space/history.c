#include "sched/space/history.h"
#include "base/memory.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void sw_history_init(struct sw_history *h, size_t n_params, size_t n_metrics)
{
	assert(n_metrics >= 1 && n_metrics <= SW_METRICS_MAX);
	*h = (struct sw_history){.n_params = n_params, .n_metrics = n_metrics};
}

void sw_history_fini(struct sw_history *h)
{
	free(h->values);
	free(h->obs);
	free(h->y);
	free(h->prior_values);
	free(h->prior_y);
	*h = (struct sw_history){.n_params = h->n_params, .n_metrics = h->n_metrics};
}

/* Room for n of two arrays that share a capacity. If there is room for one of them alone, that one
 * is larger than the capacity says: harmless. */
static sw_status reserve_both(void *a, size_t size_a, void *b, size_t size_b, size_t *cap, size_t n)
{
	size_t cap_a = *cap;

	return sw_array_reserve(a, &cap_a, n, size_a) && sw_array_reserve(b, cap, n, size_b)
		       ? SW_OK
		       : SW_NOMEM;
}

static sw_status reserve_trials(struct sw_history *h, uint64_t n)
{
	const size_t size = h->n_params * sizeof *h->values;

	return sw_array_reserve(&h->values, &h->trial_cap, n, size) ? SW_OK : SW_NOMEM;
}

static sw_status reserve_obs(struct sw_history *h, size_t n)
{
	return reserve_both(&h->obs, sizeof *h->obs, &h->y, h->n_metrics * sizeof *h->y,
			    &h->obs_cap, n);
}

static sw_status reserve_prior(struct sw_history *h, size_t n)
{
	return reserve_both(&h->prior_values, h->n_params * sizeof *h->prior_values, &h->prior_y,
			    h->n_metrics * sizeof *h->prior_y, &h->prior_cap, n);
}

sw_status sw_history_reserve(struct sw_history *h, uint64_t n_trials, size_t n_obs)
{
	const sw_status rc = reserve_trials(h, h->trials + n_trials);

	return rc == SW_OK ? reserve_obs(h, h->n_obs + n_obs) : rc;
}

sw_status sw_history_add_trial(struct sw_history *h, const struct sw_value *values)
{
	const sw_status rc = reserve_trials(h, h->trials + 1);

	if (rc != SW_OK)
		return rc;
	memcpy(h->values + h->trials * h->n_params, values, h->n_params * sizeof *values);
	h->trials++;
	return SW_OK;
}

static size_t values_of(enum sw_obs_kind kind, size_t n_metrics)
{
	switch (kind) {
	case SW_OBS_RUNG:
		return 1;
	case SW_OBS_FINAL:
	case SW_OBS_PRUNED:
		return n_metrics;
	case SW_OBS_INFEASIBLE:
	case SW_OBS_FAILED:
	case SW_OBS_NONE:
		break;
	}
	return 0;
}

sw_status sw_history_observe(struct sw_history *h, struct sw_obs obs, const double *y)
{
	const sw_status rc = reserve_obs(h, h->n_obs + 1);
	const size_t n = values_of(obs.kind, h->n_metrics);

	assert(obs.trial >= 1 && obs.trial <= h->trials);
	if (rc != SW_OK)
		return rc;
	double *to = h->y + h->n_obs * h->n_metrics;
	for (size_t i = 0; i < h->n_metrics; i++) {
		assert(i >= n || isfinite(y[i]));
		/* Rows of y have one length, so that row i is found by a product. NaN shows at once
		 * where a reader takes a value that none was told of. */
		to[i] = i < n ? y[i] : (double)NAN;
	}
	h->obs[h->n_obs++] = obs;
	return SW_OK;
}

sw_status sw_history_add_prior(struct sw_history *h, const struct sw_value *values, const double *y)
{
	const sw_status rc = reserve_prior(h, h->n_prior + 1);

	/* Samplers read priors once, before the first observation: a later one would not be
	 * seen. */
	assert(h->n_obs == 0);
	if (rc != SW_OK)
		return rc;
	memcpy(h->prior_values + h->n_prior * h->n_params, values, h->n_params * sizeof *values);
	memcpy(h->prior_y + h->n_prior * h->n_metrics, y, h->n_metrics * sizeof *y);
	h->n_prior++;
	return SW_OK;
}

/* Trials from the first `kept` on, and observations from the first `had` on up to `known`. */
static sw_status take_rest(struct sw_history *to, const struct sw_history *from, uint64_t kept,
			   size_t had, size_t known)
{
	const size_t n = to->n_params, m = to->n_metrics;
	sw_status rc = reserve_trials(to, from->trials);

	if (rc == SW_OK)
		rc = reserve_obs(to, known);
	if (rc != SW_OK)
		return rc;
	if (from->trials > kept)
		memcpy(to->values + kept * n, from->values + kept * n,
		       (from->trials - kept) * n * sizeof *to->values);
	if (known > had) {
		memcpy(to->obs + had, from->obs + had, (known - had) * sizeof *to->obs);
		memcpy(to->y + had * m, from->y + had * m, (known - had) * m * sizeof *to->y);
	}
	to->trials = from->trials;
	to->n_obs = known;
	return SW_OK;
}

sw_status sw_history_copy(struct sw_history *to, const struct sw_history *from, size_t known)
{
	assert(to->n_params == from->n_params && to->n_metrics == from->n_metrics);
	assert(known <= from->n_obs);
	sw_status rc = reserve_prior(to, from->n_prior);
	if (rc == SW_OK)
		rc = take_rest(to, from, 0, 0, known);
	if (rc != SW_OK)
		return rc;
	if (from->n_prior > 0) {
		memcpy(to->prior_values, from->prior_values,
		       from->n_prior * from->n_params * sizeof *to->prior_values);
		memcpy(to->prior_y, from->prior_y,
		       from->n_prior * from->n_metrics * sizeof *to->prior_y);
	}
	to->n_prior = from->n_prior;
	return SW_OK;
}

sw_status sw_history_follow(struct sw_history *to, const struct sw_history *from, uint64_t kept)
{
	assert(to->n_params == from->n_params && to->n_metrics == from->n_metrics);
	assert(kept <= to->trials && kept <= from->trials && to->n_obs <= from->n_obs);
	if (to->n_prior != from->n_prior)
		return sw_history_copy(to, from, from->n_obs);
	/* The trials before were copied and never change. Those beyond are somebody's guesses, and
	 * are written over. */
	to->trials = kept;
	return take_rest(to, from, kept, to->n_obs, from->n_obs);
}
