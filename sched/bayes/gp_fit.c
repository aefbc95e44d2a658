/*
 * The likelihood, its priors and the fit.
 *
 * The minimiser is NLopt's L-BFGS with bounds. Against the projected BFGS of bfgs.h on 216 fits (d
 * = 2, 6, 10, both kernels, additive or not, no warps, n = 20, 40, 80, two starts of each, to the
 * end) it took 33 evaluations a fit for 35, and came within .01 of the better optimum in 211 of
 * them for 198. Other scales of theta (ln sf thrice as long, ln sn a third) made its first 12
 * evaluations no better.
 */
#include "sched/bayes/gp_internal.h"
#include <assert.h>
#include <cblas.h>
#include <lapacke.h>
#include <limits.h>
#include <math.h>
#include <nlopt.h>
#include <stdlib.h>
#include <string.h>

#define WARP_VAR 9.0 /* prior variance of ln c */

enum { PANEL = 24 }; /* columns of a factor's inverse at once */

static const double LN_2PI = 1.8378770664093454836;

/* A fit hands this through the minimiser. */
struct target {
	struct sw_gp *gp;
	const double *X, *z;
	double best; /* at gp->best */
};

static sw_status reserve(struct sw_gp *gp, size_t n)
{
	const size_t vectors = 2 + PANEL + (gp->additive ? gp->d + 3 : 2);
	const size_t room = gp->fit.cap == 0 ? n : n + n / 2;

	if (gp->fit.cap >= n)
		return SW_OK;
	if (sw_gp_points_renew(&gp->fit, room, gp->d, &gp->fit_block, vectors) != SW_OK)
		return SW_NOMEM;
	gp->alpha_fit = gp->fit_block.at;
	gp->ones = gp->alpha_fit + gp->fit.ld;
	gp->panel = gp->ones + gp->fit.ld;
	gp->row = gp->panel + PANEL * gp->fit.ld;
	return SW_OK;
}

/* The kernel's rows are kept for one call alone: they may be large. */
static sw_status load_rows(struct sw_gp *gp, size_t n)
{
	size_t kept = 0, rows = 0;

	if (n == 0)
		return SW_INVALID;
	/* What does not fit is computed twice: once for the values, once for the gradient. */
	while (rows < n && kept + sw_gp_kept_n(gp, rows) <= gp->kept_most)
		kept += sw_gp_kept_n(gp, rows++);
	gp->kept_n = rows;
	if (reserve(gp, n) != SW_OK || sw_gp_block_renew(&gp->kept, kept) != SW_OK)
		return SW_NOMEM;
	gp->fit.n = n;
	return SW_OK;
}

static void unload(struct sw_gp *gp)
{
	sw_gp_block_free(&gp->kept);
}

static void fill_kernel(struct sw_gp *gp)
{
	const struct sw_gp_hyper *y = &gp->fit_hyper;
	const struct sw_gp_points *p = &gp->fit;
	double *kept = gp->kept.at;

	for (size_t i = 0; i < p->n; i++) {
		double *const K = p->K + i * p->ld;

		sw_gp_points_at(gp, p, i, gp->x);
		gp->ops->values_kept(gp, y, p, i, gp->x, K, i < gp->kept_n ? kept : gp->row);
		K[i] = y->sf + y->sa + y->sn + y->jitter;
		if (i < gp->kept_n)
			kept += sw_gp_kept_n(gp, i);
	}
}

/* grad = d lml / d theta = sum_{i>j} W_ij dK_ij + sum_i W_ii dK_ii / 2 with W = alpha alpha' -
 * K^-1. The mean needs no term of its own: the profiled one maximises the likelihood. */
