/* tests/kernels/test_conv.c — linear and convolution of the CPU table against references in double,
 * by each set of instructions that this machine has, and the edges of pooling. Its values and
 * gradients: tests/worker/test_fixtures.c beside PyTorch, tests/float64. */
#include "kernels/cpu/cpu.h"
#include "tests/kernels/gradient.h"
#include "tests/run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- convolution --- */

struct conv {
	struct sw_conv c;
	enum sw_act act;
	int bias;
};

static const struct sw_conv convs[] = {
	/*B  C   H   W   O   kh kw s  p */
	{1, 1, 1, 1, 1, 1, 1, 1, 0},     {2, 3, 5, 4, 2, 3, 3, 1, 0},
	{2, 3, 12, 11, 6, 5, 5, 1, 0},   {3, 6, 14, 14, 16, 5, 5, 1, 0},
	{1, 3, 32, 32, 6, 5, 5, 1, 0},   {2, 6, 9, 21, 17, 5, 5, 1, 0},
	{2, 2, 7, 7, 3, 3, 3, 1, 1},     {1, 5, 8, 8, 33, 3, 3, 2, 1},
	{2, 4, 6, 5, 7, 1, 1, 2, 0},     {1, 1, 3, 17, 2, 2, 3, 1, 2},
	{1, 2, 4, 4, 2, 4, 4, 1, 0},     {2, 3, 7, 6, 4, 3, 2, 3, 1},
	{1, 7, 5, 5, 16, 1, 1, 1, 0},    {1, 1, 2, 2, 1, 2, 2, 2, 2},
	{1, 16, 6, 34, 13, 3, 3, 1, 1},  {5, 1, 8, 8, 8, 3, 3, 1, 0},
	{1, 17, 10, 10, 32, 3, 3, 1, 1}, {1, 3, 19, 35, 1, 7, 7, 2, 3},
};

static void conv_reference(const void *shape, double *const *in, double *out)
{
	const struct conv *v = shape;
	const struct sw_conv *c = &v->c;
	const size_t oh = sw_conv_out_h(c), ow = sw_conv_out_w(c);

	for (size_t at = 0; at < c->B * c->O * oh * ow; at++) {
		const size_t n = at / (c->O * oh * ow), o = at / (oh * ow) % c->O;
		const size_t r = at / ow % oh, s = at % ow;
		double sum = v->bias ? in[2][o] : 0;

		for (size_t k = 0; k < c->C * c->kh * c->kw; k++) {
			const size_t ch = k / (c->kh * c->kw), i = k / c->kw % c->kh, j = k % c->kw;
			const size_t y = r * c->stride + i, x = s * c->stride + j;

			if (y < c->pad || y - c->pad >= c->H || x < c->pad || x - c->pad >= c->W)
				continue;
			sum += in[0][((n * c->C + ch) * c->H + y - c->pad) * c->W + x - c->pad] *
			       in[1][o * c->C * c->kh * c->kw + k];
		}
		out[at] = v->act == SW_ACT_RELU && sum < 0 ? 0 : sum;
	}
}

static sw_status conv_forward(const void *shape, float *const *in, float *out)
{
	const struct conv *v = shape;

	return sw_ops_cpu.conv2d_forward(NULL, in[0], in[1], v->bias ? in[2] : NULL, out, &v->c,
					 v->act, gradient_work(sw_ops_cpu.conv2d_workspace(&v->c)));
}

static sw_status conv_backward(const void *shape, float *const *in, const float *out, float *dy,
			       float *const *din)
{
	const struct conv *v = shape;

	return sw_ops_cpu.conv2d_backward(NULL, in[0], in[1], v->act == SW_ACT_NONE ? NULL : out,
					  dy, din[0], din[1], v->bias ? din[2] : NULL, &v->c,
					  v->act,
					  gradient_work(sw_ops_cpu.conv2d_workspace(&v->c)));
}

