/* Values at the rungs, one transform for all of them, and the chain of ridge regressions that says
 * what a value at a low rung foretells at the top. */
#include "sched/bayes/bayes_rung.h"
#include "base/memory.h"
#include "sched/num/order.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOP_VALUES 3    /* values that make a rung the top */
#define RIDGE      4.0  /* how many observations the slope of 1 counts as */
#define Z_MOST     30.0 /* a rung below may hold values far beyond those that the transform knew */

void sw_bayes_rung_init(struct sw_bayes_rung_values *r, const struct sw_sampler_config *config)
{
	*r = (struct sw_bayes_rung_values){.n_levels = config->n_levels, .levels = config->levels};
}

void sw_bayes_rung_fini(struct sw_bayes_rung_values *r)
{
	free(r->v);
	free(r->has);
	free(r->bad);
	free(r->at);
	free(r->z);
	free(r->y);
	free(r->sorted);
	*r = (struct sw_bayes_rung_values){.n_levels = r->n_levels, .levels = r->levels};
}

static sw_status reserve(struct sw_bayes_rung_values *r, size_t n)
{
	if (n > r->cap) {
		const size_t cap = n < 32 ? 64 : 2 * n, rungs = cap * r->n_levels;

		if (!sw_array_resize(&r->v, rungs, sizeof *r->v) ||
		    !sw_array_resize(&r->has, cap, sizeof *r->has) ||
		    !sw_array_resize(&r->bad, cap, sizeof *r->bad) ||
		    !sw_array_resize(&r->at, cap, sizeof *r->at) ||
		    !sw_array_resize(&r->z, rungs, sizeof *r->z) ||
		    !sw_array_resize(&r->y, cap, sizeof *r->y) ||
		    !sw_array_resize(&r->sorted, cap, sizeof *r->sorted))
			return SW_NOMEM;
		r->cap = cap;
	}
	for (; r->n < n; r->n++) {
		r->has[r->n] = 0;
		r->bad[r->n] = false;
	}
	return SW_OK;
}

/* The first value at a rung stands. */
static void put_value(struct sw_bayes_rung_values *r, size_t subject, size_t level, double y)
{
	const uint64_t bit = (uint64_t)1 << level;

	if ((r->has[subject] & bit) != 0)
		return;
	r->n_valued += r->has[subject] == 0;
	r->count[level]++;
	r->has[subject] |= bit;
	r->v[subject * r->n_levels + level] = y;
}

sw_status sw_bayes_rung_absorb(struct sw_bayes_rung_values *r, const struct sw_history *h)
{
	assert(h->n_metrics == 1 && r->n_levels > 0);
	/* This does not go on from what was read: all of it is read again. */
	if (h->n_obs < r->n_obs || h->n_prior != r->n_prior) {
		r->n = r->n_obs = r->n_valued = 0;
		memset(r->count, 0, sizeof r->count);
		r->started = false;
	}
	const sw_status rc = reserve(r, h->n_prior + (size_t)h->trials);

	if (rc != SW_OK)
		return rc;
	for (size_t i = 0; !r->started && i < h->n_prior; i++)
		put_value(r, i, r->n_levels - 1, h->prior_y[i]);
	r->started = true;
	r->n_prior = h->n_prior;
	for (; r->n_obs < h->n_obs; r->n_obs++) {
		const struct sw_obs *const o = &h->obs[r->n_obs];
		const size_t subject = h->n_prior + (size_t)o->trial - 1;

		if (o->kind == SW_OBS_RUNG && o->level < r->n_levels)
			put_value(r, subject, o->level, h->y[r->n_obs]);
		else if (o->kind == SW_OBS_FINAL)
			put_value(r, subject, r->n_levels - 1, h->y[r->n_obs]);
		else if (sw_bayes_is_bad(o->kind))
			r->bad[subject] = true;
	}
	/* G10, step 2: the highest rung with three values; those above say too little yet. */
	r->top = r->n_levels - 1;
	while (r->top > 0 && r->count[r->top] < TOP_VALUES)
		r->top--;
	return SW_OK;
}

void sw_bayes_rung_fail(struct sw_bayes_rung_values *r, uint64_t trial, bool bad)
{
	assert(trial >= 1 && r->n_prior + trial <= r->n);
	r->bad[r->n_prior + trial - 1] = bad;
}

double sw_bayes_rung_blind(const struct sw_bayes_rung_values *r)
{
	const size_t last = r->n_levels - 1;

	return last > 0 ? (double)(last - r->top) / (double)last : 0;
}

/* ---- alignment ---- */

static size_t lowest(uint64_t bits)
{
	return (size_t)__builtin_ctzll(bits);
}

static size_t highest(uint64_t bits)
{
	return 63 - (size_t)__builtin_clzll(bits);
}

