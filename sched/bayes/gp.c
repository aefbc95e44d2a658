#include "base/memory.h"
#include "sched/bayes/gp_internal.h"
#include <assert.h>
#include <cblas.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64, KEPT_MOST = 1 << 21 /* doubles: 16 MiB */ };

sw_status sw_gp_block_renew(struct sw_gp_block *b, size_t n)
{
	sw_gp_block_free(b);
	b->mem = sw_malloc(n * sizeof *b->at + LINE);
	if (b->mem == NULL)
		return SW_NOMEM;
	char *at = b->mem;
	/* Rows begin on a line of the cache, so that the widest vectors load no two lines for
	 * one. */
	at += (LINE - (uintptr_t)at % LINE) % LINE;
	b->at = (double *)(void *)at;
	return SW_OK;
}

void sw_gp_block_free(struct sw_gp_block *b)
{
	free(b->mem);
	*b = (struct sw_gp_block){.mem = NULL};
}

sw_status sw_gp_points_renew(struct sw_gp_points *p, size_t n, size_t d, struct sw_gp_block *block,
			     size_t vectors)
{
	const size_t ld = sw_gp_round_up(n);

	p->n = p->cap = 0;
	/* The bound on n keeps the product below from wrapping, and n within BLAS's int. */
	if (n > UINT32_MAX / 8 || ld * (ld + d + vectors) > PTRDIFF_MAX / sizeof(double))
		return SW_NOMEM;
	if (sw_gp_block_renew(&p->block, ld * (ld + d)) != SW_OK ||
	    sw_gp_block_renew(block, ld * vectors) != SW_OK)
		return SW_NOMEM;
	p->Xt = p->block.at;
	p->K = p->Xt + d * ld;
	p->cap = p->ld = ld;
	return SW_OK;
}

double sw_gp_warp(const struct sw_gp *gp, const struct sw_gp_hyper *y, size_t k, double x)
{
	/* At c = 1 the formula is the identity but for its rounding. */
	if (!gp->warped || gp->category[k] || y->c[k] == 1)
		return x;
	return x / (x + y->c[k] * (1 - x));
}

void sw_gp_points_load(const struct sw_gp *gp, const struct sw_gp_hyper *y, struct sw_gp_points *p,
		       const double *X, size_t n)
{
	const size_t d = gp->d;

	assert(n <= p->cap);
	for (size_t k = 0; k < d; k++)
		for (size_t i = 0; i < n; i++)
			p->Xt[k * p->ld + i] = sw_gp_warp(gp, y, k, X[i * d + k]);
	p->n = n;
}

void sw_gp_points_at(const struct sw_gp *gp, const struct sw_gp_points *p, size_t i, double *x)
{
	for (size_t k = 0; k < gp->d; k++)
		x[k] = p->Xt[k * p->ld + i];
}

void sw_gp_points_kernel(struct sw_gp *gp, const struct sw_gp_hyper *y, struct sw_gp_points *p)
{
	for (size_t i = 0; i < p->n; i++) {
		sw_gp_points_at(gp, p, i, gp->x);
		/* Row i up to its diagonal is column i of the upper triangle that LAPACK reads. */
		gp->ops->values(gp, y, p, i, gp->x, p->K + i * p->ld, NULL);
		p->K[i * p->ld + i] = y->sf + y->sa + y->sn + y->jitter;
	}
}

double sw_gp_weights(const struct sw_gp_points *p, size_t n, const double *z, double *alpha,
		     double *ones, double *c)
{
	const int m = (int)n, ld = (int)p->ld;

	/* With K = U'U, solving by U' once for z and once for 1 gives both products that c needs
	 * (Rasmussen and Williams, algorithm 2.1). */
	memcpy(alpha, z, n * sizeof *z);
	for (size_t i = 0; i < n; i++)
		ones[i] = 1;
	cblas_dtrsv(CblasColMajor, CblasUpper, CblasTrans, CblasNonUnit, m, p->K, ld, alpha, 1);
	cblas_dtrsv(CblasColMajor, CblasUpper, CblasTrans, CblasNonUnit, m, p->K, ld, ones, 1);
	*c = cblas_ddot(m, ones, 1, alpha, 1) / cblas_ddot(m, ones, 1, ones, 1);
	cblas_daxpy(m, -*c, ones, 1, alpha, 1);
	/* The quadratic form is read between the two solves: its vector is U'^-1 (z - c) here. */
	const double quad = cblas_ddot(m, alpha, 1, alpha, 1);
	cblas_dtrsv(CblasColMajor, CblasUpper, CblasNoTrans, CblasNonUnit, m, p->K, ld, alpha, 1);
	return quad;
}

size_t sw_gp_theta_n(const struct sw_gp *gp)
{
	return sw_gp_first_warp(gp) + (gp->warped ? gp->d : 0);
}

