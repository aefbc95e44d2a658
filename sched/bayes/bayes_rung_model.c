/* One Gaussian process over the point and the resource, and the point whose improvement at the top
 * of the resource is expected to be largest. Better than what: than the least mean at the top of
 * all that was tried, as most values are of low rungs and all are noisy. */
#include "base/memory.h"
#include "sched/bayes/bayes_rung.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIT_ROWS     0 /* places in the memory */
#define FIT_N        1
#define EACH_ROW     24   /* below this many rows each new one means a fit */
#define GROWTH       0.06 /* beyond, this share of new ones */
#define FRESH_EVERY  4    /* fits, of which one has a second start */
#define EVALS        40
#define BELIEVE_MOST ((size_t)256)
#define BAD_BEYOND   0.3 /* how far past the worst row a bad one stands, in z */

sw_status sw_bayes_rungs_init(struct sw_bayes_rungs *r, const struct sw_bayes_cube *cube,
			      const struct sw_sampler_config *config)
{
	const struct sw_gp_config gp = {
		.d = cube->d, .kernel = SW_GP_MATERN52, .category = cube->category};
	const size_t d = cube->d, points = BAYES_RUNG_SEEN + BELIEVE_MOST;

	*r = (struct sw_bayes_rungs){.cube = cube, .seed = config->seed, .pauses = config->pauses};
	sw_bayes_rung_init(&r->values, config);
	r->model.cube = cube;
	r->model.x = sw_malloc(points * d * sizeof *r->model.x);
	r->model.z = sw_malloc(points * sizeof *r->model.z);
	r->row_x = sw_malloc(BAYES_RUNG_ROWS * (d + 1) * sizeof *r->row_x);
	r->mean = sw_malloc(2 * BAYES_RUNG_SEEN * sizeof *r->mean);
	if (r->model.x == NULL || r->model.z == NULL || r->row_x == NULL || r->mean == NULL)
		return SW_NOMEM;
	r->row_z = r->row_x + BAYES_RUNG_ROWS * d;
	r->var = r->mean + BAYES_RUNG_SEEN;
	const sw_status rc = sw_gp_create(&r->model.gp, &gp);

	return rc == SW_OK ? sw_bayes_search_init(&r->search, cube, config->seed) : rc;
}

void sw_bayes_rungs_fini(struct sw_bayes_rungs *r)
{
	sw_bayes_search_fini(&r->search);
	sw_bayes_model_fini(&r->model);
	sw_bayes_rung_fini(&r->values);
	free(r->row_x);
	free(r->mean);
	*r = (struct sw_bayes_rungs){0};
}

void sw_bayes_rungs_drop(struct sw_bayes_rungs *r)
{
	sw_bayes_rung_fini(&r->values);
	r->valid = false;
}

/* ---- rows ---- */

/* row_x and row_z of what was picked, and the transform up to that z. False: no row is good. */
static bool load_rows(struct sw_bayes_rungs *r, const struct sw_history *h)
{
	const struct sw_bayes_rung_pick *const p = &r->pick;
	const size_t d = r->cube->d;
	double mean = 0, sd = 0, worst = -INFINITY;
	size_t good = 0;

	for (size_t i = 0; i < p->n; i++) {
		sw_bayes_cube_subject(r->cube, h, p->row[i].subject, r->row_x + i * d);
		r->row_x[i * d + d - 1] = sw_bayes_rung_tau(&r->values, p->row[i].level);
		if (!p->row[i].bad) {
			good++;
			mean += p->row[i].z;
			worst = fmax(worst, p->row[i].z);
		}
	}
	if (good == 0)
		return false;
	mean /= (double)good;
	for (size_t i = 0; i < p->n; i++) {
		if (!p->row[i].bad)
			sd += (p->row[i].z - mean) * (p->row[i].z - mean) / (double)good;
	}
	sd = sd > 1e-24 ? sqrt(sd) : 1;
	for (size_t i = 0; i < p->n; i++)
		r->row_z[i] = p->row[i].bad ? (worst - mean) / sd + BAD_BEYOND
					    : (p->row[i].z - mean) / sd;
	/* The model's z back to the metric's units: both standardisations become one. */
	r->model.o = r->values.o;
	r->model.o.mean += r->model.o.sd * mean;
	r->model.o.sd *= sd;
	return true;
}

