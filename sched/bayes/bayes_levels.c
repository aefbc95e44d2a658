/* Coordinates with levels: a search over neighbouring ones, in turn with an ascent over the smooth
 * coordinates. Which levels are near is a matter of each coordinate alone, but what a step to one
 * is worth is taken from the model, of all steps at once. */
#include "sched/bayes/bayes.h"
#include <math.h>
#include <string.h>

#define ROUNDS     3
#define STEPS      16 /* moves of one coordinate in a round */
#define CATEGORIES 16 /* tried one by one; of more, as many by chance */
#define STRIDES    4  /* 1, 4, 16, 64 levels to either side */
#define GAIN       1e-9

/* x with another category, or another level, in coordinate k; false: no room for more. */
static bool add_level(struct sw_bayes_search *s, const double *x, size_t k, double to, size_t *n)
{
	const size_t d = s->cube->d;

	if (*n == BAYES_LEVELS)
		return false;
	double *const row = s->near + *n * d;

	memcpy(row, x, d * sizeof *row);
	row[k] = to;
	/* A step shorter than a level snaps back to where it began: that is no neighbour. */
	if (sw_bayes_cube_snap(s->cube, row) && memcmp(row, x, d * sizeof *row) != 0)
		++*n;
	return true;
}

static bool add_categories(struct sw_bayes_search *s, const double *x, size_t k,
			   struct sw_bayes_rng *rng, size_t *n)
{
	const uint64_t levels = s->cube->levels[k];

	if (s->lo[k] == s->hi[k]) /* the box is one level */
		return true;
	for (uint64_t i = 0; i < levels && i < CATEGORIES; i++) {
		const uint64_t choice = levels <= CATEGORIES ? i : sw_bayes_rng_below(rng, levels);

		if (!add_level(s, x, k, sw_bayes_cube_category(s->cube, k, choice), n))
			return false;
	}
	return true;
}

static bool add_steps(struct sw_bayes_search *s, const double *x, size_t k, size_t *n)
{
	const uint64_t levels = s->cube->levels[k];
	/* Without a count (a normal, rounded) a step is as good as any. */
	const double one = levels > 0 ? 1 / (double)levels : 1.0 / 256;
	double stride = one;

	for (int i = 0; i < STRIDES && stride < 0.5; i++, stride *= 4) {
		for (int side = -1; side <= 1; side += 2) {
			const double to = x[k] + side * stride;

			/* One level beyond the box is allowed, or a region narrower than a level
			 * would hold no step. */
			if (to < s->lo[k] - one || to > s->hi[k] + one || to < 0 || to > 1)
				continue;
			if (!add_level(s, x, k, to, n))
				return false;
		}
	}
	return true;
}

/* The best neighbour, if it is better. */
static sw_status step(struct sw_bayes_search *s, const struct sw_bayes_model *m,
		      struct sw_bayes_rng *rng, double *x, double *value, bool *moved)
{
	const size_t d = s->cube->d;
	size_t n = 0, best = 0;
	bool room = true;

	*moved = false;
	for (size_t k = 0; k < d && room; k++) {
		if (s->cube->category[k])
			room = add_categories(s, x, k, rng, &n);
		else if (!s->cube->smooth[k])
			room = add_steps(s, x, k, &n);
	}
	if (n == 0)
		return SW_OK;
	/* The rating adds to what stands there. */
	memset(s->near_value, 0, n * sizeof *s->near_value);
	const sw_status rc = sw_bayes_rate(m, s->near, n, s->near_mean, s->near_var, s->near_value);

	if (rc != SW_OK)
		return rc;
	for (size_t i = 0; i < n; i++) {
		if (s->near_value[i] < s->near_value[best])
			best = i;
	}
	/* Rounding must not count as a gain, or steps could lead round in a circle. */
	if (s->near_value[best] < *value - GAIN) {
		memcpy(x, s->near + best * d, d * sizeof *x);
		*value = s->near_value[best];
		*moved = true;
	}
	return SW_OK;
}

sw_status sw_bayes_levels(struct sw_bayes_search *s, const struct sw_bayes_model *m,
			  struct sw_bayes_rng *rng, double *x, double *value)
{
	for (int round = 0; round < ROUNDS; round++) {
		bool moved = true, any = false;

		for (int i = 0; i < STEPS && moved; i++) {
			const sw_status rc = step(s, m, rng, x, value, &moved);

			if (rc != SW_OK)
				return rc;
			any = any || moved;
		}
		/* The ascent before this was of all numbers at once and then rounded to levels, so
		 * the smooth coordinates climb once more even if no level moved. */
		if (!any && round > 0)
			break;
		const sw_status rc = sw_bayes_climb(s, m, false, x, value);

		if (rc != SW_OK)
			return rc;
	}
	return SW_OK;
}
