#include "kernels/cuda/load.h"
#include "base/memory.h"

/* As long as the process lives: a module is never closed. */
static const void **kernels; /* [kernels_n] */
static size_t kernels_n, kernels_cap;
static bool missed; /* there was no memory for one, which would be loaded at its first launch */

void __wrap___cudaRegisterFunction(void **module, const char *kernel, char *device_kernel,
				   const char *name, int thread_limit, void *tid, void *bid,
				   void *block, void *grid, int *warp)
{
	if (sw_array_reserve(&kernels, &kernels_cap, kernels_n + 1, sizeof *kernels))
		kernels[kernels_n++] = kernel;
	else
		missed = true;
	__real___cudaRegisterFunction(module, kernel, device_kernel, name, thread_limit, tid, bid,
				      block, grid, warp);
}

cudaError_t sw_cuda_load(void)
{
	struct cudaFuncAttributes a;

	if (missed)
		return cudaErrorMemoryAllocation;
	/* Any question would do: the answer lies in the loaded code. */
	for (size_t i = 0; i < kernels_n; i++) {
		const cudaError_t e = cudaFuncGetAttributes(&a, kernels[i]);

		if (e == cudaErrorMemoryAllocation)
			return e;
		if (e != cudaSuccess)
			(void)cudaGetLastError();
	}
	return cudaSuccess;
}
