/*
 * sched/bayes/gp_internal.h — what the files of the Gaussian process share: gp.c (life, theta),
 * gp_row.c (the kernel and its derivatives, by rows), gp_fit.c (likelihood and fit), gp_post.c
 * (posterior).
 *
 * Layout   Triangular matrices are row-major lower triangles with rows of ld doubles, so that a row
 *          of the kernel is contiguous and the next one is appended behind it. LAPACK, which is
 *          column-major, sees the upper triangle of the transpose: K = U'U, uplo 'U'.
 *          Points are kept by coordinate: Xt[d][ld].
 *          Every row starts on a cache line: sums in vector lanes do not depend on the address.
 * Source   The derivatives, with a = sqrt(5) |t| / l for Matern-5/2: m = (1 + a + a^2/3) e^-a,
 *          dm / d ln l = h w t^2, dm / dt = -h w t, where h = (1 + a)/3 e^-a and w = 5 / l^2.
 *          For RBF the same with m = h = e^(-w t^2 / 2) and w = 1 / l^2: one code serves both.
 */
#ifndef SW_SCHED_BAYES_GP_INTERNAL_H
#define SW_SCHED_BAYES_GP_INTERNAL_H

#include "sched/bayes/gp.h"

#define GP_WARP_MOST 3.0 /* |ln c| */

/* theta by name. */
struct sw_gp_hyper {
	double sf, sn, sa, sd; /* sd = sa / d, or 0 */
	double jitter;         /* absolute: 1e-10 (sf + sa), more after failures */
	double *w, *ra, *c;    /* [d]; ra: the root of an additive part's w; c: the warps */
};

/* A block on a cache line; mem is what free() takes. */
struct sw_gp_block {
	void *mem;
	double *at;
};

/* n points by coordinate and a triangle over them, room for cap. */
struct sw_gp_points {
	size_t n, cap, ld; /* ld: cap, up to a multiple of 8 */
	struct sw_gp_block block;
	double *Xt; /* [d][ld] */
	double *K;  /* [cap][ld] */
};

struct sw_gp_row_ops; /* gp_row.c, for this processor */

struct sw_gp {
	size_t d;
	enum sw_gp_kernel kernel;
	bool additive, warped, noisy;
	bool *category; /* [d] */
	const struct sw_gp_row_ops *ops;
	struct sw_gp_block params;
	struct sw_gp_hyper fit_hyper, hyper;
	double *lo, *hi, *best; /* [theta_n]; best: gp_fit.c */
	double *x;              /* [d]: one point as the kernel sees it */

	/* gp_fit.c: valid within a call. Vectors of fit.ld. */
	struct sw_gp_points fit;
	struct sw_gp_block fit_block, kept;
	double *alpha_fit, *ones, *panel, *row;
	size_t kept_most; /* doubles */
	size_t kept_n;    /* rows of the kernel that are kept for the gradient, the first */

	/* gp_post.c: the process as it was conditioned. Vectors of post.ld. */
	struct sw_gp_points post;
	struct sw_gp_block post_block;
	double *z, *alpha, *k, *h, *v, *u;
	double c;
	size_t solved; /* alpha and c come from the first `solved` targets; later rows weigh 0 */
};

/* The kernel at x against the first m points. All of them work for any m, and read x[d], which is
 * warped as the points are. */
struct sw_gp_row_ops {
	/* k[j] = k(x, x_j); h[j] = sf h of the product part, unless NULL */
	void (*values)(const struct sw_gp *gp, const struct sw_gp_hyper *y,
		       const struct sw_gp_points *p, size_t m, const double *x, double *k,
		       double *h);
	/* The same, and what the gradient by theta needs of this row: kept[sw_gp_kept_n(gp, m)] */
	void (*values_kept)(const struct sw_gp *gp, const struct sw_gp_hyper *y,
			    const struct sw_gp_points *p, size_t m, const double *x, double *k,
			    double *kept);
	/* grad[theta_n] += sum_j W[j] dk(x, x_j) / dtheta, without the noise; ends what was kept */
	void (*grad_theta)(const struct sw_gp *gp, const struct sw_gp_hyper *y,
			   const struct sw_gp_points *p, size_t m, const double *x, const double *W,
			   double *kept, double *grad);
	/* da[i] = sum_j a[j] dk(x, x_j) / dx_i, db[i] likewise; h as values() gave it. */
	void (*grad_x)(const struct sw_gp *gp, const struct sw_gp_hyper *y,
		       const struct sw_gp_points *p, size_t m, const double *x, const double *h,
		       const double *a, const double *b, double *da, double *db);
};
enum { GP_WIDTHS = 3 };
/* Baseline, AVX2, AVX-512; NULL where this processor lacks it. Baseline is never NULL. */
const struct sw_gp_row_ops *sw_gp_row_ops_at(int width);
const struct sw_gp_row_ops *sw_gp_row_ops_pick(void); /* the widest */

/* Up to whole cache lines of doubles. */
static inline size_t sw_gp_round_up(size_t n)
{
	return (n + 7) / 8 * 8;
}

/* The index of ln c_0 in theta, where there is one. */
static inline size_t sw_gp_first_warp(const struct sw_gp *gp)
{
	return gp->additive ? 2 * gp->d + 3 : gp->d + 2;
}

/* Doubles that one row of m values leaves for its gradient: a plane of sf m and one of sf h; where
 * the kernel is additive, one of the coordinates' sum and one of h q for each of them. */
static inline size_t sw_gp_kept_n(const struct sw_gp *gp, size_t m)
{
	return sw_gp_round_up(m) * (gp->additive ? gp->d + 3 : 2);
}

/* A block of n doubles; what it held is lost. */
SW_NODISCARD sw_status sw_gp_block_renew(struct sw_gp_block *b, size_t n);
void sw_gp_block_free(struct sw_gp_block *b);

/* Room for n points, and for `vectors` vectors of the new ld in block. The contents are lost. */
SW_NODISCARD sw_status sw_gp_points_renew(struct sw_gp_points *p, size_t n, size_t d,
					  struct sw_gp_block *block, size_t vectors);
/* Bounds the warps of a fit: |ln c| up to `most`. */
void sw_gp_bound_warps(struct sw_gp *gp, double most);

/* As the kernel sees them: warped. */
void sw_gp_points_load(const struct sw_gp *gp, const struct sw_gp_hyper *y, struct sw_gp_points *p,
		       const double *X, size_t n);
double sw_gp_warp(const struct sw_gp *gp, const struct sw_gp_hyper *y, size_t k, double x);
void sw_gp_points_at(const struct sw_gp *gp, const struct sw_gp_points *p, size_t i, double *x);
/* The rows of the kernel, and its diagonal with noise and jitter. */
void sw_gp_points_kernel(struct sw_gp *gp, const struct sw_gp_hyper *y, struct sw_gp_points *p);

/* False when theta is beyond any use (a value over 1e43, or not a number). */
bool sw_gp_hyper_load(const struct sw_gp *gp, struct sw_gp_hyper *y, const double *theta);

/* The profiled mean *c and alpha = K^-1 (z - c) from the factor in p, z[n], by two triangular
 * solves; returns (z - c)' alpha. ones: [n], scratch. */
double sw_gp_weights(const struct sw_gp_points *p, size_t n, const double *z, double *alpha,
		     double *ones, double *c);

#endif
