/* tests/sched/sampler/test_scalarise.c — one number for several metrics keeps to what dominates
 * what, does not care for units, and reaches a whole front. */
#include "sched/sampler/scalarise.h"
#include "tests/sched/suite.h"
#include <float.h>
#include <math.h>
#include <stdbool.h>

#define N ((size_t)200)

static void draw_weights(struct sw_scalar *s, uint64_t *state)
{
	double u[SW_METRICS_MAX];

	for (size_t k = 0; k < s->m; k++)
		u[k] = unit(state) + 0x1p-54;
	sw_scalar_weights(s, u);
}

TEST_LOOP(weights_of_any_draw_are_shares_with_equal_means, 2, SW_METRICS_MAX + 1)
{
	struct sw_scalar s = {.m = (size_t)_i};
	double mean[SW_METRICS_MAX] = {0};
	uint64_t state = 5;

	for (int i = 0; i < 4000; i++) {
		double sum = 0;

		draw_weights(&s, &state);
		for (size_t k = 0; k < s.m; k++) {
			ck_assert(s.weight[k] >= 0 && s.weight[k] <= 1);
			sum += s.weight[k];
			mean[k] += s.weight[k] / 4000;
		}
		ck_assert(fabs(sum - 1) < 1e-12);
	}
	for (size_t k = 0; k < s.m; k++)
		ck_assert_msg(fabs(mean[k] * (double)s.m - 1) < 0.1, "metric %zu: mean share %g", k,
			      mean[k]);
}

static bool dominates(const double *a, const double *b, size_t m)
{
	bool better = false;

	for (size_t k = 0; k < m; k++) {
		if (a[k] > b[k])
			return false;
		better = better || a[k] < b[k];
	}
	return better;
}

TEST(value_of_what_dominates_is_lower)
{
	uint64_t state = 7;

	for (size_t m = 2; m <= SW_METRICS_MAX; m++) {
		struct sw_scalar s = {.m = m};
		double y[N * SW_METRICS_MAX];

		for (size_t i = 0; i < N * m; i++)
			y[i] = (double)below(&state, 6);
		ck_assert_int_eq(sw_scalar_fit(&s, y, N), SW_OK);
		draw_weights(&s, &state);
		for (size_t a = 0; a < N; a++)
			for (size_t b = 0; b < N; b++) {
				if (!dominates(y + a * m, y + b * m, m))
					continue;
				const double va = sw_scalar_value(&s, y + a * m);
				const double vb = sw_scalar_value(&s, y + b * m);

				ck_assert_msg(va < vb, "%zu metrics: %g, not below %g", m, va, vb);
			}
	}
}

TEST(value_in_other_units_is_the_same)
{
	static const double unit_of[] = {1e-200, 1e6}, zero_of[] = {0, -4e6};
	double y[2 * N], z[2 * N];
	struct sw_scalar s = {.m = 2}, t = {.m = 2};
	uint64_t state = 9;

	for (size_t i = 0; i < 2 * N; i++) {
		y[i] = unit(&state);
		z[i] = y[i] * unit_of[i % 2] + zero_of[i % 2];
	}
	ck_assert_int_eq(sw_scalar_fit(&s, y, N), SW_OK);
	ck_assert_int_eq(sw_scalar_fit(&t, z, N), SW_OK);
	draw_weights(&s, &state);
	memcpy(t.weight, s.weight, sizeof t.weight);
	for (size_t i = 0; i < N; i++) {
		const double a = sw_scalar_value(&s, y + 2 * i), b = sw_scalar_value(&t, z + 2 * i);

		ck_assert_msg(fabs(a - b) < 1e-8, "row %zu: %g and %g", i, a, b);
	}
}

/* The inward quarter of a circle: a weighted sum would find its two ends alone. */
TEST(value_of_many_weights_has_its_minimum_all_along_a_front)
{
	double y[2 * N];
	bool reached[10] = {false};
	struct sw_scalar s = {.m = 2};
	uint64_t state = 13;

	for (size_t i = 0; i < N; i++) {
		const double a = acos(-1) / 2 * (double)i / (double)(N - 1);

		y[2 * i] = sin(a);
		y[2 * i + 1] = cos(a);
	}
	ck_assert_int_eq(sw_scalar_fit(&s, y, N), SW_OK);
	for (int draws = 0; draws < 400; draws++) {
		size_t best = 0;

		draw_weights(&s, &state);
		for (size_t i = 1; i < N; i++)
			if (sw_scalar_value(&s, y + 2 * i) < sw_scalar_value(&s, y + 2 * best))
				best = i;
		reached[best * 10 / N] = true;
	}
	for (size_t i = 0; i < 10; i++)
		ck_assert_msg(reached[i], "tenth %zu of the front was never the best", i);
}

/* One trial of the front with an absurd second metric must not make all others look alike. */
TEST(range_beyond_the_usual_is_cut)
{
	double y[2 * N];
	struct sw_scalar s = {.m = 2};
	uint64_t state = 17;

	for (size_t i = 0; i < 2 * N; i++)
		y[i] = 1 + unit(&state);
	y[0] = 0;
	y[1] = 1e12;
	ck_assert_int_eq(sw_scalar_fit(&s, y, N), SW_OK);
	ck_assert_msg(s.range[1] < 10, "range %g", s.range[1]);
}

TEST(value_of_the_largest_numbers_is_finite)
{
	const double table[][6] = {
		{-DBL_MAX, DBL_MAX, DBL_MAX, -DBL_MAX, 0, 0},
		{1, 1, 1, 1, 1, 1},
		{0, 5e-324, 5e-324, 0, 5e-324, 5e-324},
		{-DBL_MAX, 0, -DBL_MAX, 0, DBL_MAX, 1},
	};
	uint64_t state = 19;

	for (size_t i = 0; i < ROWS(table); i++) {
		struct sw_scalar s = {.m = 2};

		ck_assert_int_eq(sw_scalar_fit(&s, table[i], 3), SW_OK);
		for (int draws = 0; draws < 20; draws++) {
			draw_weights(&s, &state);
			for (size_t k = 0; k < 3; k++) {
				const double v = sw_scalar_value(&s, table[i] + 2 * k);

				ck_assert_msg(isfinite(v), "row %zu, point %zu: %g", i, k, v);
			}
		}
	}
}

RUN_TESTS(NULL, NULL)
