/* tests/sched/num/test_sobol.c — the sequence of Joe and Kuo, and what scrambling must leave of
 * it. */
#include "sched/num/sobol.h"
#include "sched/space/space.h"
#include "tests/sched/suite.h"
#include <stdbool.h>

/* Digits of one far point per dimension, made by a program of another author from the same table
 * (Boost 1.74, random/sobol.hpp, draw 1000000 in the order of Gray code). */
static const struct {
	size_t dim;
	uint32_t digits;
} far[] = {
	{0, UINT32_C(0x86c71000)},   {1, UINT32_C(0xcfd9f000)},   {2, UINT32_C(0x53f79000)},
	{3, UINT32_C(0x2b123000)},   {9, UINT32_C(0xc1207000)},   {50, UINT32_C(0x1e4bb000)},
	{100, UINT32_C(0x8a177000)}, {159, UINT32_C(0x9827b000)}, {160, UINT32_C(0x7f24d000)},
	{161, UINT32_C(0x3a6e1000)}, {200, UINT32_C(0xc6991000)}, {254, UINT32_C(0xa5141000)},
	{255, UINT32_C(0x0e467000)},
};

TEST_ROWS(sobol_far_dimensions_agree_with_another_program, far)
{
	const uint32_t number = 1000001; /* it leaves out point 0 */

	ck_assert_uint_eq(sw_sobol_digits(number ^ number >> 1, far[_i].dim), far[_i].digits);
}

TEST(sobol_each_dimension_is_stratified)
{
	enum { D = 256 };
	static double x[1024 * D];

	ck_assert_uint_eq(D, SW_SPACE_MAX_PARAMS);
	for (uint32_t k = 0; k <= 10; k++) {
		const size_t n = (size_t)1 << k;

		/* Blocks after the first one, too. */
		sw_sobol_points(11 + k, 3 * n, n, D, x);
		for (size_t dim = 0; dim < D; dim++) {
			bool seen[1024] = {false};

			for (size_t i = 0; i < n; i++) {
				const double u = x[i * D + dim];

				ck_assert(u >= 0.0 && u < 1.0);
				const size_t cell = (size_t)(u * (double)n);
				ck_assert_msg(!seen[cell], "dimension %zu, %zu points", dim, n);
				seen[cell] = true;
			}
		}
	}
}

TEST(sobol_first_two_dimensions_are_a_net)
{
	enum { M = 8, N = 1 << M };
	double x[N * 2];

	for (uint64_t seed = 0; seed < 20; seed++) {
		sw_sobol_points(seed, seed * N, N, 2, x);
		for (unsigned a = 0; a <= M; a++) { /* boxes 2^-a x 2^-(M-a) hold one point each */
			bool seen[N] = {false};

			for (size_t i = 0; i < N; i++) {
				const size_t column = (size_t)(x[2 * i] * (double)(1u << a));
				const size_t row = (size_t)(x[2 * i + 1] * (double)(1u << (M - a)));
				const size_t cell = column << (M - a) | row;

				ck_assert_msg(!seen[cell], "seed %d, a %u", (int)seed, a);
				seen[cell] = true;
			}
		}
	}
}

TEST(sobol_points_are_functions_of_seed_and_number)
{
	const uint64_t first[] = {0, 1000, (UINT64_C(1) << 32) - 3};
	double run[7 * 5], one[5], other[5];

	for (size_t f = 0; f < ROWS(first); f++) {
		sw_sobol_points(42, first[f], 7, 5, run);
		for (size_t i = 0; i < 7; i++) {
			sw_sobol_point(42, first[f] + i, 5, one);
			sw_sobol_point(42, first[f] + i, 3, other); /* a prefix, not another set */
			for (size_t k = 0; k < 5; k++) {
				ck_assert_double_eq(one[k], run[i * 5 + k]);
				ck_assert(k >= 3 || one[k] == other[k]);
			}
			sw_sobol_point(43, first[f] + i, 5, other);
			for (size_t k = 0; k < 5; k++)
				ck_assert_double_ne(one[k], other[k]);
		}
	}
}

TEST(sobol_scrambled_point_is_uniform_over_the_seeds)
{
	enum { SEEDS = 20000 };
	double sum[3] = {0}, product = 0.0, x[3];

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		sw_sobol_point(seed, 5, 3, x);
		for (size_t k = 0; k < 3; k++)
			sum[k] += x[k];
		product += (x[0] - 0.5) * (x[1] - 0.5);
	}
	for (size_t k = 0; k < 3; k++)
		ck_assert_double_eq_tol(sum[k] / SEEDS, 0.5, 0.01); /* 5 sigma */
	ck_assert_double_eq_tol(product / SEEDS, 0.0, 0.003);
}

RUN_TESTS(NULL, NULL)
