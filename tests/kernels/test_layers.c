/* tests/kernels/test_layers.c — activations, sums and dropout of the CPU table by their formulas.
 * Gradients: tests/float64. */
#include "kernels/ops.h"
#include "tests/run.h"
#include <math.h>

/* --- elementwise --- */

struct elementwise {
	const char *name;
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

static double silu(double x)
{
	return x * sigmoid(x);
}

#define ACTIVATIONS_N 5

static struct elementwise elementwise_of(int i)
{
	const struct elementwise all[ACTIVATIONS_N] = {
		{"relu", relu, sw_ops_cpu.relu_forward, sw_ops_cpu.relu_backward, 0},
		{"tanh", tanh, sw_ops_cpu.tanh_forward, sw_ops_cpu.tanh_backward, 0},
		{"sigmoid", sigmoid, sw_ops_cpu.sigmoid_forward, sw_ops_cpu.sigmoid_backward, 0},
		{"gelu", gelu, sw_ops_cpu.gelu_forward, sw_ops_cpu.gelu_backward, 1},
		{"silu", silu, sw_ops_cpu.silu_forward, sw_ops_cpu.silu_backward, 1},
	};

	return all[i];
}

TEST_LOOP(activations_are_what_their_formulas_say, 0, ACTIVATIONS_N)
{
	const struct elementwise e = elementwise_of(_i);
	float x[37], y[37];

	for (int i = 0; i < 37; i++)
		x[i] = (float)(i - 18) / 4;
	ck_assert_int_eq(e.forward(NULL, x, y, 37), SW_OK);
	for (int i = 0; i < 37; i++)
		ck_assert_msg(fabs((double)y[i] - e.f((double)x[i])) < 1e-6, "%s of %g is %g",
			      e.name, (double)x[i], (double)y[i]);
}

TEST_LOOP(activations_of_the_far_ends_are_finite_and_pass_a_nan_on, 0, ACTIVATIONS_N)
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

TEST(sums_add_in_place_and_apart)
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

/* A mask is the whole batch's, whatever the micro-batch that asks. */
TEST(dropout_of_parts_is_that_of_the_whole)
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

static void setup(void)
{
	sw_ops_cpu_threads(1);
}

RUN_TESTS(setup, NULL)
