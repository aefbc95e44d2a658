/* kernels/cuda/linear_small.cu — linear layers so small that their launches cost more than
 * their arithmetic: bias and relu ride along, and all gradients are one launch. Sums have an order
 * that the sizes alone decide. */
#include "kernels/cuda/divisor.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/linear.h"
#include <math.h>

/* Rows of a batch that share one reading of the weights: 4 of small batches, else 8. */
#define ROWS_MAX 8
/* Columns of a tile of dx: one a lane. */
#define TILE SW_CUDA_WARP

/* Counted in 32 bits: they divide and add up several times as fast. */
struct shape {
	unsigned B, I, O;
	unsigned columns;                  /* of dw and db together */
	struct sw_cuda_divisor by_O;       /* forward's items */
	struct sw_cuda_divisor by_columns; /* elements of dw */
	struct sw_cuda_divisor by_tiles;   /* tiles across dx */
};

/* Each matrix has fewer elements than 32 bits count, with room for a last tile. */
static int fits(size_t B, size_t I, size_t O)
{
	const size_t most = INT32_MAX - SW_CUDA_BLOCK * SW_CUDA_GRID_MAX;

	return (double)B * (double)(I + TILE) <= (double)most &&
	       (double)O * (double)(I + 1) <= (double)most &&
	       (double)(B + ROWS_MAX) * (double)O <= (double)most;
}

static struct shape shape_of(size_t B, size_t I, size_t O, size_t columns)
{
	return {(unsigned)B,
		(unsigned)I,
		(unsigned)O,
		(unsigned)columns,
		sw_cuda_divisor_of(O),
		sw_cuda_divisor_of(columns),
		sw_cuda_divisor_of((I + TILE - 1) / TILE)};
}

/* Of row first + r, from the first on: those behind the batch are made from the first, and not
 * written. */
template <int ROWS>
static __device__ void row_steps(unsigned first, unsigned B, unsigned width, unsigned (&step)[ROWS])
{
	SW_UNROLL
	for (unsigned r = 0; r < ROWS; r++)
		step[r] = (first + r < B ? first + r : first) * width;
}

/* x: float[B][I]; w: float[O][I]; b: float[O] or NULL; y: float[B][O]. A warp makes one output of
 * ROWS rows: its lanes share the terms. Cost: reads w B / ROWS times, x O times. */
template <int ROWS>
static __global__ void forward_kernel(const float *__restrict__ x, const float *__restrict__ w,
				      const float *__restrict__ b, float *__restrict__ y,
				      struct shape d, unsigned items, int relu)
{
	const unsigned lane = threadIdx.x % SW_CUDA_WARP;

	sw_wait();
	for (unsigned item = blockIdx.x * SW_CUDA_WARPS + threadIdx.x / SW_CUDA_WARP; item < items;
	     item += gridDim.x * SW_CUDA_WARPS) {
		const unsigned tile = sw_cuda_divide(item, d.by_O), first = tile * ROWS;
		const unsigned o = item - tile * d.O;
		float sum[ROWS] = {0};
		unsigned step[ROWS];

		row_steps<ROWS>(first, d.B, d.I, step);
		for (unsigned i = lane; i < d.I; i += SW_CUDA_WARP) {
			const float wi = w[o * d.I + i];

			SW_UNROLL
			for (unsigned r = 0; r < ROWS; r++)
				sum[r] = fmaf(x[step[r] + i], wi, sum[r]);
		}
		SW_UNROLL
		for (unsigned r = 0; r < ROWS; r++) {
			if (first + r >= d.B) /* the same in all lanes */
				break;
			const float v = sw_warp_sumf(sum[r]) + (b ? b[o] : 0.0f);

			if (lane == r)
				y[(first + r) * d.O + o] = relu && v <= 0.0f ? 0.0f : v;
		}
	}
}

template <int ROWS>
static sw_status forward(struct sw_queue *q, const float *x, const float *w, const float *b,
			 float *y, const struct shape &d, int relu)
{
	const unsigned items = d.O * ((d.B + ROWS - 1) / ROWS);

	return sw_cuda_run_rows(q, items, forward_kernel<ROWS>, x, w, b, y, d, items, relu);
}

sw_status sw_cuda_linear_small_forward(struct sw_queue *q, const float *x, const float *w,
				       const float *b, float *y, size_t B, size_t I, size_t O,
				       enum sw_act act)
{
	const struct shape d = shape_of(B, I, O, I);
	const int relu = act == SW_ACT_RELU;

