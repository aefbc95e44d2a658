/* tests/kernels/test_layers.c — activations, dropout and norms of the CPU table against
 * references in double. */
#include "tests/kernels/gradient.h"
#include "tests/run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- elementwise --- */

struct elementwise {
	const char *name;
	size_t n;
	double (*f)(double x);
	sw_status (*forward)(struct sw_queue *q, const float *x, float *y, size_t n);
	sw_status (*backward)(struct sw_queue *q, const float *xy, const float *dy, float *dx,
			      size_t n);
	int of_x; /* backward reads x, not y */
};

static double relu(double x)
{
	return x > 0 ? x : 0;
}

static double sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

static double gelu(double x)
{
	return x * (1 + erf(x / sqrt(2))) / 2;
}

static void elementwise_reference(const void *shape, double *const *in, double *out)
{
	const struct elementwise *e = shape;

	for (size_t i = 0; i < e->n; i++)
		out[i] = e->f(in[0][i]);
}

static sw_status elementwise_forward(const void *shape, float *const *in, float *out)
{
	const struct elementwise *e = shape;

	return e->forward(NULL, in[0], out, e->n);
}

static sw_status elementwise_backward(const void *shape, float *const *in, const float *out,
				      float *dy, float *const *din)
{
	const struct elementwise *e = shape;
	const sw_status status = e->backward(NULL, e->of_x ? in[0] : out, dy, din[0], e->n);

	/* in place: the same bits */
	if (status == SW_OK)
		ck_assert_int_eq(e->backward(NULL, e->of_x ? in[0] : out, dy, dy, e->n), SW_OK);
	ck_assert_int_eq(memcmp(dy, din[0], e->n * sizeof *dy), 0);
	return status;
}

static struct elementwise elementwise_of(int i)
{
	const struct elementwise all[] = {
		{"relu", 37, relu, sw_ops_cpu.relu_forward, sw_ops_cpu.relu_backward, 0},
		{"tanh", 37, tanh, sw_ops_cpu.tanh_forward, sw_ops_cpu.tanh_backward, 0},
		{"sigmoid", 37, sigmoid, sw_ops_cpu.sigmoid_forward, sw_ops_cpu.sigmoid_backward,
		 0},
		{"gelu", 37, gelu, sw_ops_cpu.gelu_forward, sw_ops_cpu.gelu_backward, 1},
	};

	return all[i];
}

START_TEST(activations_and_their_gradients_match_the_reference)
{
	struct elementwise e = elementwise_of(_i);

	for (e.n = 0; e.n < 37; e.n = 2 * e.n + 1) {
		const struct gradient_case g = {
			.name = e.name,
			.ins = 1,
			.n = {e.n},
			.out_n = e.n,
			.tol = 1e-6,
			.shape = &e,
			.reference = elementwise_reference,
			.forward = elementwise_forward,
			.backward = elementwise_backward,
		};

		gradient_check(&g);
	}
}
END_TEST

START_TEST(activations_of_the_far_ends_are_finite_and_pass_a_nan_on)
{
	const struct elementwise e = elementwise_of(_i);
	const float x[] = {100, -100, INFINITY, -INFINITY, NAN}, dy[] = {1, 1, 1, 1, 1};
	float y[5], dx[5];

	ck_assert_int_eq(e.forward(NULL, x, y, 5), SW_OK);
	ck_assert_int_eq(e.backward(NULL, e.of_x ? x : y, dy, dx, 5), SW_OK);
	ck_assert(fabs((double)y[0] - e.f(100)) < 1e-4);
	ck_assert(fabs((double)y[1] - e.f(-100)) < 1e-4);
	ck_assert(isnan(y[4]));
	for (int i = 0; i < 3; i++)
		ck_assert_msg(isfinite(dx[i]), "%s: slope at %g is %g", e.name, (double)x[i],
			      (double)dx[i]);
}
END_TEST

START_TEST(sums_add_in_place_and_apart)
{
	float a[5] = {1, 2, NAN, 4, 5}, y[5];
	const float b[5] = {10, 20, 30, INFINITY, 50};

	ck_assert_int_eq(sw_ops_cpu.add(NULL, a, b, y, 5), SW_OK);
	ck_assert(y[0] == 11 && y[1] == 22 && isnan(y[2]) && isinf(y[3]) && y[4] == 55);
	ck_assert_int_eq(sw_ops_cpu.accumulate(NULL, b, y, 2), SW_OK);
	ck_assert(y[0] == 21 && y[1] == 42 && y[4] == 55);
	ck_assert_int_eq(sw_ops_cpu.add(NULL, a, b, a, 2), SW_OK);
	ck_assert(a[0] == 11 && a[1] == 22);
}
END_TEST

