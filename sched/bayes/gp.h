/*
 * sched/bayes/gp.h — a Gaussian process over the unit cube: kernels, the fit of its
 * hyperparameters, the posterior and its gradients.
 *
 * Pure     No I/O, clock, thread or global but OpenBLAS's own, which is set to one thread. The same
 *          calls give the same bits on the same machine: a factor that was extended row by row is a
 *          function of (theta, base rows, rows appended), see sw_gp_set().
 * Units    X: double[n][d], row-major, in [0, 1]. z: double[n], standardised by the caller, smaller
 *          is better. Hyperparameters travel as theta, natural logarithms:
 *            theta[0..d-1]   ln l_k     length scales
 *            theta[d]        ln sf      variance of the product part
 *            theta[d+1]      ln sn      noise variance
 *            theta[d+2]      ln sa      additive kernels only: variance of the additive part
 *            theta[d+3..]    ln la_k    additive kernels only: its d length scales
 *            the last d      ln c_k     warped ones only
 * Model    k(x,x') = sf m(r) + (sa/d) sum_k m(|x_k - x'_k| / la_k),
 *          r^2 = sum_k (x_k - x'_k)^2 / l_k^2, m = Matern-5/2 or RBF; a category counts distance 0
 *          (equal) or 1 (not). Diagonal: + sn + 1e-10 (sf + sa). A warped process sees x_k / (x_k
 *          + c_k (1 - x_k)) in place of x_k, whose logit is less by ln c_k: what happens within the
 *          last tenth of a coordinate has room, where c_k > 1. The constant mean is profiled:
 *          c = 1'K^-1 z / 1'K^-1 1. Only |theta| <= 100 is read; anything else is SW_INVALID.
 * Memory   After the first call of a size the fit and the posterior keep one n^2 matrix each. A
 *          likelihood borrows 4 n^2 (d + 3) bytes (8 n^2 where not additive), at most 16 MiB, for
 *          as long as the call or the fit lasts.
 * Source   Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), algorithms 2.1,
 *          5.1 and section 4.2; length-scale prior: Hvarfner, Hellsten, Nardi (2024), eq. 8; why
 *          to warp: Snoek, Swersky, Zemel, Adams, Input Warping for Bayesian Optimization (2014).
 * Cost     A likelihood with gradient O(n^3 + n^2 d); append O(n^2); a prediction with gradient
 *          O(n^2 + n d).
 */
#ifndef SW_SCHED_BAYES_GP_H
#define SW_SCHED_BAYES_GP_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>

enum sw_gp_kernel { SW_GP_MATERN52, SW_GP_RBF };

struct sw_gp_config {
	size_t d;
	enum sw_gp_kernel kernel;
	bool additive;
	bool warped;
	bool noisy; /* the prior expects noise: N(ln 0.1, 2) for ln sn, not N(ln 1e-6, 9) */
	const bool *category; /* [d]: compared for equality; NULL: none. Copied */
};

struct sw_gp; /* opaque */

SW_NODISCARD sw_status sw_gp_create(struct sw_gp **out, const struct sw_gp_config *config);
void sw_gp_destroy(struct sw_gp *gp); /* NULL is allowed */

/* d + 2, additive: 2d + 3, and d more where it is warped */
size_t sw_gp_theta_n(const struct sw_gp *gp);
void sw_gp_theta_default(const struct sw_gp *gp, double *theta); /* the start of every first fit */
void sw_gp_theta_clip(const struct sw_gp *gp, double *theta);    /* into the priors' bounds */

/* The negative log posterior that a fit minimises: the log marginal likelihood of z at theta, the
 * mean profiled, taken from the priors' penalties; and its gradient (grad may be NULL; [theta_n]).
 * 1e10 where the matrix is not positive definite. SW_INVALID without rows, SW_NOMEM. */
SW_NODISCARD sw_status sw_gp_objective(struct sw_gp *gp, const double *X, const double *z, size_t n,
				       const double *theta, double *f, double *grad);

struct sw_gp_fit_options {
	unsigned max_evals; /* of the likelihood; 0: no limit */
	double tolerance;   /* a step that gains less is the last, as is one of a millionth of f */
	bool plain;         /* the warps are 0 and stay there */
};

/* Minimises the objective from theta (in: the start, out: the optimum) within the bounds; *f is the
 * objective there, never above the start's. The same start gives the same optimum: no clock, no
 * chance. */
SW_NODISCARD sw_status sw_gp_fit(struct sw_gp *gp, const double *X, const double *z, size_t n,
				 double *theta, const struct sw_gp_fit_options *options, double *f);

/* Conditions the process on (X, z) at theta: factor, mean, weights. Copies all. When it is not
 * positive definite the jitter grows tenfold, at most 8 times; then SW_INVALID. */
SW_NODISCARD sw_status sw_gp_set(struct sw_gp *gp, const double *X, const double *z, size_t n,
				 const double *theta);
/* One more row. z of it is part of the next sw_gp_targets(); until then the row has the model's own
 * mean (kriging believer). O(n^2). */
SW_NODISCARD sw_status sw_gp_append(struct sw_gp *gp, const double *x);
/* Keeps the first n rows, n > 0; the rest is as it was before the others came. O(1), or O(n^2)
 * where sw_gp_targets() came after the rows that go: the rows kept keep their new targets. */
void sw_gp_truncate(struct sw_gp *gp, size_t n);
/* New targets for all rows, same X and theta: z[] has one for each. O(n^2). */
void sw_gp_targets(struct sw_gp *gp, const double *z);

/* How much wider than it is the process sees coordinate k at x: a length scale l is one of l over
 * this there. 1 where nothing is warped. After sw_gp_set(). */
double sw_gp_warp_slope(const struct sw_gp *gp, size_t k, double x);

/* Posterior of the latent function (no noise) at x: *mean, *var (floored at 1e-12 (sf + sa)), and,
 * unless both are NULL, their gradients dmean[d], dvar[d] (zero for categories; dvar zero at the
 * floor). After a sw_gp_set() that failed the process has no rows: there is nothing to ask. */
void sw_gp_predict(struct sw_gp *gp, const double *x, double *mean, double *var, double *dmean,
		   double *dvar);
/* The same for m points at once, without gradients, by one triangular solve. Xs: [m][d]. */
SW_NODISCARD sw_status sw_gp_predict_batch(struct sw_gp *gp, const double *Xs, size_t m,
					   double *mean, double *var);

#endif