void sw_gp_bound_warps(struct sw_gp *gp, double most)
{
	for (size_t i = sw_gp_first_warp(gp); i < sw_gp_theta_n(gp); i++) {
		gp->lo[i] = -most;
		gp->hi[i] = most;
	}
}

static void set_bounds(struct sw_gp *gp)
{
	const size_t d = gp->d;

	for (size_t i = 0; i < sw_gp_theta_n(gp); i++) {
		gp->lo[i] = log(0.005);
		gp->hi[i] = log(100);
	}
	/* The recipe's bounds (step 4), in the order of theta: lengths, sf, sn, sa, additive
	 * lengths, warps. */
	gp->lo[d] = log(0.01);
	gp->hi[d] = log(1e4);
	gp->lo[d + 1] = log(1e-8);
	/* z has variance 1: more noise than that cannot be seen in it. */
	gp->hi[d + 1] = 0;
	if (gp->additive) {
		gp->lo[d + 2] = log(1e-4);
		gp->hi[d + 2] = log(1e4);
	}
	sw_gp_bound_warps(gp, GP_WARP_MOST);
}

sw_status sw_gp_create(struct sw_gp **out, const struct sw_gp_config *config)
{
	const size_t d = config->d;

	assert(d > 0);
	*out = NULL;
	struct sw_gp *gp = sw_calloc(1, sizeof *gp);
	if (gp == NULL)
		return SW_NOMEM;
	gp->d = d;
	gp->kernel = config->kernel;
	gp->additive = config->additive;
	gp->warped = config->warped;
	gp->noisy = config->noisy;
	gp->kept_most = KEPT_MOST;
	const size_t theta_n = sw_gp_theta_n(gp);
	gp->category = sw_calloc(d, sizeof *gp->category);
	if (gp->category == NULL || sw_gp_block_renew(&gp->params, 7 * d + 3 * theta_n) != SW_OK) {
		sw_gp_destroy(gp);
		return SW_NOMEM;
	}
	if (config->category != NULL)
		memcpy(gp->category, config->category, d * sizeof *gp->category);
	gp->fit_hyper.w = gp->params.at;
	gp->fit_hyper.ra = gp->fit_hyper.w + d;
	gp->fit_hyper.c = gp->fit_hyper.ra + d;
	gp->hyper.w = gp->fit_hyper.c + d;
	gp->hyper.ra = gp->hyper.w + d;
	gp->hyper.c = gp->hyper.ra + d;
	gp->x = gp->hyper.c + d;
	gp->lo = gp->x + d;
	gp->hi = gp->lo + theta_n;
	gp->best = gp->hi + theta_n;
	gp->ops = sw_gp_row_ops_pick();
	set_bounds(gp);
	/* More threads would split the sums in other ways, and the bits would depend on them. */
	openblas_set_num_threads(1);
	*out = gp;
	return SW_OK;
}

void sw_gp_destroy(struct sw_gp *gp)
{
	if (gp == NULL)
		return;
	sw_gp_block_free(&gp->params);
	sw_gp_block_free(&gp->fit.block);
	sw_gp_block_free(&gp->fit_block);
	sw_gp_block_free(&gp->kept);
	sw_gp_block_free(&gp->post.block);
	sw_gp_block_free(&gp->post_block);
	free(gp->category);
	free(gp);
}

void sw_gp_theta_clip(const struct sw_gp *gp, double *theta)
{
	for (size_t i = 0; i < sw_gp_theta_n(gp); i++)
		theta[i] = fmin(fmax(theta[i], gp->lo[i]), gp->hi[i]);
}

bool sw_gp_hyper_load(const struct sw_gp *gp, struct sw_gp_hyper *y, const double *theta)
{
	const double c = gp->kernel == SW_GP_MATERN52 ? 5 : 1;
	const size_t d = gp->d;

	for (size_t i = 0; i < sw_gp_theta_n(gp); i++)
		/* This form refuses NaN as well. */
		if (!(fabs(theta[i]) <= 100))
			return false;
	for (size_t i = 0; i < d; i++) {
		/* Matern's a is sqrt(5) r: the weights hold the 5, so that the kernel's loops need
		 * no factor. */
		y->w[i] = c * exp(-2 * theta[i]);
		y->ra[i] = gp->additive ? sqrt(c) * exp(-theta[d + 3 + i]) : 0;
		y->c[i] = gp->warped ? exp(theta[sw_gp_first_warp(gp) + i]) : 1;
	}
	y->sf = exp(theta[d]);
	y->sn = exp(theta[d + 1]);
	y->sa = gp->additive ? exp(theta[d + 2]) : 0;
	y->sd = y->sa / (double)d;
	y->jitter = 1e-10 * (y->sf + y->sa);
	return true;
}
