/*
 * kernels/cuda/load.h — code for the device, which CUDA would load at the first launch of each
 * kernel: in mid-trial, where memory may be short by then. A module's kernels register themselves
 * with the runtime when the module is opened; the linker (--wrap) leads that through here.
 */
#ifndef SW_KERNELS_CUDA_LOAD_H
#define SW_KERNELS_CUDA_LOAD_H

#include <cuda_runtime.h>

/* Loads all kernels of this module, less than 2 MB of code: the runtime knows a kernel's attributes
 * from its loaded code alone. Once, when the device is taken. The one error that it tells is
 * cudaErrorMemoryAllocation; a kernel that cannot be loaded otherwise says so at its launch. */
cudaError_t sw_cuda_load(void);

/* The runtime's own, and what stands in its place. */
void __real___cudaRegisterFunction(void **module, const char *kernel, char *device_kernel,
				   const char *name, int thread_limit, void *tid, void *bid,
				   void *block, void *grid, int *warp);
void __wrap___cudaRegisterFunction(void **module, const char *kernel, char *device_kernel,
				   const char *name, int thread_limit, void *tid, void *bid,
				   void *block, void *grid, int *warp);

#endif
