/* tests/kernels/test_conv.c — linear and convolution of the CPU table beside their sums in double
 * (sums.h), by each set of instructions that this machine has, and the edges of pooling. */
#include "kernels/cpu/cpu.h"
#include "tests/kernels/sums.h"
#include "tests/run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- convolution --- */

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

/* A layer of the CPU table, and its sums by the definition. in: x, w and b; d: their gradients;
 * d[0] is NULL where it is not wanted. */
struct layer {
	const void *shape;
	size_t n[3], out_n; /* n[2] 0: without a bias */
	enum sw_act act;
	sw_status (*forward)(const struct layer *l, float *const *in, float *y);
	sw_status (*backward)(const struct layer *l, float *const *in, const float *y, float *dy,
			      float *const *d);
	void (*forward_sums)(const struct layer *l, float *const *in, struct sum *y);
	void (*backward_sums)(const struct layer *l, float *const *in, const float *y,
			      const float *dy, struct sum *const *d);
};

static void near(const char *what, struct sum *want, float *got, size_t n)
{
	const size_t i = sums_wrong(want, got, n);

	ck_assert_msg(i == n, "%s at %zu of %zu: %.9g, not %.9g", what, i, n, (double)got[i],
		      want[i].value);
	free(want);
	free(got);
}

/* Without a wanted dx, dw and db are the same; and so they are when the call is made again. */
static void backward_check(const struct layer *l, float *const *in, const float *y)
{
	static const char *const names[] = {"dx", "dw", "db"};
	const size_t dy_bytes = l->out_n * sizeof(float);
	float *dy = sums_noise(l->out_n, 4), *scratch = sums_noise(l->out_n, 4), *d[3], *again[3];
	struct sum *want[3];

	for (size_t i = 0; i < 3; i++) {
		d[i] = sums_work(l->n[i] * sizeof(float));
		again[i] = sums_work(l->n[i] * sizeof(float));
		want[i] = sums_none(l->n[i]);
	}
	ck_assert_int_eq(l->backward(l, in, y, scratch, d), SW_OK);
	memcpy(scratch, dy, dy_bytes);
	ck_assert_int_eq(l->backward(l, in, y, scratch, (float *[]){NULL, again[1], again[2]}),
			 SW_OK);
	l->backward_sums(l, in, y, dy, want);
	for (size_t i = 0; i < 3; i++) {
		ck_assert(i == 0 || memcmp(d[i], again[i], l->n[i] * sizeof(float)) == 0);
		near(names[i], want[i], d[i], l->n[i]);
		free(again[i]);
	}
	free(dy);
	free(scratch);
}

static void layer_check(const struct layer *l)
{
	float *in[3], *y = sums_work(l->out_n * sizeof *y);
	struct sum *want = sums_none(l->out_n);

	for (size_t i = 0; i < 3; i++)
		in[i] = sums_noise(l->n[i], (unsigned)i + 1);
	ck_assert_int_eq(l->forward(l, in, y), SW_OK);
	backward_check(l, in, l->act == SW_ACT_NONE ? NULL : y);
	l->forward_sums(l, in, want);
	near("y", want, y, l->out_n);
	for (size_t i = 0; i < 3; i++)
		free(in[i]);
}

static sw_status conv_forward(const struct layer *l, float *const *in, float *y)
{
	void *work = sums_work(sw_ops_cpu.conv2d_workspace(l->shape));
	const sw_status status = sw_ops_cpu.conv2d_forward(
		NULL, in[0], in[1], l->n[2] ? in[2] : NULL, y, l->shape, l->act, work);

	free(work);
	return status;
}

static sw_status conv_backward(const struct layer *l, float *const *in, const float *y, float *dy,
			       float *const *d)
{
	void *work = sums_work(sw_ops_cpu.conv2d_workspace(l->shape));
	const sw_status status = sw_ops_cpu.conv2d_backward(NULL, in[0], in[1], y, dy, d[0], d[1],
							    l->n[2] ? d[2] : NULL, l->shape, l->act,
							    work);

	free(work);
	return status;
}

static void conv_sums(const struct layer *l, float *const *in, struct sum *y)
{
	sums_conv2d_forward(y, in[0], in[1], l->n[2] ? in[2] : NULL, l->shape, l->act);
}

static void conv_gradients(const struct layer *l, float *const *in, const float *y, const float *dy,
			   struct sum *const *d)
{
	sums_conv2d_backward(d[0], d[1], l->n[2] ? d[2] : NULL, in[0], in[1], y, dy, l->shape);
}

/* _i: the shape and, in turn, the instructions */
TEST_LOOP(conv2d_and_its_gradient_are_near_their_sums, 0, SW_CPU_ISA_N *(int)ROWS(convs))
{
	const struct sw_conv *c = &convs[(size_t)_i % ROWS(convs)];

	if (!sw_cpu_isa_force(_i / (int)ROWS(convs)))
		return;
	/* columns know no instructions of their own: with the first alone */
	for (int k = 0; k < (_i < (int)ROWS(convs) ? 6 : 3); k++) {
		sw_cpu_conv_force(1 + k / 3);
		layer_check(&(struct layer){
			.shape = c,
			.n = {c->B * c->C * c->H * c->W, c->O * c->C * c->kh * c->kw,
			      k % 3 < 2 ? c->O : 0},
			.out_n = c->B * c->O * sw_conv_out_h(c) * sw_conv_out_w(c),
			.act = k % 2 ? SW_ACT_RELU : SW_ACT_NONE,
			.forward = conv_forward,
			.backward = conv_backward,
			.forward_sums = conv_sums,
			.backward_sums = conv_gradients,
		});
	}
}