static void likelihood_grad(struct sw_gp *gp, double *grad)
{
	const struct sw_gp_hyper *y = &gp->fit_hyper;
	const struct sw_gp_points *p = &gp->fit;
	const size_t d = gp->d;
	double *kept = gp->kept.at, trace = 0;

	memset(grad, 0, sw_gp_theta_n(gp) * sizeof *grad);
	for (size_t i = 0; i < p->n; i++) {
		double *W = p->K + i * p->ld;
		const double ai = gp->alpha_fit[i];

		for (size_t j = 0; j <= i; j++)
			W[j] = ai * gp->alpha_fit[j] - W[j];
		trace += W[i];
		sw_gp_points_at(gp, p, i, gp->x);
		if (i < gp->kept_n) {
			gp->ops->grad_theta(gp, y, p, i, gp->x, W, kept, grad);
			kept += sw_gp_kept_n(gp, i);
		} else {
			/* It was not kept. The values go to a vector that is free now. */
			gp->ops->values_kept(gp, y, p, i, gp->x, gp->ones, gp->row);
			gp->ops->grad_theta(gp, y, p, i, gp->x, W, gp->row, grad);
		}
	}
	/* The jitter is a share of sf + sa, so it has a part in both of their slopes. */
	const double jitter = y->jitter / (y->sf + y->sa);
	grad[d] += 0.5 * trace * y->sf * (1 + jitter);
	grad[d + 1] += 0.5 * trace * y->sn;
	if (gp->additive)
		grad[d + 2] += 0.5 * trace * y->sa * (1 + jitter);
}

/* The factor's inverse, in its place: from the last columns to the first, which need none behind
 * them. By panels, because OpenBLAS's dtrtri takes twice as long at n = 100 to 300. */
static void invert(struct sw_gp *gp)
{
	const struct sw_gp_points *p = &gp->fit;
	const size_t ld = p->ld;

	for (size_t end = p->n, from; end > 0; end = from) {
		from = (end - 1) / PANEL * PANEL;
		for (size_t j = from; j < end; j++) {
			double *const column = gp->panel + (j - from) * ld;

			memset(column, 0, end * sizeof *column);
			column[j] = 1;
		}
		cblas_dtrsm(CblasColMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit,
			    (int)end, (int)(end - from), 1, p->K, (int)ld, gp->panel, (int)ld);
		for (size_t j = from; j < end; j++)
			memcpy(p->K + j * ld, gp->panel + (j - from) * ld, (j + 1) * sizeof *p->K);
	}
}

static bool all_finite(const double *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isfinite(v[i]))
			return false;
	return true;
}

/* False: the matrix is not positive definite, or the numbers leave what doubles can say. */
static bool likelihood(struct sw_gp *gp, const double *X, const double *z, const double *theta,
		       double *lml, double *grad)
{
	struct sw_gp_points *p = &gp->fit;
	const int n = (int)p->n, ld = (int)p->ld;
	double log_det = 0, c;

	if (!sw_gp_hyper_load(gp, &gp->fit_hyper, theta))
		return false;
	sw_gp_points_load(gp, &gp->fit_hyper, p, X, p->n);
	fill_kernel(gp);
	if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', n, p->K, ld) != 0)
		return false;
	const double quad = sw_gp_weights(p, p->n, z, gp->alpha_fit, gp->ones, &c);
	/* The factor's diagonal gives half of ln |K|, so its sum stands without a half below. */
	for (size_t i = 0; i < p->n; i++)
		log_det += log(p->K[i * p->ld + i]);
	*lml = -0.5 * quad - log_det - 0.5 * (double)n * LN_2PI;
	if (!isfinite(*lml))
		return false;
	if (grad == NULL)
		return true;
	invert(gp);
	/* The inverse factor times its transpose is K^-1, again as an upper triangle. */
	if (LAPACKE_dlauum_work(LAPACK_COL_MAJOR, 'U', n, p->K, ld) != 0)
		return false;
	likelihood_grad(gp, grad);
	return all_finite(grad, sw_gp_theta_n(gp));
}

/* Normal priors on theta, (t - mean)^2 / (2 var); the one of the length scales is a density over l
 * and not over ln l, which adds t. */
struct prior {
	double mean, var, slope;
};

static double length_mean(const struct sw_gp *gp)
{
	return sqrt(2.0) + 0.5 * log((double)gp->d);
}

static struct prior prior_of(const struct sw_gp *gp, size_t i)
{
	const size_t d = gp->d;

	if (i < d)
		return (struct prior){length_mean(gp), 3, 1};
	if (i == d)
		return (struct prior){0, 1.5 * 1.5, 0};
	if (i == d + 1)
		return gp->noisy ? (struct prior){log(0.1), 2, 0} : (struct prior){log(1e-6), 9, 0};
	if (i == d + 2 && gp->additive)
		return (struct prior){-1, 4, 0};
	if (i >= sw_gp_first_warp(gp))
		return (struct prior){0, WARP_VAR, 0};
	return (struct prior){log(0.5), 1, 0};
}

