/* A Gaussian process on one view of the outcomes: when it is fitted, to which rows, and what it
 * believes of the trials that are still running (kriging believer: Ginsbourger, Le Riche, Carraro,
 * "Kriging is well-suited to parallelize optimization" (2010), section 4.1). */
#include "base/memory.h"
#include "sched/bayes/bayes.h"
#include "sched/num/order.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_FULL    300 /* the most rows that a fit is to */
#define ROWS_MOST    500 /* in the factor of a fit; a few more join until the next */
#define STEP_MOST    25
#define BELIEVE_MOST 256 /* pending trials; older ones beyond are not believed */
#define BEST_AMONG   32
#define BAD_BEYOND   0.3 /* how far past the worst result a bad one stands, in z */
#define TWICE_ROWS   5   /* times d: up to here each fit has all its starts */
#define EVALS_MOST   80
#define EVALS_ROWS   1600 /* evaluations of one start, times rows */
#define EVALS_LEAST  12
#define TOLERANCE    0.02 /* nats: a step of a fit that gains less is its last */
#define WARP_GAIN    10.0 /* nats that warps must win to be believed */
#define TWICE_EVERY  24   /* rows: beyond, the first fit after each so many has them */
#define TWICE_SELDOM 100  /* the same beyond ROWS_FULL, where fits are STEP_MOST rows apart */
#define LOCAL_ROWS   8    /* times d */
#define GOAL_MOST    3.0  /* of a level's process: how far below its own best, in z */

sw_status sw_bayes_model_init(struct sw_bayes_model *m, enum sw_bayes_model_id id,
			      const struct sw_bayes_cube *cube)
{
	static const struct {
		enum sw_outcome_view view;
		enum sw_gp_kernel kernel;
		bool additive, warped;
	} kinds[BAYES_MODEL_N] = {
		[BAYES_A] = {SW_OUTCOME_YJ, SW_GP_MATERN52, true, true},
		[BAYES_B] = {SW_OUTCOME_YJ, SW_GP_MATERN52, false, true},
		[BAYES_C] = {SW_OUTCOME_STD, SW_GP_RBF, true, false},
		[BAYES_D] = {SW_OUTCOME_LOG1, SW_GP_MATERN52, false, true},
		[BAYES_D_LOCAL] = {SW_OUTCOME_LOG1, SW_GP_MATERN52, false, true},
		[BAYES_E] = {SW_OUTCOME_STD, SW_GP_RBF, true, true},
		[BAYES_LEVEL] = {SW_OUTCOME_YJ, SW_GP_MATERN52, true, false},
	};
	bool any = false;

	for (size_t k = 0; k < cube->d; k++)
		any = any || !cube->category[k];
	const struct sw_gp_config config = {
		.d = cube->d,
		.kernel = kinds[id].kernel,
		.additive = kinds[id].additive,
		.warped = kinds[id].warped && any,
		.category = cube->category,
	};

	*m = (struct sw_bayes_model){
		.id = id, .view = kinds[id].view, .cube = cube, .warped = config.warped};
	return sw_gp_create(&m->gp, &config);
}

void sw_bayes_model_fini(struct sw_bayes_model *m)
{
	sw_gp_destroy(m->gp);
	sw_bayes_pick_fini(&m->pick);
	free(m->x);
	free(m->z);
	free(m->pending);
	*m = (struct sw_bayes_model){0};
}

static sw_status reserve(struct sw_bayes_model *m, size_t rows, size_t pending)
{
	if (rows > m->cap) {
		const size_t cap = rows + rows / 2;

		if (!sw_array_resize(&m->x, cap * m->cube->d, sizeof *m->x) ||
		    !sw_array_resize(&m->z, cap, sizeof *m->z))
			return SW_NOMEM;
		m->cap = cap;
	}
	return sw_array_reserve(&m->pending, &m->pending_cap, pending, sizeof *m->pending)
		       ? SW_OK
		       : SW_NOMEM;
}

/* True if this many rows call for a fit, where the last was to `fitted`. It is for each twentieth
 * more: between fits a row is appended in O(n^2), and a fit takes O(n^3) many times. */
