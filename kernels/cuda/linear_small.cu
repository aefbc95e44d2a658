/* kernels/cuda/linear_small.cu — linear layers so small that their launches cost more than
 * their arithmetic: bias and relu ride along, and all gradients are one launch. Sums have an order
 * that the sizes alone decide. */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/linear.h"
#include <math.h>

/* Rows of a batch that share one reading of the weights. */
#define ROWS 8
/* Columns of a tile of dx: one a lane. */
#define TILE SW_CUDA_WARP

/* x: float[B][I]; w: float[O][I]; b: float[O] or NULL; y: float[B][O]. A warp makes one output of
 * ROWS rows: its lanes share the terms. Cost: reads w B / ROWS times, x O times. */
static __global__ void forward_kernel(const float *__restrict__ x, const float *__restrict__ w,
				      const float *__restrict__ b, float *__restrict__ y, size_t B,
				      size_t I, size_t O, int relu)
{
	const size_t tiles = (B + ROWS - 1) / ROWS;

	for (SW_EACH_ROW(item, O * tiles)) {
		const size_t o = item % O, first = item / O * ROWS;
		float sum[ROWS] = {0};

		for (SW_EACH_COLUMN(i, I)) {
			const float wi = w[o * I + i];

			SW_UNROLL
			for (unsigned r = 0; r < ROWS; r++)
				if (first + r < B)
					sum[r] = fmaf(x[(first + r) * I + i], wi, sum[r]);
		}
		SW_UNROLL
		for (unsigned r = 0; r < ROWS; r++) {
			if (first + r >= B) /* the same in all lanes */
				break;
			const float v = sw_warp_sumf(sum[r]) + (b ? b[o] : 0.0f);

			if (threadIdx.x % SW_CUDA_WARP == r)
				y[(first + r) * O + o] = relu && v <= 0.0f ? 0.0f : v;
		}
	}
}

sw_status sw_cuda_linear_small_forward(struct sw_queue *q, const float *x, const float *w,
				       const float *b, float *y, size_t B, size_t I, size_t O,
				       enum sw_act act)
{
	return sw_cuda_run_rows(q, O * ((B + ROWS - 1) / ROWS), forward_kernel, x, w, b, y, B, I, O,
				act == SW_ACT_RELU);
}

/* The gradient before the activation; y: NULL where there is none. */
static __device__ float dz_at(const float *y, const float *dy, size_t i)
{
	return y && !(y[i] > 0.0f) ? 0.0f : dy[i];
}

/* 256 elements of dw: float[O][I] and db: float[O], which lies behind each row of dw as a column
 * that x has ones for. A thread adds up an element's B terms in their order. */
static __device__ void weights_tile(const float *__restrict__ x, const float *y, const float *dy,
				    float *__restrict__ dw, float *__restrict__ db, size_t B,
				    size_t I, size_t O, size_t tile, int accumulate)
{
	const size_t columns = I + (db ? 1 : 0), e = tile * SW_CUDA_BLOCK + threadIdx.x;

	if (e >= O * columns)
		return;
	const size_t o = e / columns, i = e % columns;
	float *to = i < I ? dw + o * I + i : db + o;
	float sum = 0.0f;

	for (size_t b = 0; b < B; b++)
		sum = fmaf(dz_at(y, dy, b * O + o), i < I ? x[b * I + i] : 1.0f, sum);
	*to = accumulate ? *to + sum : sum;
}

/* ROWS x TILE elements of dx: float[B][I]. Warp k adds up outputs k, k + 8, ... for all of them, a
 * column a lane; then each warp adds a row's eight sums, from the first to the last. */
static __device__ void input_tile(const float *__restrict__ w, const float *y, const float *dy,
				  float *__restrict__ dx, size_t B, size_t I, size_t O, size_t tile)
{
	__shared__ float sums[SW_CUDA_WARPS][ROWS][TILE];
	const unsigned lane = threadIdx.x % TILE, warp = threadIdx.x / TILE;
	const size_t across = (I + TILE - 1) / TILE;
	const size_t first = tile / across * ROWS, i = tile % across * TILE + lane;
	float sum[ROWS] = {0};

	for (size_t o = warp; i < I && o < O; o += SW_CUDA_WARPS) {
		const float wi = w[o * I + i];

		SW_UNROLL
		for (unsigned r = 0; r < ROWS; r++)
			if (first + r < B)
				sum[r] = fmaf(dz_at(y, dy, (first + r) * O + o), wi, sum[r]);
	}
	SW_UNROLL
	for (unsigned r = 0; r < ROWS; r++)
		sums[warp][r][lane] = sum[r];
	__syncthreads();
	if (i < I && first + warp < B) {
		float all = 0.0f;

		for (unsigned k = 0; k < SW_CUDA_WARPS; k++)
			all += sums[k][warp][lane];
		dx[(first + warp) * I + i] = all;
	}
	__syncthreads(); /* the next tile writes sums again */
}

/* The first `weights` tiles are of dw and db, the rest of dx. */
static __global__ void backward_kernel(const float *__restrict__ x, const float *__restrict__ w,
				       const float *y, const float *dy, float *__restrict__ dx,
				       float *__restrict__ dw, float *__restrict__ db, size_t B,
				       size_t I, size_t O, size_t weights, size_t tiles,
				       int accumulate)
{
	for (size_t tile = blockIdx.x; tile < tiles; tile += gridDim.x)
		if (tile < weights)
			weights_tile(x, y, dy, dw, db, B, I, O, tile, accumulate);
		else
			input_tile(w, y, dy, dx, B, I, O, tile - weights);
}

sw_status sw_cuda_linear_small_backward(struct sw_queue *q, const float *x, const float *w,
					const float *y, const float *dy, float *dx, float *dw,
					float *db, size_t B, size_t I, size_t O, enum sw_act act,
					int accumulate)
{
	const size_t weights = (O * (I + (db ? 1 : 0)) + SW_CUDA_BLOCK - 1) / SW_CUDA_BLOCK;
	const size_t inputs = dx ? (B + ROWS - 1) / ROWS * ((I + TILE - 1) / TILE) : 0;

	if (weights + inputs == 0)
		return SW_OK;
	return sw_cuda_run(q, sw_cuda_grid_blocks(weights + inputs), backward_kernel, x, w,
			   act == SW_ACT_RELU ? y : NULL, dy, dx, dw, db, B, I, O, weights,
			   weights + inputs, accumulate);
}
