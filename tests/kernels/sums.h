/*
 * tests/kernels/sums.h — a sum of products in double, and how far from it a float may be that was
 * summed in float, in whatever order: by the loops of a CPU, by a GPU's trees, by cuBLAS.
 *
 * Bound   An addition rounds its result: |error| <= u |partial sum|, u = eps / 2, of either sign.
 *         If these errors are independent, or their means are, the error of the whole sum is over
 *             lambda u sqrt(partial sums) rms(partial sum)
 *         with a probability of at most 2 exp(-lambda^2 / 2): Hoeffding's and Azuma's inequality,
 *         for rounding errors in N. J. Higham and T. Mary, A New Approach to Probabilistic Rounding
 *         Error Analysis, SIAM J. Sci. Comput. 41(5), 2019, and with the partial sums in I. C. F.
 *         Ipsen and H. Zhou, Probabilistic Error Analysis for Inner Products, SIAM J. Matrix Anal.
 *         Appl. 41(4), 2020. SUM_C = lambda / 2, in units of eps. lambda = 4 is over 9 standard
 *         deviations, because a rounding error is rarely as large as u (rms 0.42 u).
 * Order   Nobody knows in which order a table adds. Over all orders of n terms the mean of the sum
 *         of squared partial sums is (n + 1) (squares + 2 value^2) / 6, squares being the sum of
 *         squared terms. value^2 counts as squares at least: a sum that ends near zero may have
 *         been far from it. Trees, blocks and lanes have smaller partial sums. So the bound grows
 *         with n where terms have both signs, and with n sqrt(n) where they have one.
 */
#ifndef SW_TESTS_KERNELS_SUMS_H
#define SW_TESTS_KERNELS_SUMS_H

#include "kernels/ops.h"
#include <stddef.h>

#define SUM_C 2.0

struct sum {
	double value, squares;
	size_t n;
};

static inline void sum_add(struct sum *s, double term)
{
	s->value += term;
	s->squares += term * term;
	s->n += term != 0; /* nothing is rounded where a zero is added */
}

/* eps sqrt(partial sums) rms(partial sum), with what three roundings of each term add to it. */
double sum_unit(const struct sum *s);

/* The first of n floats that is further than SUM_C units from its sum, or n; NaN is. */
size_t sums_wrong(const struct sum *want, const float *got, size_t n);

/* To be freed, and of at least one element: n numbers of U(-2, 2), another set for each key; n sums
 * of nothing yet; scratch memory as a table wants it, filled with NaN. */
float *sums_noise(size_t n, unsigned key);
struct sum *sums_none(size_t n);
void *sums_work(size_t bytes);

/* --- the sums of entries of kernels/ops.h, by their definition; arguments as there --- */

/* Each adds to what the sums hold. y may be NULL for SW_ACT_NONE; db, dx, b: or NULL. */
void sums_linear_forward(struct sum *sums, const float *x, const float *w, const float *b, size_t B,
			 size_t I, size_t O, enum sw_act act);
void sums_linear_backward(struct sum *dx, struct sum *dw, struct sum *db, const float *x,
			  const float *w, const float *y, const float *dy, size_t B, size_t I,
			  size_t O);

/* Nothing for a shape that has no output. */
void sums_conv2d_forward(struct sum *sums, const float *x, const float *w, const float *b,
			 const struct sw_conv *c, enum sw_act act);
void sums_conv2d_backward(struct sum *dx, struct sum *dw, struct sum *db, const float *x,
			  const float *w, const float *y, const float *dy, const struct sw_conv *c);

void sums_layernorm_backward(struct sum *dgamma, struct sum *dbeta, const float *x,
			     const float *mean, const float *rstd, const float *dy, size_t R,
			     size_t D);

#endif
