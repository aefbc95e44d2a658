/* The results so far as rows of the cube, and the trials that are pending. */
#include "base/memory.h"
#include "sched/bayes/bayes.h"
#include "sched/num/order.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAME 1e-9 /* points closer than this, in the largest coordinate, are one */

void sw_bayes_data_init(struct sw_bayes_data *b, const struct sw_bayes_cube *cube, size_t n_metrics)
{
	*b = (struct sw_bayes_data){.cube = cube, .n_metrics = n_metrics};
}

void sw_bayes_data_fini(struct sw_bayes_data *b)
{
	free(b->x);
	free(b->y);
	free(b->metrics);
	free(b->bad);
	free(b->trial);
	free(b->sorted);
	free(b->ended);
	free(b->pending);
	free(b->pending_trial);
	*b = (struct sw_bayes_data){0};
}

static sw_status reserve_rows(struct sw_bayes_data *b)
{
	if (b->n < b->cap)
		return SW_OK;
	const size_t cap = b->cap == 0 ? 64 : 2 * b->cap;

	if (!sw_array_resize(&b->x, cap * b->cube->d, sizeof *b->x) ||
	    !sw_array_resize(&b->y, cap, sizeof *b->y) ||
	    !sw_array_resize(&b->bad, cap, sizeof *b->bad) ||
	    !sw_array_resize(&b->trial, cap, sizeof *b->trial) ||
	    !sw_array_resize(&b->sorted, cap, sizeof *b->sorted))
		return SW_NOMEM;
	if (b->n_metrics > 1 &&
	    !sw_array_resize(&b->metrics, cap * b->n_metrics, sizeof *b->metrics))
		return SW_NOMEM;
	b->cap = cap;
	return SW_OK;
}

static struct sw_bayes_told told_now(const struct sw_bayes_data *b, uint64_t trial, const double *y)
{
	struct sw_bayes_told t = {.trial = trial, .bad = y == NULL, .first = b->n_good == 0};

	if (y != NULL)
		t.y = *y;
	if (!t.first) {
		t.best = b->sorted[0];
		/* Halves are added because the sum of two large values could overflow. */
		t.median = b->sorted[(b->n_good - 1) / 2] / 2 + b->sorted[b->n_good / 2] / 2;
	}
	return t;
}

/* Among those of the others; several metrics have their order only once they are weighed. */
static void add_good(struct sw_bayes_data *b, double y)
{
	const size_t at = b->n_metrics > 1 ? b->n_good : sw_order_place(b->sorted, b->n_good, y);

	if (b->n_good == 0 || y < b->sorted[0])
		b->best = b->n;
	memmove(b->sorted + at + 1, b->sorted + at, (b->n_good - at) * sizeof *b->sorted);
	b->sorted[at] = y;
	b->n_good++;
}

/* y: [n_metrics]; NULL: infeasible. m NULL: the memory knows it already. */
static sw_status add_row(struct sw_bayes_data *b, uint64_t trial, const struct sw_value *values,
			 const double *y, struct sw_bayes_memory *m)
{
	const sw_status rc = reserve_rows(b);

	if (rc != SW_OK)
		return rc;
	if (m != NULL) {
		/* The memory hears of the result before the row is in: it compares it with the best
		 * so far. */
		const struct sw_bayes_told t = told_now(b, trial, y);

		sw_bayes_memory_tell(m, b->cube->d, &t);
	}
	sw_bayes_cube_read(b->cube, values, b->x + b->n * b->cube->d);
	b->bad[b->n] = y == NULL;
	b->trial[b->n] = trial;
	b->y[b->n] = y == NULL ? 0 : *y;
	for (size_t k = 0; b->n_metrics > 1 && k < b->n_metrics; k++)
		b->metrics[b->n * b->n_metrics + k] = y == NULL ? 0 : y[k];
	if (y != NULL)
		add_good(b, *y);
	b->n++;
	return SW_OK;
}

static void restart(struct sw_bayes_data *b)
{
	b->n = b->n_good = b->n_obs = b->n_pending = 0;
	b->started = false;
	if (b->ended != NULL)
		memset(b->ended, 0, b->ended_cap * sizeof *b->ended);
}

