/* tests/kernels/test_optim.c — the optimizers against PyTorch's documented algorithms, in double,
 * over several steps of the problem g = w - 1. */
#include "kernels/ops.h"
#include <check.h>
#include <math.h>
#include <stdlib.h>

#define STEPS 6

static const struct sw_sgd sgds[] = {
	{.lr = 0.1f},
	{.lr = 0.1f, .weight_decay = 0.01f},
	{.lr = 0.1f, .momentum = 0.9f},
	{.lr = 0.05f, .momentum = 0.9f, .weight_decay = 0.1f},
	{.lr = 0.05f, .momentum = 0.9f, .weight_decay = 0.1f, .nesterov = 1},
};

START_TEST(sgd_step_follows_pytorch)
{
	const struct sw_sgd o = sgds[_i];
	float w[2] = {3, -2}, g[2], v[2] = {0, 0};
	double rw[2] = {3, -2}, buf[2] = {0, 0};

	for (int t = 1; t <= STEPS; t++) {
		for (int i = 0; i < 2; i++) {
			double d = rw[i] - 1 + (double)o.weight_decay * rw[i];

			g[i] = w[i] - 1;
			if (o.momentum != 0) {
				/* torch: the first step sets the buffer to d */
				buf[i] = t == 1 ? d : (double)o.momentum * buf[i] + d;
				d = o.nesterov ? d + (double)o.momentum * buf[i] : buf[i];
			}
			rw[i] -= (double)o.lr * d;
		}
		ck_assert_int_eq(sw_ops_cpu.sgd_step(NULL, w, g, o.momentum != 0 ? v : NULL, 2, o),
				 SW_OK);
		for (int i = 0; i < 2; i++)
			ck_assert_double_eq_tol((double)w[i], rw[i], 2e-6);
	}
}
END_TEST

START_TEST(sgd_with_momentum_and_no_velocity_is_refused)
{
	float w = 1, g = 1;

	ck_assert_int_eq(sw_ops_cpu.sgd_step(NULL, &w, &g, NULL, 1, sgds[2]), SW_INVALID);
	ck_assert(w == 1);
}
END_TEST

static const struct sw_adamw adamws[] = {
	{.lr = 0.1f, .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f},
	{.lr = 0.1f, .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f, .weight_decay = 0.01f},
	{.lr = 0.01f, .beta1 = 0.5f, .beta2 = 0.9f, .eps = 1e-3f, .weight_decay = 0.5f},
};

START_TEST(adamw_step_follows_pytorch)
{
	struct sw_adamw o = adamws[_i];
	const double b1 = (double)o.beta1, b2 = (double)o.beta2, lr = (double)o.lr;
	float w[2] = {3, -2}, g[2], m[2] = {0, 0}, v[2] = {0, 0};
	double rw[2] = {3, -2}, rm[2] = {0, 0}, rv[2] = {0, 0};

	for (int t = 1; t <= STEPS; t++) {
		for (int i = 0; i < 2; i++) {
			const double d = rw[i] - 1;

			g[i] = w[i] - 1;
			rw[i] -= lr * (double)o.weight_decay * rw[i];
			rm[i] = b1 * rm[i] + (1 - b1) * d;
			rv[i] = b2 * rv[i] + (1 - b2) * d * d;
			rw[i] -= lr * (rm[i] / (1 - pow(b1, t))) /
				 (sqrt(rv[i] / (1 - pow(b2, t))) + (double)o.eps);
		}
		o.step = (uint64_t)t;
		ck_assert_int_eq(sw_ops_cpu.adamw_step(NULL, w, g, m, v, 2, o), SW_OK);
		for (int i = 0; i < 2; i++)
			ck_assert_double_eq_tol((double)w[i], rw[i], 5e-6);
	}
	o.step = 0;
	ck_assert_int_eq(sw_ops_cpu.adamw_step(NULL, w, g, m, v, 2, o), SW_INVALID);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("kernels");
	TCase *tcase = tcase_create("optim");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, sgd_step_follows_pytorch, 0, sizeof sgds / sizeof *sgds);
	tcase_add_test(tcase, sgd_with_momentum_and_no_velocity_is_refused);
	tcase_add_loop_test(tcase, adamw_step_follows_pytorch, 0, sizeof adamws / sizeof *adamws);
	srunner_run_all(runner, CK_ENV);
	const int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
