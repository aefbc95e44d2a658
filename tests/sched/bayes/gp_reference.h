/*
 * tests/sched/bayes/gp_reference.h — the Gaussian process of sched/bayes/gp.h once more, as slow
 * and plain as its formulas: long double, dense, Cholesky in three loops, nothing shared with the
 * code under test.
 */
#ifndef SW_TESTS_SCHED_BAYES_GP_REFERENCE_H
#define SW_TESTS_SCHED_BAYES_GP_REFERENCE_H

#include "sched/bayes/gp.h"
#include <math.h>

enum { REF_MAX = 40, REF_D = 8, REF_THETA = 3 * REF_D + 3 };

struct reference {
	struct sw_gp_config config;
	size_t n;
	const double *X;
	double theta[REF_THETA];
	long double L[REF_MAX][REF_MAX], alpha[REF_MAX], c, lml;
};

static long double ref_shape(enum sw_gp_kernel kernel, long double r2)
{
	const long double a = sqrtl(5 * r2);

	return kernel == SW_GP_RBF ? expl(-r2 / 2) : (1 + a + a * a / 3) * expl(-a);
}

/* By its definition: the logit moves. */
static long double ref_warp(const struct reference *r, size_t k, long double x)
{
	const size_t first = (r->config.additive ? 2 * r->config.d + 3 : r->config.d + 2);

	if (!r->config.warped || x <= 0 || x >= 1)
		return x;
	return 1 / (1 + expl(-(logl(x / (1 - x)) - r->theta[first + k])));
}

static long double ref_apart(const struct reference *r, size_t k, double x, double y)
{
	if (r->config.category != NULL && r->config.category[k])
		return x == y ? 0 : 1;
	return ref_warp(r, k, x) - ref_warp(r, k, y);
}

static long double ref_kernel(const struct reference *r, const double *x, const double *y)
{
	const size_t d = r->config.d;
	long double r2 = 0, sum = 0;

	for (size_t k = 0; k < d; k++) {
		const long double t = ref_apart(r, k, x[k], y[k]);
		const long double u = t / expl(r->theta[k]);

		r2 += u * u;
		if (r->config.additive) {
			const long double v = t / expl(r->theta[d + 3 + k]);

			sum += ref_shape(r->config.kernel, v * v);
		}
	}
	sum *= r->config.additive ? expl(r->theta[d + 2]) / (long double)d : 0;
	return expl(r->theta[d]) * ref_shape(r->config.kernel, r2) + sum;
}

static void ref_forward(const struct reference *r, long double *b)
{
	for (size_t i = 0; i < r->n; i++) {
		for (size_t j = 0; j < i; j++)
			b[i] -= r->L[i][j] * b[j];
		b[i] /= r->L[i][i];
	}
}

static void ref_factor(struct reference *r)
{
	const size_t d = r->config.d;
	const long double total =
		expl(r->theta[d]) + (r->config.additive ? expl(r->theta[d + 2]) : 0);

	for (size_t i = 0; i < r->n; i++)
		for (size_t j = 0; j <= i; j++) {
			long double sum = ref_kernel(r, r->X + i * d, r->X + j * d);

			if (i == j)
				sum += expl(r->theta[d + 1]) + 1e-10L * total;
			for (size_t k = 0; k < j; k++)
				sum -= r->L[i][k] * r->L[j][k];
			r->L[i][j] = i == j ? sqrtl(sum) : sum / r->L[j][j];
		}
}

/* The mean is the generalised least squares one; alpha = K^-1 (z - c). */
static void ref_condition(struct reference *r, const double *z)
{
	long double one[REF_MAX], b[REF_MAX], up = 0, down = 0, quad = 0, log_det = 0;

	ref_factor(r);
	for (size_t i = 0; i < r->n; i++) {
		one[i] = 1;
		b[i] = (long double)z[i];
	}
	ref_forward(r, one);
	ref_forward(r, b);
	for (size_t i = 0; i < r->n; i++) {
		up += one[i] * b[i];
		down += one[i] * one[i];
	}
	r->c = up / down;
	for (size_t i = 0; i < r->n; i++) {
		b[i] -= r->c * one[i];
		quad += b[i] * b[i];
		log_det += 2 * logl(r->L[i][i]);
	}
	for (size_t i = r->n; i-- > 0;) {
		r->alpha[i] = b[i];
		for (size_t j = i + 1; j < r->n; j++)
			r->alpha[i] -= r->L[j][i] * r->alpha[j];
		r->alpha[i] /= r->L[i][i];
	}
	r->lml = -quad / 2 - log_det / 2 - (long double)r->n / 2 * logl(2 * acosl(-1.0L));
}

static void ref_predict(const struct reference *r, const double *x, double *mean, double *var)
{
	long double k[REF_MAX], m = r->c, v = ref_kernel(r, x, x);

	for (size_t i = 0; i < r->n; i++) {
		k[i] = ref_kernel(r, x, r->X + i * r->config.d);
		m += k[i] * r->alpha[i];
	}
	ref_forward(r, k);
	for (size_t i = 0; i < r->n; i++)
		v -= k[i] * k[i];
	*mean = (double)m;
	*var = (double)v;
}

#endif
