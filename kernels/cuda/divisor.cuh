/* kernels/cuda/divisor.cuh — division by what the host knows before: a multiplication and a shift,
 * three instructions instead of some twenty.
 *
 * Source   Granlund and Montgomery, Division by Invariant Integers using Multiplication, 1994,
 *          section 4, for numbers below 2^31. */
#ifndef SW_KERNELS_CUDA_DIVISOR_CUH
#define SW_KERNELS_CUDA_DIVISOR_CUH

#include "kernels/cuda/cuda.h"

struct sw_cuda_divisor {
	uint32_t by, factor, shift;
};

/* by: 1 to 2^31 - 1; what else there is, of shapes that no kernel gets, is taken as 1 */
static inline struct sw_cuda_divisor sw_cuda_divisor_of(size_t by)
{
	struct sw_cuda_divisor d = {by && by <= INT32_MAX ? (uint32_t)by : 1, 0, 0};

	while (((uint64_t)1 << d.shift) < d.by)
		d.shift++;
	d.factor = (uint32_t)(((((uint64_t)1 << d.shift) - d.by) << 32) / d.by + 1);
	return d;
}

/* n / d.by, n below 2^31 */
static __device__ inline uint32_t sw_cuda_divide(uint32_t n, const struct sw_cuda_divisor &d)
{
	return ((uint32_t)(((uint64_t)n * d.factor) >> 32) + n) >> d.shift;
}

/* The row and the place of item n, in rows of d.by items. */
struct sw_cuda_place {
	size_t row;
	unsigned column;
};

/* Any n: from 2^31 on it divides. */
static __device__ inline struct sw_cuda_place sw_cuda_place_of(size_t n,
							       const struct sw_cuda_divisor &d)
{
	const size_t row = n >> 31 ? n / d.by : sw_cuda_divide((uint32_t)n, d);

	return {row, (unsigned)n - (unsigned)row * d.by};
}

#endif