/* A mask is the whole batch's, whatever the micro-batch that asks. */
START_TEST(dropout_of_parts_is_that_of_the_whole)
{
	enum { N = 103 };
	const struct sw_step step = {.step = 9};
	struct sw_dropout d = {.seed = 5, .layer = 2, .p = 0.5f};
	float x[N], whole[N], part[N];

	for (size_t i = 0; i < N; i++)
		x[i] = (float)i + 1;
	ck_assert_int_eq(sw_ops_cpu.dropout(NULL, x, whole, N, d, &step), SW_OK);
	for (size_t each = 1; each < N; each += 3) {
		for (size_t i = 0; i < N; i += each) {
			d.first = i;
			ck_assert_int_eq(sw_ops_cpu.dropout(NULL, x + i, part + i,
							    N - i < each ? N - i : each, d, &step),
					 SW_OK);
		}
		ck_assert_mem_eq(part, whole, sizeof part);
	}
}
END_TEST

/* --- norms: x, gamma, beta --- */

struct norm {
	size_t B, C, S; /* layernorm: C rows of S in B groups of none */
	float *mean, *rstd;
};

static const struct norm norms[] = {
	{2, 1, 1, NULL, NULL},  {2, 3, 1, NULL, NULL},  {17, 5, 1, NULL, NULL},
	{1, 2, 13, NULL, NULL}, {3, 4, 49, NULL, NULL}, {2, 16, 9, NULL, NULL},
};

static void normalise(const double *x, double *y, size_t n, size_t step, size_t run, double gamma,
		      double beta)
{
	double mean = 0, var = 0;

#define AT(i) ((i) / run * step + (i) % run)
	for (size_t i = 0; i < n; i++)
		mean += x[AT(i)] / (double)n;
	for (size_t i = 0; i < n; i++)
		var += (x[AT(i)] - mean) * (x[AT(i)] - mean) / (double)n;
	for (size_t i = 0; i < n; i++)
		y[AT(i)] = (x[AT(i)] - mean) / sqrt(var + 1e-2) * gamma + beta;
#undef AT
}

/* eps 1e-2, so that the slopes of two close values stay mild */
static const struct sw_norm eps = {.eps = 1e-2f, .momentum = 0.1f};

static void batchnorm_reference(const void *shape, double *const *in, double *out)
{
	const struct norm *n = shape;

	for (size_t c = 0; c < n->C; c++)
		normalise(in[0] + c * n->S, out + c * n->S, n->B * n->S, n->C * n->S, n->S,
			  in[1][c], in[2][c]);
}

static sw_status batchnorm_forward(const void *shape, float *const *in, float *out)
{
	const struct norm *n = shape;
	float *running = gradient_noise(2 * n->C, 9);
	const sw_status status = sw_ops_cpu.batchnorm_train(NULL, in[0], in[1], in[2], running,
							    running + n->C, out, n->mean, n->rstd,
							    n->B, n->C, n->S, eps);

	free(running);
	return status;
}

static sw_status batchnorm_backward(const void *shape, float *const *in, const float *out,
				    float *dy, float *const *din)
{
	const struct norm *n = shape;

	(void)out;
	return sw_ops_cpu.batchnorm_backward(NULL, in[0], in[1], n->mean, n->rstd, dy, din[0],
					     din[1], din[2], n->B, n->C, n->S);
}

START_TEST(batchnorm_and_its_gradient_match_the_reference)
{
	struct norm n = norms[_i];
	const struct gradient_case g = {
		.name = "batchnorm",
		.ins = 3,
		.n = {n.B * n.C * n.S, n.C, n.C},
		.out_n = n.B * n.C * n.S,
		.tol = 2e-5,
		.shape = &n,
		.reference = batchnorm_reference,
		.forward = batchnorm_forward,
		.backward = batchnorm_backward,
	};

	n.mean = gradient_noise(n.C, 1);
	n.rstd = gradient_noise(n.C, 1);
	gradient_check(&g);
	free(n.mean);
	free(n.rstd);
}
END_TEST

