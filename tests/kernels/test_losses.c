/* tests/kernels/test_losses.c — what the losses of the CPU table count, by hand. Their values and
 * gradients: tests/trainer/test_fixtures.c beside PyTorch, tests/float64. */
#include "kernels/ops.h"
#include "tests/run.h"
#include <math.h>

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

RUN_TESTS(NULL, NULL)
