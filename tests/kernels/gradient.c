#include "tests/kernels/gradient.h"
#include "kernels/philox.h"
#include "tests/run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEP         1e-5 /* of the central differences: error about STEP^2 and 1e-16 / STEP */
#define SINGLE_N     4    /* single elements of a tensor that are nudged */
#define DIRECTIONS_N 7    /* and random directions */

float *gradient_noise(size_t n, unsigned key)
{
	float *x = malloc((n + 1) * sizeof *x);

	ck_assert_ptr_nonnull(x);
	for (size_t i = 0; i < n; i++)
		x[i] = 2 * sw_philox_unit(sw_philox_block(key, 9, 0, 0, i).v[0]) - 1;
	return x;
}

void *gradient_work(size_t bytes)
{
	static void *kept;

	free(kept);
	kept = aligned_alloc(SW_OPS_ALIGN, (bytes / SW_OPS_ALIGN + 1) * SW_OPS_ALIGN);
	ck_assert_ptr_nonnull(kept);
	memset(kept, 0xff, bytes);
	return kept;
}

struct run {
	const struct gradient_case *c;
	float *in[GRADIENT_INS], *din[GRADIENT_INS], *out, *dy;
	float *dy0; /* what dy begins as: it may be written over */
	double *at[GRADIENT_INS], *want, *nudged;
	double slopes[GRADIENT_INS][DIRECTIONS_N];
};

static double *doubles(size_t n)
{
	double *x = malloc((n + 1) * sizeof *x);

	ck_assert_ptr_nonnull(x);
	return x;
}

static void run_init(struct run *r, const struct gradient_case *c)
{
	memset(r, 0, sizeof *r);
	r->c = c;
	for (size_t i = 0; i < c->ins; i++) {
		r->in[i] = gradient_noise(c->n[i], (unsigned)i + 1);
		r->din[i] = gradient_noise(c->n[i], 50);
		r->at[i] = doubles(c->n[i]);
		for (size_t k = 0; k < c->n[i]; k++) {
			r->at[i][k] = (double)r->in[i][k];
		}
	}
	r->out = gradient_noise(c->out_n, 51);
	r->dy = gradient_noise(c->out_n, 52);
	r->dy0 = gradient_noise(c->out_n, 52);
	r->want = doubles(c->out_n);
	r->nudged = doubles(c->out_n);
}

static void run_fini(struct run *r)
{
	for (size_t i = 0; i < r->c->ins; i++) {
		free(r->in[i]);
		free(r->din[i]);
		free(r->at[i]);
	}
	free(r->out);
	free(r->dy);
	free(r->dy0);
	free(r->want);
	free(r->nudged);
}

static void close_to(const struct run *r, const char *what, size_t tensor, size_t i, double got,
		     double want, double scale)
{
	if (!(fabs(got - want) <= r->c->tol * (scale + fabs(want))))
		ck_abort_msg("%s: %s %zu at %zu: %.9g is not %.9g", r->c->name, what, tensor, i,
			     got, want);
}

static void forward_check(struct run *r)
{
	double scale = 1e-3;

	memset(r->out, 0xff, r->c->out_n * sizeof *r->out);
	ck_assert_int_eq(r->c->forward(r->c->shape, r->in, r->out), SW_OK);
	r->c->reference(r->c->shape, r->at, r->want);
	for (size_t i = 0; i < r->c->out_n; i++)
		scale = fmax(scale, fabs(r->want[i]));
	for (size_t i = 0; i < r->c->out_n; i++)
		close_to(r, "output", 0, i, (double)r->out[i], r->want[i], scale);
}

