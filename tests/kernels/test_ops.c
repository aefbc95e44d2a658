/* tests/kernels/test_ops.c — the CPU table against plain loops in double and finite differences. */
#include "kernels/cpu/cpu.h"
#include "kernels/philox.h"
#include "tests/run.h"
#include <math.h>
#include <string.h>

#define MAX_N 20000

static const struct shape {
	size_t B, I, O;
} shapes[] = {{1, 1, 1}, {3, 7, 5}, {16, 64, 10}, {17, 65, 33}, {2, 9, 1}, {1, 30, 2}, {0, 4, 3}};
#define SHAPES_N ((int)ROWS(shapes))

static struct sw_queue *q;

static void setup(void)
{
	ck_assert_int_eq(sw_ops_cpu.queue_create(&q), SW_OK);
}

static void teardown(void)
{
	sw_ops_cpu.queue_destroy(q);
	sw_cpu_linear_force(0);
}

/* U(-1, 1), another set for each key */
static void fill(float *x, size_t n, uint64_t key)
{
	for (size_t i = 0; i < n; i++)
		x[i] = 2 * sw_philox_unit(sw_philox_block(key, 9, 0, 0, i).v[0]) - 1;
}

static void near_all(const char *what, const float *got, const double *want, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ck_assert_msg(fabs((double)got[i] - want[i]) <= 1e-4 * (1 + fabs(want[i])),
			      "%s[%zu]: %g is not %g", what, i, (double)got[i], want[i]);
}

/* _i: the shape; both paths, own loops and BLAS, are held to the same reference. */
TEST_LOOP(linear_forward_matches_the_reference, 0, SHAPES_N)
{
	const struct shape s = shapes[_i];
	static float x[MAX_N], w[MAX_N], b[MAX_N], y[MAX_N];
	static double want[MAX_N];

	fill(x, s.B * s.I, 1);
	fill(w, s.O * s.I, 2);
	fill(b, s.O, 3);
	for (size_t r = 0; r < s.B; r++)
		for (size_t o = 0; o < s.O; o++) {
			want[r * s.O + o] = (double)b[o];
			for (size_t i = 0; i < s.I; i++)
				want[r * s.O + o] +=
					(double)x[r * s.I + i] * (double)w[o * s.I + i];
		}
	for (int path = 1; path <= 2; path++) {
		sw_cpu_linear_force(path);
		ck_assert_int_eq(
			sw_ops_cpu.linear_forward(q, x, w, b, y, s.B, s.I, s.O, SW_ACT_NONE, NULL),
			SW_OK);
		near_all("y", y, want, s.B * s.O);
		ck_assert_int_eq(sw_ops_cpu.linear_forward(q, x, w, NULL, y, s.B, s.I, s.O,
							   SW_ACT_NONE, NULL),
				 SW_OK);
		for (size_t i = 0; i < s.B * s.O; i++)
			ck_assert(fabs((double)y[i] + (double)b[i % s.O] - want[i]) < 1e-4);
	}
}

TEST_LOOP(linear_backward_matches_the_reference, 0, SHAPES_N)
{
	const struct shape s = shapes[_i];
	static float x[MAX_N], w[MAX_N], dy[MAX_N], dx[MAX_N], dw[MAX_N], db[MAX_N];
	static double wx[MAX_N], ww[MAX_N], wb[MAX_N];

	fill(x, s.B * s.I, 1);
	fill(w, s.O * s.I, 2);
	fill(dy, s.B * s.O, 3);
	for (int path = 1; path <= 2; path++) {
		sw_cpu_linear_force(path);
		memset(wx, 0, sizeof wx);
		memset(ww, 0, sizeof ww);
		memset(wb, 0, sizeof wb);
		for (size_t r = 0; r < s.B; r++)
			for (size_t o = 0; o < s.O; o++) {
				const double g = (double)dy[r * s.O + o];

				wb[o] += g;
				for (size_t i = 0; i < s.I; i++) {
					ww[o * s.I + i] += g * (double)x[r * s.I + i];
					wx[r * s.I + i] += g * (double)w[o * s.I + i];
				}
			}
		/* twice: what was there before counts for nothing */
		for (int pass = 1; pass <= 2; pass++) {
			ck_assert_int_eq(sw_ops_cpu.linear_backward(q, x, w, NULL, dy, dx, dw, db,
								    s.B, s.I, s.O, SW_ACT_NONE,
								    NULL),
					 SW_OK);
			near_all("dx", dx, wx, s.B * s.I);
			near_all("dw", dw, ww, s.O * s.I);
			near_all("db", db, wb, s.O);
		}
		ck_assert_int_eq(sw_ops_cpu.linear_backward(q, x, w, NULL, dy, NULL, dw, NULL, s.B,
							    s.I, s.O, SW_ACT_NONE, NULL),
				 SW_OK);
	}
}

