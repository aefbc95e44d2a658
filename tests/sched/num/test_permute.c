/* tests/sched/num/test_permute.c — a bijection at every size, another one for every seed. */
#include "sched/num/permute.h"
#include "tests/sched/suite.h"
#include <stdbool.h>

TEST(permute_is_a_bijection_at_every_size)
{
	static bool seen[5000];
	static const uint64_t big[] = {1023, 1024, 1025, 4095, 4096, 4097, 5000};

	for (uint64_t at = 1; at < 300 + ROWS(big); at++) {
		const uint64_t n = at < 300 ? at : big[at - 300];

		for (uint64_t i = 0; i < n; i++)
			seen[i] = false;
		for (uint64_t i = 0; i < n; i++) {
			const uint64_t p = sw_permute(at, n, i);

			ck_assert_uint_lt(p, n);
			ck_assert_msg(!seen[p], "n %d: %d twice", (int)n, (int)p);
			seen[p] = true;
		}
	}
}

TEST(permute_large_sizes_stay_inside)
{
	static const uint64_t sizes[] = {1000000000, (UINT64_C(1) << 32) + 1, UINT64_MAX};

	for (size_t s = 0; s < ROWS(sizes); s++)
		for (uint64_t i = 0; i < 100; i++)
			ck_assert_uint_lt(sw_permute(3, sizes[s], sizes[s] - 1 - i), sizes[s]);
}

/* Over many seeds each place is equally likely to go anywhere: chi-squared, n - 1 degrees. */
TEST(permute_spreads_each_place_evenly_over_seeds)
{
	enum { N = 12, SEEDS = 12000 };
	const double expected = (double)SEEDS / N;

	for (uint64_t i = 0; i < N; i++) {
		double count[N] = {0}, chi2 = 0.0;

		for (uint64_t seed = 0; seed < SEEDS; seed++)
			count[sw_permute(seed, N, i)]++;
		for (size_t k = 0; k < N; k++)
			chi2 += (count[k] - expected) * (count[k] - expected) / expected;
		ck_assert_double_lt(chi2, 45.0); /* p about 5e-6 with 11 degrees */
	}
}

TEST(permute_shuffles_and_differs_by_seed)
{
	enum { N = 1000 };
	size_t still = 0, same = 0, next = 0;

	for (uint64_t i = 0; i < N; i++) {
		const uint64_t p = sw_permute(1, N, i);

		ck_assert_uint_eq(p, sw_permute(1, N, i));
		still += p == i;
		same += p == sw_permute(2, N, i);
		next += i + 1 < N && sw_permute(1, N, i + 1) == p + 1;
	}
	ck_assert_uint_lt(still, 10);
	ck_assert_uint_lt(same, 10);
	ck_assert_uint_lt(next, 10);
}

RUN_TESTS(NULL, NULL)
