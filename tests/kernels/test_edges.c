/* tests/kernels/test_edges.c — edges of the CPU table that its twins do not have: shares and norms
 * that are none, labels that nothing is counted for, what a NaN reaches. Its values: beside CUDA's
 * in test_cuda_*.c, beside PyTorch's in tests/trainer/test_fixtures.c; gradients: tests/float64. */
#include "kernels/cpu/cpu.h"
#include "tests/kernels/sums.h"
#include "tests/run.h"
#include <math.h>

TEST(cross_entropy_is_stable_and_counts_the_first_of_equals)
{
	const float big[3] = {1e4f, 1e4f, -1e4f}, bad[3] = {0, NAN, 5};
	const int32_t first = 0, second = 1, third = 2;
	struct sw_metrics m = {0};

	ck_assert_int_eq(
		sw_ops_cpu.cross_entropy(NULL, big, &first, NULL, NULL, &m, 0.0f, NULL, 1, 3, 0.0f),
		SW_OK);
	ck_assert_double_eq_tol(m.loss_sum, log(2), 1e-9);
	ck_assert_double_eq(m.correct, 1);
	ck_assert_int_eq(sw_ops_cpu.cross_entropy(NULL, big, &second, NULL, NULL, &m, 0.0f, NULL, 1,
						  3, 0.0f),
			 SW_OK);
	ck_assert_double_eq(m.correct, 1);
	ck_assert_int_eq(
		sw_ops_cpu.cross_entropy(NULL, bad, &third, NULL, NULL, &m, 0.0f, NULL, 1, 3, 0.0f),
		SW_OK);
	ck_assert(isnan(m.loss_sum));
	ck_assert_double_eq(m.correct, 1);
	ck_assert_double_eq(m.rows, 3);
}

TEST(cross_entropy_counts_the_label_among_the_first_five)
{
	const float z[] = {
		7, 6, 5, 4, 3, 2, 1, /* class 4 is the fifth, class 5 the sixth */
		1, 1, 1, 1, 1, 1, 1, /* equals: the first classes count */
		7, 6, 5, 4, 3, 2, NAN,
	};
	const struct {
		size_t row;
		int32_t label;
		double top5, correct;
	} cases[] = {{0, 0, 1, 1}, {0, 4, 1, 0}, {0, 5, 0, 0}, {1, 0, 1, 1},
		     {1, 4, 1, 0}, {1, 5, 0, 0}, {2, 0, 0, 0}, {0, -1, 0, 0}};

	for (size_t i = 0; i < ROWS(cases); i++) {
		struct sw_metrics m = {0};

		ck_assert_int_eq(sw_ops_cpu.cross_entropy(NULL, z + 7 * cases[i].row,
							  &cases[i].label, NULL, NULL, &m, 0.0f,
							  NULL, 1, 7, 0.0f),
				 SW_OK);
		ck_assert_double_eq(m.top5, cases[i].top5);
		ck_assert_double_eq(m.correct, cases[i].correct);
		ck_assert_double_eq(m.rows, cases[i].label >= 0);
	}
}

TEST(cross_entropy_without_labels_has_gradient_zero)
{
	const float z[3] = {1, NAN, 3};
	const int32_t none = -1;
	struct sw_metrics m = {0};
	float dz[3];
	int32_t n;

	ck_assert_int_eq(sw_ops_cpu.labels_count(NULL, &none, &n, 1), SW_OK);
	ck_assert_int_eq(n, 1);
	ck_assert_int_eq(
		sw_ops_cpu.cross_entropy(NULL, z, &none, NULL, dz, &m, 1.0f, &n, 1, 3, 0.0f),
		SW_OK);
	ck_assert(m.rows == 0 && m.loss_sum == 0);
	ck_assert(dz[0] == 0 && dz[1] == 0 && dz[2] == 0);
	ck_assert_int_eq(
		sw_ops_cpu.cross_entropy(NULL, z, &none, NULL, dz, &m, 1.0f, &n, 1, 0, 0.0f),
		SW_INVALID);
	ck_assert_int_eq(
		sw_ops_cpu.cross_entropy(NULL, z, &none, NULL, dz, &m, 1.0f, &n, 1, 3, 1.5f),
		SW_INVALID);
}

