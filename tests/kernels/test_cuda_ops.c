/* tests/kernels/test_cuda_ops.c — each kernel of kernels/cuda beside its twin in kernels/cpu: on a
 * stand-in device, and on a GPU where there is one (built a second time with SW_TEST_GPU). */
#include "tests/kernels/cuda_shim/twin.h"
#include "tests/run.h"

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

/* From way 1 on an operand begins an element on: four at a time, or one by one where one does not
 * lie on 16 bytes, with the same bits. */
#define AT(k) ((float *)p[k] + (way == (k) + 1))
#define LEN   (d[0] - (way > 0))

/* x -> y, and with what backward reads, dy -> dx. */
#define EACH(name)                                                                                 \
	TWIN_CALL(name##_forward, name##_forward(q, AT(0), AT(1), LEN))                            \
	TWIN_CALL(name##_backward, name##_backward(q, AT(0), AT(1), AT(2), LEN))
EACH(relu)
EACH(tanh)
EACH(sigmoid)
EACH(gelu)
EACH(silu)
TWIN_CALL(relu_in_place, relu_forward(q, AT(0), AT(0), LEN))
TWIN_CALLS(backward_in_place, tanh_backward(q, AT(0), AT(1), AT(1), LEN),
	   relu_backward(q, AT(0), AT(1), AT(1), LEN))
TWIN_CALL(add, add(q, AT(0), AT(1), AT(2), LEN))
TWIN_CALLS(add_in_place, add(q, AT(0), AT(1), AT(1), LEN), add(q, AT(0), AT(1), AT(0), LEN))
TWIN_CALL(accumulate, accumulate(q, AT(0), AT(1), LEN))

/* Noise, of which the first numbers are such as are handled apart. */
static const void *odd_noise(size_t n, unsigned seed, const struct twin_at *at)
{
	static const float odd[] = {0x1p-140f, -0x1p-140f, 0x1p127f, -0x1p127f, 1.0f, -1.0f};
	float *x = twin_noise(n, seed);

	(void)at;
	if (n < 12)
		return x;
	memcpy(x, odd, sizeof odd);
	x[7] = (float)strtod("nan", NULL);
	x[8] = (float)strtod("inf", NULL);
	x[9] = -x[8];
	return x;
}

static const struct twin_op elementwise[] = {
	{"relu_forward", relu_forward, "N", 4, "N! N?", odd_noise},
	{"relu_forward in place", relu_in_place, "N", 4, "N!", odd_noise},
	{"relu_backward", relu_backward, "N", 4, "N! N! N?", odd_noise},
	{"tanh_forward", tanh_forward, "N", 4, "N! N?~5e-7", odd_noise},
	{"tanh_backward", tanh_backward, "N", 4, "N! N! N?", odd_noise},
	{"sigmoid_forward", sigmoid_forward, "N", 4, "N! N?~5e-7", odd_noise},
	{"sigmoid_backward", sigmoid_backward, "N", 4, "N! N! N?", odd_noise},
	{"gelu_forward", gelu_forward, "N", 4, "N! N?~5e-7", odd_noise},
	{"gelu_backward", gelu_backward, "N", 4, "N! N! N?~1e-6", odd_noise},
	{"silu_forward", silu_forward, "N", 4, "N! N?~1e-6", odd_noise},
	{"silu_backward", silu_backward, "N", 4, "N! N! N?~1e-6", odd_noise},
	{"add", add, "N", 4, "N! N! N?", odd_noise},
	{"add in place", add_in_place, "N", 4, "N! N!", odd_noise},
	{"accumulate", accumulate, "N", 4, "N! N!", odd_noise},
	{"backward in place", backward_in_place, "N", 4, "N! N!", odd_noise},
};

TEST_ROWS(elementwise_of_any_length_is_as_on_cpu, elementwise)
{
	for (size_t i = 0; i < ROWS(lengths); i++) {
		struct twin_op op = elementwise[_i];

		if (lengths[i] != 1031) /* askew in one length */
			op.ways = 1;
		twin_row(&op, &lengths[i]);
	}
}

static const float shares[] = {0.0f, 0.1f, 0.5f, 0.999f, 1.0f, -0.1f};
static const struct sw_step late = {.step = (uint64_t)1 << 40};

TWIN_CALLS(dropout, upload(q, p[2], &late, sizeof late),
	   dropout(q, p[0], p[way % 2 ? 0 : 1], d[0],
		   (struct sw_dropout){(uint64_t)way << 33 | 5, 3, (uint64_t)(way % 3 * 7),
				       shares[way / 2]},
		   p[2]))

TEST_ROWS(dropout_draws_the_mask_of_the_cpu, lengths)
{
	twin_row(
		&(struct twin_op){"dropout", dropout, "NS", 2 * (int)ROWS(shares), "N N? S?", NULL},
		(size_t[]){lengths[_i], STEP_N});
}

/* --- gather: B rows, of I floats and T integers, of R --- */

TWIN_CALLS(gather, gather(q, p[0], p[1], p[2], d[0], d[1]),
	   gather_i32(q, p[3], p[1], p[4], d[0], d[2]))

TEST(gather_takes_the_rows_that_the_cpu_takes)
{
	static const size_t cases[][4] = {{1, 1, 3, 1},    {2, 3, 1, 5},    {7, 31, 3, 3},
					  {23, 32, 1, 40}, {29, 33, 3, 11}, {1031, 2, 1, 97},
					  {0, 3, 3, 4},    {3, 0, 1, 4},    {5, 784, 3, 9}};

	for (size_t i = 0; i < ROWS(cases); i++)
		twin_row(&(struct twin_op){"gather", gather, "BITR", 1, "RI iB<R BI? iRT<9 iBT?",
					   NULL},
			 cases[i]);
}

/* --- optimizers: w, g, v, m, step, norm2 --- */

static const struct sw_sgd sgds[] = {
	{0, 0, 0, 0}, {0, 0.01f, 0, 0.5f}, {0.9f, 0, 0, 0}, {0.9f, 1e-3f, 1, 1e9f}};
static const struct sw_adam adams[] = {{0.9f, 0.999f, 1e-8f, 0.01f, 1, 0},
				       {0.8f, 0.99f, 1e-6f, 0, 0, 3.0f},
				       {0.9f, 0.999f, 1e-8f, 0.1f, 0, 0}};

static const void *a_norm2(size_t n, unsigned seed, const struct twin_at *at)
{
	static const double norm2 = 17.25;

	(void)n, (void)seed, (void)at;
	return &norm2;
}

static sw_status step_put(const struct sw_ops *o, struct sw_queue *q, void *p, uint64_t step,
			  double lr, const struct sw_adam *a)
{
	const struct sw_step s = sw_step_make(step, lr, (double)a->beta1, (double)a->beta2);

	return o->upload(q, p, &s, sizeof s);
}

/* Three steps; from way 4 on without a velocity, which momentum needs. */
static sw_status sgd(const struct sw_ops *o, struct sw_queue *q, void *const *p, const void *ctx)
{
	const struct twin_at *at = ctx;
	const struct sw_sgd *c = &sgds[at->way % 4];
	sw_status status = SW_OK;

	for (unsigned i = 0; i < 3 && status == SW_OK; i++) {
		status = step_put(o, q, p[4], 1 + i, 0.05, &adams[0]);
		if (status == SW_OK)
			status = o->sgd_step(q, p[0], p[1],
					     at->way >= 4 || c->momentum == 0 ? NULL : p[2],
					     at->d[0], *c, p[4], p[5]);
	}
	return status;
}

static sw_status adam(const struct sw_ops *o, struct sw_queue *q, void *const *p, const void *ctx)
{
	const struct twin_at *at = ctx;
	const struct sw_adam *c = &adams[at->way];
	sw_status status = SW_OK;

	for (unsigned i = 0; i < 3 && status == SW_OK; i++) {
		status = step_put(o, q, p[4], (at->way == 1 ? 1000 : 1) + i, 1e-3, c);
		if (status == SW_OK)
			status = o->adam_step(q, p[0], p[1], p[3], p[2], at->d[0], *c, p[4], p[5]);
	}
	return status;
}

static const struct twin_op optimizers[] = {
	{"sgd_step", sgd, "NS", 8, "N N N+ N S? d1!", a_norm2},
	{"adam_step", adam, "NS", 3, "N N N+ N S? d1!", a_norm2},
};

TEST_ROWS(optimizers_step_with_the_bits_of_the_cpu, lengths)
{
	for (size_t i = 0; i < ROWS(optimizers); i++)
		twin_row(&optimizers[i], (size_t[]){lengths[_i], STEP_N});
}

RUN_TWINS()
