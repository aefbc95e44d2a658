/* tests/kernels/test_cuda_divisor.cu — quotients by what the host knew before are those of /. */
#include "kernels/cuda/divisor.cuh"
#include "tests/run.h"

static void check(size_t n, uint32_t by)
{
	const struct sw_cuda_divisor d = sw_cuda_divisor_of(by);
	const struct sw_cuda_place at = sw_cuda_place_of(n, d);

	ck_assert_msg(at.row == n / by && at.column == n % by,
		      "%zu by %u: %zu and %u are left, not %zu and %zu", n, by, at.row, at.column,
		      n / by, n % by);
	if (n <= INT32_MAX)
		ck_assert_msg(sw_cuda_divide((uint32_t)n, d) == n / by, "%zu by %u", n, by);
}

/* Around multiples of the divisor a quotient goes wrong first: the last ones before a power of two
 * that numbers of 31, 32 and 64 bits reach, and the first. */
static void check_around(uint32_t by)
{
	static const size_t below[] = {0,
				       1000,
				       INT32_MAX,
				       (size_t)INT32_MAX + 1,
				       UINT32_MAX,
				       (size_t)UINT32_MAX + 1,
				       (size_t)1 << 40,
				       SIZE_MAX / 2};

	for (size_t i = 0; i < ROWS(below); i++) {
		const size_t most = below[i], whole = most / by * by;

		check(most, by);
		check(whole, by);
		check(whole + 1, by);
		check(whole + by - 1, by);
		check(whole ? whole - 1 : 0, by);
	}
}

START_TEST(divisor_gives_the_quotient_of_every_size)
{
	for (uint32_t by = 1; by < 3000; by++)
		check_around(by);
	for (unsigned bit = 2; bit < 31; bit++)
		for (uint32_t more = 0; more < 3; more++)
			check_around(((uint32_t)1 << bit) - 1 + more);
	check_around(INT32_MAX);
	check_around(INT32_MAX - 1);
}
END_TEST

START_TEST(divisor_of_small_numbers_is_exact)
{
	for (uint32_t by = 1; by < 70; by++)
		for (uint32_t n = 0; n < 5000; n++)
			check(n, by);
}
END_TEST

/* Shapes with an empty dimension, and those that are refused, must not end the process. */
START_TEST(divisor_out_of_bounds_is_one)
{
	static const size_t out[] = {0, (size_t)INT32_MAX + 1, (size_t)1 << 32, SIZE_MAX};

	ck_assert_uint_eq(sw_cuda_divisor_of(out[_i]).by, 1);
}
END_TEST

SUITE(tcase)
{
	tcase_add_test(tcase, divisor_gives_the_quotient_of_every_size);
	tcase_add_test(tcase, divisor_of_small_numbers_is_exact);
	tcase_add_loop_test(tcase, divisor_out_of_bounds_is_one, 0, 4);
}