/* The loss of a logit vector nudged by +-h against the gradient that backward gives. */
TEST(cross_entropy_gradient_matches_finite_differences)
{
	enum { B = 4, C = 5 };
	const int32_t label[B] = {0, 4, 2, 2};
	const float h = 0x1p-7f;
	float z[B * C], dz[B * C];
	struct sw_metrics m = {0};

	fill(z, B * C, 5);
	ck_assert_int_eq(sw_ops_cpu.cross_entropy(q, z, label, NULL, dz, &m, 1.0f / (float)B, NULL,
						  B, C, 0.0f),
			 SW_OK);
	ck_assert_double_eq(m.rows, B);
	for (size_t i = 0; i < B * C; i++) {
		struct sw_metrics up = {0}, down = {0};
		const float was = z[i];

		z[i] = was + h;
		ck_assert_int_eq(sw_ops_cpu.cross_entropy(q, z, label, NULL, NULL, &up, 0.0f, NULL,
							  B, C, 0.0f),
				 SW_OK);
		z[i] = was - h;
		ck_assert_int_eq(sw_ops_cpu.cross_entropy(q, z, label, NULL, NULL, &down, 0.0f,
							  NULL, B, C, 0.0f),
				 SW_OK);
		z[i] = was;
		const double slope = (up.loss_sum - down.loss_sum) / (2 * (double)h * B);

		ck_assert_msg(fabs(slope - (double)dz[i]) < 1e-4, "dz[%zu]: %g, slope %g", i,
			      (double)dz[i], slope);
	}
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

TEST(mse_gradient_matches_finite_differences)
{
	enum { B = 3, O = 2 };
	const float h = 0x1p-7f;
	float y[B * O], t[B * O], dy[B * O];
	struct sw_metrics m = {0};

	fill(y, B * O, 6);
	fill(t, B * O, 7);
	ck_assert_int_eq(sw_ops_cpu.mse(q, y, t, NULL, dy, &m, 1.0f / (float)B, B, O), SW_OK);
	for (size_t i = 0; i < B * O; i++) {
		struct sw_metrics up = {0}, down = {0};
		const float was = y[i];

		y[i] = was + h;
		ck_assert_int_eq(sw_ops_cpu.mse(q, y, t, NULL, NULL, &up, 0.0f, B, O), SW_OK);
		y[i] = was - h;
		ck_assert_int_eq(sw_ops_cpu.mse(q, y, t, NULL, NULL, &down, 0.0f, B, O), SW_OK);
		y[i] = was;
		const double slope = (up.loss_sum - down.loss_sum) / (2 * (double)h * B);

		ck_assert_msg(fabs(slope - (double)dy[i]) < 1e-4, "dy[%zu]: %g, slope %g", i,
			      (double)dy[i], slope);
	}
}

TEST(activations_match_the_reference_in_place_too)
{
	enum { N = 37 };
	float x[N], y[N], dy[N], dx[N];

	fill(x, N, 8);
	fill(dy, N, 9);
	x[3] = 0;
	for (int kind = 0; kind < 2; kind++) {
		sw_status (*forward)(struct sw_queue *, const float *, float *, size_t) =
			kind ? sw_ops_cpu.tanh_forward : sw_ops_cpu.relu_forward;
		sw_status (*backward)(struct sw_queue *, const float *, const float *, float *,
				      size_t) = kind ? sw_ops_cpu.tanh_backward
						     : sw_ops_cpu.relu_backward;

		memcpy(y, x, sizeof y);
		memcpy(dx, dy, sizeof dx);
		ck_assert_int_eq(forward(q, y, y, N), SW_OK);
		ck_assert_int_eq(backward(q, y, dx, dx, N), SW_OK);
		for (size_t i = 0; i < N; i++) {
			const double v = (double)x[i], t = tanh(v);
			const double f = kind ? t : v > 0 ? v : 0;
			const double d = kind ? 1 - t * t : v > 0 ? 1 : 0;

			ck_assert_double_eq_tol((double)y[i], f, 1e-6);
			ck_assert_double_eq_tol((double)dx[i], d * (double)dy[i], 1e-6);
		}
	}
	x[0] = NAN;
	ck_assert_int_eq(sw_ops_cpu.relu_forward(q, x, y, 1), SW_OK);
	ck_assert(isnan(y[0]));
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
