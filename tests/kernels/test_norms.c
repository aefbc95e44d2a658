/* tests/kernels/test_norms.c — statistics of batch norms of the CPU table, also over rows that
 * ranks share, and values far from zero. Values and gradients: tests/trainer/test_fixtures.c beside
 * PyTorch, tests/float64, and tests/trainer/net/test_gang_sync.c where ranks share the rows. */
#include "kernels/ops.h"
#include "tests/run.h"
#include <math.h>

static const struct sw_norm eps = {.eps = 1e-2f, .momentum = 0.1f};

TEST(batchnorm_moves_its_statistics_and_evaluates_with_them)
{
	const float x[4] = {1, 2, 3, 6}, gamma = 2, beta = 1;
	const struct sw_norm n = {.eps = 0, .momentum = 0.25f};
	float mean = 4, var = 8, y[4], m, r;

	ck_assert_int_eq(sw_ops_cpu.batchnorm_train(NULL, x, &gamma, &beta, &mean, &var, y, &m, &r,
						    2, 1, 2, n),
			 SW_OK);
	/* mean 3, biased variance 14 / 4, unbiased 14 / 3 */
	ck_assert_float_eq_tol(mean, 0.75f * 4 + 0.25f * 3, 1e-6f);
	ck_assert_float_eq_tol(var, 0.75f * 8 + 0.25f * 14 / 3, 1e-6f);
	ck_assert_float_eq_tol(y[0], (1 - 3) / sqrtf(3.5f) * 2 + 1, 1e-6f);
	mean = 2;
	var = 4;
	ck_assert_int_eq(
		sw_ops_cpu.batchnorm_eval(NULL, x, &gamma, &beta, &mean, &var, y, 2, 1, 2, n),
		SW_OK);
	for (size_t i = 0; i < 4; i++)
		ck_assert_float_eq_tol(y[i], (x[i] - 2) / 2 * 2 + 1, 1e-6f);
	/* One value has no variance: the running one stays. */
	ck_assert_int_eq(sw_ops_cpu.batchnorm_train(NULL, x, &gamma, &beta, &mean, &var, y, &m, &r,
						    1, 1, 1, eps),
			 SW_OK);
	ck_assert(var == 4 && y[0] == 1);
}

/* As batchnorm_moves_its_statistics_and_evaluates_with_them, whose rows these are. */
TEST(batchnorm_of_shared_rows_moves_the_statistics_of_all)
{
	const float x[4] = {1, 2, 3, 6}, gamma = 2, beta = 1;
	const struct sw_norm n = {.eps = 0, .momentum = 0.25f};
	double sums[2][2];

	for (size_t r = 0; r < 2; r++)
		ck_assert_int_eq(sw_ops_cpu.batchnorm_sums(NULL, x + 2 * r, sums[r], 1, 1, 2),
				 SW_OK);
	ck_assert(sums[0][0] == 3 && sums[0][1] == 5 && sums[1][0] == 9 && sums[1][1] == 45);
	sums[0][0] += sums[1][0];
	sums[0][1] += sums[1][1];
	for (size_t B = 0; B < 2; B++) { /* also where a rank has no rows */
		float mean = 4, var = 8, y[2] = {7, 7}, m, r;

		ck_assert_int_eq(sw_ops_cpu.batchnorm_train_summed(NULL, x, sums[0], &gamma, &beta,
								   &mean, &var, y, &m, &r, 4, B, 1,
								   2, n),
				 SW_OK);
		ck_assert_float_eq_tol(mean, 0.75f * 4 + 0.25f * 3, 1e-6f);
		ck_assert_float_eq_tol(var, 0.75f * 8 + 0.25f * 14 / 3, 1e-6f);
		ck_assert_float_eq_tol(m, 3, 1e-6f);
		ck_assert_float_eq_tol(r, 1 / sqrtf(3.5f), 1e-6f);
		ck_assert_float_eq_tol(y[0], B ? (1 - 3) / sqrtf(3.5f) * 2 + 1 : 7, 1e-6f);
	}
}

/* One value for all rows has no variance, and rounding makes none below 0; nor does it hide a
 * NaN. */
TEST(batchnorm_of_shared_rows_has_no_variance_below_zero)
{
	enum { N = 1000 };
	const float one = 1, zero = 0;
	float x[N], y[N], mean, rstd;
	double sums[2];
	unsigned below = 0;

	for (unsigned k = 0; k < 50; k++) {
		float running[2] = {0, 0};

		for (size_t i = 0; i < N; i++)
			x[i] = 1e6f * (1 + (float)k * 0.0137f);
		ck_assert_int_eq(sw_ops_cpu.batchnorm_sums(NULL, x, sums, N, 1, 1), SW_OK);
		below += sums[1] < sums[0] * (sums[0] / N);
		ck_assert_int_eq(sw_ops_cpu.batchnorm_train_summed(NULL, x, sums, &one, &zero,
								   running, running + 1, y, &mean,
								   &rstd, N, N, 1, 1, eps),
				 SW_OK);
		ck_assert_msg(running[1] >= 0 && rstd <= 10.0001f, "%g: variance %g, rstd %g",
			      (double)x[0], (double)running[1], (double)rstd);
	}
	ck_assert_uint_gt(below, 0);
	sums[1] = (double)NAN;
	ck_assert_int_eq(sw_ops_cpu.batchnorm_train_summed(NULL, x, sums, &one, &zero, x, x + 1, y,
							   &mean, &rstd, N, N, 1, 1, eps),
			 SW_OK);
	ck_assert(isnan(rstd) && isnan(y[0]));
}

/* A mean far from zero must not eat the variance's digits. */
TEST(norms_of_values_far_from_zero_keep_their_digits)
{
	enum { N = 64 };
	float x[N], y[N], mean[1], rstd[1], running[2] = {0, 0};
	const float one = 1, zero = 0;
	float ones[N], zeros[N] = {0};
	double sums[2];

	for (size_t i = 0; i < N; i++) {
		x[i] = 4096 + (i % 2 ? 0.5f : -0.5f);
		ones[i] = 1;
	}
	ck_assert_int_eq(sw_ops_cpu.batchnorm_train(NULL, x, &one, &zero, running, running + 1, y,
						    mean, rstd, N, 1, 1, (struct sw_norm){0, 0}),
			 SW_OK);
	for (size_t i = 0; i < N; i++)
		ck_assert_float_eq_tol(y[i], i % 2 ? 1.0f : -1.0f, 1e-5f);
	ck_assert_int_eq(sw_ops_cpu.batchnorm_sums(NULL, x, sums, N, 1, 1), SW_OK);
	ck_assert_int_eq(sw_ops_cpu.batchnorm_train_summed(NULL, x, sums, &one, &zero, running,
							   running + 1, y, mean, rstd, N, N, 1, 1,
							   (struct sw_norm){0, 0}),
			 SW_OK);
	for (size_t i = 0; i < N; i++)
		ck_assert_float_eq_tol(y[i], i % 2 ? 1.0f : -1.0f, 1e-5f);
	ck_assert_int_eq(sw_ops_cpu.layernorm_forward(NULL, x, ones, zeros, y, NULL, NULL, 1, N,
						      (struct sw_norm){0, 0}),
			 SW_OK);
	for (size_t i = 0; i < N; i++)
		ck_assert_float_eq_tol(y[i], i % 2 ? 1.0f : -1.0f, 1e-5f);
}

RUN_TESTS(NULL, NULL)
