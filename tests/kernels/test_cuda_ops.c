/* tests/kernels/test_cuda_ops.c — each kernel of kernels/cuda beside its twin in kernels/cpu: on a
 * stand-in device, and on a GPU where there is one (built a second time with SW_TEST_GPU). */
#include "tests/kernels/cuda_shim/twin.h"
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* About a block of 256, and about the 3 blocks that the stand-in gives a grid. */
static const size_t lengths[] = {
	0,      1,       2, 3, 4, 5, 31, 32, 33, 255, 256, 257, 769, 1031, 3073, 3079, 4099,
#ifdef SW_TEST_GPU
	600011, 2097157,
#endif
};

/* What is shared as bytes: a struct sw_step as floats of any value. */
#define STEP_N (sizeof(struct sw_step) / sizeof(float))

/* --- elementwise --- */

static sw_status relu_forward(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			      const void *n)
{
	return o->relu_forward(q, p[0], p[1], *(const size_t *)n);
}

static sw_status relu_in_place(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			       const void *n)
{
	return o->relu_forward(q, p[0], p[0], *(const size_t *)n);
}

static sw_status relu_backward(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			       const void *n)
{
	return o->relu_backward(q, p[0], p[1], p[2], *(const size_t *)n);
}

static sw_status tanh_forward(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			      const void *n)
{
	return o->tanh_forward(q, p[0], p[1], *(const size_t *)n);
}

static sw_status tanh_backward(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			       const void *n)
{
	return o->tanh_backward(q, p[0], p[1], p[2], *(const size_t *)n);
}

static sw_status sigmoid_forward(const struct sw_ops *o, struct sw_queue *q, void *const *p,
				 const void *n)
{
	return o->sigmoid_forward(q, p[0], p[1], *(const size_t *)n);
}

static sw_status sigmoid_backward(const struct sw_ops *o, struct sw_queue *q, void *const *p,
				  const void *n)
{
	return o->sigmoid_backward(q, p[0], p[1], p[2], *(const size_t *)n);
}

static sw_status gelu_forward(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			      const void *n)
{
	return o->gelu_forward(q, p[0], p[1], *(const size_t *)n);
}

static sw_status gelu_backward(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			       const void *n)
{
	return o->gelu_backward(q, p[0], p[1], p[2], *(const size_t *)n);
}

static sw_status add(const struct sw_ops *o, struct sw_queue *q, void *const *p, const void *n)
{
	return o->add(q, p[0], p[1], p[2], *(const size_t *)n);
}

static sw_status add_in_place(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			      const void *n)
{
	const sw_status status = o->add(q, p[0], p[1], p[1], *(const size_t *)n);

	return status != SW_OK ? status : o->add(q, p[0], p[1], p[0], *(const size_t *)n);
}

static sw_status accumulate(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			    const void *n)
{
	return o->accumulate(q, p[0], p[1], *(const size_t *)n);
}

static sw_status backward_in_place(const struct sw_ops *o, struct sw_queue *q, void *const *p,
				   const void *n)
{
	const sw_status status = o->tanh_backward(q, p[0], p[1], p[1], *(const size_t *)n);

	return status != SW_OK ? status : o->relu_backward(q, p[0], p[1], p[1], *(const size_t *)n);
}

static const struct {
	const char *name;
	twin_call *call;
	int ins, outs;
	double tol;
} elementwise[] = {
	{"relu_forward", relu_forward, 1, 1, 0},
	{"relu_forward in place", relu_in_place, 1, 0, 0},
	{"relu_backward", relu_backward, 2, 1, 0},
	{"tanh_forward", tanh_forward, 1, 1, 5e-7},
	{"tanh_backward", tanh_backward, 2, 1, 0},
	{"sigmoid_forward", sigmoid_forward, 1, 1, 5e-7},
	{"sigmoid_backward", sigmoid_backward, 2, 1, 0},
	{"gelu_forward", gelu_forward, 1, 1, 5e-7},
	{"gelu_backward", gelu_backward, 2, 1, 1e-6},
	{"add", add, 2, 1, 0},
	{"add in place", add_in_place, 2, 0, 0},
	{"accumulate", accumulate, 2, 0, 0},
	{"backward in place", backward_in_place, 2, 0, 0},
};

