/*
 * The kernel by rows: one point against many. Everything that is O(n^2 d) is here.
 *
 * The loops over points are written for the vectoriser (CMakeLists.txt gives this file the flags it
 * needs: no errno from sqrt, no trap from a comparison, the `omp simd` pragmas, fused multiply-add;
 * nothing of fast-math) and compiled once for each width of vectors; the processor picks.
 * Differences x_k - x'_k are computed again where they are wanted, a coordinate of all points being
 * one cached row. What cost a root and an exponential is kept for the gradient, as far as gp_fit.c
 * has room for it: with 100 to 300 points in 6 dimensions a suggestion takes a tenth to a sixth
 * less by that.
 */
#include "sched/bayes/gp_internal.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* e^x for -inf <= x <= 0, within 2 ulp, 0x1p-1021 at the least: in a form that vectorises and gives
 * the same bits in every lane. x = n ln 2 + r; the Taylor polynomial of degree 13 is good to 2e-18
 * for |r| <= ln 2 / 2, and by pairs (Estrin) its sums need not wait for one another. Adding 1.5 *
 * 2^52 rounds n to an integer that then sits in the low bits. */
INLINE double exp_neg(double x)
{
	const double big = 0x1.8p52;
	uint64_t bits, scale;

	x = x > -707.0 ? x : -707.0;
	const double shifted = x * 0x1.71547652b82fep0 + big;
	const double n = shifted - big;
	const double r = (x - n * 0x1.62e42fee00000p-1) - n * 0x1.a39ef35793c76p-33;
	const double r2 = r * r, r4 = r2 * r2;
	const double p2 = 1.0 / 2.0 + r * (1.0 / 6.0);
	const double p4 = 1.0 / 24.0 + r * (1.0 / 120.0);
	const double p6 = 1.0 / 720.0 + r * (1.0 / 5040.0);
	const double p8 = 1.0 / 40320.0 + r * (1.0 / 362880.0);
	const double p10 = 1.0 / 3628800.0 + r * (1.0 / 39916800.0);
	const double p12 = 1.0 / 479001600.0 + r * (1.0 / 6227020800.0);
	double p = (p2 + r2 * p4) + r4 * ((p6 + r2 * p8) + r4 * (p10 + r2 * p12));

	p = 1.0 + (r + r2 * p);
	memcpy(&bits, &shifted, sizeof bits);
	memcpy(&scale, &p, sizeof scale);
	scale += bits << 52; /* times 2^n: the rest of bits leaves at the top */
	memcpy(&p, &scale, sizeof p);
	return p;
}

/* m and h of one scaled squared distance q = w t^2, whose root is a. */
INLINE double shape_of(bool matern, double q, double a, double *h)
{
	if (!matern)
		return *h = exp_neg(-0.5 * q);
	const double e = exp_neg(-a);

	*h = (1.0 + a) * (1.0 / 3.0) * e;
	return (1.0 + a + q * (1.0 / 3.0)) * e;
}

INLINE double shape(bool matern, double q, double *h)
{
	return shape_of(matern, q, matern ? sqrt(q) : 0, h);
}

/* The same of one coordinate, whose root is no work: r = w^(1/2). */
INLINE double shape_one(bool matern, double r, double t, double *q, double *h)
{
	const double a = r * fabs(t);

	*q = a * a;
	return shape_of(matern, *q, a, h);
}

INLINE double apart(bool category, double x, double other)
{
	const double t = x - other;

	return category ? (t != 0 ? 1.0 : 0.0) : t;
}

/* q[j] = sum_k w_k t_k^2 */
INLINE void distances(const struct sw_gp *gp, const double *w, const struct sw_gp_points *p,
		      size_t m, const double *x, double *restrict q)
{
	for (size_t j = 0; j < m; j++)
		q[j] = 0;
	for (size_t i = 0; i < gp->d; i++) {
		const double *restrict col = p->Xt + i * p->ld;
		const double xi = x[i], wi = w[i];

		if (gp->category[i]) {
#pragma omp simd
			for (size_t j = 0; j < m; j++)
				q[j] += xi != col[j] ? wi : 0;
		} else {
#pragma omp simd
			for (size_t j = 0; j < m; j++) {
				const double t = xi - col[j];
				q[j] += wi * (t * t);
			}
		}
	}
}

/* k[j] += s m(w t^2) for one coordinate. A category has but two values. */
INLINE void add_values(bool matern, bool category, double s, double r, size_t m, double x,
		       const double *restrict col, double *restrict k)
{
	if (category) {
		double q, h;
		const double apart_value = s * shape_one(matern, r, 1, &q, &h);
#pragma omp simd
		for (size_t j = 0; j < m; j++)
			k[j] += x != col[j] ? apart_value : s;
		return;
	}
#pragma omp simd
	for (size_t j = 0; j < m; j++) {
		double q, h;
		k[j] += s * shape_one(matern, r, x - col[j], &q, &h);
	}
}