/* One NaN in x is a NaN in each output whose window holds it, and nowhere else. */
TEST_LOOP(conv2d_passes_a_nan_on, 0, SW_CPU_ISA_N)
{
	const struct sw_conv c = {1, 2, 9, 20, 3, 3, 3, 1, 1};
	const size_t P = 9 * 20, y_n = 3 * P;

	if (!sw_cpu_isa_force(_i))
		return;
	float *x = sums_noise(2 * P, 1), *w = sums_noise(54, 2);
	float *y = sums_noise(y_n, 3), *work = sums_work(sw_ops_cpu.conv2d_workspace(&c));

	x[4 * 20 + 7] = NAN;
	ck_assert_int_eq(sw_ops_cpu.conv2d_forward(NULL, x, w, NULL, y, &c, SW_ACT_RELU, work),
			 SW_OK);
	for (size_t i = 0; i < y_n; i++) {
		const size_t r = i % P / 20, s = i % 20;

		ck_assert_int_eq(isnan(y[i]) != 0, r >= 3 && r <= 5 && s >= 6 && s <= 8);
	}
	free(x);
	free(w);
	free(y);
	free(work);
}

TEST(conv2d_of_no_rows_or_channels_writes_zeros_or_the_bias)
{
	const struct sw_conv none = {0, 2, 4, 4, 3, 3, 3, 1, 1}, flat = {1, 0, 4, 4, 2, 3, 3, 1, 1};
	float x[1] = {0}, w[54] = {0}, b[3] = {1, -2, 3}, y[32], dw[54], db[3];
	void *work = sums_work(4096);

	memset(dw, 0xff, sizeof dw);
	memset(db, 0xff, sizeof db);
	memset(y, 0xff, sizeof y);
	ck_assert_int_eq(sw_ops_cpu.conv2d_forward(NULL, x, w, b, NULL, &none, SW_ACT_NONE, work),
			 SW_OK);
	ck_assert_int_eq(sw_ops_cpu.conv2d_backward(NULL, x, w, NULL, NULL, NULL, dw, db, &none,
						    SW_ACT_NONE, work),
			 SW_OK);
	for (size_t i = 0; i < 54; i++)
		ck_assert(dw[i] == 0.0f);
	for (size_t i = 0; i < 3; i++)
		ck_assert(db[i] == 0.0f);
	ck_assert_int_eq(sw_ops_cpu.conv2d_forward(NULL, x, w, b, y, &flat, SW_ACT_RELU, work),
			 SW_OK);
	for (size_t i = 0; i < 32; i++)
		ck_assert(y[i] == (i < 16 ? 1.0f : 0.0f));
	free(work);
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

static sw_status linear_forward(const struct layer *l, float *const *in, float *y)
{
	const struct linear *v = l->shape;

	return sw_ops_cpu.linear_forward(NULL, in[0], in[1], v->bias ? in[2] : NULL, y, v->B, v->I,
					 v->O, v->act, NULL);
}

static sw_status linear_backward(const struct layer *l, float *const *in, const float *y, float *dy,
				 float *const *d)
{
	const struct linear *v = l->shape;

	return sw_ops_cpu.linear_backward(NULL, in[0], in[1], y, dy, d[0], d[1],
					  v->bias ? d[2] : NULL, v->B, v->I, v->O, v->act, NULL);
}

static void linear_sums(const struct layer *l, float *const *in, struct sum *y)
{
	const struct linear *v = l->shape;

	sums_linear_forward(y, in[0], in[1], v->bias ? in[2] : NULL, v->B, v->I, v->O, v->act);
}

static void linear_gradients(const struct layer *l, float *const *in, const float *y,
			     const float *dy, struct sum *const *d)
{
	const struct linear *v = l->shape;

	sums_linear_backward(d[0], d[1], v->bias ? d[2] : NULL, in[0], in[1], y, dy, v->B, v->I,
			     v->O);
}

TEST_LOOP(linear_and_its_gradient_are_near_their_sums, 0, SW_CPU_ISA_N *(int)ROWS(linears))
{
	const struct linear *v = &linears[(size_t)_i % ROWS(linears)];

	if (!sw_cpu_isa_force(_i / (int)ROWS(linears)))
		return;
	for (int path = 0; path <= 2; path++) {
		sw_cpu_linear_force(path);
		layer_check(&(struct layer){
			.shape = v,
			.n = {v->B * v->I, v->O * v->I, v->bias ? v->O : 0},
			.out_n = v->B * v->O,
			.act = v->act,
			.forward = linear_forward,
			.backward = linear_backward,
			.forward_sums = linear_sums,
			.backward_sums = linear_gradients,
		});
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
