/*
 * sched/num/beta.h — the beta distribution's distribution function, the regularised incomplete
 * beta function I_x(a, b), and its inverse, the quantile function.
 *
 * Pure     libm only: no allocation, no global (lgamma() with its signgam is not used).
 * Errors   None. a and b from SW_BETA_LEAST to SW_BETA_MOST are asserted.
 * Accuracy Relative 1e-12: of the distribution function, and of the quantile's distance to the
 *          nearer of 0 and 1, where doubles near 1 are as dense. One rounding of u is worth 1 / a
 *          of them in a small quantile.
 * Cost     O(sqrt(max(a, b))): half a microsecond for the distribution function and one and a half
 *          for the quantile at small a and b, some 3 and 15 at SW_BETA_MOST.
 * Source   DiDonato and Morris, "Algorithm 708: Significant digit computation of the incomplete
 *          beta function ratios", ACM TOMS 18 (1992): the continued fraction of its BFRAC (the even
 *          part of DLMF 8.17.22, with the symmetry 8.17.4), and the factor over it by deviations
 *          from the mean, so that large a and b lose no digits. The fraction is evaluated after
 *          Lentz, "Generating Bessel functions in Mie scattering calculations", Applied Optics 15
 *          (1976). The inverse is Newton's method on the logarithm of the smaller tail, in ln x,
 *          kept in a bracket.
 */
#ifndef SW_SCHED_NUM_BETA_H
#define SW_SCHED_NUM_BETA_H

#define SW_BETA_LEAST 1e-3
#define SW_BETA_MOST  1e5

/* The chance that a beta of a and b falls below x: 0 from x = 0 down, 1 from x = 1 up. */
double sw_beta_cdf(double x, double a, double b);

/* The x below which a beta of a and b falls with chance u, 0 <= u < 1. It may round to 0 or 1. */
double sw_beta_quantile(double u, double a, double b);

#endif
