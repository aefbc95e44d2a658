/* tests/kernels/test_cuda_linear.c — the linear layer of kernels/cuda beside that of kernels/cpu,
 * by its own kernels and by cuBLAS. */
#include "tests/kernels/cuda_shim/twin.h"
#include "tests/run.h"
#include <stdio.h>
#include <stdlib.h>

struct call {
	size_t B, I, O;
	int accumulate;
	enum sw_act act;
};

static const struct call linears[] = {
	{1, 1, 1, 0, SW_ACT_NONE},
	{2, 3, 1, 1, SW_ACT_NONE},
	{1, 17, 5, 0, SW_ACT_NONE},
	{7, 1, 13, 1, SW_ACT_NONE},
	{5, 64, 10, 0, SW_ACT_NONE},
	{33, 31, 37, 1, SW_ACT_NONE},
	{16, 64, 64, 0, SW_ACT_NONE},
	{29, 7, 131, 1, SW_ACT_NONE},
	{25, 5, 101, 0, SW_ACT_NONE},
	{64, 13, 32, 1, SW_ACT_NONE},
	{0, 3, 4, 0, SW_ACT_NONE},
	{3, 0, 4, 0, SW_ACT_NONE},
	{3, 4, 0, 0, SW_ACT_NONE},
	{0, 3, 4, 1, SW_ACT_NONE},
	{3, 0, 4, 1, SW_ACT_NONE},
	{3, 4, 0, 1, SW_ACT_NONE},
	{0, 0, 0, 0, SW_ACT_NONE},
	/* rows of the sums of columns in more than one part */
	{521, 3, 35, 1, SW_ACT_NONE},
	{1031, 2, 33, 0, SW_ACT_NONE},
#ifdef SW_TEST_GPU
	{128, 300, 257, 1, SW_ACT_NONE},
	{4099, 64, 31, 0, SW_ACT_NONE},
#endif
};

/* Both ways, where a test can say which: 1 the own kernels, 2 cuBLAS. On a GPU the size decides. */
#ifndef SW_TEST_GPU
void sw_cuda_linear_force(int path);

#define LINEAR_PATHS 2
#define FORWARD_MOST 500 /* rows: those over it are there for the sums of columns */
#define linear_force sw_cuda_linear_force
#else
#define LINEAR_PATHS       1
#define FORWARD_MOST       SIZE_MAX
#define linear_force(path) (void)(path)
#endif

static sw_status forward(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			 const void *ctx)
{
	const struct call *s = ctx;

	return o->linear_forward(q, p[0], p[1], s->accumulate ? p[2] : NULL, p[3], s->B, s->I, s->O,
				 s->act);
}

START_TEST(linear_forward_is_as_on_cpu_with_and_without_bias)
{
	struct call s = linears[_i];
	const struct twin_buf b[] = {
		{TWIN_F32, s.B * s.I, twin_noise(s.B * s.I, 1), 0},
		{TWIN_F32, s.O * s.I, twin_noise(s.O * s.I, 2), 0},
		{TWIN_F32, s.O, twin_noise(s.O, 3), 0},
		{TWIN_F32, s.B * s.O, NULL, 2e-5},
	};

	for (int path = 1; path <= LINEAR_PATHS && s.B < FORWARD_MOST; path++) {
		linear_force(path);
		for (s.accumulate = 0; s.accumulate < 2; s.accumulate++) {
			s.act = SW_ACT_NONE;
			twin_check("linear_forward", forward, &s, b, ROWS(b));
			s.act = SW_ACT_RELU;
			twin_check("linear_forward, relu", forward, &s, b, ROWS(b));
		}
	}
	linear_force(0);
}
END_TEST

/* p: x, w, dy, then out: dx, dw and db laid end to end in one buffer */
static sw_status backward(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			  const void *ctx)
{
	const struct call *s = ctx;
	float *dw = p[3], *db = dw + s->O * s->I;

	return o->linear_backward(q, p[0], p[1], p[5], p[2], p[4], dw, db, s->B, s->I, s->O, s->act,
				  s->accumulate);
}

static sw_status backward_dw_only(const struct sw_ops *o, struct sw_queue *q, void *const *p,
				  const void *ctx)
{
	const struct call *s = ctx;

	return o->linear_backward(q, p[0], p[1], p[5], p[2], NULL, p[3], NULL, s->B, s->I, s->O,
				  s->act, s->accumulate);
}

START_TEST(linear_backward_is_as_on_cpu_and_accumulates)
{
	struct call with = linears[_i];
	const struct call *s = &with;
	const size_t grads = s->O * s->I + s->O;
	struct twin_buf b[] = {
		{TWIN_F32, s->B * s->I, twin_noise(s->B * s->I, 1), 0},
		{TWIN_F32, s->O * s->I, twin_noise(s->O * s->I, 2), 0},
		{TWIN_F32, s->B * s->O, twin_noise(s->B * s->O, 3), 0},
		/* Overwritten from NaN, or added to. */
		{TWIN_F32, grads, s->accumulate ? twin_noise(grads, 4) : NULL, 2e-5},
		{TWIN_F32, s->B * s->I, NULL, 2e-5},
		{TWIN_F32, s->B * s->O, twin_noise(s->B * s->O, 5), 0},
	};

	for (int path = 1; path <= LINEAR_PATHS; path++) {
		linear_force(path);
		b[2].tol = 0; /* without an activation dy stays as it is */
		with.act = SW_ACT_NONE;
		twin_check("linear_backward", backward, s, b, ROWS(b));
		b[2].tol = TWIN_SCRATCH;
		with.act = SW_ACT_RELU;
		twin_check("linear_backward, relu", backward, s, b, ROWS(b));
		twin_check("linear_backward, dw alone", backward_dw_only, s, b, ROWS(b));
	}
	linear_force(0);
}
END_TEST

static sw_status linear_over_limit(const struct sw_ops *o, struct sw_queue *q, void *const *p,
				   const void *ctx)
{
	const size_t over = (size_t)INT32_MAX + 1;
	const sw_status status =
		o->linear_forward(q, p[0], p[0], NULL, p[0], 0, over, 1, SW_ACT_NONE);

	(void)ctx;
	ck_assert_int_eq(status, SW_INVALID);
	return o->linear_backward(q, p[0], p[0], NULL, p[0], NULL, p[0], NULL, over, 0, 1,
				  SW_ACT_NONE, 1);
}

START_TEST(linear_over_the_limit_is_refused)
{
	const struct twin_buf b = {TWIN_F32, 1, NULL, 0};

	twin_check("linear", linear_over_limit, NULL, &b, 1);
}
END_TEST

SUITE(tcase)
{
	if (!twin_have()) {
		puts("no GPU here: skipped");
		exit(77);
	}
	tcase_add_checked_fixture(tcase, twin_setup, twin_teardown);
	tcase_add_rows(tcase, linear_forward_is_as_on_cpu_with_and_without_bias, linears);
	tcase_add_rows(tcase, linear_backward_is_as_on_cpu_and_accumulates, linears);
	tcase_add_test(tcase, linear_over_the_limit_is_refused);
}
