/*
 * sched/bayes/acquire_max.h — log expected improvement of the largest of several normals: the
 * acquisition of a Tchebycheff scalarisation, each metric under a model of its own.
 *
 *   EI = E[(best - max over k of X[k])+]  =  integral to best of  product of Phi((t - mean[k]) /
 * sd[k])
 *
 * because the largest is below t when all are. The product is log-concave and rising, so where it
 * falls off is known, and up to three panels of Gauss-Legendre take it: four digits of EI.
 *
 * Pure     libm only.
 * Units    mean, sd, best: of the weighted metrics; smaller is better.
 * Cost     12 to 36 m normal distribution functions.
 */
#ifndef SW_SCHED_BAYES_ACQUIRE_MAX_H
#define SW_SCHED_BAYES_ACQUIRE_MAX_H

#include <stddef.h>

/* m: 1..SW_METRICS_MAX; sd[m] > 0. by_mean[m], by_sd[m]: partial derivatives. */
double sw_log_ei_max(size_t m, const double *mean, const double *sd, double best, double *by_mean,
		     double *by_sd);

#endif