static bool fit_is_due(uint64_t rows, uint64_t fitted)
{
	if (fitted == 0 || fitted > rows)
		return true;
	return rows < EACH_ROW ? rows != fitted
			       : (double)(rows - fitted) >= GROWTH * (double)fitted;
}

static sw_status fit_rungs(struct sw_bayes_rungs *r, double *theta, uint64_t fits,
			   struct sw_bayes_rng *rng)
{
	const struct sw_gp_fit_options options = {.max_evals = EVALS};
	double other[SW_SPACE_MAX_PARAMS + 3], f, f_other;
	struct sw_gp *const gp = r->model.gp;
	const size_t n = sw_gp_theta_n(gp);

	sw_gp_theta_default(gp, other);
	if (fits == 0) {
		memcpy(theta, other, n * sizeof *theta);
		for (size_t k = 0; k < n; k++)
			other[k] += (k < r->cube->d ? 1.0 : 0.5) * sw_bayes_rng_normal(rng);
	}
	sw_status rc = sw_gp_fit(gp, r->row_x, r->row_z, r->pick.n, theta, &options, &f);

	/* G10, step 6: every fourth fit also starts afresh, so that a poor optimum is not handed on
	 * for ever. */
	if (rc != SW_OK || fits % FRESH_EVERY != 0)
		return rc;
	rc = sw_gp_fit(gp, r->row_x, r->row_z, r->pick.n, other, &options, &f_other);
	if (rc == SW_OK && f_other < f)
		memcpy(theta, other, n * sizeof *theta);
	return rc;
}

/* ---- points ---- */

static bool counts(const struct sw_bayes_rungs *r, size_t subject)
{
	return r->values.at[subject] != 0 && !r->values.bad[subject];
}

static void add_point(struct sw_bayes_rungs *r, const struct sw_history *h, size_t subject)
{
	sw_bayes_cube_subject(r->cube, h, subject, r->model.x + r->n_told++ * r->cube->d);
}

/* All that have a value; of more than there is room for, those that have a row. */
static void add_points(struct sw_bayes_rungs *r, const struct sw_history *h)
{
	const struct sw_bayes_rung_pick *const p = &r->pick;
	size_t n = 0;

	r->n_told = 0;
	for (size_t i = 0; i < r->values.n; i++)
		n += counts(r, i);
	for (size_t i = 0; n <= BAYES_RUNG_SEEN && i < r->values.n; i++) {
		if (counts(r, i))
			add_point(r, h, i);
	}
	for (size_t i = 0; n > BAYES_RUNG_SEEN && i < p->n; i++) {
		size_t before = 0;

		/* A subject has a row for each of its rungs, but is one point at the top. */
		while (p->row[before].subject != p->row[i].subject)
			before++;
		if (before == i && counts(r, p->row[i].subject))
			add_point(r, h, p->row[i].subject);
	}
}

static sw_status rate_points(struct sw_bayes_rungs *r)
{
	const sw_status rc =
		sw_gp_predict_batch(r->model.gp, r->model.x, r->n_told, r->mean, r->var);

	if (rc == SW_OK)
		/* Candidates gather around the least z of these, which is the mean at the top, not
		 * what was told at some rung. */
		memcpy(r->model.z, r->mean, r->n_told * sizeof *r->mean);
	return rc;
}

/* Does a pending trial count as one that runs? If trials pause, one that has values is likelier to
 * wait than to run. */
static bool is_believed(const struct sw_bayes_rungs *r, size_t subject)
{
	const uint64_t has = r->values.has[subject];

	return has == 0 || (!r->pauses && has >> r->values.top == 0);
}

/* Adds the trials that run and are not known at the top, each with the mean there that the rows
 * before it give it. Without them the lower rungs would leave room for improvement right beside
 * such a trial, and the next worker would start the same once more. A trial that the last call
 * believed keeps its row. */