static sw_status reserve_trials(struct sw_bayes_data *b, uint64_t trials)
{
	if (trials <= b->ended_cap)
		return SW_OK;
	const size_t cap = 2 * (size_t)trials;

	if (!sw_array_resize(&b->ended, cap, sizeof *b->ended))
		return SW_NOMEM;
	memset(b->ended + b->ended_cap, 0, (cap - b->ended_cap) * sizeof *b->ended);
	b->ended_cap = cap;
	return SW_OK;
}

bool sw_bayes_is_bad(enum sw_obs_kind kind)
{
	return kind == SW_OBS_INFEASIBLE || kind == SW_OBS_FAILED;
}

static sw_status absorb_obs(struct sw_bayes_data *b, const struct sw_history *h, size_t i,
			    struct sw_bayes_memory *m)
{
	const struct sw_obs *const o = &h->obs[i];
	/* A memory that was read back knows what it has seen; then only the rows are built
	 * again. */
	struct sw_bayes_memory *const fresh = i >= m->seen && b->n_metrics == 1 ? m : NULL;
	sw_status rc = SW_OK;

	assert(o->trial >= 1 && o->trial <= h->trials);
	if (o->kind == SW_OBS_RUNG || b->ended[o->trial - 1])
		return SW_OK;
	if (o->kind == SW_OBS_NONE) {
		if (fresh != NULL)
			sw_bayes_memory_forget(fresh, o->trial);
	} else {
		rc = add_row(b, o->trial, h->values + (o->trial - 1) * h->n_params,
			     sw_bayes_is_bad(o->kind) ? NULL : h->y + i * h->n_metrics, fresh);
	}
	if (rc == SW_OK)
		b->ended[o->trial - 1] = true;
	return rc;
}

static sw_status find_pending(struct sw_bayes_data *b, const struct sw_history *h)
{
	const size_t d = b->cube->d;

	b->n_pending = 0;
	for (uint64_t t = 1; t <= h->trials; t++) {
		if (b->ended[t - 1])
			continue;
		if (b->n_pending == b->pending_cap) {
			const size_t cap = b->pending_cap == 0 ? 16 : 2 * b->pending_cap;

			if (!sw_array_resize(&b->pending, cap * d, sizeof *b->pending) ||
			    !sw_array_resize(&b->pending_trial, cap, sizeof *b->pending_trial))
				return SW_NOMEM;
			b->pending_cap = cap;
		}
		sw_bayes_cube_read(b->cube, h->values + (t - 1) * h->n_params,
				   b->pending + b->n_pending * d);
		b->pending_trial[b->n_pending++] = t;
	}
	return SW_OK;
}

sw_status sw_bayes_data_absorb(struct sw_bayes_data *b, const struct sw_history *h,
			       struct sw_bayes_memory *m)
{
	assert(m->seen <= h->n_obs);
	if (h->n_obs < b->n_obs)
		restart(b);
	sw_status rc = reserve_trials(b, h->trials);

	if (rc != SW_OK)
		return rc;
	if (!b->started && h->n_prior > 0)
		restart(b); /* half of the priors may be in */
	for (size_t i = 0; !b->started && i < h->n_prior; i++) {
		/* They are no results of this sweep: the memory does not count them. */
		rc = add_row(b, 0, h->prior_values + i * h->n_params, h->prior_y + i * h->n_metrics,
			     NULL);
		if (rc != SW_OK)
			return rc;
	}
	b->started = true;
	for (; b->n_obs < h->n_obs; b->n_obs++) {
		rc = absorb_obs(b, h, b->n_obs, m);
		if (rc != SW_OK)
			return rc;
		if (m->seen < b->n_obs + 1)
			m->seen = b->n_obs + 1;
	}
	return find_pending(b, h);
}

bool sw_bayes_data_has(const struct sw_bayes_data *b, const double *x)
{
	const size_t d = b->cube->d;

	b = b->all != NULL ? b->all : b;
	for (size_t list = 0; list < 2; list++) {
		const double *const rows = list == 0 ? b->x : b->pending;
		const size_t n = list == 0 ? b->n : b->n_pending;

		for (size_t i = 0; i < n; i++) {
			size_t k = 0;

			while (k < d && fabs(rows[i * d + k] - x[k]) <= SAME)
				k++;
			if (k == d)
				return true;
		}
	}
	return false;
}
