/* tests/kernels/test_cuda_ops.c — each kernel of kernels/cuda beside its twin in kernels/cpu: on a
 * stand-in device, and on a GPU where there is one (built a second time with SW_TEST_GPU). */
#include "tests/kernels/cuda_shim/twin.h"
#include "tests/run.h"
#include <stdio.h>
#include <stdlib.h>

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

/* x -> y, and with what backward reads, dy -> dx. */
#define EACH(name)                                                                                 \
	static sw_status name##_forward(const struct sw_ops *o, struct sw_queue *q,                \
					void *const *p, const void *n)                             \
	{                                                                                          \
		return o->name##_forward(q, p[0], p[1], *(const size_t *)n);                       \
	}                                                                                          \
	static sw_status name##_backward(const struct sw_ops *o, struct sw_queue *q,               \
					 void *const *p, const void *n)                            \
	{                                                                                          \
		return o->name##_backward(q, p[0], p[1], p[2], *(const size_t *)n);                \
	}
EACH(relu)
EACH(tanh)
EACH(sigmoid)
EACH(gelu)
EACH(silu)

static sw_status relu_in_place(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			       const void *n)
{
	return o->relu_forward(q, p[0], p[0], *(const size_t *)n);
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
	{"silu_forward", silu_forward, 1, 1, 1e-6},
	{"silu_backward", silu_backward, 2, 1, 1e-6},
	{"add", add, 2, 1, 0},
	{"add in place", add_in_place, 2, 0, 0},
	{"accumulate", accumulate, 2, 0, 0},
	{"backward in place", backward_in_place, 2, 0, 0},
};

struct elementwise_call {
	twin_call *call;
	size_t n, askew;
};

static sw_status elementwise_askew(const struct sw_ops *o, struct sw_queue *q, void *const *p,
				   const void *ctx)
{
	const struct elementwise_call *c = ctx;
	void *at[3] = {p[0], p[1], p[2]};

	at[c->askew] = (float *)p[c->askew] + 1;
	return c->call(o, q, at, &c->n);
}

TEST_ROWS(elementwise_of_any_length_is_as_on_cpu, elementwise)
{
	for (size_t i = 0; i < ROWS(lengths); i++) {
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

TEST_ROWS(elementwise_of_nan_and_infinity_is_as_on_cpu, elementwise)
{
	static const float odd[] = {0x1p-140f, -0x1p-140f, 0x1p127f, -0x1p127f, 1.0f, -1.0f};
	const size_t n = 12;
	float *x = twin_noise(n, 1);
	struct twin_buf b[3] = {{TWIN_F32, n, x, 0}, {TWIN_F32, n, x, 0}, {TWIN_F32, n, NULL, 0}};

	for (size_t k = 0; k < ROWS(odd); k++)
		x[k] = odd[k];
	x[7] = (float)strtod("nan", NULL);
	x[8] = (float)strtod("inf", NULL);
	x[9] = -x[8];
	if (elementwise[_i].ins == 1)
		b[1].init = NULL;
	for (size_t k = 0; k < ROWS(b); k++)
		b[k].tol = elementwise[_i].tol;
	twin_check(elementwise[_i].name, elementwise[_i].call, &n, b,
		   (size_t)(elementwise[_i].ins + elementwise[_i].outs));
}

/* Four at a time, or one by one where an operand does not lie on 16 bytes: the same bits. */
TEST_ROWS(elementwise_beside_16_bytes_is_as_on_cpu, elementwise)
{
	const size_t n = 1031;

	for (size_t askew = 0; askew < 3; askew++) { /* each operand in turn begins an element on */
		struct elementwise_call c = {elementwise[_i].call, n - 1, askew};
		struct twin_buf b[3];
		const size_t ins = (size_t)elementwise[_i].ins;
		const size_t bufs = ins + (size_t)elementwise[_i].outs;

		for (size_t k = 0; k < bufs; k++)
			b[k] = (struct twin_buf){TWIN_F32, n, twin_noise(n, (unsigned)k),
						 elementwise[_i].tol};
		if (askew < bufs)
			twin_check(elementwise[_i].name, elementwise_askew, &c, b, bufs);
	}
}

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

TEST(dropout_draws_the_mask_of_the_cpu)
{
	static const float ps[] = {0.0f, 0.1f, 0.5f, 0.999f, 1.0f, -0.1f};

	for (size_t i = 0; i < ROWS(lengths); i++)
		for (size_t k = 0; k < ROWS(ps); k++) {
			struct dropout_case c = {lengths[i],
						 {.step = (uint64_t)1 << 40},
						 {(uint64_t)k << 33 | i, 3, i % 3 * 7, ps[k]},
						 (int)(i % 2)};
			const struct twin_buf b[] = {
				{TWIN_F32, c.n, twin_noise(c.n, 5), 0},
				{TWIN_F32, c.n, NULL, 0},
				{TWIN_F32, STEP_N, NULL, 0},
			};

			twin_check("dropout", dropout, &c, b, ROWS(b));
		}
}

/* --- gather --- */

struct gather_case {
	size_t B, I, T, rows; /* T: gather_i32's columns; rows: there are */
};

static sw_status gather(const struct sw_ops *o, struct sw_queue *q, void *const *p, const void *ctx)
{
	const struct gather_case *c = ctx;
	const sw_status status = o->gather(q, p[0], p[1], p[2], c->B, c->I);

	return status != SW_OK ? status : o->gather_i32(q, p[3], p[1], p[4], c->B, c->T);
}

TEST(gather_takes_the_rows_that_the_cpu_takes)
{
	static const struct gather_case cases[] = {
		{1, 1, 3, 1},     {2, 3, 1, 5}, {7, 31, 3, 3}, {23, 32, 1, 40}, {29, 33, 3, 11},
		{1031, 2, 1, 97}, {0, 3, 3, 4}, {3, 0, 1, 4},  {5, 784, 3, 9}};

	for (size_t i = 0; i < ROWS(cases); i++) {
		const struct gather_case *c = &cases[i];
		const struct twin_buf b[] = {
			{TWIN_F32, c->rows * c->I, twin_noise(c->rows * c->I, 1), 0},
			{TWIN_I32, c->B, twin_labels(c->B, c->rows, 2), 0},
			{TWIN_F32, c->B * c->I, NULL, 0},
			{TWIN_I32, c->rows * c->T, twin_labels(c->rows * c->T, 10, 3), 0},
			{TWIN_I32, c->B * c->T, NULL, 0},
		};

		twin_check("gather", gather, c, b, ROWS(b));
	}
}

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

TEST_ROWS(optimizers_step_with_the_bits_of_the_cpu, lengths)
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
	for (size_t i = 0; i < ROWS(sgds); i++) {
		const struct optimizer_case c = {n, 0.05, 1, sgds[i], adams[0]};

		twin_check("sgd_step", sgd, &c, b, ROWS(b));
		twin_check("sgd_step, v NULL", sgd_without_velocity, &c, b, ROWS(b));
	}
	for (size_t i = 0; i < ROWS(adams); i++) {
		const struct optimizer_case c = {n, 1e-3, i == 1 ? 1000 : 1, sgds[0], adams[i]};

		twin_check("adam_step", adam, &c, b, ROWS(b));
	}
}

RUN_TWINS()
