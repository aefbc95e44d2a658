/* tests/kernels/test_cuda_linear.c — the linear layer of kernels/cuda beside that of kernels/cpu,
 * by its own kernels and by cuBLAS. */
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/linear.h"
#include "tests/kernels/cuda_shim/twin.h"
#include "tests/run.h"

static const struct shape {
	size_t B, I, O;
} linears[] = {
	{1, 1, 1},
	{2, 3, 1},
	{1, 17, 5},
	{7, 1, 13},
	{5, 64, 10},
	{33, 31, 37},
	{16, 64, 64},
	{29, 7, 131},
	{25, 5, 101},
	{64, 13, 32},
	{0, 3, 4},
	{3, 0, 4},
	{3, 4, 0},
	{0, 0, 0},
	/* sizes beyond the vectors of a CPU's instructions */
	{4, 400, 120},
	{17, 65, 31},
	{9, 129, 67},
	{4, 1, 40},
	/* rows of the sums of columns in more than one part */
	{521, 3, 35},
	{1031, 2, 33},
	{128, 300, 257},
	{4099, 64, 31},
};

struct call {
	struct shape s;
	enum sw_act act;
	int bias, dw_alone;
};

/* Both ways: 1 the own kernels, 2 cuBLAS. */
#define PATHS 2

static sw_status forward(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			 const void *ctx)
{
	const struct call *c = ctx;

	return o->linear_forward(q, p[0], p[1], c->bias ? p[2] : NULL, p[3], c->s.B, c->s.I, c->s.O,
				 c->act, NULL);
}

TEST_ROWS(linear_forward_is_as_on_cpu_with_and_without_bias, linears)
{
	const struct shape *s = &linears[_i];
	float *x = twin_noise(s->B * s->I, 1), *w = twin_noise(s->O * s->I, 2);
	float *bias = twin_noise(s->O, 3);
	const struct twin_buf b[] = {
		{TWIN_F32, s->B * s->I, x, 0},
		{TWIN_F32, s->O * s->I, w, 0},
		{TWIN_F32, s->O, bias, 0},
		{TWIN_F32, s->B * s->O, NULL, 0},
	};

	for (int way = 0; way < 4; way++) {
		const struct call c = {*s, way / 2 ? SW_ACT_RELU : SW_ACT_NONE, way % 2, 0};
		struct sum *y = twin_sums(s->B * s->O);
		const struct sum *const sums[ROWS(b)] = {[3] = y};

		sums_linear_forward(y, x, w, c.bias ? bias : NULL, s->B, s->I, s->O, c.act);
		for (int path = 1; path <= PATHS; path++) {
			sw_cuda_linear_force(path);
			/* a warp an output */
			if (path == 2 || !twin_slow(s->B * s->O * SW_CUDA_WARP))
				twin_check_sums("linear_forward", forward, &c, b, ROWS(b), sums);
		}
	}
	sw_cuda_linear_force(0);
}

/* p: x, w, dy, then out: dw and db laid end to end in one buffer, dx, y */
static sw_status backward(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			  const void *ctx)
{
	const struct call *c = ctx;
	const struct shape *s = &c->s;
	float *dw = p[3], *db = dw + s->O * s->I;

	return o->linear_backward(q, p[0], p[1], p[5], p[2], c->dw_alone ? NULL : p[4], dw,
				  c->dw_alone ? NULL : db, s->B, s->I, s->O, c->act, NULL);
}

TEST_ROWS(linear_backward_is_as_on_cpu, linears)
{
	const struct shape *s = &linears[_i];
	const size_t weights = s->O * s->I, x_n = s->B * s->I, y_n = s->B * s->O;
	float *x = twin_noise(x_n, 1), *w = twin_noise(weights, 2), *dy = twin_noise(y_n, 3);
	float *y = twin_noise(y_n, 5);
	struct twin_buf b[] = {
		{TWIN_F32, x_n, x, 0},    {TWIN_F32, weights, w, 0},
		{TWIN_F32, y_n, dy, 0},   {TWIN_F32, weights + s->O, NULL, 0}, /* from NaN */
		{TWIN_F32, x_n, NULL, 0}, {TWIN_F32, y_n, y, 0},
	};

	for (int way = 0; way < 3; way++) {
		const struct call c = {*s, way ? SW_ACT_RELU : SW_ACT_NONE, 1, way == 2};
		struct sum *dw = twin_sums(weights + s->O), *dx = twin_sums(x_n);
		const struct sum *const sums[ROWS(b)] = {[3] = dw, [4] = c.dw_alone ? NULL : dx};

		sums_linear_backward(dx, dw, dw + weights, x, w, way ? y : NULL, dy, s->B, s->I,
				     s->O);
		b[2].tol = way ? TWIN_SCRATCH : 0; /* without an activation dy stays as it is */
		b[3].n = weights + (c.dw_alone ? 0 : s->O);
		for (int path = 1; path <= PATHS; path++) {
			sw_cuda_linear_force(path);
			if (path == 2 || !twin_slow(s->B * s->I * s->O))
				twin_check_sums("linear_backward", backward, &c, b, ROWS(b), sums);
		}
	}
	sw_cuda_linear_force(0);
}

static sw_status linear_over_limit(const struct sw_ops *o, struct sw_queue *q, void *const *p,
				   const void *ctx)
{
	const size_t over = (size_t)INT32_MAX + 1;
	const sw_status status =
		o->linear_forward(q, p[0], p[0], NULL, p[0], 0, over, 1, SW_ACT_NONE, NULL);

	(void)ctx;
	ck_assert_int_eq(status, SW_INVALID);
	return o->linear_backward(q, p[0], p[0], NULL, p[0], NULL, p[0], NULL, over, 0, 1,
				  SW_ACT_NONE, NULL);
}

TEST(linear_over_the_limit_is_refused)
{
	const struct twin_buf b = {TWIN_F32, 1, NULL, 0};

	twin_check("linear", linear_over_limit, NULL, &b, 1);
}

RUN_TWINS()
