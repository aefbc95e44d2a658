#include "sched/sampler/near.h"
#include "base/memory.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* Squared; stops early once it is no better than `enough`. */
static double distance2(const double *a, const double *b, size_t d, const bool *category,
			double enough)
{
	double sum = 0.0;

	for (size_t k = 0; k < d && sum < enough; k++) {
		const double gap = a[k] - b[k];

		if (category == NULL || !category[k])
			sum += gap * gap;
		else if (gap != 0.0)
			sum += 1.0;
	}
	return sum;
}

void sw_near_rows(const double *x, const uint64_t *trial, size_t n, size_t d, const bool *category,
		  const double *at, struct sw_suggestion *out)
{
	double best[SW_SUGGESTION_NEAR];
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		if (trial[i] == 0)
			continue;
		const double enough = found < SW_SUGGESTION_NEAR ? (double)INFINITY
								 : best[found - 1];
		const double sum = distance2(x + i * d, at, d, category, enough);
		if (!(sum < enough))
			continue;
		size_t place = found < SW_SUGGESTION_NEAR ? found++ : found - 1;
		for (; place > 0 && best[place - 1] > sum; place--) {
			best[place] = best[place - 1];
			out->near[place] = out->near[place - 1];
		}
		best[place] = sum;
		out->near[place] = trial[i];
	}
	out->near_n = found;
	for (size_t i = 0; i < found; i++)
		out->near_distance[i] = sqrt(best[i]);
}

sw_status sw_near_init(struct sw_near *near, const struct sw_space *space)
{
	const size_t d = sw_space_size(space);

	*near = (struct sw_near){.space = space, .d = d};
	for (size_t k = 0; k < d; k++)
		near->category[k] = sw_space_param(space, k)->dist == SW_DIST_CATEGORICAL;
	near->x = sw_malloc(SW_NEAR_TOLD * (d != 0 ? d : 1) * sizeof *near->x);
	near->trial = sw_malloc(SW_NEAR_TOLD * sizeof *near->trial);
	if (near->x != NULL && near->trial != NULL)
		return SW_OK;
	sw_near_fini(near);
	return SW_NOMEM;
}

void sw_near_fini(struct sw_near *near)
{
	free(near->x);
	free(near->trial);
	near->x = NULL;
	near->trial = NULL;
}

static bool holds(const struct sw_near *near, uint64_t trial)
{
	const size_t n = near->told < SW_NEAR_TOLD ? (size_t)near->told : SW_NEAR_TOLD;

	for (size_t i = 0; i < n; i++)
		if (near->trial[i] == trial)
			return true;
	return false;
}

static void sync_log(struct sw_near *near, const struct sw_history *h)
{
	if (near->n_obs > h->n_obs ||
	    (near->n_obs > 0 && near->last.trial != h->obs[near->n_obs - 1].trial)) {
		near->told = 0;
		near->n_obs = 0;
		near->rungs = false;
	}
	for (; near->n_obs < h->n_obs; near->n_obs++) {
		const struct sw_obs *obs = &h->obs[near->n_obs];
		const size_t row = (size_t)(near->told % SW_NEAR_TOLD);

		near->last = *obs;
		near->rungs = near->rungs || obs->kind == SW_OBS_RUNG;
		/* Without rungs a trial tells once. */
		if (obs->kind == SW_OBS_NONE || (near->rungs && holds(near, obs->trial)))
			continue;
		near->trial[row] = obs->trial;
		sw_space_encode(near->space, h->values + (obs->trial - 1) * near->d,
				near->x + row * near->d);
		near->told++;
	}
}

void sw_near_find(struct sw_near *near, const struct sw_history *h, const struct sw_value *values,
		  struct sw_suggestion *out)
{
	double at[SW_SPACE_MAX_PARAMS];

	assert(h->n_params == near->d);
	sync_log(near, h);
	sw_space_encode(near->space, values, at);
	sw_near_rows(near->x, near->trial,
		     near->told < SW_NEAR_TOLD ? (size_t)near->told : SW_NEAR_TOLD, near->d,
		     near->category, at, out);
}
