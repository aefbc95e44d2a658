/* tests/kernels/test_ops.c — entries of the CPU table at their edges: far logits, equals, dropout,
 * rows by number. */
#include "kernels/ops.h"
#include "tests/run.h"
#include <math.h>
#include <string.h>

static struct sw_queue *q;

static void setup(void)
{
	ck_assert_int_eq(sw_ops_cpu.queue_create(&q), SW_OK);
}

static void teardown(void)
{
	sw_ops_cpu.queue_destroy(q);
}

TEST(cross_entropy_is_stable_and_counts_the_first_of_equals)
{
	const float big[3] = {1e4f, 1e4f, -1e4f}, bad[3] = {0, NAN, 5};
	const int32_t first = 0, second = 1, third = 2;
	struct sw_metrics m = {0};

	ck_assert_int_eq(
		sw_ops_cpu.cross_entropy(q, big, &first, NULL, NULL, &m, 0.0f, NULL, 1, 3, 0.0f),
		SW_OK);
	ck_assert_double_eq_tol(m.loss_sum, log(2), 1e-9);
	ck_assert_double_eq(m.correct, 1);
	ck_assert_int_eq(
		sw_ops_cpu.cross_entropy(q, big, &second, NULL, NULL, &m, 0.0f, NULL, 1, 3, 0.0f),
		SW_OK);
	ck_assert_double_eq(m.correct, 1);
	ck_assert_int_eq(
		sw_ops_cpu.cross_entropy(q, bad, &third, NULL, NULL, &m, 0.0f, NULL, 1, 3, 0.0f),
		SW_OK);
	ck_assert(isnan(m.loss_sum));
	ck_assert_double_eq(m.correct, 1);
	ck_assert_double_eq(m.rows, 3);
}

TEST(dropout_keeps_its_share_and_repeats_its_mask)
{
	enum { N = 10001 };
	static float x[N], y[N], again[N], other[N];
	struct sw_dropout d = {.seed = 7, .layer = 3, .p = 0.25f};
	struct sw_step step = {.step = 5};
	size_t kept = 0, differ = 0;

	for (size_t i = 0; i < N; i++)
		x[i] = 3;
	ck_assert_int_eq(sw_ops_cpu.dropout(q, x, y, N, d, &step), SW_OK);
	ck_assert_int_eq(sw_ops_cpu.dropout(q, x, again, N, d, &step), SW_OK);
	ck_assert_mem_eq(y, again, sizeof y);
	step.step++;
	ck_assert_int_eq(sw_ops_cpu.dropout(q, x, other, N, d, &step), SW_OK);
	for (size_t i = 0; i < N; i++) {
		ck_assert(y[i] == 0.0f || fabsf(y[i] - 4.0f) < 1e-5f);
		kept += y[i] != 0.0f;
		differ += y[i] != other[i];
	}
	ck_assert_double_eq_tol((double)kept / N, 0.75, 0.02);
	ck_assert_uint_gt(differ, N / 4);
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

		ck_assert_int_eq(sw_ops_cpu.dropout(q, x, y, 5, d, &step), table[i].want);
		ck_assert_msg((y[0] == -1.0f) == (table[i].want != SW_OK), "%zu", i);
	}
}

TEST(gather_takes_rows_by_index)
{
	const float rows[6] = {1, 2, 3, 4, 5, 6};
	const int32_t index[3] = {2, 0, 2}, values[3] = {7, 8, 9}, want_v[3] = {9, 7, 9};
	const float want[6] = {5, 6, 1, 2, 5, 6};
	float out[6];
	int32_t labels[3];

	ck_assert_int_eq(sw_ops_cpu.gather(q, rows, index, out, 3, 2), SW_OK);
	ck_assert_mem_eq(out, want, sizeof want);
	ck_assert_int_eq(sw_ops_cpu.gather_i32(q, values, index, labels, 3, 1), SW_OK);
	ck_assert_mem_eq(labels, want_v, sizeof want_v);
}

RUN_TESTS(setup, teardown)
