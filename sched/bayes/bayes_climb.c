/* The log of the expected improvement under a model, and an ascent of it (Ament et al. 2023 for why
 * the logarithm is climbed), together with a belief about where the best lies. */
#include "sched/bayes/acquire.h"
#include "sched/bayes/bayes.h"
#include "sched/num/bfgs.h"
#include <math.h>
#include <string.h>

#define PULLS     12   /* halvings on the way back to a feasible point */
#define INWARD    10.0 /* over the number of results: the weight of the belief */
#define INWARD_SD 0.3  /* of a coordinate */

/* How much less is wanted of x because it is far from the middle, and its gradient added to grad
 * unless that is NULL. People choose ranges wider than what they expect, so the best is rarely at
 * an end; but that is where a process knows least and expects most of what it has not seen. So log
 * EI is weighed with the log of a normal around the middle, times INWARD / n: with more results the
 * belief fades (Hvarfner and others, "Augmenting acquisition functions with user beliefs", ICLR
 * 2022, section 3). A category has no middle; and a number that only some points have would make
 * the others cheaper, wherever its own are. */
static double outward(const struct sw_bayes_model *m, const double *x, double *grad)
{
	const double weight = INWARD / (double)m->rows / (INWARD_SD * INWARD_SD);
	double sum = 0;

	for (size_t k = 0; m->inward && k < m->cube->d; k++) {
		if (m->cube->category[k] || !m->cube->always[k])
			continue;
		sum += 0.5 * weight * (x[k] - 0.5) * (x[k] - 0.5);
		if (grad != NULL)
			grad[k] += weight * (x[k] - 0.5);
	}
	return sum;
}

sw_status sw_bayes_rate(const struct sw_bayes_model *m, const double *x, size_t n, double *mean,
			double *var, double *value)
{
	if (m->several != NULL)
		return sw_bayes_several_rate(m->several, x, n, mean, var, value);
	const sw_status rc = sw_gp_predict_batch(m->gp, x, n, mean, var);
	double by_mean, by_var;

	for (size_t i = 0; rc == SW_OK && i < n; i++)
		value[i] += outward(m, x + i * m->cube->d, NULL) -
			    sw_log_ei(mean[i], var[i], m->best, &by_mean, &by_var);
	return rc;
}

double sw_bayes_minus_log_ei(const struct sw_bayes_model *m, const double *x, double *grad)
{
	double mean, var, by_mean, by_var, dmean[SW_SPACE_MAX_PARAMS], dvar[SW_SPACE_MAX_PARAMS];

	if (m->several != NULL)
		return sw_bayes_several_slope(m->several, x, grad);
	sw_gp_predict(m->gp, x, &mean, &var, grad != NULL ? dmean : NULL,
		      grad != NULL ? dvar : NULL);
	const double value = sw_log_ei(mean, var, m->best, &by_mean, &by_var);

	for (size_t k = 0; grad != NULL && k < m->cube->d; k++)
		grad[k] = -(by_mean * dmean[k] + by_var * dvar[k]);
	return -value;
}

/* What the ascent minimises; model: a struct sw_bayes_model. */
static double unwanted(const double *x, double *grad, void *model)
{
	const double value = sw_bayes_minus_log_ei(model, x, grad);

	return value + outward(model, x, grad);
}

/* The last point on the way from a feasible one to x that is feasible as well. */
static void pull_back(const struct sw_bayes_cube *c, const double *from, double *x)
{
	double good[SW_SPACE_MAX_PARAMS], at[SW_SPACE_MAX_PARAMS], lo = 0, hi = 1;

	memcpy(good, from, c->d * sizeof *good);
	for (int i = 0; i < PULLS; i++) {
		const double t = (lo + hi) / 2;

		for (size_t k = 0; k < c->d; k++)
			at[k] = from[k] + t * (x[k] - from[k]);
		if (sw_bayes_cube_snap(c, at)) {
			memcpy(good, at, c->d * sizeof *good);
			lo = t;
		} else {
			hi = t;
		}
	}
	memcpy(x, good, c->d * sizeof *x);
}

sw_status sw_bayes_climb(const struct sw_bayes_search *s, const struct sw_bayes_model *m,
			 bool relaxed, double *x, double *value)
{
	const struct sw_bayes_cube *const c = s->cube;
	const struct sw_bfgs_options options = {
		.first_step = 0.05, .max_step = 1, .ftol = 1e-7, .max_iters = 60};
	void *const model = (void *)m; /* nothing writes to it */
	double lo[SW_SPACE_MAX_PARAMS], hi[SW_SPACE_MAX_PARAMS], from[SW_SPACE_MAX_PARAMS];
	const double before = *value;
	bool any = false;

	memcpy(from, x, c->d * sizeof *x);
	for (size_t k = 0; k < c->d; k++) {
		/* A snap to a level may have put the start outside the box: the bounds take it
		 * in. */
		const bool moves = c->smooth[k] || (relaxed && !c->category[k]);

		lo[k] = moves ? fmin(s->lo[k], x[k]) : x[k];
		hi[k] = moves ? fmax(s->hi[k], x[k]) : x[k];
		any = any || moves;
	}
	if (!any)
		return SW_OK;
	const sw_status rc = sw_bfgs_minimise(c->d, lo, hi, &options, unwanted, model, x, value);

	if (rc != SW_OK || c->plain)
		return rc;
	if (!sw_bayes_cube_snap(c, x))
		pull_back(c, from, x);
	*value = unwanted(x, NULL, model);
	/* The snap may have cost more than the ascent won. */
	if (*value > before) {
		memcpy(x, from, c->d * sizeof *x);
		*value = before;
	}
	return SW_OK;
}
