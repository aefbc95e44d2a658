/* tests/sched/suite.h — the few lines that every test program of this folder shares. */
#ifndef SW_TESTS_SCHED_SUITE_H
#define SW_TESTS_SCHED_SUITE_H

#include "tests/run.h"
#include <stddef.h>
#include <stdint.h>

/* Numbers for tests alone: splitmix64, so that no test checks the program's generator by itself. */
static inline uint64_t next_u64(uint64_t *state)
{
	uint64_t z = *state += 0x9E3779B97F4A7C15u;

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

static inline uint64_t below(uint64_t *state, uint64_t n)
{
	return next_u64(state) % n;
}

static inline double unit(uint64_t *state)
{
	return (double)(next_u64(state) >> 11) * 0x1p-53;
}

#endif