static bool fit_is_due(size_t rows, size_t fitted)
{
	if (fitted == 0 || fitted > rows)
		return true;
	size_t step = rows / 20;

	step = step < 1 ? 1 : step;
	step = step > STEP_MOST ? STEP_MOST : step;
	return rows - fitted >= step;
}

static bool all_starts_are_due(size_t rows, size_t fitted, size_t d)
{
	const size_t every = rows <= ROWS_FULL ? TWICE_EVERY : TWICE_SELDOM;

	return rows <= TWICE_ROWS * d || rows / every != fitted / every;
}

/* Evaluations of the likelihood that one start of a fit may take: it costs O(n^3), and a fit that
 * starts where the last one ended needs few. */
static unsigned evals_for(size_t n)
{
	const size_t evals = EVALS_ROWS / n;

	if (evals < EVALS_LEAST)
		return EVALS_LEAST;
	return evals > EVALS_MOST ? EVALS_MOST : (unsigned)evals;
}

static bool any_warp(const struct sw_bayes_model *m, const double *theta)
{
	const size_t n = sw_gp_theta_n(m->gp);

	for (size_t i = m->warped ? n - m->cube->d : n; i < n; i++)
		if (theta[i] != 0)
			return true;
	return false;
}

/* From where the last fit ended; and, the first time, with few rows, and now and then, also from
 * where every first fit starts, the coordinates as they are, and from the better end with warps,
 * which are kept only where they say much: they are one more number for each coordinate. */
static sw_status fit_gp(struct sw_bayes_model *m, size_t n, double *theta, bool first, bool all,
			struct sw_bayes_rng *rng)
{
	double other[3 * SW_SPACE_MAX_PARAMS + 3], f, f_other;
	const size_t d = m->cube->d, theta_n = sw_gp_theta_n(m->gp);
	const struct sw_gp_fit_options may_warp = {.max_evals = evals_for(n),
						   .tolerance = TOLERANCE};
	struct sw_gp_fit_options plain = may_warp;
	bool warped = !first && any_warp(m, theta);

	plain.plain = true;
	sw_gp_theta_default(m->gp, other);
	if (first) {
		memcpy(theta, other, theta_n * sizeof *theta);
		/* The recipe's second start: the default, moved by N(0, 1) on the lengths and N(0,
		 * .5) on the rest. */
		for (size_t k = 0; k < theta_n - (m->warped ? d : 0); k++)
			other[k] += (k < d ? 1.0 : 0.5) * sw_bayes_rng_normal(rng);
	}
	sw_status rc = sw_gp_fit(m->gp, m->x, m->z, n, theta, warped ? &may_warp : &plain, &f);

	if (rc != SW_OK || !(first || all))
		return rc;
	rc = sw_gp_fit(m->gp, m->x, m->z, n, other, &plain, &f_other);
	/* Warps that no longer win WARP_GAIN over a fit without them are given up. */
	if (rc == SW_OK && f_other < f + (warped ? WARP_GAIN : 0)) {
		memcpy(theta, other, theta_n * sizeof *theta);
		f = f_other;
		warped = false;
	}
	if (rc != SW_OK || warped || !m->warped)
		return rc;
	memcpy(other, theta, theta_n * sizeof *theta);
	rc = sw_gp_fit(m->gp, m->x, m->z, n, other, &may_warp, &f_other);
	if (rc == SW_OK && f_other < f - WARP_GAIN)
		memcpy(theta, other, theta_n * sizeof *theta);
	return rc;
}

static double z_of(const struct sw_bayes_model *m, const struct sw_bayes_data *b, size_t row,
		   double z_worst)
{
	return b->bad[row] ? z_worst + BAD_BEYOND : sw_outcome_forward(&m->o, b->y[row]);
}

/* worst: the largest of them that is not bad. */
static sw_status outcome_of_picked(struct sw_bayes_model *m, const struct sw_bayes_data *b,
				   double *worst)
{
	double *const y = sw_malloc((m->pick.n + 1) * sizeof *y);
	size_t n = 0;

	if (y == NULL)
		return SW_NOMEM;
	for (size_t i = 0; i < m->pick.n; i++)
		if (!b->bad[m->pick.row[i]])
			y[n++] = b->y[m->pick.row[i]];
	assert(n > 0); /* the best row is picked first; of a level one is not bad */
	qsort(y, n, sizeof *y, sw_order_doubles);
	sw_outcome_fit(&m->o, m->view, y, n);
	*worst = y[n - 1];
	free(y);
	return SW_OK;
}