START_TEST(elementwise_of_any_length_is_as_on_cpu)
{
	for (size_t i = 0; i < COUNT(lengths); i++) {
		struct twin_buf b[3];
		const size_t n = lengths[i], ins = (size_t)elementwise[_i].ins;
		const size_t bufs = ins + (size_t)elementwise[_i].outs;

		for (size_t k = 0; k < bufs; k++)
			b[k] = (struct twin_buf){TWIN_F32, n,
						 k < ins ? twin_noise(n, (unsigned)(k + i)) : NULL,
						 elementwise[_i].tol};
		twin_check(elementwise[_i].name, elementwise[_i].call, &n, b, bufs);
	}
}
END_TEST

START_TEST(elementwise_of_nan_and_infinity_is_as_on_cpu)
{
	static const float odd[] = {0x1p-140f, -0x1p-140f, 0x1p127f, -0x1p127f, 1.0f, -1.0f};
	const size_t n = 12;
	float *x = twin_noise(n, 1);
	struct twin_buf b[3] = {{TWIN_F32, n, x, 0}, {TWIN_F32, n, x, 0}, {TWIN_F32, n, NULL, 0}};

	for (size_t k = 0; k < COUNT(odd); k++)
		x[k] = odd[k];
	x[7] = (float)strtod("nan", NULL);
	x[8] = (float)strtod("inf", NULL);
	x[9] = -x[8];
	if (elementwise[_i].ins == 1)
		b[1].init = NULL;
	for (size_t k = 0; k < COUNT(b); k++)
		b[k].tol = elementwise[_i].tol;
	twin_check(elementwise[_i].name, elementwise[_i].call, &n, b,
		   (size_t)(elementwise[_i].ins + elementwise[_i].outs));
}
END_TEST

struct dropout_case {
	size_t n;
	struct sw_step step;
	struct sw_dropout d;
	int in_place;
};

static sw_status dropout(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			 const void *ctx)
{
	const struct dropout_case *c = ctx;

	const sw_status status = o->upload(q, p[2], &c->step, sizeof c->step);

	return status != SW_OK ? status
			       : o->dropout(q, p[0], p[c->in_place ? 0 : 1], c->n, c->d, p[2]);
}

START_TEST(dropout_draws_the_mask_of_the_cpu)
{
	static const float ps[] = {0.0f, 0.1f, 0.5f, 0.999f, 1.0f, -0.1f};

	for (size_t i = 0; i < COUNT(lengths); i++)
		for (size_t k = 0; k < COUNT(ps); k++) {
			struct dropout_case c = {lengths[i],
						 {.step = (uint64_t)1 << 40},
						 {(uint64_t)k << 33 | i, 3, i % 3 * 7, ps[k]},
						 (int)(i % 2)};
			const struct twin_buf b[] = {
				{TWIN_F32, c.n, twin_noise(c.n, 5), 0},
				{TWIN_F32, c.n, NULL, 0},
				{TWIN_F32, STEP_N, NULL, 0},
			};

			twin_check("dropout", dropout, &c, b, COUNT(b));
		}
}
END_TEST

/* --- gather --- */

struct shape {
	size_t B, I, O;
	int accumulate;
};

struct call {
	size_t B, I, O;
	int accumulate;
	size_t T; /* gather_i32's columns */
	enum sw_act act;
};

static struct call call_of(const struct shape *s)
{
	return (struct call){.B = s->B, .I = s->I, .O = s->O, .accumulate = s->accumulate, .T = 1};
}

static sw_status gather(const struct sw_ops *o, struct sw_queue *q, void *const *p, const void *ctx)
{
	const struct call *s = ctx;
	const sw_status status = o->gather(q, p[0], p[1], p[2], s->B, s->I);

	return status != SW_OK ? status : o->gather_i32(q, p[3], p[1], p[4], s->B, s->T);
}