/* _i: the shape and, in turn, the instructions */
TEST_LOOP(conv2d_and_its_gradient_match_the_reference, 0, SW_CPU_ISA_N *(int)ROWS(convs))
{
	const struct sw_conv *c = &convs[(size_t)_i % ROWS(convs)];

	if (!sw_cpu_isa_force(_i / (int)ROWS(convs)))
		return;
	/* columns know no instructions of their own: with the first alone */
	for (int k = 0; k < (_i < (int)ROWS(convs) ? 6 : 3); k++) {
		const struct conv v = {*c, k % 2 ? SW_ACT_RELU : SW_ACT_NONE, k % 3 < 2};
		const struct gradient_case g = {
			.name = "conv2d",
			.ins = (size_t)(v.bias ? 3 : 2),
			.n = {c->B * c->C * c->H * c->W, c->O * c->C * c->kh * c->kw, c->O},
			.out_n = c->B * c->O * sw_conv_out_h(c) * sw_conv_out_w(c),
			.tol = 2e-5,
			.shape = &v,
			.reference = conv_reference,
			.forward = conv_forward,
			.backward = conv_backward,
		};

		sw_cpu_conv_force(1 + k / 3);
		gradient_check(&g);
	}
}

/* Without a wanted dx, dw and db are the same. */
TEST_ROWS(conv2d_backward_without_dx_gives_the_same_dw, convs)
{
	const struct sw_conv *c = &convs[_i];
	const size_t x_n = c->B * c->C * c->H * c->W, w_n = c->O * c->C * c->kh * c->kw;
	const size_t y_n = c->B * c->O * sw_conv_out_h(c) * sw_conv_out_w(c);
	float *x = gradient_noise(x_n, 1), *w = gradient_noise(w_n, 2),
	      *dx = gradient_noise(x_n, 3);
	float *dy = gradient_noise(y_n, 4), *dw[2], *db[2];

	for (int k = 0; k < 2; k++) {
		dw[k] = gradient_noise(w_n, 5);
		db[k] = gradient_noise(c->O, 6);
		ck_assert_int_eq(
			sw_ops_cpu.conv2d_backward(NULL, x, w, NULL, dy, k ? NULL : dx, dw[k],
						   db[k], c, SW_ACT_NONE,
						   gradient_work(sw_ops_cpu.conv2d_workspace(c))),
			SW_OK);
	}
	ck_assert(memcmp(dw[0], dw[1], w_n * sizeof *w) == 0);
	ck_assert(memcmp(db[0], db[1], c->O * sizeof *w) == 0);
	for (int k = 0; k < 2; k++) {
		free(dw[k]);
		free(db[k]);
	}
	free(x);
	free(w);
	free(dx);
	free(dy);
}

/* One NaN in x is a NaN in each output whose window holds it, and nowhere else. */
TEST_LOOP(conv2d_passes_a_nan_on, 0, SW_CPU_ISA_N)
{
	const struct sw_conv c = {1, 2, 9, 20, 3, 3, 3, 1, 1};
	const size_t P = 9 * 20, y_n = 3 * P;

	if (!sw_cpu_isa_force(_i))
		return;
	float *x = gradient_noise(2 * P, 1), *w = gradient_noise(54, 2);
	float *y = gradient_noise(y_n, 3);

	x[4 * 20 + 7] = NAN;
	ck_assert_int_eq(sw_ops_cpu.conv2d_forward(NULL, x, w, NULL, y, &c, SW_ACT_RELU,
						   gradient_work(sw_ops_cpu.conv2d_workspace(&c))),
			 SW_OK);
	for (size_t i = 0; i < y_n; i++) {
		const size_t r = i % P / 20, s = i % 20;

		ck_assert_int_eq(isnan(y[i]) != 0, r >= 3 && r <= 5 && s >= 6 && s <= 8);
	}
	free(x);
	free(w);
	free(y);
}