/* x and z of the rows picked, and of those that came after the base. */
static sw_status load_rows(struct sw_bayes_model *m, const struct sw_bayes_data *b, size_t base)
{
	const bool some = m->id == BAYES_D_LOCAL || m->id == BAYES_LEVEL;
	const size_t d = m->cube->d, later = some ? 0 : b->n - base;
	double worst = b->sorted[b->n_good - 1], worst_picked = worst;
	sw_status rc = reserve(m, m->pick.n + later + b->n_pending, b->n_pending);

	if (rc == SW_OK && some)
		rc = outcome_of_picked(m, b, &worst_picked);
	else
		sw_outcome_fit(&m->o, m->view, b->sorted, b->n_good);
	if (rc != SW_OK)
		return rc;
	/* A view of a few alike may put anywhere what is far beyond them; D_LOCAL's does not. */
	if (m->id == BAYES_LEVEL)
		worst = worst_picked;
	const double z_worst = sw_outcome_forward(&m->o, worst);

	m->told = m->pick.n + later;
	for (size_t i = 0; i < m->told; i++) {
		const size_t row = i < m->pick.n ? m->pick.row[i] : base + i - m->pick.n;

		memcpy(m->x + i * d, b->x + row * d, d * sizeof *m->x);
		m->z[i] = z_of(m, b, row, z_worst);
	}
	return SW_OK;
}

/* The level to improve on: the least mean at a row, which is the least z where there is no noise,
 * and where there is some does not take a lucky result for a level that can be had again (Picheny,
 * Wagner, Ginsbourger 2013, section 3.2). Looks at the rows of least z alone. */
static void find_best(struct sw_bayes_model *m)
{
	size_t low[BEST_AMONG];
	const size_t n = sw_order_least(m->z, m->n, BEST_AMONG, low);

	m->best = INFINITY;
	for (size_t i = 0; i < n; i++) {
		double mean = m->z[low[i]], var;

		/* A believed row's z is the mean there already. */
		if (low[i] < m->told)
			sw_gp_predict(m->gp, m->x + low[i] * m->cube->d, &mean, &var, NULL, NULL);
		m->best = fmin(m->best, mean);
	}
}

/* Rows for what is pending, each with the mean that the rows before it give it. A trial that the
 * last call believed, and that still waits unchanged, keeps its row. */
static sw_status believe(struct sw_bayes_model *m, const struct sw_bayes_data *b)
{
	const size_t d = m->cube->d;
	const size_t skip = b->n_pending > BELIEVE_MOST ? b->n_pending - BELIEVE_MOST : 0;
	const size_t n = b->n_pending - skip;
	const uint64_t *const trial = n > 0 ? b->pending_trial + skip : NULL;
	size_t kept = 0;
	sw_status rc = reserve(m, m->told + n, n);

	if (rc != SW_OK)
		return rc;
	/* Rows hang on those before them: the first that differs makes all later ones new. */
	while (kept < m->n_pending && kept < n && m->pending[kept] == trial[kept] &&
	       memcmp(m->x + (m->told + kept) * d, b->pending + (skip + kept) * d,
		      d * sizeof *m->x) == 0)
		kept++;
	sw_gp_truncate(m->gp, m->told + kept);
	m->n_pending = kept;
	for (size_t i = kept; i < n; i++) {
		const double *const x = b->pending + (skip + i) * d;
		double *const row = m->x + (m->told + i) * d;
		double var;

		memcpy(row, x, d * sizeof *row);
		sw_gp_predict(m->gp, row, &m->z[m->told + i], &var, NULL, NULL);
		rc = sw_gp_append(m->gp, row);
		if (rc != SW_OK)
			return rc;
		m->pending[i] = trial[i];
		m->n_pending = i + 1;
	}
	m->n = m->told + n;
	find_best(m);
	return SW_OK;
}

void sw_bayes_posterior(const struct sw_outcome *o, double z, double var, double *mean, double *sd)
{
	*mean = sw_outcome_inverse(o, z);
	*sd = sw_outcome_deviation(o, z, sqrt(var));
}

