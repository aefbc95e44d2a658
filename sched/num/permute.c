#include "sched/num/permute.h"
#include "sched/num/rng.h"
#include <assert.h>

/* Even; twice what looks unbiased, for domains of a few bits. */
#define ROUNDS 8u

/* A permutation of the numbers of 2 * half bits. */
static uint64_t feistel(uint64_t seed, unsigned half, uint64_t x)
{
	const uint64_t mask = (UINT64_C(1) << half) - 1;
	uint64_t left = x >> half, right = x & mask;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		/* The width is part of the draw's number: the same seed shuffles grids of
		 * another width in another way. */
		const uint64_t f = sw_rng_u64(seed, SW_RNG_PERMUTE, right, round << 8 | half);
		const uint64_t next = left ^ (f & mask);

		left = right;
		right = next;
	}
	return left << half | right;
}

uint64_t sw_permute(uint64_t seed, uint64_t n, uint64_t i)
{
	unsigned half = 1;

	assert(i < n);
	/* The domain is the least even number of bits that holds n - 1: at most 4n numbers, so
	 * that the walk below takes 4 steps on average at most. */
	while (half < 32 && (n - 1) >> (2 * half) != 0)
		half++;
	/* The walk stays on i's cycle, which comes back to i at the latest: it ends. */
	do
		i = feistel(seed, half, i);
	while (i >= n);
	return i;
}
