/* tests/sched/sampler/test_pareto.c — fronts against a comparison of all pairs, volumes against
 * counted cells and fronts whose volume is known. */
#include "sched/sampler/pareto.h"
#include "tests/sched/suite.h"
#include "tests/walk.h"
#include <float.h>
#include <math.h>

#define MOST ((size_t)60)

/* Whole numbers in [0, levels): many ties, and repeated rows. */
static void fill(double *y, size_t n, size_t m, uint64_t levels, uint64_t seed)
{
	for (size_t i = 0; i < n * m; i++)
		y[i] = (double)below(&seed, levels);
}

static bool beaten(const double *y, size_t n, size_t m, size_t at)
{
	for (size_t i = 0; i < n; i++) {
		size_t no_worse = 0, better = 0;

		for (size_t k = 0; k < m; k++) {
			no_worse += y[i * m + k] <= y[at * m + k];
			better += y[i * m + k] < y[at * m + k];
		}
		if (no_worse == m && better > 0)
			return true;
	}
	return false;
}

TEST_LOOP(front_of_any_rows_is_what_no_row_beats, 0, SW_METRICS_MAX)
{
	const size_t m = (size_t)_i + 1;

	for (uint64_t seed = 0; seed < 200; seed++) {
		const size_t n = seed % MOST;
		double y[MOST * SW_METRICS_MAX];
		size_t index[MOST], found, want = 0;

		fill(y, n, m, 3 + seed % 20, seed);
		ck_assert_int_eq(sw_pareto_front(y, n, m, index, &found), SW_OK);
		for (size_t i = 0; i < n; i++)
			want += !beaten(y, n, m, i);
		ck_assert_msg(found == want, "seed %u: %zu rows, not %zu", (unsigned)seed, found,
			      want);
		for (size_t i = 0; i < found; i++) {
			ck_assert_msg(!beaten(y, n, m, index[i]), "seed %u: row %zu is beaten",
				      (unsigned)seed, index[i]);
			if (i == 0)
				continue;
			const double a = y[index[i - 1] * m], b = y[index[i] * m];

			ck_assert_msg(a <= b, "seed %u: %g before %g", (unsigned)seed, a, b);
			ck_assert_uint_ne(index[i - 1], index[i]);
		}
	}
}

/* How many of the unit cells below the reference some row dominates: the volume of rows of whole
 * numbers, digit by digit. */
static double count_cells(const double *y, size_t n, size_t m, uint64_t side)
{
	uint64_t cells = 1, hit = 0;

	for (size_t k = 0; k < m; k++)
		cells *= side;
	for (uint64_t c = 0; c < cells; c++) {
		bool in = false;

		for (size_t i = 0; i < n && !in; i++) {
			uint64_t rest = c;

			in = true;
			for (size_t k = 0; k < m; k++, rest /= side)
				in = in && y[i * m + k] <= (double)(rest % side);
		}
		hit += in;
	}
	return (double)hit;
}

TEST_LOOP(volume_of_whole_numbers_is_the_cells_that_they_cover, 0, 6)
{
	const size_t m = (size_t)_i + 1;
	const uint64_t side = m <= 3 ? 9 : m == 4 ? 6 : 4;

	for (uint64_t seed = 0; seed < 40; seed++) {
		const size_t n = seed % 25;
		double y[MOST * SW_METRICS_MAX], reference[SW_METRICS_MAX], volume;

		/* Some rows lie at the reference or beyond it. */
		fill(y, n, m, side + 2, seed);
		for (size_t k = 0; k < m; k++)
			reference[k] = (double)side;
		ck_assert_int_eq(sw_hypervolume(y, n, m, reference, &volume), SW_OK);
		const double want = count_cells(y, n, m, side);
		ck_assert_msg(volume == want, "%zu metrics, seed %u: %.17g, not %g", m,
			      (unsigned)seed, volume, want);
	}
}

TEST(volume_beyond_its_work_or_any_number_is_refused)
{
	enum { N = 1000 };
	static double y[N * SW_METRICS_MAX];
	const double huge[] = {-DBL_MAX, -DBL_MAX}, top[] = {DBL_MAX, DBL_MAX};
	double reference[SW_METRICS_MAX], volume;
	uint64_t state = 3;

	/* On a sphere no row dominates another. */
	for (size_t i = 0; i < N; i++) {
		double square = 0;

		for (size_t k = 0; k < SW_METRICS_MAX; k++) {
			y[i * SW_METRICS_MAX + k] = 0.01 + unit(&state);
			square += y[i * SW_METRICS_MAX + k] * y[i * SW_METRICS_MAX + k];
		}
		for (size_t k = 0; k < SW_METRICS_MAX; k++)
			y[i * SW_METRICS_MAX + k] /= sqrt(square);
	}
	for (size_t k = 0; k < SW_METRICS_MAX; k++)
		reference[k] = 1.1;
	ck_assert_int_eq(sw_hypervolume(y, N, SW_METRICS_MAX, reference, &volume), SW_TOO_BIG);
	ck_assert_int_eq(sw_hypervolume(huge, 1, 2, top, &volume), SW_TOO_BIG);
}

TEST(reference_lies_beyond_the_worst)
{
	const struct {
		double y[4], want[2];
	} table[] = {
		{{0, 10, 1, 0}, {1.1, 11}},
		{{2, -5, 2, -5}, {2.2, -4.5}},
		{{0, 0, 0, 0}, {1, 1}},
		{{-DBL_MAX, 1, DBL_MAX, 2}, {DBL_MAX, 2.1}},
	};

	for (size_t i = 0; i < ROWS(table); i++) {
		double reference[2];

		sw_pareto_reference(table[i].y, 2, 2, reference);
		for (size_t k = 0; k < 2; k++) {
			const double got = reference[k], want = table[i].want[k];

			ck_assert_msg(fabs(got / 2 - want / 2) <= 1e-12 * fabs(want),
				      "row %zu: %g, not %g", i, got, want);
			ck_assert(got > table[i].y[k] || got == DBL_MAX);
		}
	}
}

TEST(pareto_without_memory_says_so)
{
	const double y[] = {1, 2, 3, 3, 2, 1}, reference[] = {4, 4, 4};

	WALK (SW_FAULT_MALLOC, 1) {
		size_t index[2], n;
		double volume;

		walk_arm();
		const sw_status front = sw_pareto_front(y, 2, 3, index, &n);
		const sw_status area = sw_hypervolume(y, 2, 3, reference, &volume);
		const unsigned fired = walk_disarm();
		ck_assert(front == SW_OK || front == SW_NOMEM);
		ck_assert(area == SW_OK || area == SW_NOMEM);
		ck_assert_int_eq((front != SW_OK) + (area != SW_OK), (int)fired);
		ck_assert_uint_eq(n, front == SW_OK ? 2 : 0);
		/* 3 x 2 x 1 twice, less the 1 x 2 x 1 that both cover. */
		ck_assert_double_eq(volume, area == SW_OK ? 10 : 0);
	}
}

RUN_TESTS(NULL, NULL)