TEST(class_counts_are_those_of_a_confusion_matrix)
{
	const float z[] = {3, 1,   2, /* says 0 */
			   1, 3,   2, /* 1 */
			   1, 3,   3, /* 1, the first of equals */
			   1, NAN, 3, 0, 1, 2 /* 2 */};
	const int32_t label[] = {0, 0, 2, 1, -1};
	const int64_t want[9] = {2, 1, 1, /* of class 0 a true positive ... */
				 1, 3, 1, 2, 2, 2};
	int64_t counts[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};

	ck_assert_int_eq(sw_ops_cpu.class_counts(NULL, z, label, counts, 5, 3), SW_OK);
	ck_assert_mem_eq(counts, want, sizeof want);
}

TEST(mse_sums_what_mae_and_r2_need)
{
	const float y[4] = {1, 2, 3, 5}, t[4] = {2, 2, 1, 4};
	struct sw_metrics m = {0};

	ck_assert_int_eq(sw_ops_cpu.mse(NULL, y, t, NULL, NULL, &m, 0.0f, 2, 2), SW_OK);
	ck_assert_double_eq(m.rows, 2);
	ck_assert_double_eq(m.values, 4);
	ck_assert_double_eq(m.loss_sum, 3);
	ck_assert_double_eq(m.abs_sum, 4);
	ck_assert_double_eq(m.square_sum, 6);
	ck_assert_double_eq(m.t_sum, 9);
	ck_assert_double_eq(m.t_square_sum, 25);
}

/* The last p that is one is below 1 by 2^-24. */
TEST(dropout_of_what_is_no_share_is_refused)
{
	static const struct {
		float p;
		sw_status want;
	} table[] = {{0, SW_OK},
		     {0x1.fffffep-1f, SW_OK},
		     {1, SW_INVALID},
		     {0x1p40f, SW_INVALID},
		     {-0x1p-149f, SW_INVALID},
		     {INFINITY, SW_INVALID},
		     {NAN, SW_INVALID}};
	const float x[5] = {1, 2, 3, 4, 5};
	const struct sw_step step = {.step = 5};

	for (size_t i = 0; i < ROWS(table); i++) {
		const struct sw_dropout d = {.seed = 7, .layer = 3, .p = table[i].p};
		float y[5] = {-1, -1, -1, -1, -1};

		ck_assert_int_eq(sw_ops_cpu.dropout(NULL, x, y, 5, d, &step), table[i].want);
		ck_assert_msg((y[0] == -1.0f) == (table[i].want != SW_OK), "%zu", i);
	}
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

/* One value for all rows has no variance, and rounding makes none below 0; nor does it hide a
 * NaN. */
TEST(batchnorm_of_shared_rows_has_no_variance_below_zero)
{
	enum { N = 1000 };
	const float one = 1, zero = 0;
	float x[N], y[N], mean, rstd;
	double sums[2];
	unsigned below = 0;
	const struct sw_norm norm = {.eps = 1e-2f, .momentum = 0.1f};

	for (unsigned k = 0; k < 50; k++) {
		float running[2] = {0, 0};

		for (size_t i = 0; i < N; i++)
			x[i] = 1e6f * (1 + (float)k * 0.0137f);
		ck_assert_int_eq(sw_ops_cpu.batchnorm_sums(NULL, x, sums, N, 1, 1), SW_OK);
		below += sums[1] < sums[0] * (sums[0] / N);
		ck_assert_int_eq(sw_ops_cpu.batchnorm_train_summed(NULL, x, sums, &one, &zero,
								   running, running + 1, y, &mean,
								   &rstd, N, N, 1, 1, norm),
				 SW_OK);
		ck_assert_msg(running[1] >= 0 && rstd <= 10.0001f, "%g: variance %g, rstd %g",
			      (double)x[0], (double)running[1], (double)rstd);
	}
	ck_assert_uint_gt(below, 0);
	sums[1] = (double)NAN;
	ck_assert_int_eq(sw_ops_cpu.batchnorm_train_summed(NULL, x, sums, &one, &zero, x, x + 1, y,
							   &mean, &rstd, N, N, 1, 1, norm),
			 SW_OK);
	ck_assert(isnan(rstd) && isnan(y[0]));
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

RUN_TESTS(NULL, NULL)