void sw_gp_theta_default(const struct sw_gp *gp, double *theta)
{
	for (size_t i = 0; i < sw_gp_theta_n(gp); i++) {
		const struct prior p = prior_of(gp, i);

		theta[i] = p.mean - p.var * p.slope; /* the mode */
	}
	sw_gp_theta_clip(gp, theta);
}

static double objective(const struct target *t, const double *theta, double *grad)
{
	const size_t theta_n = sw_gp_theta_n(t->gp);
	double f;

	if (!likelihood(t->gp, t->X, t->z, theta, &f, grad)) {
		if (grad != NULL)
			memset(grad, 0, theta_n * sizeof *grad);
		/* A line search can turn back from a large number, but cannot reckon with an
		 * infinite one. */
		return 1e10;
	}
	f = -f;
	for (size_t i = 0; i < theta_n; i++) {
		const struct prior p = prior_of(t->gp, i);
		const double off = theta[i] - p.mean;

		f += 0.5 * off * off / p.var + p.slope * theta[i];
		if (grad != NULL)
			grad[i] = -grad[i] + off / p.var + p.slope;
	}
	return f;
}

sw_status sw_gp_objective(struct sw_gp *gp, const double *X, const double *z, size_t n,
			  const double *theta, double *f, double *grad)
{
	struct target t = {.gp = gp, .X = X, .z = z};
	const sw_status rc = load_rows(gp, n);

	if (rc == SW_OK) {
		*f = objective(&t, theta, grad);
		unload(gp);
	}
	return rc;
}

/* The minimiser may end on its last point and not on its best: the best is kept here. */
static double visit(unsigned theta_n, const double *theta, double *grad, void *arg)
{
	struct target *t = arg;
	const double f = objective(t, theta, grad);

	if (f < t->best) {
		t->best = f;
		memcpy(t->gp->best, theta, theta_n * sizeof *theta);
	}
	return f;
}

sw_status sw_gp_fit(struct sw_gp *gp, const double *X, const double *z, size_t n, double *theta,
		    const struct sw_gp_fit_options *options, double *f)
{
	const unsigned max_evals = options->max_evals;
	struct target t = {.gp = gp, .X = X, .z = z, .best = INFINITY};
	const size_t theta_n = sw_gp_theta_n(gp);
	const sw_status rc = load_rows(gp, n);

	if (rc != SW_OK)
		return rc;
	nlopt_opt opt = nlopt_create(NLOPT_LD_LBFGS, (unsigned)theta_n);
	if (opt == NULL) {
		unload(gp);
		return SW_NOMEM;
	}
	/* Bounds of 0 hold the warps where they are. The wide ones come back after the fit: they
	 * are the process's own. */
	sw_gp_bound_warps(gp, options->plain ? 0 : GP_WARP_MOST);
	sw_gp_theta_clip(gp, theta);
	nlopt_result done = nlopt_set_lower_bounds(opt, gp->lo);
	if (done == NLOPT_SUCCESS)
		done = nlopt_set_upper_bounds(opt, gp->hi);
	if (done == NLOPT_SUCCESS)
		done = nlopt_set_min_objective(opt, visit, &t);
	nlopt_set_ftol_rel(opt, 1e-6);
	nlopt_set_ftol_abs(opt, options->tolerance);
	nlopt_set_maxeval(opt, max_evals < INT_MAX ? (int)max_evals : INT_MAX);
	if (done == NLOPT_SUCCESS)
		done = nlopt_optimize(opt, theta, f);
	nlopt_destroy(opt);
	sw_gp_bound_warps(gp, GP_WARP_MOST);
	unload(gp);
	/* It may have ended by the last digit, or by a line without a fall: the best stands. */
	if (done == NLOPT_OUT_OF_MEMORY || t.best == INFINITY)
		return SW_NOMEM;
	memcpy(theta, gp->best, theta_n * sizeof *theta);
	*f = t.best;
	return SW_OK;
}
