#include "sched/num/rng.h"
#include "base/philox.h"

/* Counter words: draw, stream, trial (low, high). Key words: seed (low, high). Half of the block is
 * left unused so that a draw needs no other draw's number. */
uint64_t sw_rng_u64(uint64_t seed, enum sw_rng_stream stream, uint64_t trial, uint32_t draw)
{
	const struct sw_philox_words at = {
		{draw, (uint32_t)stream, (uint32_t)trial, (uint32_t)(trial >> 32)}};
	const struct sw_philox_words r = sw_philox_raw(at, (uint32_t)seed, (uint32_t)(seed >> 32));

	return (uint64_t)r.v[1] << 32 | r.v[0];
}

double sw_rng_unit(uint64_t seed, enum sw_rng_stream stream, uint64_t trial, uint32_t draw)
{
	/* 53 bits are all that a double in [0, 1) holds evenly; a 54th would round some draws up to
	 * 1. */
	return (double)(sw_rng_u64(seed, stream, trial, draw) >> 11) * 0x1p-53;
}

size_t sw_rng_below(double u, size_t n)
{
	/* The product may round up to n where u is the largest number below 1. */
	const size_t i = (size_t)(u * (double)n);

	return i < n ? i : n - 1;
}
