/*
 * kernels/cuda/launch.cuh — how kernels are started, and the loops and sums they share.
 *
 * SW_LAUNCH hides the one piece of syntax that a C++ compiler does not know, so that the shim of
 * tests/kernels/cuda_shim compiles the same files and runs blocks and threads on the CPU.
 */
#ifndef SW_KERNELS_CUDA_LAUNCH_CUH
#define SW_KERNELS_CUDA_LAUNCH_CUH

#include "kernels/cuda/cuda.h"

#ifdef __CUDACC__
#define SW_LAUNCH(kernel, grid, block, q, ...) kernel<<<grid, block, 0, (q)->stream>>>(__VA_ARGS__)
#else
#define SW_LAUNCH(kernel, grid, block, q, ...)                                                     \
	SW_SHIM_LAUNCH(kernel, grid, block, (q)->stream, __VA_ARGS__)
#endif

/* for i = this thread's items out of n, over the whole grid */
#define SW_EACH(i, n)                                                                              \
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;                                  \
	i < (n);                                                                                   \
	i += (size_t)gridDim.x * blockDim.x

/* for b = this warp's rows out of B, over the whole grid; all lanes of a warp see the same b */
#define SW_EACH_ROW(b, B)                                                                          \
	size_t b = (size_t)blockIdx.x * SW_CUDA_WARPS + threadIdx.x / SW_CUDA_WARP;                \
	b < (B);                                                                                   \
	b += (size_t)gridDim.x * SW_CUDA_WARPS

/* for c = this lane's columns out of C, within one row */
#define SW_EACH_COLUMN(c, C)                                                                       \
	size_t c = threadIdx.x % SW_CUDA_WARP;                                                     \
	c < (C);                                                                                   \
	c += SW_CUDA_WARP

/* Blocks for this many items, `each` of them a block; items is not 0 (an empty grid is an
 * error). */
static inline unsigned sw_cuda_grid(size_t items, size_t each, size_t most)
{
	const size_t want = (items - 1) / each + 1;

	return (unsigned)(want < most ? want : most);
}

static inline unsigned sw_cuda_grid_blocks(size_t blocks)
{
	return sw_cuda_grid(blocks, 1, SW_CUDA_GRID_MAX);
}

static inline unsigned sw_cuda_grid_items(size_t n)
{
	return sw_cuda_grid(n, SW_CUDA_BLOCK, SW_CUDA_GRID_MAX);
}

static inline unsigned sw_cuda_grid_rows(size_t B)
{
	return sw_cuda_grid(B, SW_CUDA_WARPS, SW_CUDA_GRID_MAX);
}

/* What the launch just made says of itself; what it does later is told by a later call. */
static inline sw_status sw_cuda_launched(void)
{
	return sw_cuda_status(cudaGetLastError());
}

template <class T> struct sw_cuda_same {
	typedef T type;
};

/* Gives q a kernel, in blocks of SW_CUDA_BLOCK. Arguments become the kernel's parameters here. */
template <class... P>
static sw_status sw_cuda_run(struct sw_queue *q, unsigned grid, void (*kernel)(P...),
			     typename sw_cuda_same<P>::type... args)
{
	const sw_status rc = sw_cuda_use();

	if (rc != SW_OK)
		return rc;
	SW_LAUNCH(kernel, grid, SW_CUDA_BLOCK, q, args...);
	return sw_cuda_launched();
}

/* The same for n items, a thread each at the most; without an item nothing is launched. */
template <class... P>
static sw_status sw_cuda_run_items(struct sw_queue *q, size_t n, void (*kernel)(P...),
				   typename sw_cuda_same<P>::type... args)
{
	return n ? sw_cuda_run(q, sw_cuda_grid_items(n), kernel, args...) : sw_cuda_use();
}

/* The same for B rows, a warp each at the most. */
template <class... P>
static sw_status sw_cuda_run_rows(struct sw_queue *q, size_t B, void (*kernel)(P...),
				  typename sw_cuda_same<P>::type... args)
{
	return B ? sw_cuda_run(q, sw_cuda_grid_rows(B), kernel, args...) : sw_cuda_use();
}

#define SW_ALL_LANES 0xffffffffu

/* The sum over a warp's 32 lanes, the same bits in each (a + b == b + a). */
static __device__ inline double sw_warp_sum(double v)
{
	for (int step = SW_CUDA_WARP / 2; step > 0; step /= 2)
		v += __shfl_xor_sync(SW_ALL_LANES, v, step);
	return v;
}

/* The same in float. */
static __device__ inline float sw_warp_sumf(float v)
{
	for (int step = SW_CUDA_WARP / 2; step > 0; step /= 2)
		v += __shfl_xor_sync(SW_ALL_LANES, v, step);
	return v;
}

/* In front of a loop over registers: an array that is indexed by a variable lies in memory. */
#ifdef __CUDACC__
#define SW_UNROLL _Pragma("unroll")
#else
#define SW_UNROLL
#endif

/* Threads of a block at most, where many of them work on one thing. */
#define SW_CUDA_BLOCK_MAX 1024

/* The sum over a block's threads (whole warps), the same bits in each: the warps' from the first to
 * the last. room: shared, one double a warp, free to be used again. All threads call it. */
static __device__ inline double sw_block_sum(double v, double *room)
{
	double sum = 0.0;

	v = sw_warp_sum(v);
	if (threadIdx.x % SW_CUDA_WARP == 0)
		room[threadIdx.x / SW_CUDA_WARP] = v;
	__syncthreads();
	for (unsigned k = 0; k < blockDim.x / SW_CUDA_WARP; k++)
		sum += room[k];
	__syncthreads();
	return sum;
}

#endif
