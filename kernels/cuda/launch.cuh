/*
 * kernels/cuda/launch.cuh — how kernels are started, and the loops and sums they share.
 *
 * Launches may overlap (programmatic dependent launch): the blocks of a kernel are brought to the
 * card while the last ones of the kernel before it end. So every kernel calls sw_wait() before it
 * touches device memory, which the kernel before may still read or write. That one had waited for
 * its own predecessor, so what is behind sw_wait() comes after everything before it in the stream.
 * No kernel lets its successor begin before it ends.
 *
 * No file uses the <<< >>> that a C++ compiler does not know: tests/kernels/cuda_shim compiles the
 * same files and runs blocks and threads on the CPU. */
#ifndef SW_KERNELS_CUDA_LAUNCH_CUH
#define SW_KERNELS_CUDA_LAUNCH_CUH

#include "kernels/cuda/cuda.h"
#include <math.h>

/* Until all that the stream was given before has ended, and can be seen. */
static __device__ inline void sw_wait(void)
{
#if !defined(__CUDACC__) || __CUDA_ARCH__ >= 900 /* older code is not launched so */
	cudaGridDependencySynchronize();
#endif
}

template <class T> struct sw_cuda_same {
	typedef T type;
};

/* Arguments become the kernel's parameters here. */
template <class... P>
static void sw_cuda_launch(void (*kernel)(P...), unsigned grid, unsigned block, struct sw_queue *q,
			   typename sw_cuda_same<P>::type... args)
{
	cudaLaunchAttribute overlap;
	cudaLaunchConfig_t config = {};

	overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	overlap.val.programmaticStreamSerializationAllowed = 1;
	config.gridDim.x = grid;
	config.blockDim.x = block;
	config.stream = q->stream;
	config.attrs = &overlap;
	/* Code in which sw_wait() is empty must not start early: it would read what the kernel
	 * before it still writes. */
	config.numAttrs = sw_cuda_overlaps() ? 1 : 0;
	(void)cudaLaunchKernelEx(&config, kernel,
				 args...); /* sw_cuda_launched() asks how it went */
}

#define SW_LAUNCH(kernel, grid, block, q, ...) sw_cuda_launch(kernel, grid, block, q, __VA_ARGS__)

/* A thread of the whole grid, and how many there are. */
#define SW_GRID_FIRST ((size_t)blockIdx.x * blockDim.x + threadIdx.x)
#define SW_GRID_STEP  ((size_t)gridDim.x * blockDim.x)

/* for i = this thread's items out of n, over the whole grid */
#define SW_EACH(i, n)                                                                              \
	size_t i = SW_GRID_FIRST;                                                                  \
	i < (n);                                                                                   \
	i += SW_GRID_STEP

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

/* The error of the launch just made, if any; one of its run is told by a later call. */
static inline sw_status sw_cuda_launched(void)
{
	return sw_cuda_status(cudaGetLastError());
}

/* Gives q a kernel, in blocks of SW_CUDA_BLOCK. */
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

/* In front of a loop over registers: an array that is indexed by a variable lies in memory. */
#ifdef __CUDACC__
#define SW_UNROLL _Pragma("unroll")
#else
#define SW_UNROLL
#endif

/* In front of a loop that only reads: four loads are then on their way at a time. */
#ifdef __CUDACC__
#define SW_UNROLL_4 _Pragma("unroll 4")
#else
#define SW_UNROLL_4
#endif

/* Four neighbours on 16 bytes: one load, or one store. */
struct alignas(16) sw_quad {
	float v[4];
};

/* How many quads the first n elements of each of these are: 0 where one begins elsewhere. */
template <class... T> static inline size_t sw_quads(size_t n, const T *...p)
{
	uintptr_t all = 0;
	const int told[] = {(all |= (uintptr_t)p, 0)...};

	(void)told;
	return all % sizeof(struct sw_quad) ? 0 : n / 4;
}