INLINE void values(bool matern, const struct sw_gp *gp, const struct sw_gp_hyper *y,
		   const struct sw_gp_points *p, size_t m, const double *x, double *restrict k,
		   double *restrict h)
{
	distances(gp, y->w, p, m, x, k);
	if (h == NULL) {
#pragma omp simd
		for (size_t j = 0; j < m; j++) {
			double unused;
			k[j] = y->sf * shape(matern, k[j], &unused);
		}
	} else {
#pragma omp simd
		for (size_t j = 0; j < m; j++) {
			double hj;
			k[j] = y->sf * shape(matern, k[j], &hj);
			h[j] = y->sf * hj;
		}
	}
	for (size_t i = 0; gp->additive && i < gp->d; i++)
		add_values(matern, gp->category[i], y->sd, y->ra[i], m, x[i], p->Xt + i * p->ld, k);
}

/* sum[j] += m(w t^2) of one coordinate, and by_length[j] = h q, its derivative by the length. */
INLINE void add_kept(bool matern, bool category, double r, size_t m, double x,
		     const double *restrict col, double *restrict sum, double *restrict by_length)
{
	if (category) {
		double q, h;
		const double apart_value = shape_one(matern, r, 1, &q, &h);
#pragma omp simd
		for (size_t j = 0; j < m; j++) {
			sum[j] += x != col[j] ? apart_value : 1.0;
			by_length[j] = x != col[j] ? h * q : 0;
		}
		return;
	}
#pragma omp simd
	for (size_t j = 0; j < m; j++) {
		double q, h;
		sum[j] += shape_one(matern, r, x - col[j], &q, &h);
		by_length[j] = h * q;
	}
}

INLINE void values_kept(bool matern, const struct sw_gp *gp, const struct sw_gp_hyper *y,
			const struct sw_gp_points *p, size_t m, const double *x, double *restrict k,
			double *restrict kept)
{
	const size_t plane = sw_gp_round_up(m);
	double *restrict product = kept, *restrict slope = kept + plane;
	double *restrict sum = slope + plane;

	distances(gp, y->w, p, m, x, product);
#pragma omp simd
	for (size_t j = 0; j < m; j++) {
		double h;
		product[j] = y->sf * shape(matern, product[j], &h);
		slope[j] = y->sf * h;
	}
	if (!gp->additive) {
		memcpy(k, product, m * sizeof *k);
		return;
	}
	memset(sum, 0, m * sizeof *sum);
	for (size_t i = 0; i < gp->d; i++)
		add_kept(matern, gp->category[i], y->ra[i], m, x[i], p->Xt + i * p->ld, sum,
			 sum + (i + 1) * plane);
#pragma omp simd
	for (size_t j = 0; j < m; j++)
		k[j] = product[j] + y->sd * sum[j];
}

/* sum_j s[j] t_j^2. category is a constant at every call: a branch would end the vectorising. */
INLINE double weighted_squares(bool category, size_t m, double x, const double *restrict col,
			       const double *restrict s)
{
	double sum = 0;

#pragma omp simd reduction(+ : sum)
	for (size_t j = 0; j < m; j++) {
		const double t = apart(category, x, col[j]);
		sum += s[j] * (t * t);
	}
	return sum;
}

/* d / d ln c of a coordinate is that by ln l, each pair with the weight 1 - x - x'. */
INLINE double skewed_squares(size_t m, double x, const double *restrict col,
			     const double *restrict s)
{
	double sum = 0;

#pragma omp simd reduction(+ : sum)
	for (size_t j = 0; j < m; j++) {
		const double t = x - col[j];
		sum += s[j] * (t * t) * (1 - x - col[j]);
	}
	return sum;
}

INLINE double skewed(size_t m, double x, const double *restrict col, const double *restrict W,
		     const double *restrict v)
{
	double sum = 0;

#pragma omp simd reduction(+ : sum)
	for (size_t j = 0; j < m; j++)
		sum += W[j] * v[j] * (1 - x - col[j]);
	return sum;
}

INLINE double weighted(size_t m, const double *restrict W, const double *restrict v)
{
	double sum = 0;

#pragma omp simd reduction(+ : sum)
	for (size_t j = 0; j < m; j++)
		sum += W[j] * v[j];
	return sum;
}

INLINE void grad_theta(const struct sw_gp *gp, const struct sw_gp_hyper *y,
		       const struct sw_gp_points *p, size_t m, const double *x,
		       const double *restrict W, double *restrict kept, double *grad)
{
	const size_t d = gp->d, plane = sw_gp_round_up(m);
	double *restrict slope = kept + plane;
	const double *const sum = slope + plane;

	grad[d] += weighted(m, W, kept);
#pragma omp simd
	for (size_t j = 0; j < m; j++)
		slope[j] *= W[j];
	for (size_t i = 0; i < d; i++) {
		const double *col = p->Xt + i * p->ld;

		if (gp->category[i])
			grad[i] += y->w[i] * weighted_squares(true, m, x[i], col, slope);
		else
			grad[i] += y->w[i] * weighted_squares(false, m, x[i], col, slope);
	}
	double *const by_warp = gp->warped ? grad + sw_gp_first_warp(gp) : NULL;

	for (size_t i = 0; by_warp != NULL && i < d; i++)
		if (!gp->category[i])
			by_warp[i] += y->w[i] * skewed_squares(m, x[i], p->Xt + i * p->ld, slope);
	if (!gp->additive)
		return;
	grad[d + 2] += y->sd * weighted(m, W, sum);
	for (size_t i = 0; by_warp != NULL && i < d; i++)
		if (!gp->category[i])
			by_warp[i] += y->sd *
				      skewed(m, x[i], p->Xt + i * p->ld, W, sum + (i + 1) * plane);
	for (size_t i = 0; i < d; i++)
		grad[d + 3 + i] += y->sd * weighted(m, W, sum + (i + 1) * plane);
}

