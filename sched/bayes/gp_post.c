#include "sched/bayes/gp_internal.h"
#include <assert.h>
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VECTORS = 6, BATCH = 64, MAX_GROWTH = 8 };

static void name_vectors(struct sw_gp *gp)
{
	const size_t ld = gp->post.ld;

	gp->z = gp->post_block.at;
	gp->alpha = gp->z + ld;
	gp->k = gp->alpha + ld;
	gp->h = gp->k + ld;
	gp->v = gp->h + ld;
	gp->u = gp->v + ld;
}

static void weigh(struct sw_gp *gp)
{
	(void)sw_gp_weights(&gp->post, gp->post.n, gp->z, gp->alpha, gp->u, &gp->c);
	/* Rows up to here have weights that rest on all of them; truncate() must weigh again
	 * below. */
	gp->solved = gp->post.n;
}

sw_status sw_gp_set(struct sw_gp *gp, const double *X, const double *z, size_t n,
		    const double *theta)
{
	struct sw_gp_points *p = &gp->post;
	int left = MAX_GROWTH, info;

	p->n = gp->solved = 0;
	if (n == 0 || !sw_gp_hyper_load(gp, &gp->hyper, theta))
		return SW_INVALID;
	if (p->cap < n) {
		/* The rows that are appended later shall find room without another matrix. */
		if (sw_gp_points_renew(p, n + n / 4 + 8, gp->d, &gp->post_block, VECTORS) != SW_OK)
			return SW_NOMEM;
		name_vectors(gp);
	}
	sw_gp_points_load(gp, &gp->hyper, p, X, n);
	memcpy(gp->z, z, n * sizeof *z);
	do {
		/* A failed factorisation has overwritten the matrix, so each try fills it again. */
		sw_gp_points_kernel(gp, &gp->hyper, p);
		info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', (int)n, p->K, (int)p->ld);
		if (info == 0) {
			weigh(gp);
			/* A sum over all weights: not finite as soon as one of them is. */
			if (isfinite(gp->c) && isfinite(cblas_dasum((int)n, gp->alpha, 1)))
				return SW_OK;
		}
		/* The recipe's step 4: tenfold jitter, eight times at most, as equal points leave
		 * no other way. */
		gp->hyper.jitter *= 10;
	} while (left-- > 0);
	p->n = gp->solved = 0;
	return SW_INVALID;
}

/* Room for one more row. Nothing is lost, and nothing changes when there is no memory. */
static sw_status grow_post(struct sw_gp *gp)
{
	struct sw_gp_points *p = &gp->post, grown = {.n = 0};
	struct sw_gp_block vectors = {.mem = NULL};

	if (p->n < p->cap)
		return SW_OK;
	if (sw_gp_points_renew(&grown, 2 * p->n, gp->d, &vectors, VECTORS) != SW_OK) {
		sw_gp_block_free(&grown.block);
		sw_gp_block_free(&vectors);
		return SW_NOMEM;
	}
	for (size_t k = 0; k < gp->d; k++)
		memcpy(grown.Xt + k * grown.ld, p->Xt + k * p->ld, p->n * sizeof *p->Xt);
	/* Only the upper triangle means anything: column i has i + 1 numbers. */
	for (size_t i = 0; i < p->n; i++)
		memcpy(grown.K + i * grown.ld, p->K + i * p->ld, (i + 1) * sizeof *p->K);
	memcpy(vectors.at, gp->z, p->n * sizeof *gp->z);
	/* z and alpha alone outlive a call; the other vectors are scratch. */
	memcpy(vectors.at + grown.ld, gp->alpha, p->n * sizeof *gp->alpha);
	grown.n = p->n;
	sw_gp_block_free(&p->block);
	sw_gp_block_free(&gp->post_block);
	*p = grown;
	gp->post_block = vectors;
	name_vectors(gp);
	return SW_OK;
}

/* x as the kernel sees it, into gp->x. */
static void see(struct sw_gp *gp, const double *x)
{
	for (size_t k = 0; k < gp->d; k++)
		gp->x[k] = sw_gp_warp(gp, &gp->hyper, k, x[k]);
}

double sw_gp_warp_slope(const struct sw_gp *gp, size_t k, double x)
{
	const double c = gp->hyper.c[k], below = x + c * (1 - x);

	return gp->warped && !gp->category[k] ? c / (below * below) : 1;
}

