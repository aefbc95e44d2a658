/* kernels/cuda/activation.cu — activations, sums and dropout. x and y may be the same
 * pointer, so nothing here is __restrict__: each thread reads an element before it writes it. */
#include "kernels/cuda/launch.cuh"
#include "kernels/philox.h"
#include <math.h>

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
	return sw_cuda_run_items(q, n, relu_forward_kernel, x, y, n);
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
	return sw_cuda_run_items(q, n, relu_backward_kernel, y, dy, dx, n);
}

/* x, y: float[n] */
static __global__ void tanh_forward_kernel(const float *x, float *y, size_t n)
{
	for (SW_EACH(i, n))
		y[i] = tanhf(x[i]);
}

sw_status sw_cuda_tanh_forward(struct sw_queue *q, const float *x, float *y, size_t n)
{
	return sw_cuda_run_items(q, n, tanh_forward_kernel, x, y, n);
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
	return sw_cuda_run_items(q, n, tanh_backward_kernel, y, dy, dx, n);
}

/* x, y: float[n] */
static __global__ void sigmoid_forward_kernel(const float *x, float *y, size_t n)
{
	for (SW_EACH(i, n))
		y[i] = 1.0f / (1.0f + expf(-x[i]));
}

sw_status sw_cuda_sigmoid_forward(struct sw_queue *q, const float *x, float *y, size_t n)
{
	return sw_cuda_run_items(q, n, sigmoid_forward_kernel, x, y, n);
}

/* y, dy, dx: float[n] */
static __global__ void sigmoid_backward_kernel(const float *y, const float *dy, float *dx, size_t n)
{
	for (SW_EACH(i, n))
		dx[i] = dy[i] * (y[i] * (1.0f - y[i]));
}

sw_status sw_cuda_sigmoid_backward(struct sw_queue *q, const float *y, const float *dy, float *dx,
				   size_t n)
{
	return sw_cuda_run_items(q, n, sigmoid_backward_kernel, y, dy, dx, n);
}

#define SQRT_HALF       0.70710678118654752440f /* 1 / sqrt 2 */
#define SQRT_HALF_OF_PI 0.39894228040143267794f /* 1 / sqrt(2 pi) */

/* x, y: float[n] */
static __global__ void gelu_forward_kernel(const float *x, float *y, size_t n)
{
	for (SW_EACH(i, n)) {
		const float v = x[i];

		y[i] = 0.5f * v * (1.0f + erff(v * SQRT_HALF));
	}
}

sw_status sw_cuda_gelu_forward(struct sw_queue *q, const float *x, float *y, size_t n)
{
	return sw_cuda_run_items(q, n, gelu_forward_kernel, x, y, n);
}

/* x, dy, dx: float[n]; Phi(x) + x phi(x) */
static __global__ void gelu_backward_kernel(const float *x, const float *dy, float *dx, size_t n)
{
	for (SW_EACH(i, n)) {
		const float v = x[i], below = 0.5f * (1.0f + erff(v * SQRT_HALF));
		const float density = SQRT_HALF_OF_PI * expf(-0.5f * v * v);

		/* at infinity density is 0, and infinity * 0 no number */
		dx[i] = dy[i] * (isinf(v) ? below : below + v * density);
	}
}

sw_status sw_cuda_gelu_backward(struct sw_queue *q, const float *x, const float *dy, float *dx,
				size_t n)
{
	return sw_cuda_run_items(q, n, gelu_backward_kernel, x, dy, dx, n);
}

/* a, b, y: float[n] */
static __global__ void add_kernel(const float *a, const float *b, float *y, size_t n)
{
	for (SW_EACH(i, n))
		y[i] = a[i] + b[i];
}

sw_status sw_cuda_add(struct sw_queue *q, const float *a, const float *b, float *y, size_t n)
{
	return sw_cuda_run_items(q, n, add_kernel, a, b, y, n);
}

sw_status sw_cuda_accumulate(struct sw_queue *q, const float *x, float *y, size_t n)
{
	return sw_cuda_add(q, y, x, y, n);
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
	if (!(d.p >= 0.0f && d.p < 1.0f))
		return SW_INVALID;
	return sw_cuda_run_items(q, n ? (d.first % 4 + n - 1) / 4 + 1 : 0, dropout_kernel, x, y, n,
				 d, s, sw_philox_threshold(d.p), 1.0f / (1.0f - d.p));
}

cudaError_t sw_cuda_probe(void)
{
	struct cudaFuncAttributes a;

	return cudaFuncGetAttributes(&a, (const void *)relu_forward_kernel);
}
