#include "kernels/cuda/load.h"

/* More than there are; one that had no place would be loaded at its first launch. */
#define KERNELS_MOST 1024

static const void *kernels[KERNELS_MOST];
static unsigned kernels_n;

void __wrap___cudaRegisterFunction(void **module, const char *kernel, char *device_kernel,
				   const char *name, int thread_limit, void *tid, void *bid,
				   void *block, void *grid, int *warp)
{
	if (kernels_n < KERNELS_MOST)
		kernels[kernels_n++] = kernel;
	__real___cudaRegisterFunction(module, kernel, device_kernel, name, thread_limit, tid, bid,
				      block, grid, warp);
}

cudaError_t sw_cuda_load(void)
{
	struct cudaFuncAttributes a;

	for (unsigned i = 0; i < kernels_n; i++) {
		const cudaError_t e = cudaFuncGetAttributes(&a, kernels[i]);

		if (e == cudaErrorMemoryAllocation)
			return e;
		if (e != cudaSuccess)
			(void)cudaGetLastError();
	}
	return cudaSuccess;
}
