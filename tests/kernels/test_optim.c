/* tests/kernels/test_optim.c — the optimizers against PyTorch's documented algorithms, in double,
 * over several steps of the problem g = w - 1. */
#include "kernels/ops.h"
#include "tests/run.h"
#include <math.h>

#define STEPS 6

static const struct {
	double lr;
	struct sw_sgd o;
} sgds[] = {
	{0.1, {.momentum = 0}},
	{0.1, {.weight_decay = 0.01f}},
	{0.1, {.momentum = 0.9f}},
	{0.05, {.momentum = 0.9f, .weight_decay = 0.1f}},
	{0.05, {.momentum = 0.9f, .weight_decay = 0.1f, .nesterov = 1}},
	{0.05, {.momentum = 0.9f, .weight_decay = 0.1f, .nesterov = 1, .max_norm = 0.5f}},
	{0.05, {.max_norm = 2.0f}},
};

/* clip_grad_norm_ of g = w - 1 */
static double clip(double max_norm, const double *w)
{
	const double c = max_norm / (hypot(w[0] - 1, w[1] - 1) + 1e-6);

	return max_norm > 0 && c < 1 ? c : 1;
}

TEST_ROWS(sgd_step_follows_pytorch, sgds)
{
	const struct sw_sgd o = sgds[_i].o;
	const struct sw_step step = sw_step_make(1, sgds[_i].lr, 0, 0);
	float w[2] = {3, -2}, g[2], v[2] = {0, 0};
	double rw[2] = {3, -2}, buf[2] = {0, 0};

	for (int t = 1; t <= STEPS; t++) {
		const double c = clip((double)o.max_norm, rw);
		double norm2 = NAN;

		for (int i = 0; i < 2; i++) {
			double d = c * (rw[i] - 1) + (double)o.weight_decay * rw[i];

			g[i] = w[i] - 1;
			if (o.momentum != 0) {
				/* torch: the first step sets the buffer to d */
				buf[i] = t == 1 ? d : (double)o.momentum * buf[i] + d;
				d = o.nesterov ? d + (double)o.momentum * buf[i] : buf[i];
			}
			rw[i] -= sgds[_i].lr * d;
		}
		if (o.max_norm > 0)
			ck_assert_int_eq(sw_ops_cpu.norm2(NULL, g, &norm2, 2), SW_OK);
		ck_assert_int_eq(sw_ops_cpu.sgd_step(NULL, w, g, o.momentum != 0 ? v : NULL, 2, o,
						     &step, &norm2),
				 SW_OK);
		for (int i = 0; i < 2; i++)
			ck_assert_double_eq_tol((double)w[i], rw[i], 2e-6);
	}
}

TEST(sgd_with_momentum_and_no_velocity_is_refused)
{
	const struct sw_step step = {.step = 1, .lr = 1};
	float w = 1, g = 1;

	ck_assert_int_eq(sw_ops_cpu.sgd_step(NULL, &w, &g, NULL, 1, sgds[2].o, &step, NULL),
			 SW_INVALID);
	ck_assert(w == 1);
}

static const struct {
	double lr;
	struct sw_adam o;
} adams[] = {
	{0.1, {.beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f, .decoupled = 1}},
	{0.1,
	 {.beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f, .weight_decay = 0.01f, .decoupled = 1}},
	{0.01, {.beta1 = 0.5f, .beta2 = 0.9f, .eps = 1e-3f, .weight_decay = 0.5f, .decoupled = 1}},
	{0.1, {.beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f}},
	{0.1, {.beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f, .weight_decay = 0.1f}},
	{0.1, {.beta1 = 0.9f, .beta2 = 0.9f, .eps = 1e-2f, .weight_decay = 0.1f, .max_norm = 1}},
};

TEST_ROWS(adam_step_follows_pytorch, adams)
{
	const struct sw_adam o = adams[_i].o;
	const double b1 = (double)o.beta1, b2 = (double)o.beta2, lr = adams[_i].lr;
	const double decay = (double)o.weight_decay;
	float w[2] = {3, -2}, g[2], m[2] = {0, 0}, v[2] = {0, 0};
	double rw[2] = {3, -2}, rm[2] = {0, 0}, rv[2] = {0, 0};
	struct sw_step step;

	for (int t = 1; t <= STEPS; t++) {
		const double c = clip((double)o.max_norm, rw);
		double norm2 = NAN;

		for (int i = 0; i < 2; i++) {
			const double d = c * (rw[i] - 1) + (o.decoupled ? 0 : decay * rw[i]);

			g[i] = w[i] - 1;
			if (o.decoupled)
				rw[i] -= lr * decay * rw[i];
			rm[i] = b1 * rm[i] + (1 - b1) * d;
			rv[i] = b2 * rv[i] + (1 - b2) * d * d;
			rw[i] -= lr * (rm[i] / (1 - pow(b1, t))) /
				 (sqrt(rv[i] / (1 - pow(b2, t))) + (double)o.eps);
		}
		step = sw_step_make((uint64_t)t, lr, b1, b2);
		if (o.max_norm > 0)
			ck_assert_int_eq(sw_ops_cpu.norm2(NULL, g, &norm2, 2), SW_OK);
		ck_assert_int_eq(sw_ops_cpu.adam_step(NULL, w, g, m, v, 2, o, &step, &norm2),
				 SW_OK);
		for (int i = 0; i < 2; i++)
			ck_assert_double_eq_tol((double)w[i], rw[i], 5e-6);
	}
}

TEST(norm2_of_any_length_is_the_sum_of_squares)
{
	float g[37];
	double sum = 0, got;

	for (size_t n = 0; n < ROWS(g); n++) {
		ck_assert_int_eq(sw_ops_cpu.norm2(NULL, g, &got, n), SW_OK);
		ck_assert_double_eq_tol(got, sum, 1e-12);
		g[n] = 0.25f * (float)n - 3;
		sum += (double)g[n] * (double)g[n];
	}
	g[20] = NAN;
	ck_assert_int_eq(sw_ops_cpu.norm2(NULL, g, &got, 37), SW_OK);
	ck_assert(isnan(got));
}

TEST(clip_by_a_norm_that_is_no_number_spoils_the_weights)
{
	const struct sw_step step = sw_step_make(1, 0.1, 0.9, 0.9);
	const struct sw_sgd sgd = {.max_norm = 1};
	const double bad = NAN;
	float w = 1, g = 1;

	ck_assert_int_eq(sw_ops_cpu.sgd_step(NULL, &w, &g, NULL, 1, sgd, &step, NULL), SW_INVALID);
	ck_assert(w == 1);
	ck_assert_int_eq(sw_ops_cpu.sgd_step(NULL, &w, &g, NULL, 1, sgd, &step, &bad), SW_OK);
	ck_assert(isnan(w));
}

RUN_TESTS(NULL, NULL)
