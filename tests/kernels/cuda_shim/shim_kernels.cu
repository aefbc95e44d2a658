/* tests/kernels/cuda_shim/shim_kernels.cu — kernels that are wrong on purpose, and their right
 * twins: test_cuda_shim.c proves by them that the shim tells one from the other. */
#include "tests/kernels/cuda_shim/shim_kernels.h"

#define MOST 1024 /* threads of a block */

template <class... P>
static void launch(void (*kernel)(P...), unsigned grid, unsigned block, cudaStream_t s,
		   bool overlap, typename sw_shim_same<P>::type... args)
{
	cudaLaunchAttribute a = {cudaLaunchAttributeProgrammaticStreamSerialization, {overlap}};
	cudaLaunchConfig_t c = {};

	c.gridDim.x = grid;
	c.blockDim.x = block;
	c.stream = s;
	c.attrs = &a;
	c.numAttrs = 1;
	(void)cudaLaunchKernelEx(&c, kernel, args...);
}

/* out: float[blockDim.x] = the neighbour's number, through shared memory */
static __global__ void neighbour_kernel(float *out, int barrier)
{
	__shared__ float numbers[MOST];

	numbers[threadIdx.x] = (float)(threadIdx.x + 1);
	if (barrier)
		__syncthreads();
	out[threadIdx.x] = numbers[(threadIdx.x + 1) % blockDim.x];
	__syncthreads();
	numbers[threadIdx.x] = 0.0f;
}

void sw_shim_neighbour(cudaStream_t s, float *out, unsigned n, int barrier)
{
	launch(neighbour_kernel, 1, n, s, false, out, barrier);
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

void sw_shim_leave(cudaStream_t s, unsigned n, unsigned stay, int warp)
{
	launch(leave_kernel, 1, n, s, false, stay, warp);
}

/* Half of a warp at one barrier, half at the other: a warp's and the block's, or a shuffle. */
static __global__ void part_kernel(int shuffle)
{
	if (threadIdx.x % 2)
		__syncwarp();
	else if (shuffle)
		(void)__shfl_xor_sync(0xffffffffu, 1.0f, 2);
	else
		__syncthreads();
}

void sw_shim_part(cudaStream_t s, unsigned n, int shuffle)
{
	launch(part_kernel, 1, n, s, false, shuffle);
}

/* One warp hands numbers on through shared memory, with a warp's barrier or a shuffle between. */
static __global__ void warp_kernel(float *out, int barrier)
{
	__shared__ float numbers[32];

	numbers[threadIdx.x] = 1.0f;
	if (barrier)
		__syncwarp();
	else
		(void)__shfl_xor_sync(0xffffffffu, 1.0f, 1);
	out[threadIdx.x] = numbers[threadIdx.x ^ 1];
}

/* p: float[n], n the threads of the grid; a thread uses its own element and what `what` names */
static __global__ void access_kernel(float *p, unsigned n, enum sw_shim_what what)
{
	const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, last = n - 1;
	unsigned long long *count = (unsigned long long *)p;

	switch (what) {
	case SW_SHIM_OWN:
		p[i] = p[i] + 1.0f;
		break;
	case SW_SHIM_ONE_READ: /* by all, written by none */
		if (i != last && p[last] >= 0.0f)
			p[i] = 2.0f;
		break;
	case SW_SHIM_ONE_WRITTEN: /* by all, with one value */
		p[0] = 1.0f;
		break;
	case SW_SHIM_ONE_OF_BLOCK: /* by one thread of each block */
		if (threadIdx.x == 0)
			p[0] = 1.0f;
		break;
	case SW_SHIM_READ_WRITTEN: /* by one warp what another has */
		p[i] = 1.0f;
		if (threadIdx.x == 0 && blockDim.x > 32)
			p[1] = p[i + 32];
		break;
	case SW_SHIM_WRITTEN_READ:
		if (i != last)
			p[i] = p[last];
		else
			p[i] = 0.0f;
		break;
	case SW_SHIM_COUNTED: /* by all, atomically */
		(void)atomicAdd(count, 1ull);
		break;
	case SW_SHIM_COUNTED_READ:
		(void)atomicAdd(count, 1ull);
		if (i == 1)
			p[2] = (float)*count;
		break;
	case SW_SHIM_READ_BEHIND:
		if (i == last)
			p[i] = p[i + 1];
		break;
	case SW_SHIM_READ_BEFORE:
		if (i == 0)
			p[i] = *(p - 1);
		break;
	case SW_SHIM_WRITE_BEHIND:
		if (i == last)
			p[i + 1] = 1.0f;
		break;
	case SW_SHIM_READ_ASKEW:
		if (i == 0)
			p[0] = (float)*(const unsigned long long *)(p + 1);
		break;
	}
}

void sw_shim_access(cudaStream_t s, float *p, unsigned grid, unsigned block, enum sw_shim_what what)
{
	launch(access_kernel, grid, block, s, false, p, grid * block, what);
}

void sw_shim_warp(cudaStream_t s, float *out, int barrier)
{
	launch(warp_kernel, 1, 32, s, false, out, barrier);
}

/* Reads the element `at` of shared memory, of which the block has written n. */
static __global__ void shared_kernel(float *out, unsigned at)
{
	__shared__ float numbers[64];

	numbers[threadIdx.x] = 1.0f;
	__syncthreads();
	out[threadIdx.x] = numbers[at];
}

void sw_shim_shared(cudaStream_t s, float *out, unsigned n, unsigned at)
{
	launch(shared_kernel, 1, n, s, false, out, at);
}

/* out[k]: the thread that came as the kth; one thread does not wait for another */
static __global__ void order_kernel(float *out, unsigned long long *next)
{
	out[atomicAdd(next, 1ull)] = (float)threadIdx.x;
}

void sw_shim_order(cudaStream_t s, float *out, unsigned long long *next, unsigned n)
{
	launch(order_kernel, 1, n, s, false, out, next);
}

/* p: float[n]; each thread adds 1 to its own element */
static __global__ void wait_kernel(float *p, enum sw_shim_wait what)
{
	const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (what == SW_SHIM_WAIT || (what == SW_SHIM_WAIT_BUT_ONE && i != 1))
		cudaGridDependencySynchronize();
	if (what != SW_SHIM_WAIT_NEVER && what != SW_SHIM_WAIT_BUT_ONE)
		p[i] = p[i] + 1.0f;
	if (what == SW_SHIM_WAIT_LATE)
		cudaGridDependencySynchronize();
}

void sw_shim_wait(cudaStream_t s, float *p, unsigned n, enum sw_shim_wait what, int overlap)
{
	launch(wait_kernel, 1, n, s, overlap != 0, p, what);
}
