/*
 * Several metrics, under weights that change with every suggestion (sched/sampler/scalarise.h). In
 * turn:
 *
 *   a model of the weighted whole, as if it were the one metric (Knowles' ParEGO);
 *   a model for each metric, and the expected improvement of their weighted maximum
 *   (sched/bayes/acquire_max.h): the whole has a crease, while the metrics are smooth.
 *
 * Neither is enough. Hypervolume from 1.1 in every metric after 100 trials (bench/pareto), medians
 * of 10 seeds (each metric: of 3, and 2):
 *
 *                  ZDT1, d = 30   ZDT2, d = 30   DTLZ2, d = 12
 *   the whole          0.76           0.40           0.47
 *   each metric        0.17           0.11           0.60
 *   in turn            0.83           0.51           0.56
 *   the front          0.88           0.54           0.81
 *
 * Models are made anew for each suggestion, and no step is local: the best of one suggestion's
 * weights is not that of the next.
 */
#include "base/memory.h"
#include "sched/bayes/acquire_max.h"
#include "sched/bayes/bayes.h"
#include "sched/num/order.h"
#include "sched/sampler/scalarise.h"
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CANDIDATES (BAYES_SPREAD + BAYES_NEAR)
/* In parts of the front: models that are sure make a crease that no ascent follows. */
#define SD_LEAST 1e-3

struct sw_bayes_several {
	size_t m, cap; /* rows that fit below */
	struct sw_bayes_model model[SW_METRICS_MAX];
	double *y, *sorted, *elite; /* [cap] */
	double *mean, *sd;          /* [m][CANDIDATES], weighted */
	/* Of this suggestion: metric k counts as (z - ideal) * slope, z by its model's view. */
	double ideal[SW_METRICS_MAX], slope[SW_METRICS_MAX], best;
	double weight[SW_METRICS_MAX];
};

void sw_bayes_several_destroy(struct sw_bayes_several *s)
{
	if (s == NULL)
		return;
	for (size_t k = 0; k < s->m; k++)
		sw_bayes_model_fini(&s->model[k]);
	free(s->y);
	free(s->mean);
	free(s);
}

sw_status sw_bayes_several_create(struct sw_bayes_several **out, const struct sw_bayes_cube *cube,
				  size_t n_metrics)
{
	struct sw_bayes_several *const s = sw_calloc(1, sizeof *s);
	sw_status rc = SW_OK;

	*out = NULL;
	if (s == NULL)
		return SW_NOMEM;
	s->m = n_metrics;
	s->mean = sw_malloc(2 * n_metrics * CANDIDATES * sizeof *s->mean);
	if (s->mean == NULL)
		rc = SW_NOMEM;
	else
		s->sd = s->mean + n_metrics * CANDIDATES;
	for (size_t k = 0; rc == SW_OK && k < n_metrics; k++) {
		rc = sw_bayes_model_init(&s->model[k], BAYES_C, cube);
	}
	if (rc != SW_OK) {
		sw_bayes_several_destroy(s);
		return rc;
	}
	/* The search works on one model: the first stands for all, and its ratings ask the
	 * others. */
	s->model[0].several = s;
	*out = s;
	return SW_OK;
}

static sw_status reserve(struct sw_bayes_several *s, size_t rows)
{
	if (rows <= s->cap)
		return SW_OK;
	if (!sw_array_resize(&s->y, 3 * 2 * rows, sizeof *s->y))
		return SW_NOMEM;
	s->cap = 2 * rows;
	s->sorted = s->y + s->cap;
	s->elite = s->sorted + s->cap;
	return SW_OK;
}

/* The rows with one metric in the place of y. Which of them a model sees goes by that metric. */
static sw_status prepare(struct sw_bayes_several *s, size_t k, const struct sw_bayes_data *b,
			 struct sw_bayes_memory *memory, struct sw_bayes_rng *rng)
{
	struct sw_bayes_data view = *b;
	struct sw_bayes_model *const m = &s->model[k];

	view.n_good = 0;
	view.y = s->y;
	view.sorted = s->sorted;
	for (size_t i = 0; i < b->n; i++) {
		s->y[i] = b->metrics[i * s->m + k];
		if (b->bad[i])
			continue;
		if (view.n_good == 0 || s->y[i] < s->y[view.best])
			view.best = i;
		s->sorted[view.n_good++] = s->y[i];
	}
	qsort(s->sorted, view.n_good, sizeof *s->sorted, sw_order_doubles);
	m->valid = false;          /* whose rows these were is not known */
	memory->fitted[m->id] = 0; /* the last fit was another metric's */
	return sw_bayes_model_prepare(m, &view, memory, NULL, rng);
}

static double weighted(const struct sw_bayes_several *s, size_t k, double z)
{
	return (z - s->ideal[k]) * s->slope[k];
}

static void set_scale(struct sw_bayes_several *s, const struct sw_scalar *scalar)
{
	for (size_t k = 0; k < s->m; k++) {
		const struct sw_outcome *const o = &s->model[k].o;
		const double worst = fmin(scalar->ideal[k] + 2 * scalar->range[k], DBL_MAX);
		const double range =
			sw_outcome_forward(o, worst) - sw_outcome_forward(o, scalar->ideal[k]);

		s->ideal[k] = sw_outcome_forward(o, scalar->ideal[k]);
		s->slope[k] = scalar->weight[k] / (range > 0 ? range : 1);
	}
}

/* Sets the best so far: told rows by their metrics, pending ones as the models believe. The search
 * starts from the rows of the first model. */