/* The same of rows of n elements that lie one behind the other. */
template <class... T> static inline size_t sw_row_quads(size_t n, const T *...p)
{
	return n % 4 ? 0 : sw_quads(n, p...);
}

static __device__ inline void sw_quad_put(float *to, const struct sw_quad &q)
{
	*(struct sw_quad *)to = q;
}

static __device__ inline void sw_quad_put(const float *, const struct sw_quad &)
{
}

/* An operand's quad in registers. */
template <class T> struct sw_quad_of {
	T *at;
	struct sw_quad q;
};

template <class T> static __device__ inline struct sw_quad_of<T> sw_quad_at(T *p) {
	return {p, *(const struct sw_quad *)p};
}

template <class F, class... T>
static __device__ inline void sw_map_quad(const F &f, float *y, struct sw_quad_of<T>... p)
{
	struct sw_quad out;

	SW_UNROLL
	for (int k = 0; k < 4; k++)
		out.v[k] = f(p.q.v[k]...);
	/* f may have changed what it was given: those operands are stored, for a const one nothing
	 * is. */
	const int put[] = {(sw_quad_put(p.at, p.q), 0)...};

	(void)put;
	sw_quad_put(y, out);
}

/* y[i] = f(p[i]...) for every i < n: thread `first` of `step` takes quads while there are some,
 * then one element at a time. f may change what it is given of a p that is not const. y may be one
 * of p: an element is read and written by one thread, and read first. */
template <class F, class... T>
static __device__ inline void sw_map(const F &f, size_t first, size_t step, size_t n, size_t quads,
				     float *y, T *...p)
{
	/* Neighbouring threads take neighbouring quads: a warp's load is one run of 512 bytes. */
	for (size_t i = first; i < quads; i += step)
		sw_map_quad(f, y + 4 * i, sw_quad_at(p + 4 * i)...);
	/* All of it where an operand begins off 16 bytes (quads 0), else the last three at most. */
	for (size_t i = 4 * quads + first; i < n; i += step)
		y[i] = f(p[i]...);
}

template <class F, class... T>
static __global__ void sw_map_kernel(F f, size_t n, size_t quads, float *y, T *...p)
{
	sw_wait();
	sw_map(f, SW_GRID_FIRST, SW_GRID_STEP, n, quads, y, p...);
}

/* y[i] = f(p[i]...) for n elements; f: a struct that is called with them. */
template <class F, class... T>
static sw_status sw_cuda_map(struct sw_queue *q, size_t n, F f, float *y, T *...p)
{
	const size_t quads = sw_quads(n, y, p...);

	return sw_cuda_run_items(q, quads ? quads : n, sw_map_kernel<F, T...>, f, n, quads, y,
				 p...);
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

/* x: float[n], one row; its largest, the same in all lanes. A NaN loses each comparison. */
static __device__ inline float sw_row_max(const float *x, size_t n)
{
	float max = -INFINITY;

	for (SW_EACH_COLUMN(k, n))
		max = x[k] > max ? x[k] : max;
	for (int step = SW_CUDA_WARP / 2; step > 0; step /= 2) {
		const float other = __shfl_xor_sync(SW_ALL_LANES, max, step);

		max = other > max ? other : max;
	}
	return max;
}

/* The gradient before the activation; y NULL: there was no activation. Both are loaded, whatever y
 * says: behind a branch the loads of a loop would wait for one another. */
static __device__ inline float sw_dz_at(const float *y, const float *dy, unsigned i)
{
	const float d = dy[i];

	return !y || y[i] > 0.0f ? d : 0.0f;
}

/* Threads of a block at most, where many of them work on one thing. */
#define SW_CUDA_BLOCK_MAX 1024

/* The sum over a block's threads (whole warps), the same bits in each: the warps' from the first to
 * the last. room: shared, one double a warp, free to be used again. All threads call it. */
static __device__ inline double sw_block_sum(double v, double *room)
{
	double sum = 0.0;

	/* Each thread adds all warps' sums itself, so that none has to tell the others. */
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
