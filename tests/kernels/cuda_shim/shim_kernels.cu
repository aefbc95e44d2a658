/* tests/kernels/cuda_shim/shim_kernels.cu — kernels that are wrong on purpose, and their right
 * twins: test_cuda_shim.c proves by them that the shim tells one from the other. */
#include <cuda_runtime.h>

/* out: float[blockDim.x] = the neighbour's number, through shared memory */
static __global__ void neighbour_kernel(float *out, int barrier)
{
	__shared__ float numbers[1024];

	numbers[threadIdx.x] = (float)(threadIdx.x + 1);
	if (barrier)
		__syncthreads();
	out[threadIdx.x] = numbers[(threadIdx.x + 1) % blockDim.x];
	__syncthreads();
	numbers[threadIdx.x] = 0.0f;
}

extern "C" void sw_shim_neighbour(cudaStream_t s, float *out, unsigned n, int barrier)
{
	SW_SHIM_LAUNCH(neighbour_kernel, 1, n, s, out, barrier);
}

/* Threads from `stay` on leave before the barrier. */
static __global__ void leave_kernel(unsigned stay, int warp)
{
	if (threadIdx.x >= stay)
		return;
	if (warp)
		__syncwarp();
	else
		__syncthreads();
}

extern "C" void sw_shim_leave(cudaStream_t s, unsigned n, unsigned stay, int warp)
{
	SW_SHIM_LAUNCH(leave_kernel, 1, n, s, stay, warp);
}

/* Half of a warp at one barrier, half at the other. */
static __global__ void part_kernel(void)
{
	if (threadIdx.x % 2)
		__syncwarp();
	else
		__syncthreads();
}

extern "C" void sw_shim_part(cudaStream_t s, unsigned n)
{
	SW_SHIM_LAUNCH(part_kernel, 1, n, s);
}
