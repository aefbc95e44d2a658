/* tests/trainer/comm/draws.h — numbers that each rank can make for any other one. */
#ifndef SW_TESTS_WORKER_COMM_DRAWS_H
#define SW_TESTS_WORKER_COMM_DRAWS_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* The i-th number of a rank in a turn: of very different sizes, so that another order of adding has
 * other bits. */
static inline uint64_t draw(unsigned rank, unsigned turn, size_t i)
{
	return mix(mix(((uint64_t)turn << 32) + rank + 1) + i);
}

static inline double number(unsigned rank, unsigned turn, size_t i)
{
	const uint64_t x = draw(rank, turn, i);

	return ((double)(x >> 11) / 9007199254740992.0 - 0.5) * (double)(1u << (x & 15));
}

#endif
