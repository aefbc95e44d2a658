/*
 * base/normal.h — the normal distribution's quantile function (the probit) and its
 * distribution function.
 *
 * Pure     libm only.
 * Source   Wichura, "Algorithm AS 241: The percentage points of the normal distribution", Applied
 *          Statistics 37 (1988), routine PPND16: relative error about 1e-16.
 */
#ifndef SW_BASE_NORMAL_H
#define SW_BASE_NORMAL_H

/* The z below which a standard normal falls with chance u. 0 < u < 1. */
double sw_normal_quantile(double u);

/* The chance that a standard normal falls below z. */
double sw_normal_cdf(double z);

#endif
