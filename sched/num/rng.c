#include "sched/num/rng.h"

#define ROUNDS 10

static uint32_t mulhi(uint32_t a, uint32_t b)
{
	return (uint32_t)(((uint64_t)a * b) >> 32);
}

void sw_philox4x32(const uint32_t ctr[4], const uint32_t key[2], uint32_t out[4])
{
	/* The two multipliers, and the Weyl sequence of the key: golden ratio and sqrt(3) - 1. */
	const uint32_t m0 = 0xD2511F53u, m1 = 0xCD9E8D57u, w0 = 0x9E3779B9u, w1 = 0xBB67AE85u;
	uint32_t c0 = ctr[0], c1 = ctr[1], c2 = ctr[2], c3 = ctr[3];
	uint32_t k0 = key[0], k1 = key[1];

	for (int i = 0; i < ROUNDS; i++) {
		const uint32_t n0 = mulhi(m1, c2) ^ c1 ^ k0;
		const uint32_t n2 = mulhi(m0, c0) ^ c3 ^ k1;

		c1 = m1 * c2;
		c3 = m0 * c0;
		c0 = n0;
		c2 = n2;
		k0 += w0;
		k1 += w1;
	}
	out[0] = c0;
	out[1] = c1;
	out[2] = c2;
	out[3] = c3;
}

/* Counter words: draw, stream, trial (low, high). Key words: seed (low, high). Half of the block is
 * left unused so that a draw needs no other draw's number. */
uint64_t sw_rng_u64(uint64_t seed, enum sw_rng_stream stream, uint64_t trial, uint32_t draw)
{
	const uint32_t ctr[4] = {draw, (uint32_t)stream, (uint32_t)trial, (uint32_t)(trial >> 32)};
	const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
	uint32_t out[4];

	sw_philox4x32(ctr, key, out);
	return (uint64_t)out[1] << 32 | out[0];
}

double sw_rng_unit(uint64_t seed, enum sw_rng_stream stream, uint64_t trial, uint32_t draw)
{
	return (double)(sw_rng_u64(seed, stream, trial, draw) >> 11) * 0x1p-53;
}
