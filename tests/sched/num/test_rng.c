/* tests/sched/num/test_rng.c — draws that keep apart. */
#include "sched/num/rng.h"
#include "tests/sched/suite.h"
#include <math.h>

TEST(rng_zero_everything_is_the_first_answer)
{
	/* Stored sweeps replay: which words of the block are used must never change. */
	ck_assert_uint_eq(sw_rng_u64(0, SW_RNG_SAMPLE, 0, 0), UINT64_C(0xe169c58d6627e8d5));
	ck_assert_uint_eq(sw_rng_u64(UINT64_C(0x299f31d0a4093822), (enum sw_rng_stream)0x85a308d3,
				     UINT64_C(0x0370734413198a2e), 0x243f6a88),
			  UINT64_C(0x94fdccebd16cfe09));
}

TEST(rng_each_argument_changes_the_number)
{
	const uint64_t base = sw_rng_u64(1, SW_RNG_SAMPLE, 1, 1);

	ck_assert_uint_ne(base, sw_rng_u64(2, SW_RNG_SAMPLE, 1, 1));
	ck_assert_uint_ne(base, sw_rng_u64(1 + (UINT64_C(1) << 32), SW_RNG_SAMPLE, 1, 1));
	ck_assert_uint_ne(base, sw_rng_u64(1, SW_RNG_BRACKET, 1, 1));
	ck_assert_uint_ne(base, sw_rng_u64(1, SW_RNG_SAMPLE, 2, 1));
	ck_assert_uint_ne(base, sw_rng_u64(1, SW_RNG_SAMPLE, 1 + (UINT64_C(1) << 32), 1));
	ck_assert_uint_ne(base, sw_rng_u64(1, SW_RNG_SAMPLE, 1, 2));
}

TEST(rng_unit_is_even_and_below_one)
{
	enum { N = 100000 };
	double sum = 0.0, squares = 0.0;

	for (uint32_t i = 0; i < N; i++) {
		const double u = sw_rng_unit(7, SW_RNG_SAMPLE, i / 10, i % 10);

		ck_assert_double_ge(u, 0.0);
		ck_assert_double_lt(u, 1.0);
		ck_assert_double_eq(u * 0x1p53, floor(u * 0x1p53));
		sum += u;
		squares += u * u;
	}
	ck_assert_double_eq_tol(sum / N, 0.5, 0.005);
	ck_assert_double_eq_tol(squares / N, 1.0 / 3.0, 0.005);
}

RUN_TESTS(NULL, NULL)
