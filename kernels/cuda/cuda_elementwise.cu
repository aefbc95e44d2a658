/* kernels/cuda/cuda_elementwise.cu — relu, tanh, dropout and gather. x and y may be the same
 * pointer, so nothing here is __restrict__: each thread reads an element before it writes it. */
#include "kernels/cuda/launch.cuh"
#include "kernels/philox.h"
#include <math.h>

/* rows: T[N][D]; index: int32[B]; out: T[B][D]; a warp a row, so that reads coalesce and
 * no thread divides by D */
template <class T>
static __global__ void gather_kernel(const T *rows, const int32_t *index, T *out, size_t B,
				     size_t D)
{
	for (SW_EACH_ROW(b, B)) {
		const T *from = rows + (size_t)index[b] * D;

		for (SW_EACH_COLUMN(d, D))
			out[b * D + d] = from[d];
	}
}

sw_status sw_cuda_gather(struct sw_queue *q, const float *rows, const int32_t *index, float *out,
			 size_t B, size_t D)
{
	const sw_status status = sw_cuda_use();

	if (status != SW_OK || B == 0 || D == 0)
		return status;
	SW_LAUNCH(gather_kernel<float>, sw_cuda_grid_rows(B), SW_CUDA_BLOCK, q, rows, index, out, B,
		  D);
	return sw_cuda_launched();
}

sw_status sw_cuda_gather_i32(struct sw_queue *q, const int32_t *values, const int32_t *index,
			     int32_t *out, size_t B, size_t D)
{
	const sw_status status = sw_cuda_use();

	if (status != SW_OK || B == 0 || D == 0)
		return status;
	SW_LAUNCH(gather_kernel<int32_t>, sw_cuda_grid_rows(B), SW_CUDA_BLOCK, q, values, index,
		  out, B, D);
	return sw_cuda_launched();
}

/* x, y: float[n] */
static __global__ void relu_forward_kernel(const float *x, float *y, size_t n)
{
	for (SW_EACH(i, n)) {
		const float v = x[i];

		y[i] = v <= 0.0f ? 0.0f : v; /* a NaN is not <= 0: it stays */
	}
}

sw_status sw_cuda_relu_forward(struct sw_queue *q, const float *x, float *y, size_t n)
{
	const sw_status status = sw_cuda_use();

	if (status != SW_OK || n == 0)
		return status;
	SW_LAUNCH(relu_forward_kernel, sw_cuda_grid_items(n), SW_CUDA_BLOCK, q, x, y, n);
	return sw_cuda_launched();
}

/* y, dy, dx: float[n] */
static __global__ void relu_backward_kernel(const float *y, const float *dy, float *dx, size_t n)
{
	for (SW_EACH(i, n))
		dx[i] = y[i] > 0.0f ? dy[i] : 0.0f;
}

sw_status sw_cuda_relu_backward(struct sw_queue *q, const float *y, const float *dy, float *dx,
				size_t n)
{
	const sw_status status = sw_cuda_use();

	if (status != SW_OK || n == 0)
		return status;
	SW_LAUNCH(relu_backward_kernel, sw_cuda_grid_items(n), SW_CUDA_BLOCK, q, y, dy, dx, n);
	return sw_cuda_launched();
}

/* x, y: float[n] */
static __global__ void tanh_forward_kernel(const float *x, float *y, size_t n)
{
	for (SW_EACH(i, n))
		y[i] = tanhf(x[i]);
}

sw_status sw_cuda_tanh_forward(struct sw_queue *q, const float *x, float *y, size_t n)
{
	const sw_status status = sw_cuda_use();

	if (status != SW_OK || n == 0)
		return status;
	SW_LAUNCH(tanh_forward_kernel, sw_cuda_grid_items(n), SW_CUDA_BLOCK, q, x, y, n);
	return sw_cuda_launched();
}

/* y, dy, dx: float[n] */
static __global__ void tanh_backward_kernel(const float *y, const float *dy, float *dx, size_t n)
{
	for (SW_EACH(i, n))
		dx[i] = dy[i] * (1.0f - y[i] * y[i]);
}

sw_status sw_cuda_tanh_backward(struct sw_queue *q, const float *y, const float *dy, float *dx,
				size_t n)
{
	const sw_status status = sw_cuda_use();

	if (status != SW_OK || n == 0)
		return status;
	SW_LAUNCH(tanh_backward_kernel, sw_cuda_grid_items(n), SW_CUDA_BLOCK, q, y, dy, dx, n);
	return sw_cuda_launched();
}

/* x, y: float[n]; a thread makes four words at a time, as Philox does: those of one block, of which
 * the first and the last may hang over the tensor's ends. */
static __global__ void dropout_kernel(const float *x, float *y, size_t n, struct sw_dropout d,
				      const struct sw_step *s, uint32_t threshold, float scale)
{
	const size_t before = d.first % 4;

	for (SW_EACH(block, (before + n + 3) / 4)) {
		const struct sw_philox_words r = sw_philox_block(d.seed, SW_PHILOX_DROPOUT, d.layer,
								 s->step, d.first / 4 + block);

#ifdef __CUDACC__
#pragma unroll
#endif
		for (size_t k = 0; k < 4; k++) {
			const size_t i = 4 * block + k; /* before + the element */

			if (i >= before && i - before < n)
				y[i - before] = r.v[k] >= threshold ? x[i - before] * scale : 0.0f;
		}
	}
}

sw_status sw_cuda_dropout(struct sw_queue *q, const float *x, float *y, size_t n,
			  struct sw_dropout d, const struct sw_step *s)
{
	const sw_status status = sw_cuda_use();

	if (!(d.p >= 0.0f && d.p < 1.0f))
		return SW_INVALID;
	if (status != SW_OK || n == 0)
		return status;
	SW_LAUNCH(dropout_kernel, sw_cuda_grid_items((d.first % 4 + n - 1) / 4 + 1), SW_CUDA_BLOCK,
		  q, x, y, n, d, s, sw_dropout_threshold(d.p), 1.0f / (1.0f - d.p));
	return sw_cuda_launched();
}

cudaError_t sw_cuda_probe(void)
{
	struct cudaFuncAttributes a;

	return cudaFuncGetAttributes(&a, (const void *)relu_forward_kernel);
}