static sw_status believe(struct sw_bayes_rungs *r, const struct sw_bayes_data *b)
{
	struct sw_bayes_model *const m = &r->model;
	const size_t d = r->cube->d, n_prior = r->values.n_prior;
	size_t unknown = 0, n = 0;
	bool same = true;

	for (size_t i = 0; i < b->n_pending; i++)
		unknown += is_believed(r, n_prior + b->pending_trial[i] - 1);
	for (size_t i = 0; i < b->n_pending; i++) {
		double *const row = m->x + (r->n_told + n) * d;
		const double *const x = b->pending + i * d;
		double var;

		/* The latest, when there are too many. */
		if (!is_believed(r, n_prior + b->pending_trial[i] - 1) || unknown-- > BELIEVE_MOST)
			continue;
		same = same && n < r->n_believed && memcmp(row, x, d * sizeof *row) == 0;
		if (!same) {
			sw_gp_truncate(m->gp, r->pick.n + n);
			memcpy(row, x, d * sizeof *row);
			sw_gp_predict(m->gp, row, &m->z[r->n_told + n], &var, NULL, NULL);
			const sw_status rc = sw_gp_append(m->gp, row);

			if (rc != SW_OK)
				return rc;
			r->n_believed = n + 1;
		}
		n++;
	}
	sw_gp_truncate(m->gp, r->pick.n + n);
	r->n_believed = n;
	m->n = r->n_told + n;
	m->best = INFINITY;
	for (size_t i = 0; i < m->n; i++)
		m->best = fmin(m->best, m->z[i]);
	return SW_OK;
}

/* ---- the step ---- */

static sw_status make(struct sw_bayes_rungs *r, const struct sw_history *h,
		      struct sw_bayes_memory *memory, struct sw_bayes_rng *rng)
{
	double *const theta = memory->theta;

	sw_bayes_rung_align(&r->values);
	sw_bayes_rung_choose(&r->values, r->seed, &r->pick);
	if (!load_rows(r, h))
		return SW_INVALID;
	if (fit_is_due(r->pick.total, memory->fitted[FIT_ROWS])) {
		const sw_status rc = fit_rungs(r, theta, memory->fitted[FIT_N], rng);

		if (rc != SW_OK)
			return rc;
		memory->fitted[FIT_ROWS] = r->pick.total;
		memory->fitted[FIT_N]++;
	}
	const sw_status rc = sw_gp_set(r->model.gp, r->row_x, r->row_z, r->pick.n, theta);

	if (rc != SW_OK)
		return rc;
	for (size_t k = 0; k < r->cube->d; k++)
		r->model.length[k] = exp(theta[k]);
	add_points(r, h);
	r->n_believed = 0;
	if (r->n_told == 0) /* all that have a value failed later */
		return SW_INVALID;
	return rate_points(r);
}

sw_status sw_bayes_rungs_step(struct sw_bayes_rungs *r, const struct sw_bayes_data *b,
			      const struct sw_history *h, struct sw_bayes_memory *memory,
			      struct sw_bayes_rng *rng, struct sw_bayes_found *out)
{
	const size_t d = r->cube->d;
	const bool stale = !r->valid || r->made_of != h->n_obs;
	sw_status rc = SW_OK;

	assert(r->values.n_obs == h->n_obs && r->values.n_valued > 0);
	r->valid = false;
	if (stale)
		rc = make(r, h, memory, rng);
	if (rc == SW_OK)
		rc = believe(r, b);
	if (rc != SW_OK)
		return rc;
	r->valid = true;
	r->made_of = h->n_obs;
	for (size_t k = 0; k < d; k++) {
		/* The last coordinate is the resource: suggestions are judged at its top. */
		r->search.lo[k] = k + 1 < d ? 0 : 1;
		r->search.hi[k] = 1;
	}
	memory->steps++;
	out->model = &r->model;
	return sw_bayes_search_run(&r->search, &r->model, b, rng, out);
}
