/* The point of largest log expected improvement: many candidates in one batch, then an ascent from
 * the most promising ones. */
#include "base/memory.h"
#include "sched/bayes/bayes.h"
#include "sched/num/order.h"
#include "sched/num/sobol.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CANDIDATES  (BAYES_SPREAD + BAYES_NEAR)
#define ELITE_MOST  5
#define WEIGHT_MOST 30.0 /* exponent beyond which a candidate counts no less */
#define REFINED     3    /* ends whose levels are searched as well */
#define CROWD       8    /* trials that run, from which on a point keeps apart from each of them */
#define APART       1e-3 /* by so much, in one coordinate at least */
#define LAST_DRAWS  256  /* random points before a space counts as used up */

sw_status sw_bayes_search_init(struct sw_bayes_search *s, const struct sw_bayes_cube *cube,
			       uint64_t seed)
{
	const size_t d = cube->d;
	/* One block: the net, the candidates, their three numbers, the ends, the neighbours. */
	const size_t n =
		BAYES_SPREAD * d + CANDIDATES * (d + 3) + BAYES_STARTS * d + BAYES_LEVELS * (d + 3);

	*s = (struct sw_bayes_search){.cube = cube};
	s->net = sw_malloc(n * sizeof *s->net);
	if (s->net == NULL)
		return SW_NOMEM;
	s->x = s->net + BAYES_SPREAD * d;
	s->mean = s->x + CANDIDATES * d;
	s->var = s->mean + CANDIDATES;
	s->value = s->var + CANDIDATES;
	s->end = s->value + CANDIDATES;
	s->near = s->end + BAYES_STARTS * d;
	s->near_mean = s->near + BAYES_LEVELS * d;
	s->near_var = s->near_mean + BAYES_LEVELS;
	s->near_value = s->near_var + BAYES_LEVELS;
	sw_sobol_points(seed, 0, BAYES_SPREAD, d, s->net);
	return SW_OK;
}

void sw_bayes_search_fini(struct sw_bayes_search *s)
{
	free(s->net);
	*s = (struct sw_bayes_search){0};
}

/* ---- candidates ---- */

static void spread_candidates(struct sw_bayes_search *s, struct sw_bayes_rng *rng)
{
	const size_t d = s->cube->d;

	for (size_t k = 0; k < d; k++) {
		const double shift = sw_bayes_rng_unit(rng);

		for (size_t i = 0; i < BAYES_SPREAD; i++) {
			double u = s->net[i * d + k] + shift;

			/* A net stays evenly spread when it is shifted modulo 1, so one net serves
			 * all suggestions. */
			u -= floor(u);
			s->x[i * d + k] = s->lo[k] + u * (s->hi[k] - s->lo[k]);
		}
	}
}

/* The model's rows of least z, best first. */
static size_t find_elite(const struct sw_bayes_model *m, size_t elite[ELITE_MOST])
{
	const size_t quarter = m->n / 4, want = quarter < ELITE_MOST ? quarter : ELITE_MOST;

	return sw_order_least(m->elite != NULL ? m->elite : m->z, m->n, want > 0 ? want : 1, elite);
}

static double move_axis(const struct sw_bayes_search *s, const struct sw_bayes_model *m, size_t k,
			double x, double scale, struct sw_bayes_rng *rng)
{
	const uint64_t levels = s->cube->levels[k];

	if (s->cube->category[k])
		return s->lo[k] + sw_bayes_rng_unit(rng) * (s->hi[k] - s->lo[k]);
	double step = sw_bayes_rng_normal(rng) * scale * fmin(1, 2 * m->length[k]);

	/* Less than a level would be no move. */
	if (levels > 0 && fabs(step) * (double)levels < 1)
		step = copysign(1 / (double)levels, step);
	return fmin(fmax(x + step, s->lo[k]), s->hi[k]);
}

/* Half of them move every coordinate, half a few. Categories move by chance in both. */
static void near_candidates(struct sw_bayes_search *s, const struct sw_bayes_model *m,
			    struct sw_bayes_rng *rng)
{
	const size_t d = s->cube->d;
	const double few = fmin(1, 2 / (double)d), change = fmin(0.5, 1 / (double)d);
	size_t elite[ELITE_MOST] = {0};
	const size_t n = find_elite(m, elite), total = n * (n + 1) / 2;

