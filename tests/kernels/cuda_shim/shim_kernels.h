/* tests/kernels/cuda_shim/shim_kernels.h — launches of the kernels that are wrong on purpose. */
#ifndef SW_TESTS_CUDA_SHIM_SHIM_KERNELS_H
#define SW_TESTS_CUDA_SHIM_SHIM_KERNELS_H

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How threads use device memory; what is said of each is in shim_kernels.cu. */
enum sw_shim_what {
	SW_SHIM_OWN,
	SW_SHIM_ONE_READ,
	SW_SHIM_COUNTED,
	/* races: */
	SW_SHIM_ONE_WRITTEN,
	SW_SHIM_ONE_OF_BLOCK,
	SW_SHIM_READ_WRITTEN,
	SW_SHIM_WRITTEN_READ,
	SW_SHIM_COUNTED_READ,
	/* out of bounds: */
	SW_SHIM_READ_BEHIND,
	SW_SHIM_READ_BEFORE,
	SW_SHIM_WRITE_BEHIND,
	/* misaligned: */
	SW_SHIM_READ_ASKEW
};

/* When threads wait for the kernel before, which may still run. */
enum sw_shim_wait { SW_SHIM_WAIT, SW_SHIM_WAIT_LATE, SW_SHIM_WAIT_NEVER, SW_SHIM_WAIT_BUT_ONE };

void sw_shim_wait(cudaStream_t s, float *p, unsigned n, enum sw_shim_wait what, int overlap);
void sw_shim_neighbour(cudaStream_t s, float *out, unsigned n, int barrier);
void sw_shim_leave(cudaStream_t s, unsigned n, unsigned stay, int warp);
void sw_shim_part(cudaStream_t s, unsigned n, int shuffle);
void sw_shim_warp(cudaStream_t s, float *out, int barrier);
void sw_shim_access(cudaStream_t s, float *p, unsigned grid, unsigned block,
		    enum sw_shim_what what);
void sw_shim_shared(cudaStream_t s, float *out, unsigned n, unsigned at);
void sw_shim_order(cudaStream_t s, float *out, unsigned long long *next, unsigned n);

#ifdef __cplusplus
}
#endif

#endif