TEST(conv2d_of_no_rows_or_channels_writes_zeros_or_the_bias)
{
	const struct sw_conv none = {0, 2, 4, 4, 3, 3, 3, 1, 1}, flat = {1, 0, 4, 4, 2, 3, 3, 1, 1};
	float x[1] = {0}, w[54] = {0}, b[3] = {1, -2, 3}, y[32], dw[54], db[3];

	memset(dw, 0xff, sizeof dw);
	memset(db, 0xff, sizeof db);
	memset(y, 0xff, sizeof y);
	ck_assert_int_eq(sw_ops_cpu.conv2d_forward(NULL, x, w, b, NULL, &none, SW_ACT_NONE,
						   gradient_work(4096)),
			 SW_OK);
	ck_assert_int_eq(sw_ops_cpu.conv2d_backward(NULL, x, w, NULL, NULL, NULL, dw, db, &none,
						    SW_ACT_NONE, gradient_work(4096)),
			 SW_OK);
	for (size_t i = 0; i < 54; i++)
		ck_assert(dw[i] == 0.0f);
	for (size_t i = 0; i < 3; i++)
		ck_assert(db[i] == 0.0f);
	ck_assert_int_eq(sw_ops_cpu.conv2d_forward(NULL, x, w, b, y, &flat, SW_ACT_RELU,
						   gradient_work(4096)),
			 SW_OK);
	for (size_t i = 0; i < 32; i++)
		ck_assert(y[i] == (i < 16 ? 1.0f : 0.0f));
}

static const struct sw_conv no_convs[] = {
	{1, 1, 2, 2, 1, 3, 3, 1, 0},
	{1, 1, 4, 4, 1, 3, 3, 0, 0},
	{1, 1, 4, 4, 1, 0, 3, 1, 0},
	{1, 1, (size_t)INT32_MAX + 1, 1, 1, 1, 1, 1, 0},
	{1, 1, 1 << 17, 1 << 17, 1, 1, 1, 1, 0},
};

TEST_ROWS(conv2d_of_a_shape_without_sense_is_refused, no_convs)
{
	float one[1] = {0};

	ck_assert_int_eq(sw_ops_cpu.conv2d_forward(NULL, one, one, NULL, one, &no_convs[_i],
						   SW_ACT_NONE, one),
			 SW_INVALID);
	ck_assert_int_eq(sw_ops_cpu.conv2d_backward(NULL, one, one, NULL, one, one, one, NULL,
						    &no_convs[_i], SW_ACT_NONE, one),
			 SW_INVALID);
}

/* --- linear --- */

struct linear {
	size_t B, I, O;
	enum sw_act act;
	int bias;
};

static const struct linear linears[] = {
	{1, 1, 1, 0, 1},     {2, 64, 64, 1, 1},  {2, 64, 32, 1, 1},  {4, 400, 120, 1, 1},
	{3, 7, 5, 0, 1},     {5, 17, 33, 1, 0},  {16, 32, 10, 0, 1}, {17, 65, 31, 1, 1},
	{128, 84, 10, 0, 1}, {1, 30, 2, 1, 1},   {2, 9, 1, 0, 1},    {7, 16, 16, 0, 0},
	{9, 129, 67, 1, 1},  {33, 15, 18, 0, 1}, {4, 1, 40, 1, 1},   {6, 100, 4, 1, 1},
	{0, 4, 3, 0, 1},
};

static void linear_reference(const void *shape, double *const *in, double *out)
{
	const struct linear *v = shape;

	for (size_t at = 0; at < v->B * v->O; at++) {
		const size_t r = at / v->O, o = at % v->O;
		double sum = v->bias ? in[2][o] : 0;

		for (size_t i = 0; i < v->I; i++)
			sum += in[0][r * v->I + i] * in[1][o * v->I + i];
		out[at] = v->act == SW_ACT_RELU && sum < 0 ? 0 : sum;
	}
}

static sw_status linear_forward(const void *shape, float *const *in, float *out)
{
	const struct linear *v = shape;

	return sw_ops_cpu.linear_forward(NULL, in[0], in[1], v->bias ? in[2] : NULL, out, v->B,
					 v->I, v->O, v->act, NULL);
}

