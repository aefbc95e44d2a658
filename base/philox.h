/*
 * base/philox.h — Philox4x32-10: four random words that are a pure function of counter and key.
 *
 * Pure     No state. Usable from C, C++ and CUDA device code, so a mask is the same on every
 *          backend, and a replay draws the same numbers in any order.
 * Users    What a counter and a key are made of is said where numbers are drawn:
 *          sched/num/rng.h for the samplers and pruners, kernels/philox.h for the training core.
 * Source   Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC'11,
 *          section 3.3. The known answers of its reference are in tests/base/test_philox.c.
 */
#ifndef SW_BASE_PHILOX_H
#define SW_BASE_PHILOX_H

#include <stdint.h>

#ifdef __CUDACC__
#define SW_PHILOX_FN static __host__ __device__ __forceinline__
#else
#define SW_PHILOX_FN static inline
#endif

struct sw_philox_words {
	uint32_t v[4];
};

/* The block of counter c under the key k0, k1. */
SW_PHILOX_FN struct sw_philox_words sw_philox_raw(struct sw_philox_words c, uint32_t k0,
						  uint32_t k1)
{
	for (int round = 0; round < 10; round++) {
		const uint64_t a = (uint64_t)0xD2511F53u * c.v[0];
		const uint64_t b = (uint64_t)0xCD9E8D57u * c.v[2];
		const uint32_t v0 = (uint32_t)(b >> 32) ^ c.v[1] ^ k0;
		const uint32_t v2 = (uint32_t)(a >> 32) ^ c.v[3] ^ k1;

		c.v[0] = v0;
		c.v[1] = (uint32_t)b;
		c.v[2] = v2;
		c.v[3] = (uint32_t)a;
		/* the Weyl sequence of the key: golden ratio and sqrt(3) - 1 */
		k0 += 0x9E3779B9u;
		k1 += 0xBB67AE85u;
	}
	return c;
}

#endif