	if (!fits(B, I, O))
		return SW_INVALID;
	return B <= 4 ? forward<4>(q, x, w, b, y, d, relu)
		      : forward<ROWS_MAX>(q, x, w, b, y, d, relu);
}

/* 256 elements of dw: float[O][I] and db: float[O], which lies behind each row of dw as a column
 * that x has ones for. A thread adds up an element's B terms in their order. */
static __device__ void weights_tile(const float *__restrict__ x, const float *y, const float *dy,
				    float *__restrict__ dw, float *__restrict__ db,
				    const struct shape &d, unsigned tile)
{
	const unsigned e = tile * SW_CUDA_BLOCK + threadIdx.x;
	const unsigned o = sw_cuda_divide(e, d.by_columns), i = e - o * d.columns;

	if (o >= d.O)
		return;
	float *to = i < d.I ? dw + o * d.I + i : db + o;
	float sum = 0.0f;

	/* Neighbours have neighbouring i: x is read in runs, and dz is the same for a whole row of
	 * dw. */
	for (unsigned b = 0; b < d.B; b++)
		sum = fmaf(sw_dz_at(y, dy, b * d.O + o), i < d.I ? x[b * d.I + i] : 1.0f, sum);
	*to = sum;
}

/* ROWS x TILE elements of dx: float[B][I]. Warp k adds up outputs k, k + 8, ... for all of them, a
 * column a lane; then each of ROWS warps adds a row's eight sums, from the first to the last. */
template <int ROWS>
static __device__ void input_tile(const float *__restrict__ w, const float *y, const float *dy,
				  float *__restrict__ dx, const struct shape &d, unsigned tile)
{
	__shared__ float sums[SW_CUDA_WARPS][ROWS][TILE];
	const unsigned lane = threadIdx.x % TILE, warp = threadIdx.x / TILE;
	const unsigned down = sw_cuda_divide(tile, d.by_tiles), first = down * ROWS;
	const unsigned i = (tile - down * d.by_tiles.by) * TILE + lane;
	float sum[ROWS] = {0};
	unsigned step[ROWS];

	row_steps<ROWS>(first, d.B, d.O, step);
	for (unsigned o = warp; i < d.I && o < d.O; o += SW_CUDA_WARPS) {
		const float wi = w[o * d.I + i];

		SW_UNROLL
		for (unsigned r = 0; r < ROWS; r++)
			sum[r] = fmaf(sw_dz_at(y, dy, step[r] + o), wi, sum[r]);
	}
	SW_UNROLL
	for (unsigned r = 0; r < ROWS; r++)
		sums[warp][r][lane] = sum[r];
	__syncthreads();
	if (warp < ROWS && i < d.I && first + warp < d.B) {
		float all = 0.0f;

		for (unsigned k = 0; k < SW_CUDA_WARPS; k++)
			all += sums[k][warp][lane];
		dx[(first + warp) * d.I + i] = all;
	}
	__syncthreads(); /* the next tile writes sums again */
}

/* The first `weights` tiles are of dw and db, the rest of dx. */
template <int ROWS>
static __global__ void backward_kernel(const float *__restrict__ x, const float *__restrict__ w,
				       const float *y, const float *dy, float *__restrict__ dx,
				       float *__restrict__ dw, float *__restrict__ db,
				       struct shape d, unsigned weights, unsigned tiles)
{
	sw_wait();
	for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x)
		if (tile < weights)
			weights_tile(x, y, dy, dw, db, d, tile);
		else
			input_tile<ROWS>(w, y, dy, dx, d, tile - weights);
}

sw_status sw_cuda_linear_small_backward(struct sw_queue *q, const float *x, const float *w,
					const float *y, const float *dy, float *dx, float *dw,
					float *db, size_t B, size_t I, size_t O, enum sw_act act)
{
	const struct shape d = shape_of(B, I, O, I + (db ? 1 : 0));
	const unsigned rows = B <= 4 ? 4 : ROWS_MAX;
	const unsigned weights = (d.O * d.columns + SW_CUDA_BLOCK - 1) / SW_CUDA_BLOCK;
	const unsigned inputs = dx ? (d.B + rows - 1) / rows * ((d.I + TILE - 1) / TILE) : 0;

	if (!fits(B, I, O))
		return SW_INVALID;
	if (weights + inputs == 0)
		return SW_OK;
	return sw_cuda_run(q, sw_cuda_grid_blocks(weights + inputs),
			   rows == 4 ? backward_kernel<4> : backward_kernel<ROWS_MAX>, x, w,
			   act == SW_ACT_RELU ? y : NULL, dy, dx, dw, db, d, weights,
			   weights + inputs);
}