static sw_status linear_backward(const void *shape, float *const *in, const float *out, float *dy,
				 float *const *din)
{
	const struct linear *v = shape;

	return sw_ops_cpu.linear_backward(NULL, in[0], in[1], v->act == SW_ACT_NONE ? NULL : out,
					  dy, din[0], din[1], v->bias ? din[2] : NULL, v->B, v->I,
					  v->O, v->act, NULL);
}

TEST_LOOP(linear_and_its_gradient_match_the_reference, 0, SW_CPU_ISA_N *(int)ROWS(linears))
{
	const struct linear *v = &linears[(size_t)_i % ROWS(linears)];

	if (!sw_cpu_isa_force(_i / (int)ROWS(linears)))
		return;
	for (int path = 0; path <= 2; path++) {
		const struct gradient_case g = {
			.name = "linear",
			.ins = v->bias ? 3 : 2,
			.n = {v->B * v->I, v->O * v->I, v->O},
			.out_n = v->B * v->O,
			.tol = 1e-5,
			.shape = v,
			.reference = linear_reference,
			.forward = linear_forward,
			.backward = linear_backward,
		};

		sw_cpu_linear_force(path);
		gradient_check(&g);
	}
}

/* --- pooling --- */

TEST_LOOP(maxpool_takes_the_first_of_equals_and_any_nan, 0, SW_CPU_ISA_N)
{
	const struct sw_window p = {1, 1, 2, 40, 2, 2, 2, 0};
	float x[80], y[20];
	int32_t at[20];

	if (!sw_cpu_isa_force(_i))
		return;
	for (size_t i = 0; i < 80; i++)
		x[i] = -1;
	x[2] = NAN;  /* the first of its window: nothing is larger than a NaN */
	x[45] = NAN; /* row 1, column 5: window 2 */
	x[3 * 2 + 1] = 5;
	x[46] = 5; /* row 1, column 6: an equal later on */
	x[78] = x[79] = -INFINITY;
	x[38] = x[39] = -INFINITY;
	ck_assert_int_eq(sw_ops_cpu.maxpool2d_forward(NULL, x, y, at, &p), SW_OK);
	ck_assert_int_eq(at[0], 0);
	ck_assert(isnan(y[1]) && isnan(y[2]));
	ck_assert_int_eq(at[1], 2);
	ck_assert_int_eq(at[2], 45);
	ck_assert_int_eq(at[3], 7);
	ck_assert_int_eq(at[19], 38);
	for (size_t i = 4; i < 19; i++)
		ck_assert_int_eq(at[i], (int32_t)(2 * i));
	ck_assert(isinf(y[19]));
}

static const struct sw_window no_windows[] = {
	{1, 1, 2, 2, 3, 3, 1, 0},
	{1, 1, 4, 4, 2, 2, 0, 0},
	{1, 1, 4, 4, 2, 2, 1, 2},
	{1, 1, 4, 4, 0, 2, 1, 0},
};

TEST_ROWS(pools_of_a_shape_without_sense_are_refused, no_windows)
{
	const struct sw_window *p = &no_windows[_i];
	float x[16] = {0}, y[16] = {0};
	int32_t at[16] = {0};

	ck_assert_int_eq(sw_ops_cpu.maxpool2d_forward(NULL, x, y, at, p), SW_INVALID);
	ck_assert_int_eq(sw_ops_cpu.maxpool2d_backward(NULL, y, at, x, p), SW_INVALID);
	ck_assert_int_eq(sw_ops_cpu.avgpool2d_forward(NULL, x, y, p), SW_INVALID);
	ck_assert_int_eq(sw_ops_cpu.avgpool2d_backward(NULL, y, x, p), SW_INVALID);
}

static void setup(void)
{
	sw_ops_cpu_threads(1);
}

RUN_TESTS(setup, NULL)