START_TEST(batchnorm_moves_its_statistics_and_evaluates_with_them)
{
	const float x[4] = {1, 2, 3, 6}, gamma = 2, beta = 1;
	const struct sw_norm n = {.eps = 0, .momentum = 0.25f};
	float mean = 4, var = 8, y[4], m, r;

	ck_assert_int_eq(sw_ops_cpu.batchnorm_train(NULL, x, &gamma, &beta, &mean, &var, y, &m, &r,
						    2, 1, 2, n),
			 SW_OK);
	/* mean 3, biased variance 14 / 4, unbiased 14 / 3 */
	ck_assert_float_eq_tol(mean, 0.75f * 4 + 0.25f * 3, 1e-6f);
	ck_assert_float_eq_tol(var, 0.75f * 8 + 0.25f * 14 / 3, 1e-6f);
	ck_assert_float_eq_tol(y[0], (1 - 3) / sqrtf(3.5f) * 2 + 1, 1e-6f);
	mean = 2;
	var = 4;
	ck_assert_int_eq(
		sw_ops_cpu.batchnorm_eval(NULL, x, &gamma, &beta, &mean, &var, y, 2, 1, 2, n),
		SW_OK);
	for (size_t i = 0; i < 4; i++)
		ck_assert_float_eq_tol(y[i], (x[i] - 2) / 2 * 2 + 1, 1e-6f);
	/* One value has no variance: the running one stays. */
	ck_assert_int_eq(sw_ops_cpu.batchnorm_train(NULL, x, &gamma, &beta, &mean, &var, y, &m, &r,
						    1, 1, 1, eps),
			 SW_OK);
	ck_assert(var == 4 && y[0] == 1);
}
END_TEST

/* A mean far from zero must not eat the variance's digits. */
START_TEST(norms_of_values_far_from_zero_keep_their_digits)
{
	enum { N = 64 };
	float x[N], y[N], mean[1], rstd[1], running[2] = {0, 0};
	const float one = 1, zero = 0;
	float ones[N], zeros[N] = {0};

	for (size_t i = 0; i < N; i++) {
		x[i] = 4096 + (i % 2 ? 0.5f : -0.5f);
		ones[i] = 1;
	}
	ck_assert_int_eq(sw_ops_cpu.batchnorm_train(NULL, x, &one, &zero, running, running + 1, y,
						    mean, rstd, N, 1, 1, (struct sw_norm){0, 0}),
			 SW_OK);
	for (size_t i = 0; i < N; i++)
		ck_assert_float_eq_tol(y[i], i % 2 ? 1.0f : -1.0f, 1e-5f);
	ck_assert_int_eq(sw_ops_cpu.layernorm_forward(NULL, x, ones, zeros, y, NULL, NULL, 1, N,
						      (struct sw_norm){0, 0}),
			 SW_OK);
	for (size_t i = 0; i < N; i++)
		ck_assert_float_eq_tol(y[i], i % 2 ? 1.0f : -1.0f, 1e-5f);
}
END_TEST

static void layernorm_reference(const void *shape, double *const *in, double *out)
{
	const struct norm *n = shape;

	for (size_t r = 0; r < n->C; r++) {
		normalise(in[0] + r * n->S, out + r * n->S, n->S, n->S, n->S, 1, 0);
		for (size_t d = 0; d < n->S; d++)
			out[r * n->S + d] = out[r * n->S + d] * in[1][d] + in[2][d];
	}
}

static sw_status layernorm_forward(const void *shape, float *const *in, float *out)
{
	const struct norm *n = shape;

	return sw_ops_cpu.layernorm_forward(NULL, in[0], in[1], in[2], out, n->mean, n->rstd, n->C,
					    n->S, eps);
}

static sw_status layernorm_backward(const void *shape, float *const *in, const float *out,
				    float *dy, float *const *din)
{
	const struct norm *n = shape;

	(void)out;
	return sw_ops_cpu.layernorm_backward(NULL, in[0], in[1], n->mean, n->rstd, dy, din[0],
					     din[1], din[2], n->C, n->S);
}

START_TEST(layernorm_and_its_gradient_match_the_reference)
{
	struct norm n = norms[_i];
	const struct gradient_case g = {
		.name = "layernorm",
		.ins = 3,
		.n = {n.C * n.S, n.S, n.S},
		.out_n = n.C * n.S,
		.tol = 2e-5,
		.shape = &n,
		.reference = layernorm_reference,
		.forward = layernorm_forward,
		.backward = layernorm_backward,
	};

	n.mean = gradient_noise(n.C, 1);
	n.rstd = gradient_noise(n.C, 1);
	gradient_check(&g);
	free(n.mean);
	free(n.rstd);
}
END_TEST

SUITE(tcase)
{
	sw_ops_cpu_threads(1);
	tcase_add_loop_test(tcase, activations_and_their_gradients_match_the_reference, 0, 4);
	tcase_add_loop_test(tcase, activations_of_the_far_ends_are_finite_and_pass_a_nan_on, 0, 4);
	tcase_add_test(tcase, sums_add_in_place_and_apart);
	tcase_add_test(tcase, dropout_of_parts_is_that_of_the_whole);
	tcase_add_rows(tcase, batchnorm_and_its_gradient_match_the_reference, norms);
	tcase_add_test(tcase, batchnorm_moves_its_statistics_and_evaluates_with_them);
	tcase_add_test(tcase, norms_of_values_far_from_zero_keep_their_digits);
	tcase_add_rows(tcase, layernorm_and_its_gradient_match_the_reference, norms);
}