/* The reference's slope of sum(dy * y) when tensor i moves along v. */
static double slope(struct run *r, size_t i, const double *v)
{
	const size_t n = r->c->n[i];
	double *was = doubles(n), sum = 0;

	memcpy(was, r->at[i], n * sizeof *was);
	for (size_t k = 0; k < n; k++)
		r->at[i][k] = was[k] + STEP * v[k];
	r->c->reference(r->c->shape, r->at, r->nudged);
	for (size_t k = 0; k < n; k++)
		r->at[i][k] = was[k] - STEP * v[k];
	r->c->reference(r->c->shape, r->at, r->want);
	memcpy(r->at[i], was, n * sizeof *was);
	free(was);
	for (size_t o = 0; o < r->c->out_n; o++)
		sum += (double)r->dy0[o] * (r->nudged[o] - r->want[o]);
	return sum / (2 * STEP);
}

/* Direction d: first single elements spread over the tensor, then all of it at random, so that no
 * element goes unseen. */
static void direction(double *v, size_t n, size_t d)
{
	float *noise = gradient_noise(n, (unsigned)(60 + d));

	for (size_t k = 0; k < n; k++)
		v[k] = d < SINGLE_N ? 0 : (double)noise[k];
	if (d < SINGLE_N)
		v[(n / SINGLE_N * d + d) % n] = 1;
	free(noise);
}

static void slopes_make(struct run *r)
{
	for (size_t i = 0; i < r->c->ins; i++)
		for (size_t d = 0; d < DIRECTIONS_N && r->c->n[i]; d++) {
			double *v = doubles(r->c->n[i]);

			direction(v, r->c->n[i], d);
			r->slopes[i][d] = slope(r, i, v);
			free(v);
		}
}

static void tensor_check(struct run *r, size_t i)
{
	const size_t n = r->c->n[i];
	double *g = doubles(n), *v = doubles(n), most = 1e-2, square = 1e-4;

	for (size_t k = 0; k < n; k++) {
		/* every element is a number */
		ck_assert_msg(isfinite(r->din[i][k]), "%s: gradient %zu at %zu is %g", r->c->name,
			      i, k, (double)r->din[i][k]);
		g[k] = (double)r->din[i][k];
		most = fmax(most, fabs(g[k]));
		square += g[k] * g[k];
	}
	for (size_t d = 0; d < DIRECTIONS_N && n; d++) {
		double sum = 0;

		direction(v, n, d);
		for (size_t k = 0; k < n; k++)
			sum += g[k] * v[k];
		close_to(r, "gradient", i, d, sum, r->slopes[i][d],
			 d < SINGLE_N ? most : sqrt(square));
	}
	free(g);
	free(v);
}

static void backward_check(struct run *r)
{
	const struct gradient_case *c = r->c;

	for (size_t i = 0; i < c->ins; i++)
		memset(r->din[i], 0xff, c->n[i] * sizeof *r->din[i]);
	memcpy(r->dy, r->dy0, c->out_n * sizeof *r->dy);
	ck_assert_int_eq(c->backward(c->shape, r->in, r->out, r->dy, r->din), SW_OK);
	for (size_t i = 0; i < c->ins; i++)
		tensor_check(r, i);
}

/* The same calls once more: the same bits. */
static void again_check(struct run *r)
{
	const struct gradient_case *c = r->c;

	for (size_t i = 0; i < c->ins; i++) {
		float *was = malloc((c->n[i] + 1) * sizeof *was);

		ck_assert_ptr_nonnull(was);
		memcpy(was, r->din[i], c->n[i] * sizeof *was);
		memcpy(r->dy, r->dy0, c->out_n * sizeof *r->dy);
		ck_assert_int_eq(c->backward(c->shape, r->in, r->out, r->dy, r->din), SW_OK);
		if (memcmp(was, r->din[i], c->n[i] * sizeof *was) != 0)
			ck_abort_msg("%s: gradient %zu has other bits the second time", c->name, i);
		free(was);
	}
}

void gradient_check(const struct gradient_case *c)
{
	struct run r;

	run_init(&r, c);
	forward_check(&r);
	slopes_make(&r);
	backward_check(&r);
	again_check(&r);
	run_fini(&r);
}