INLINE void grad_x(bool matern, const struct sw_gp *gp, const struct sw_gp_hyper *y,
		   const struct sw_gp_points *p, size_t m, const double *x,
		   const double *restrict h, const double *restrict a, const double *restrict b,
		   double *da, double *db)
{
	for (size_t i = 0; i < gp->d; i++) {
		const double *restrict col = p->Xt + i * p->ld;
		const double xi = x[i], w = y->w[i], r = y->ra[i], wa = r * r * y->sd;
		double sa = 0, sb = 0;

		if (gp->category[i]) {
			da[i] = db[i] = 0;
			continue;
		}
		if (gp->additive) {
#pragma omp simd reduction(+ : sa, sb)
			for (size_t j = 0; j < m; j++) {
				const double t = xi - col[j];
				double q, ha;
				(void)shape_one(matern, r, t, &q, &ha);
				const double slope = (w * h[j] + wa * ha) * t;
				sa += a[j] * slope;
				sb += b[j] * slope;
			}
		} else {
#pragma omp simd reduction(+ : sa, sb)
			for (size_t j = 0; j < m; j++) {
				const double slope = w * h[j] * (xi - col[j]);
				sa += a[j] * slope;
				sb += b[j] * slope;
			}
		}
		da[i] = -sa;
		db[i] = -sb;
	}
}

/* The four of them for one target; the kernel is a constant in each branch. */
#define TARGET_baseline
#define FOR_TARGET(name)                                                                           \
	TARGET_##name static void values_##name(                                                   \
		const struct sw_gp *gp, const struct sw_gp_hyper *y, const struct sw_gp_points *p, \
		size_t m, const double *x, double *k, double *h)                                   \
	{                                                                                          \
		if (gp->kernel == SW_GP_MATERN52)                                                  \
			values(true, gp, y, p, m, x, k, h);                                        \
		else                                                                               \
			values(false, gp, y, p, m, x, k, h);                                       \
	}                                                                                          \
	TARGET_##name static void values_kept_##name(                                              \
		const struct sw_gp *gp, const struct sw_gp_hyper *y, const struct sw_gp_points *p, \
		size_t m, const double *x, double *k, double *kept)                                \
	{                                                                                          \
		if (gp->kernel == SW_GP_MATERN52)                                                  \
			values_kept(true, gp, y, p, m, x, k, kept);                                \
		else                                                                               \
			values_kept(false, gp, y, p, m, x, k, kept);                               \
	}                                                                                          \
	TARGET_##name static void grad_theta_##name(                                               \
		const struct sw_gp *gp, const struct sw_gp_hyper *y, const struct sw_gp_points *p, \
		size_t m, const double *x, const double *W, double *kept, double *grad)            \
	{                                                                                          \
		grad_theta(gp, y, p, m, x, W, kept, grad);                                         \
	}                                                                                          \
	TARGET_##name static void grad_x_##name(                                                   \
		const struct sw_gp *gp, const struct sw_gp_hyper *y, const struct sw_gp_points *p, \
		size_t m, const double *x, const double *h, const double *a, const double *b,      \
		double *da, double *db)                                                            \
	{                                                                                          \
		if (gp->kernel == SW_GP_MATERN52)                                                  \
			grad_x(true, gp, y, p, m, x, h, a, b, da, db);                             \
		else                                                                               \
			grad_x(false, gp, y, p, m, x, h, a, b, da, db);                            \
	}                                                                                          \
	static const struct sw_gp_row_ops ops_##name = {values_##name, values_kept_##name,         \
							grad_theta_##name, grad_x_##name}

FOR_TARGET(baseline);
#ifdef __x86_64__
#define TARGET_avx2   __attribute__((target("avx2,fma")))
#define TARGET_avx512 __attribute__((target("avx512f,avx512dq,avx512vl,fma")))
FOR_TARGET(avx2);
FOR_TARGET(avx512);
#endif

const struct sw_gp_row_ops *sw_gp_row_ops_at(int width)
{
	switch (width) {
	case 0:
		return &ops_baseline;
#ifdef __x86_64__
	case 1:
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &ops_avx2
										       : NULL;
	case 2:
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
				       __builtin_cpu_supports("avx512vl")
			       ? &ops_avx512
			       : NULL;
#endif
	default:
		return NULL;
	}
}

const struct sw_gp_row_ops *sw_gp_row_ops_pick(void)
{
	const struct sw_gp_row_ops *best = NULL;

	for (int width = GP_WIDTHS - 1; best == NULL; width--)
		best = sw_gp_row_ops_at(width);
	return best;
}