static double transformed(const struct sw_bayes_rung_values *r, double y)
{
	const double z = sw_outcome_forward(&r->o, y);

	return fmin(fmax(z, -Z_MOST), Z_MOST);
}

/* at, z and the transform. A subject that has a value above the top alone has it at the top. */
static void transform_all(struct sw_bayes_rung_values *r)
{
	const uint64_t below = ((uint64_t)1 << r->top) - 1;
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		double *const v = r->v + i * r->n_levels, *const z = r->z + i * r->n_levels;
		const uint64_t above = r->has[i] & ~below;

		r->at[i] = r->has[i] & below;
		for (uint64_t left = r->at[i]; left != 0; left &= left - 1)
			z[lowest(left)] = v[lowest(left)];
		/* One that failed is worth nothing at the top, whatever it had there. */
		if (above != 0 && !r->bad[i]) {
			r->at[i] |= (uint64_t)1 << r->top;
			z[r->top] = v[lowest(above)];
		}
		if (r->at[i] != 0)
			r->sorted[n++] = z[highest(r->at[i])];
	}
	if (n == 0)
		r->sorted[n++] = 0;
	qsort(r->sorted, n, sizeof *r->sorted, sw_order_doubles);
	sw_outcome_fit(&r->o, SW_OUTCOME_YJ, r->sorted, n);
	for (size_t i = 0; i < r->n; i++) {
		double *const z = r->z + i * r->n_levels;

		for (uint64_t left = r->at[i]; left != 0; left &= left - 1)
			z[lowest(left)] = transformed(r, z[lowest(left)]);
	}
}

/* Sums over the subjects at a rung: all, and those that went on (x: there, t: what they came
 * to). */
struct pairs {
	double n, x, xx;
	double on, on_x, on_t, on_xx, on_xt;
};

static struct pairs sum_pairs(const struct sw_bayes_rung_values *r, size_t level)
{
	struct pairs s = {0};

	for (size_t i = 0; i < r->n; i++) {
		if ((r->at[i] >> level & 1) == 0)
			continue;
		const double x = r->z[i * r->n_levels + level], t = r->y[i];

		s.n++;
		s.x += x;
		s.xx += x * x;
		if (highest(r->at[i]) == level)
			continue;
		s.on++;
		s.on_x += x;
		s.on_t += t;
		s.on_xx += x * x;
		s.on_xt += x * t;
	}
	return s;
}

/* Of those that went on from the rung, whose y is known, to those that ended there. */
static void align_level(struct sw_bayes_rung_values *r, size_t level)
{
	const struct pairs s = sum_pairs(r, level);

	r->slope[level] = 1;
	r->offset[level] = 0;
	if (s.on > 0) {
		const double var = s.xx / s.n - s.x / s.n * (s.x / s.n);
		/* Equal values have no scale of their own, and without a ridge the slope would be 0
		 * / 0. */
		const double ridge = RIDGE * (var > 1e-12 ? var : 1);
		const double mx = s.on_x / s.on, mt = s.on_t / s.on;
		const double xx = fmax(0, s.on_xx - s.on * mx * mx), xt = s.on_xt - s.on * mx * mt;

		/* A falling line is taken for noise: such a rung foretells nothing. */
		r->slope[level] = fmax(0, (xt + ridge) / (xx + ridge));
		r->offset[level] = mt - r->slope[level] * mx;
	}
	for (size_t i = 0; i < r->n; i++) {
		if (r->at[i] != 0 && highest(r->at[i]) == level)
			r->y[i] = sw_bayes_rung_foretell(r, level, r->z[i * r->n_levels + level]);
	}
}

void sw_bayes_rung_align(struct sw_bayes_rung_values *r)
{
	assert(r->n_valued > 0);
	transform_all(r);
	for (size_t i = 0; i < r->n; i++)
		r->y[i] = r->at[i] >> r->top != 0 ? r->z[i * r->n_levels + r->top] : 0;
	/* From the top down: the targets of a rung are what the rungs above made of those that went
	 * on. */
	for (size_t level = r->top; level-- > 0;)
		align_level(r, level);
}

double sw_bayes_rung_foretell(const struct sw_bayes_rung_values *r, size_t level, double z)
{
	return level >= r->top ? z : r->offset[level] + r->slope[level] * z;
}

double sw_bayes_rung_tau(const struct sw_bayes_rung_values *r, size_t level)
{
	const double first = log((double)r->levels[0]), top = log((double)r->levels[r->top]);

	/* Below the top there is a rung under it, so levels[top] > levels[0] and the quotient has a
	 * value. */
	return level >= r->top ? 1 : (log((double)r->levels[level]) - first) / (top - first);
}