	for (size_t i = 0; i < BAYES_NEAR; i++) {
		double *const x = s->x + (BAYES_SPREAD + i) * d;
		/* The best of n has n tickets, the last has one. */
		size_t ticket = sw_bayes_rng_below(rng, total), from = 0;
		bool moved = false;

		for (; ticket >= n - from; from++)
			ticket -= n - from;
		memcpy(x, m->x + elite[from] * d, d * sizeof *x);
		/* The recipe's step 7: 10^U(-3, -.5), fine and coarse steps alike. */
		const double scale = pow(10, -3 + 2.5 * sw_bayes_rng_unit(rng));
		const size_t always = i % 2 == 0 ? d : sw_bayes_rng_below(rng, d);

		for (size_t k = 0; k < d; k++) {
			const double chance = s->cube->category[k] ? change : i % 2 == 0 ? 1 : few;

			if (chance < 1 && sw_bayes_rng_unit(rng) >= chance)
				x[k] = fmin(fmax(x[k], s->lo[k]), s->hi[k]);
			else {
				x[k] = move_axis(s, m, k, x[k], scale, rng);
				moved = true;
			}
		}
		/* A candidate that moved nowhere would be the trial itself. */
		if (!moved && always < d)
			x[always] = move_axis(s, m, always, x[always], scale, rng);
	}
}

/* -log EI of all candidates; infinite where they break a constraint. */
static sw_status rate_candidates(struct sw_bayes_search *s, const struct sw_bayes_model *m)
{
	const size_t d = s->cube->d;

	for (size_t i = 0; i < CANDIDATES; i++)
		s->value[i] = sw_bayes_cube_snap(s->cube, s->x + i * d) ? 0 : INFINITY;
	return sw_bayes_rate(m, s->x, CANDIDATES, s->mean, s->var, s->value);
}

static size_t least(const double *value, size_t from, size_t to)
{
	size_t best = from;

	for (size_t i = from; i < to; i++) {
		if (value[i] < value[best])
			best = i;
	}
	return best;
}

/* The best of each half, and others by their weight: p ~ e^-((v - least) / sd). Returns how
 * many. */
static size_t choose_starts(const struct sw_bayes_search *s, struct sw_bayes_rng *rng,
			    size_t start[BAYES_STARTS])
{
	double weight[CANDIDATES], total = 0, mean = 0, sd = 0;
	size_t n = 0, finite = 0;

	start[0] = least(s->value, 0, BAYES_SPREAD);
	start[1] = least(s->value, BAYES_SPREAD, CANDIDATES);
	const double low = fmin(s->value[start[0]], s->value[start[1]]);

	for (size_t i = 0; i < 2; i++) {
		if (isfinite(s->value[start[i]]))
			start[n++] = start[i];
	}
	if (n == 0)
		return 0;
	for (size_t i = 0; i < CANDIDATES; i++) {
		if (isfinite(s->value[i])) {
			mean += s->value[i];
			finite++;
		}
	}
	mean /= (double)finite;
	for (size_t i = 0; i < CANDIDATES; i++) {
		if (isfinite(s->value[i]))
			sd += (s->value[i] - mean) * (s->value[i] - mean);
	}
	sd = fmax(sqrt(sd / (double)finite), 1e-12);
	for (size_t i = 0; i < CANDIDATES; i++) {
		weight[i] = isfinite(s->value[i])
				    ? exp(-fmin(WEIGHT_MOST, (s->value[i] - low) / sd))
				    : 0;
		total += weight[i];
	}
	while (n < BAYES_STARTS) {
		double ticket = sw_bayes_rng_unit(rng) * total;
		size_t i = 0;

		while (i + 1 < CANDIDATES && ticket >= weight[i])
			ticket -= weight[i++];
		/* Rounding can carry the ticket past the last weight, to one that is not
		 * feasible. */
		start[n++] = isfinite(s->value[i]) ? i : start[0];
	}
	return n;
}

/* ---- the choice ---- */

/* Told or running; or beside one that runs, where many do: a model that is sure of its best would
 * have them all there, and what they give adds nothing to what the first of them gives. */
