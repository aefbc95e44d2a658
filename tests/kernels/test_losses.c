/* tests/kernels/test_losses.c — the losses of the CPU table and what is counted with them, against
 * references in double and rows counted by hand. */
#include "tests/kernels/gradient.h"
#include "tests/run.h"
#include <math.h>
#include <string.h>

struct loss {
	size_t B, C;
	const int32_t *label;
	float smooth;
	int counted; /* the mean over the labels that are not -1 */
};

static const int32_t labels[] = {0, 2, -1, 1, 2, -1, 0};

static const struct loss losses[] = {
	{4, 3, labels, 0, 0},    {7, 3, labels, 0.1f, 0}, {7, 3, labels, 0.25f, 1},
	{1, 1, labels, 0.5f, 1}, {7, 17, labels, 1, 1},   {1, 3, labels + 2, 0.1f, 1},
};

static double counted(const struct loss *l)
{
	double n = 0;

	for (size_t b = 0; b < l->B; b++)
		n += l->label[b] >= 0;
	return l->counted && n > 0 ? n : 1;
}

static void cross_entropy_reference(const void *shape, double *const *in, double *out)
{
	const struct loss *l = shape;

	out[0] = 0;
	for (size_t b = 0; b < l->B; b++) {
		const double *z = in[0] + b * l->C;
		const double s = (double)l->smooth;
		double sum = 0;

		if (l->label[b] < 0)
			continue;
		for (size_t c = 0; c < l->C; c++)
			sum += exp(z[c]);
		out[0] -= (1 - s) * (z[l->label[b]] - log(sum)) / counted(l);
		for (size_t c = 0; c < l->C; c++)
			out[0] -= s / (double)l->C * (z[c] - log(sum)) / counted(l);
	}
}

static sw_status cross_entropy_forward(const void *shape, float *const *in, float *out)
{
	const struct loss *l = shape;
	struct sw_metrics m = {0};
	const sw_status status = sw_ops_cpu.cross_entropy(NULL, in[0], l->label, NULL, NULL, &m,
							  0.0f, NULL, l->B, l->C, l->smooth);

	out[0] = (float)(m.loss_sum / counted(l));
	return status;
}

static sw_status cross_entropy_backward(const void *shape, float *const *in, const float *out,
					float *dy, float *const *din)
{
	const struct loss *l = shape;
	struct sw_metrics m = {0};
	int32_t n = -7;
	sw_status status = sw_ops_cpu.labels_count(NULL, l->label, &n, l->B);

	(void)out;
	if (status == SW_OK)
		status = sw_ops_cpu.cross_entropy(NULL, in[0], l->label, NULL, din[0], &m, dy[0],
						  l->counted ? &n : NULL, l->B, l->C, l->smooth);
	return status;
}

TEST_ROWS(cross_entropy_and_its_gradient_match_the_reference, losses)
{
	const struct loss *l = &losses[_i];
	const struct gradient_case g = {
		.name = "cross_entropy",
		.ins = 1,
		.n = {l->B * l->C},
		.out_n = 1,
		.tol = 1e-5,
		.shape = l,
		.reference = cross_entropy_reference,
		.forward = cross_entropy_forward,
		.backward = cross_entropy_backward,
	};

	gradient_check(&g);
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

/* --- mse: y, t --- */

static void mse_reference(const void *shape, double *const *in, double *out)
{
	const struct loss *l = shape;

	out[0] = 0;
	for (size_t i = 0; i < l->B * l->C; i++)
		out[0] += (in[0][i] - in[1][i]) * (in[0][i] - in[1][i]) / (double)l->C;
}

static sw_status mse_forward(const void *shape, float *const *in, float *out)
{
	const struct loss *l = shape;
	struct sw_metrics m = {0};
	const sw_status status =
		sw_ops_cpu.mse(NULL, in[0], in[1], NULL, NULL, &m, 0.0f, l->B, l->C);

	out[0] = (float)m.loss_sum;
	return status;
}

static sw_status mse_backward(const void *shape, float *const *in, const float *out, float *dy,
			      float *const *din)
{
	const struct loss *l = shape;

	struct sw_metrics m = {0};

	(void)out;
	return sw_ops_cpu.mse(NULL, in[0], in[1], NULL, din[0], &m, dy[0], l->B, l->C);
}

TEST_ROWS(mse_and_its_gradient_match_the_reference, losses)
{
	const struct loss *l = &losses[_i];
	const struct gradient_case g = {
		.name = "mse",
		.ins = 2,
		.n = {l->B * l->C, l->B * l->C},
		.out_n = 1,
		.constant = 2,
		.tol = 1e-5,
		.shape = l,
		.reference = mse_reference,
		.forward = mse_forward,
		.backward = mse_backward,
	};

	gradient_check(&g);
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
