/*
 * sched/bayes/acquire.h — log expected improvement, right down to where the improvement itself has
 * long underflowed, and what it is a function of.
 *
 * Pure     libm only.
 * Units    mean, best: z, standardised, smaller is better; var: of the latent function.
 * Source   Ament et al., "Unexpected improvements to expected improvement" (2023), section 4.1, for
 *          the use of the logarithm. The tail is the continued fraction of Mills' ratio (Abramowitz
 *          and Stegun 26.2.14), which keeps 1 - t R(t) free of cancellation.
 */
#ifndef SW_SCHED_BAYES_ACQUIRE_H
#define SW_SCHED_BAYES_ACQUIRE_H

/* ln h(u), h = phi(u) + u Phi(u), for any u; *ratio = Phi(u) / h(u) and *rest = phi(u) / h(u), so
 * that the derivative of ln h is *ratio and 1 - u * *ratio == *rest without cancellation. Relative
 * error of h about 1e-13 wherever it has a logarithm. */
double sw_log_h(double u, double *ratio, double *rest);

/* ln of the expected improvement below best, and its partial derivatives; var > 0. */
double sw_log_ei(double mean, double var, double best, double *by_mean, double *by_var);

#endif
