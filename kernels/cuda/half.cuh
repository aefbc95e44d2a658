/* kernels/cuda/half.cuh — bf16, as kernels write it: the upper half of a float. */
#ifndef SW_KERNELS_CUDA_HALF_CUH
#define SW_KERNELS_CUDA_HALF_CUH

#include <cuda_runtime.h>
#include <stdint.h>
#include <string.h>

/* To the nearest, ties to even; a NaN stays one. */
static __device__ inline uint16_t sw_cuda_bf16(float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof bits);
	/* A NaN whose digits all lie in the lower half would become infinity: one upper bit is
	 * set. */
	if ((bits & 0x7fffffffu) > 0x7f800000u)
		return (uint16_t)(bits >> 16 | 0x40u);
	/* Half of the last digit that stays, less one, plus that digit: above the middle it
	 * carries, in the middle only to make it even. */
	return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* An operand's element, in the form that products read. */
static __device__ inline void sw_cuda_put(float *to, float v)
{
	*to = v;
}

static __device__ inline void sw_cuda_put(uint16_t *to, float v)
{
	*to = sw_cuda_bf16(v);
}

#endif