static void set_best(struct sw_bayes_several *s, const struct sw_bayes_data *b)
{
	struct sw_bayes_model *const first = &s->model[0];

	s->best = INFINITY;
	for (size_t i = 0; i < b->n; i++) {
		double top = b->bad[i] ? INFINITY : -INFINITY;

		for (size_t k = 0; k < s->m && !b->bad[i]; k++)
			top = fmax(top, weighted(s, k,
						 sw_outcome_forward(&s->model[k].o,
								    b->metrics[i * s->m + k])));
		s->best = fmin(s->best, top);
	}
	for (size_t i = 0; i < first->n; i++) {
		const size_t row = i < first->pick.n ? first->pick.row[i]
						     : first->base + i - first->pick.n;

		/* Bad rows and pending ones are no place to start from. */
		s->elite[i] = DBL_MAX;
		if (i < first->told) {
			if (!b->bad[row])
				s->elite[i] = b->y[row];
			continue;
		}
		double top = -INFINITY;

		for (size_t k = 0; k < s->m; k++)
			top = fmax(
				top,
				weighted(s, k, s->model[k].z[s->model[k].told + i - first->told]));
		s->best = fmin(s->best, top);
	}
	first->elite = s->elite;
}

sw_status sw_bayes_several_prepare(struct sw_bayes_several *s, struct sw_bayes_data *b,
				   struct sw_bayes_memory *memory, struct sw_bayes_rng *rng,
				   const struct sw_bayes_model **model)
{
	struct sw_scalar scalar = {.m = s->m};
	sw_status rc = sw_bayes_data_weigh(b, &scalar, rng);

	*model = NULL;
	if (rc != SW_OK)
		return rc;
	memcpy(s->weight, scalar.weight, sizeof s->weight);
	if (memory->steps % 2 != 0) /* the model of the whole has its turn */
		return SW_OK;
	rc = reserve(s, b->n + b->n_pending);
	for (size_t k = 0; rc == SW_OK && k < s->m; k++)
		rc = prepare(s, k, b, memory, rng);
	if (rc != SW_OK)
		return rc;
	set_scale(s, &scalar);
	set_best(s, b);
	*model = &s->model[0];
	return SW_OK;
}

void sw_bayes_several_explain(struct sw_bayes_several *s, const struct sw_bayes_found *f,
			      struct sw_suggestion *out)
{
	memcpy(out->weight, s->weight, sizeof out->weight);
	if (f->model != &s->model[0]) {
		out->acquisition = SW_ACQUISITION_WHOLE;
		return;
	}
	out->acquisition = SW_ACQUISITION_MAX;
	out->log_ei = f->log_ei;
	for (size_t k = 0; k < s->m; k++) {
		double z, var;

		sw_gp_predict(s->model[k].gp, f->x, &z, &var, NULL, NULL);
		sw_bayes_posterior(&s->model[k].o, z, var, &out->metric_mean[k],
				   &out->metric_sd[k]);
	}
}

static double sd_of(const struct sw_bayes_several *s, size_t k, double var)
{
	const double sd = s->slope[k] * sqrt(var);

	return sqrt(sd * sd + SD_LEAST * SD_LEAST);
}

sw_status sw_bayes_several_rate(struct sw_bayes_several *s, const double *x, size_t n, double *mean,
				double *var, double *value)
{
	double one_mean[SW_METRICS_MAX], one_sd[SW_METRICS_MAX], skip[2][SW_METRICS_MAX];

	assert(n <= CANDIDATES);
	for (size_t k = 0; k < s->m; k++) {
		const sw_status rc = sw_gp_predict_batch(s->model[k].gp, x, n, mean, var);

		if (rc != SW_OK)
			return rc;
		for (size_t i = 0; i < n; i++) {
			s->mean[k * CANDIDATES + i] = weighted(s, k, mean[i]);
			s->sd[k * CANDIDATES + i] = sd_of(s, k, var[i]);
		}
	}
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < s->m; k++) {
			one_mean[k] = s->mean[k * CANDIDATES + i];
			one_sd[k] = s->sd[k * CANDIDATES + i];
		}
		value[i] -= sw_log_ei_max(s->m, one_mean, one_sd, s->best, skip[0], skip[1]);
	}
	return SW_OK;
}

double sw_bayes_several_slope(struct sw_bayes_several *s, const double *x, double *grad)
{
	const size_t d = s->model[0].cube->d;
	double dmean[SW_METRICS_MAX][SW_SPACE_MAX_PARAMS],
		dvar[SW_METRICS_MAX][SW_SPACE_MAX_PARAMS];
	double mean[SW_METRICS_MAX], sd[SW_METRICS_MAX];
	double by_mean[SW_METRICS_MAX], by_sd[SW_METRICS_MAX];

	for (size_t k = 0; k < s->m; k++) {
		double z, var;

		sw_gp_predict(s->model[k].gp, x, &z, &var, grad != NULL ? dmean[k] : NULL,
			      grad != NULL ? dvar[k] : NULL);
		mean[k] = weighted(s, k, z);
		sd[k] = sd_of(s, k, var);
	}
	const double value = sw_log_ei_max(s->m, mean, sd, s->best, by_mean, by_sd);

	for (size_t i = 0; grad != NULL && i < d; i++) {
		grad[i] = 0;
		for (size_t k = 0; k < s->m; k++)
			grad[i] -=
				s->slope[k] * (by_mean[k] * dmean[k][i] +
					       by_sd[k] * s->slope[k] * dvar[k][i] / (2 * sd[k]));
	}
	return -value;
}