/* The process at theta, on the rows that load_rows() left. */
static sw_status condition(struct sw_bayes_model *m, const struct sw_bayes_data *b, size_t base,
			   const double *theta)
{
	const size_t d = m->cube->d;
	sw_status rc = sw_gp_set(m->gp, m->x, m->z, m->pick.n, theta);

	/* Rows after the base are appended one by one even if all are here now: a daemon that
	 * starts again gets the same bits as one that was told them in turn. */
	for (size_t i = m->pick.n; rc == SW_OK && i < m->told; i++)
		rc = sw_gp_append(m->gp, m->x + i * d);
	if (rc != SW_OK)
		return rc;
	/* append() took the believed mean for the value of each: the told ones replace it at
	 * once. */
	if (m->told > m->pick.n)
		sw_gp_targets(m->gp, m->z);
	for (size_t k = 0; k < d; k++)
		m->length[k] = exp(theta[k]) / sw_gp_warp_slope(m->gp, k, b->x[b->best * d + k]);
	m->base = base;
	m->rows = b->n;
	m->n_pending = 0;
	m->valid = true;
	return SW_OK;
}

sw_status sw_bayes_model_prepare(struct sw_bayes_model *m, const struct sw_bayes_data *b,
				 struct sw_bayes_memory *memory, const double *w,
				 struct sw_bayes_rng *rng)
{
	const bool local = m->id == BAYES_D_LOCAL;
	double *const theta = sw_bayes_memory_theta(memory, m->id);
	const size_t fitted = (size_t)memory->fitted[m->id];
	const bool due = local ? fitted != b->n : fit_is_due(b->n, fitted);
	const size_t base = due ? b->n : fitted, d = m->cube->d;
	sw_status rc;

	if (m->valid && !due && m->base == base && m->rows == b->n && !local)
		return believe(m, b);
	/* A failure from here on must not leave half a model. */
	m->valid = false;
	for (size_t k = 0; k < d; k++)
		m->length[k] = 1;
	rc = local ? sw_bayes_pick_near(&m->pick, b, LOCAL_ROWS * d, w)
		   : sw_bayes_pick_mixed(&m->pick, b, base, ROWS_FULL, ROWS_MOST, m->length);
	if (rc == SW_OK)
		rc = load_rows(m, b, base);
	if (rc == SW_OK && due)
		/* The pick's beginning is a good sample of all its rows, so a fit to the first
		 * ROWS_FULL is one to them. */
		rc = fit_gp(m, m->pick.n < ROWS_FULL ? m->pick.n : ROWS_FULL, theta, fitted == 0,
			    all_starts_are_due(b->n, fitted, d), rng);
	if (rc == SW_OK)
		rc = condition(m, b, base, theta);
	if (rc != SW_OK)
		return rc;
	/* Only once the process stands on it. */
	memory->fitted[m->id] = base;
	return believe(m, b);
}

sw_status sw_bayes_model_of_level(struct sw_bayes_model *m, const struct sw_bayes_data *b, size_t k,
				  double at, struct sw_bayes_rng *rng)
{
	double theta[3 * SW_SPACE_MAX_PARAMS + 3];
	bool any = false;
	sw_status rc = sw_bayes_pick_level(&m->pick, b, ROWS_FULL, k, at);

	for (size_t i = 0; rc == SW_OK && i < m->pick.n; i++)
		any = any || !b->bad[m->pick.row[i]];
	if (rc == SW_OK && !any)
		return SW_NOT_FOUND;
	if (rc == SW_OK)
		rc = load_rows(m, b, b->n);
	if (rc == SW_OK)
		rc = fit_gp(m, m->pick.n, theta, true, true, rng);
	if (rc == SW_OK)
		rc = condition(m, b, b->n, theta);
	if (rc == SW_OK)
		rc = believe(m, b);
	if (rc != SW_OK)
		return rc;
	/* A small gain here is worth nothing while another level is better, so the goal is the best
	 * of all. Far from its goal a process looks where it knows least, and the view of a few
	 * equal values may put the goal anywhere: it has a bound. */
	const double goal = sw_outcome_forward(&m->o, b->y[b->best]);

	m->best = fmax(m->best - GOAL_MOST, fmin(m->best, goal));
	/* It knows least at the ends: until these rows speak, the belief in the middle holds. */
	m->rows = m->pick.n;
	return SW_OK;
}