sw_status sw_gp_append(struct sw_gp *gp, const double *x)
{
	struct sw_gp_points *p = &gp->post;
	const struct sw_gp_hyper *y = &gp->hyper;
	const size_t n = p->n;

	assert(n > 0);
	if (grow_post(gp) != SW_OK)
		return SW_NOMEM;
	double *row = p->K + n * p->ld;
	see(gp, x);
	gp->ops->values(gp, y, p, n, gp->x, row, NULL);
	gp->z[n] = gp->c + cblas_ddot((int)n, row, 1, gp->alpha, 1);
	/* The believed value is what the process says anyway: mean and weights stay as they are. */
	gp->alpha[n] = 0;
	cblas_dtrsv(CblasColMajor, CblasUpper, CblasTrans, CblasNonUnit, (int)n, p->K, (int)p->ld,
		    row, 1);
	/* The rest of the diagonal is the latent variance, at least 0, and the noise. */
	const double noise = y->sn + y->jitter;
	row[n] = sqrt(fmax(y->sf + y->sa + noise - cblas_ddot((int)n, row, 1, row, 1), noise));
	for (size_t k = 0; k < gp->d; k++)
		p->Xt[k * p->ld + n] = gp->x[k];
	p->n++;
	return SW_OK;
}

void sw_gp_truncate(struct sw_gp *gp, size_t n)
{
	assert(n > 0 && n <= gp->post.n);
	gp->post.n = n;
	if (n < gp->solved) /* targets came since the rows did */
		weigh(gp);
}

void sw_gp_targets(struct sw_gp *gp, const double *z)
{
	assert(gp->post.n > 0);
	memcpy(gp->z, z, gp->post.n * sizeof *z);
	weigh(gp);
}

/* The floor keeps log(var) and 1 / sd finite where the process knows the value. */
static double floored(const struct sw_gp_hyper *y, double explained, bool *at_floor)
{
	const double total = y->sf + y->sa, floor = 1e-12 * total, var = total - explained;

	*at_floor = !(var > floor);
	return *at_floor ? floor : var;
}

void sw_gp_predict(struct sw_gp *gp, const double *x, double *mean, double *var, double *dmean,
		   double *dvar)
{
	const struct sw_gp_points *p = &gp->post;
	const int n = (int)p->n, ld = (int)p->ld;
	bool at_floor;

	assert(n > 0 && (dmean == NULL) == (dvar == NULL));
	see(gp, x);
	gp->ops->values(gp, &gp->hyper, p, p->n, gp->x, gp->k, dmean != NULL ? gp->h : NULL);
	*mean = gp->c + cblas_ddot(n, gp->k, 1, gp->alpha, 1);
	memcpy(gp->v, gp->k, p->n * sizeof *gp->v);
	cblas_dtrsv(CblasColMajor, CblasUpper, CblasTrans, CblasNonUnit, n, p->K, ld, gp->v, 1);
	*var = floored(&gp->hyper, cblas_ddot(n, gp->v, 1, gp->v, 1), &at_floor);
	if (dmean == NULL)
		return;
	cblas_dtrsv(CblasColMajor, CblasUpper, CblasNoTrans, CblasNonUnit, n, p->K, ld, gp->v, 1);
	/* After both solves v is K^-1 k, by which the variance k(x,x) - k'K^-1 k falls with k. */
	gp->ops->grad_x(gp, &gp->hyper, p, p->n, gp->x, gp->h, gp->alpha, gp->v, dmean, dvar);
	for (size_t k = 0; k < gp->d; k++) {
		const double slope = sw_gp_warp_slope(gp, k, x[k]);

		dmean[k] *= slope;
		/* The kernel sees warped coordinates, so the chain rule adds the warp's slope. */
		dvar[k] = at_floor ? 0 : -2 * slope * dvar[k];
	}
}

sw_status sw_gp_predict_batch(struct sw_gp *gp, const double *Xs, size_t m, double *mean,
			      double *var)
{
	const struct sw_gp_points *p = &gp->post;
	const int n = (int)p->n, ld = (int)p->ld;
	struct sw_gp_block block = {.mem = NULL};

	assert(n > 0);
	/* The process's own vectors hold one point, and a batch needs BATCH of them. */
	if (sw_gp_block_renew(&block, BATCH * p->ld) != SW_OK)
		return SW_NOMEM;
	for (size_t from = 0; from < m; from += BATCH) {
		const size_t part = m - from < BATCH ? m - from : BATCH;
		bool at_floor;

		for (size_t i = 0; i < part; i++) {
			double *k = block.at + i * p->ld;

			see(gp, Xs + (from + i) * gp->d);
			gp->ops->values(gp, &gp->hyper, p, p->n, gp->x, k, NULL);
			mean[from + i] = gp->c + cblas_ddot(n, k, 1, gp->alpha, 1);
		}
		/* One solve for the batch reads the factor once, and not once for each point. */
		cblas_dtrsm(CblasColMajor, CblasLeft, CblasUpper, CblasTrans, CblasNonUnit, n,
			    (int)part, 1, p->K, ld, block.at, ld);
		for (size_t i = 0; i < part; i++) {
			const double *v = block.at + i * p->ld;

			var[from + i] = floored(&gp->hyper, cblas_ddot(n, v, 1, v, 1), &at_floor);
		}
	}
	sw_gp_block_free(&block);
	return SW_OK;
}
