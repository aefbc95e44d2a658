/* kernels/cuda/cuda_linear.cu — y = x w^T + b and its gradients: cuBLAS in whole fp32. */
#include "kernels/cuda/cuda_product.h"
#include "kernels/cuda/launch.cuh"

/* Columns of a tile of column_sums_kernel: one a lane. */
#define TILE SW_CUDA_WARP

static int in_limits(size_t B, size_t I, size_t O)
{
	return B <= INT32_MAX && I <= INT32_MAX && O <= INT32_MAX;
}

/* b: float[O]; y: float[B][O] = b in each row */
static __global__ void fill_rows_kernel(const float *b, float *y, size_t B, size_t O)
{
	for (SW_EACH_ROW(r, B))
		for (SW_EACH_COLUMN(o, O))
			y[r * O + o] = b[o];
}

static sw_status fill_rows(struct sw_queue *q, const float *b, float *y, size_t B, size_t O)
{
	SW_LAUNCH(fill_rows_kernel, sw_cuda_grid_rows(B), SW_CUDA_BLOCK, q, b, y, B, O);
	return sw_cuda_launched();
}

sw_status sw_cuda_linear_forward(struct sw_queue *q, const float *x, const float *w, const float *b,
				 float *y, size_t B, size_t I, size_t O, enum sw_act act)
{
	sw_status status = sw_cuda_use();

	if (!in_limits(B, I, O))
		return SW_INVALID;
	if (status != SW_OK || B == 0 || O == 0)
		return status;
	if (b)
		status = fill_rows(q, b, y, B, O);
	else if (I == 0)
		status = sw_cuda_zero(q, y, B * O * sizeof *y);
	if (status == SW_OK && I)
		status = sw_cuda_product(q, CUBLAS_OP_T, CUBLAS_OP_N, O, B, I, w, I, x, I,
					 b ? 1.0f : 0.0f, y);
	if (status != SW_OK || act == SW_ACT_NONE)
		return status;
	return sw_cuda_relu_forward(q, y, y, B * O);
}

/* dy: float[B][O]; db: float[O] = (accumulate ? db : 0) + sums of dy's columns. A block takes a
 * tile of 32 columns: lane c of warp k adds rows k, k + 8, ... of column c, then warp 0 adds the
 * eight sums from the first to the last. Cost: reads dy once, by O / 32 blocks. */
static __global__ void column_sums_kernel(const float *dy, float *db, size_t B, size_t O,
					  int accumulate)
{
	__shared__ float sums[SW_CUDA_WARPS][TILE];
	const unsigned lane = threadIdx.x % TILE, warp = threadIdx.x / TILE;

	for (size_t tile = blockIdx.x; tile * TILE < O; tile += gridDim.x) {
		const size_t o = tile * TILE + lane;
		float sum = 0.0f;

		for (size_t r = warp; o < O && r < B; r += SW_CUDA_WARPS)
			sum += dy[r * O + o];
		sums[warp][lane] = sum;
		__syncthreads();
		if (warp == 0 && o < O) {
			sum = accumulate ? db[o] : 0.0f;
			for (unsigned k = 0; k < SW_CUDA_WARPS; k++)
				sum += sums[k][lane];
			db[o] = sum;
		}
		__syncthreads(); /* the next tile writes sums again */
	}
}

static sw_status column_sums(struct sw_queue *q, const float *dy, float *db, size_t B, size_t O,
			     int accumulate)
{
	SW_LAUNCH(column_sums_kernel, sw_cuda_grid(O, TILE, SW_CUDA_GRID_MAX), SW_CUDA_BLOCK, q, dy,
		  db, B, O, accumulate);
	return sw_cuda_launched();
}

sw_status sw_cuda_linear_backward(struct sw_queue *q, const float *x, const float *w,
				  const float *y, float *dy, float *dx, float *dw, float *db,
				  size_t B, size_t I, size_t O, enum sw_act act, int accumulate)
{
	sw_status status = sw_cuda_use();

	if (!in_limits(B, I, O))
		return SW_INVALID;
	if (status == SW_OK && act == SW_ACT_RELU)
		status = sw_cuda_relu_backward(q, y, dy, dy, B * O);
	if (status == SW_OK && B && I && O)
		status = sw_cuda_product(q, CUBLAS_OP_N, CUBLAS_OP_T, I, O, B, x, I, dy, O,
					 accumulate ? 1.0f : 0.0f, dw);
	else if (status == SW_OK && !accumulate)
		status = sw_cuda_zero(q, dw, O * I * sizeof *dw);
	if (status == SW_OK && dx && B && I && O)
		status = sw_cuda_product(q, CUBLAS_OP_N, CUBLAS_OP_N, I, B, O, w, I, dy, O, 0.0f,
					 dx);
	else if (status == SW_OK && dx)
		status = sw_cuda_zero(q, dx, B * I * sizeof *dx);
	if (status == SW_OK && db && O)
		status = column_sums(q, dy, db, B, O, accumulate);
	return status;
}