static bool is_taken(const struct sw_bayes_data *b, const double *x)
{
	const size_t d = b->cube->d;

	if (sw_bayes_data_has(b, x))
		return true;
	for (size_t i = 0; b->n_pending >= CROWD && i < b->n_pending; i++) {
		size_t k = 0;

		while (k < d && fabs(x[k] - b->pending[i * d + k]) < APART)
			k++;
		if (k == d)
			return true;
	}
	return false;
}

/* Beside the best, or anywhere: when every end is a point that is known. */
static bool last_resort(const struct sw_bayes_search *s, const struct sw_bayes_model *m,
			const struct sw_bayes_data *b, struct sw_bayes_rng *rng, double *x)
{
	const size_t d = s->cube->d;

	for (size_t i = 0; i < CANDIDATES; i++) {
		const size_t at = least(s->value, 0, CANDIDATES);

		if ((s->cube->plain && b->n_pending < CROWD) || !isfinite(s->value[at]))
			break;
		/* Each is looked at once: the next turn finds the one after it. */
		s->value[at] = INFINITY;
		memcpy(x, s->x + at * d, d * sizeof *x);
		if (!is_taken(b, x))
			return true;
	}
	for (int i = 0; i < LAST_DRAWS; i++) {
		const bool beside = sw_bayes_rng_unit(rng) < 0.5 && b->n_good > 0;

		for (size_t k = 0; k < d; k++) {
			const double step = 1e-3 * fmin(1, m->length[k]);

			if (s->cube->category[k])
				x[k] = s->lo[k] + sw_bayes_rng_unit(rng) * (s->hi[k] - s->lo[k]);
			else if (beside)
				x[k] = b->x[b->best * d + k] + step * sw_bayes_rng_normal(rng);
			else
				x[k] = sw_bayes_rng_unit(rng);
			x[k] = fmin(fmax(x[k], 0), 1);
		}
		if (sw_bayes_cube_snap(s->cube, x) && !is_taken(b, x))
			return true;
	}
	return false;
}

static sw_status climb_all(struct sw_bayes_search *s, const struct sw_bayes_model *m,
			   struct sw_bayes_rng *rng, const size_t *start, size_t n, double *value,
			   size_t *order)
{
	const size_t d = s->cube->d;

	for (size_t i = 0; i < n; i++) {
		memcpy(s->end + i * d, s->x + start[i] * d, d * sizeof *s->end);
		value[i] = s->value[start[i]];
		const sw_status rc = sw_bayes_climb(s, m, true, s->end + i * d, &value[i]);

		if (rc != SW_OK)
			return rc;
	}
	(void)sw_order_least(value, n, n, order);
	if (!s->cube->mixed)
		return SW_OK;
	for (size_t i = 0; i < n && i < REFINED; i++) {
		const sw_status rc =
			sw_bayes_levels(s, m, rng, s->end + order[i] * d, &value[order[i]]);

		if (rc != SW_OK)
			return rc;
	}
	(void)sw_order_least(value, n, n, order);
	return SW_OK;
}

sw_status sw_bayes_search_run(struct sw_bayes_search *s, const struct sw_bayes_model *m,
			      const struct sw_bayes_data *b, struct sw_bayes_rng *rng,
			      struct sw_bayes_found *out)
{
	const size_t d = s->cube->d;
	size_t start[BAYES_STARTS] = {0}, order[BAYES_STARTS];
	double value[BAYES_STARTS] = {0};

	spread_candidates(s, rng);
	near_candidates(s, m, rng);
	sw_status rc = rate_candidates(s, m);

	if (rc != SW_OK)
		return rc;
	const size_t n = choose_starts(s, rng, start);

	rc = climb_all(s, m, rng, start, n, value, order);
	if (rc != SW_OK)
		return rc;
	bool found = false;

	for (size_t i = 0; i < n && !found; i++) {
		memcpy(out->x, s->end + order[i] * d, d * sizeof *out->x);
		found = !is_taken(b, out->x);
	}
	/* All the ends are known points where the model is sure of its best, or where a space is
	 * nearly used up. */
	if (!found && !last_resort(s, m, b, rng, out->x))
		return SW_NOT_FOUND;
	sw_gp_predict(m->gp, out->x, &out->mean, &out->var, NULL, NULL);
	out->log_ei = -sw_bayes_minus_log_ei(m, out->x, NULL);
	return SW_OK;
}