START_TEST(gather_takes_the_rows_that_the_cpu_takes)
{
	static const struct shape shapes[] = {{1, 1, 1, 0},    {2, 3, 5, 0},    {7, 31, 3, 0},
					      {23, 32, 40, 0}, {29, 33, 11, 0}, {1031, 2, 97, 0},
					      {0, 3, 4, 0},    {3, 0, 4, 0},    {5, 784, 9, 0}};

	for (size_t i = 0; i < COUNT(shapes); i++) {
		struct call with = call_of(&shapes[i]); /* O: the rows there are */
		const struct call *s = &with;

		with.T = i % 2 ? 1 : 3;
		const struct twin_buf b[] = {
			{TWIN_F32, s->O * s->I, twin_noise(s->O * s->I, 1), 0},
			{TWIN_I32, s->B, twin_labels(s->B, s->O, 2), 0},
			{TWIN_F32, s->B * s->I, NULL, 0},
			{TWIN_I32, s->O * s->T, twin_labels(s->O * s->T, 10, 3), 0},
			{TWIN_I32, s->B * s->T, NULL, 0},
		};

		twin_check("gather", gather, s, b, COUNT(b));
	}
}
END_TEST

/* --- linear --- */

static const struct shape linears[] = {
	{1, 1, 1, 0},
	{2, 3, 1, 1},
	{1, 17, 5, 0},
	{7, 1, 13, 1},
	{5, 64, 10, 0},
	{33, 31, 37, 1},
	{16, 64, 64, 0},
	{29, 7, 131, 1},
	{25, 5, 101, 0},
	{64, 13, 32, 1},
	{0, 3, 4, 0},
	{3, 0, 4, 0},
	{3, 4, 0, 0},
	{0, 3, 4, 1},
	{3, 0, 4, 1},
	{3, 4, 0, 1},
	{0, 0, 0, 0},
	/* rows of the sums of columns in more than one part */
	{521, 3, 35, 1},
	{1031, 2, 33, 0},
#ifdef SW_TEST_GPU
	{128, 300, 257, 1},
	{4099, 64, 31, 0},
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
	struct call s = call_of(&linears[_i]);
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
			twin_check("linear_forward", forward, &s, b, COUNT(b));
			s.act = SW_ACT_RELU;
			twin_check("linear_forward, relu", forward, &s, b, COUNT(b));
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
	struct call with = call_of(&linears[_i]);
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
		twin_check("linear_backward", backward, s, b, COUNT(b));
		b[2].tol = TWIN_SCRATCH;
		with.act = SW_ACT_RELU;
		twin_check("linear_backward, relu", backward, s, b, COUNT(b));
		twin_check("linear_backward, dw alone", backward_dw_only, s, b, COUNT(b));
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

/* --- optimizers --- */

struct optimizer_case {
	size_t n;
	double lr;
	uint64_t step; /* the first of three */
	struct sw_sgd sgd;
	struct sw_adam adam;
};

static sw_status step_put(const struct sw_ops *o, struct sw_queue *q, void *p,
			  const struct optimizer_case *c, unsigned i)
{
	const struct sw_step s =
		sw_step_make(c->step + i, c->lr, (double)c->adam.beta1, (double)c->adam.beta2);

	return o->upload(q, p, &s, sizeof s);
}

/* p: w, g, v, m, step, norm2; three steps */
static sw_status sgd(const struct sw_ops *o, struct sw_queue *q, void *const *p, const void *ctx)
{
	const struct optimizer_case *c = ctx;
	sw_status status = SW_OK;

	for (unsigned i = 0; i < 3 && status == SW_OK; i++) {
		status = step_put(o, q, p[4], c, i);
		if (status == SW_OK)
			status = o->sgd_step(q, p[0], p[1], c->sgd.momentum == 0 ? NULL : p[2],
					     c->n, c->sgd, p[4], p[5]);
	}
	return status;
}

static sw_status sgd_without_velocity(const struct sw_ops *o, struct sw_queue *q, void *const *p,
				      const void *ctx)
{
	const struct optimizer_case *c = ctx;
	sw_status status = step_put(o, q, p[4], c, 0);

	if (status == SW_OK)
		status = o->sgd_step(q, p[0], p[1], NULL, c->n, c->sgd, p[4], p[5]);
	return status;
}

static sw_status adam(const struct sw_ops *o, struct sw_queue *q, void *const *p, const void *ctx)
{
	const struct optimizer_case *c = ctx;
	sw_status status = SW_OK;

	for (unsigned i = 0; i < 3 && status == SW_OK; i++) {
		status = step_put(o, q, p[4], c, i);
		if (status == SW_OK)
			status = o->adam_step(q, p[0], p[1], p[3], p[2], c->n, c->adam, p[4], p[5]);
	}
	return status;
}

START_TEST(optimizers_step_with_the_bits_of_the_cpu)
{
	static const struct sw_sgd sgds[] = {
		{0, 0, 0, 0}, {0, 0.01f, 0, 0.5f}, {0.9f, 0, 0, 0}, {0.9f, 1e-3f, 1, 1e9f}};
	static const struct sw_adam adams[] = {{0.9f, 0.999f, 1e-8f, 0.01f, 1, 0},
					       {0.8f, 0.99f, 1e-6f, 0, 0, 3.0f},
					       {0.9f, 0.999f, 1e-8f, 0.1f, 0, 0}};
	const size_t n = lengths[_i];
	const double norm2 = 17.25;
	float *second = twin_noise(n, 3);
	struct twin_buf b[] = {
		{TWIN_F32, n, twin_noise(n, 1), 0}, {TWIN_F32, n, twin_noise(n, 2), 0},
		{TWIN_F32, n, second, 0},           {TWIN_F32, n, twin_noise(n, 4), 0},
		{TWIN_F32, STEP_N, NULL, 0},        {TWIN_F32, 2, &norm2, 0},
	};

	for (size_t i = 0; i < n; i++)
		second[i] *= second[i]; /* adam's v is not negative */
	for (size_t i = 0; i < COUNT(sgds); i++) {
		const struct optimizer_case c = {n, 0.05, 1, sgds[i], adams[0]};

		twin_check("sgd_step", sgd, &c, b, COUNT(b));
		twin_check("sgd_step, v NULL", sgd_without_velocity, &c, b, COUNT(b));
	}
	for (size_t i = 0; i < COUNT(adams); i++) {
		const struct optimizer_case c = {n, 1e-3, i == 1 ? 1000 : 1, sgds[0], adams[i]};

		twin_check("adam_step", adam, &c, b, COUNT(b));
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("kernels/cuda_ops");
	TCase *tc = tcase_create("twins");
	SRunner *sr;
	int failed;

	if (!twin_have()) {
		puts("no GPU here: skipped");
		return 77;
	}
	tcase_add_checked_fixture(tc, twin_setup, twin_teardown);
	tcase_add_loop_test(tc, elementwise_of_any_length_is_as_on_cpu, 0, COUNT(elementwise));
	tcase_add_loop_test(tc, elementwise_of_nan_and_infinity_is_as_on_cpu, 0,
			    COUNT(elementwise));
	tcase_add_test(tc, dropout_draws_the_mask_of_the_cpu);
	tcase_add_test(tc, gather_takes_the_rows_that_the_cpu_takes);
	tcase_add_loop_test(tc, linear_forward_is_as_on_cpu_with_and_without_bias, 0,
			    COUNT(linears));
	tcase_add_loop_test(tc, linear_backward_is_as_on_cpu_and_accumulates, 0, COUNT(linears));
	tcase_add_test(tc, linear_over_the_limit_is_refused);
	tcase_add_loop_test(tc, optimizers_step_with_the_bits_of_the_cpu, 0, COUNT(lengths));
	tcase_set_timeout(tc, 120);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
