/* kernels/cuda/activation.cu — activations, sums and dropout. x and y may be the same
 * pointer, so nothing here is __restrict__: each thread reads an element before it writes it. */
#include "kernels/cuda/launch.cuh"
#include "kernels/philox.h"
#include <math.h>

struct relu {
	__device__ float operator()(float x) const
	{
		return x <= 0.0f ? 0.0f : x; /* a NaN is not <= 0: it stays */
	}
};

sw_status sw_cuda_relu_forward(struct sw_queue *q, const float *x, float *y, size_t n)
{
	return sw_cuda_map(q, n, relu(), y, x);
}

struct relu_gradient {
	__device__ float operator()(float y, float dy) const
	{
		return y > 0.0f ? dy : 0.0f;
	}
};

sw_status sw_cuda_relu_backward(struct sw_queue *q, const float *y, const float *dy, float *dx,
				size_t n)
{
	return sw_cuda_map(q, n, relu_gradient(), dx, y, dy);
}

struct hyperbolic {
	__device__ float operator()(float x) const
	{
		return tanhf(x);
	}
};

sw_status sw_cuda_tanh_forward(struct sw_queue *q, const float *x, float *y, size_t n)
{
	return sw_cuda_map(q, n, hyperbolic(), y, x);
}

struct hyperbolic_gradient {
	__device__ float operator()(float y, float dy) const
	{
		return dy * (1.0f - y * y);
	}
};

sw_status sw_cuda_tanh_backward(struct sw_queue *q, const float *y, const float *dy, float *dx,
				size_t n)
{
	return sw_cuda_map(q, n, hyperbolic_gradient(), dx, y, dy);
}

struct sigmoid {
	__device__ float operator()(float x) const
	{
		return 1.0f / (1.0f + expf(-x));
	}
};

sw_status sw_cuda_sigmoid_forward(struct sw_queue *q, const float *x, float *y, size_t n)
{
	return sw_cuda_map(q, n, sigmoid(), y, x);
}

struct sigmoid_gradient {
	__device__ float operator()(float y, float dy) const
	{
		return dy * (y * (1.0f - y));
	}
};

sw_status sw_cuda_sigmoid_backward(struct sw_queue *q, const float *y, const float *dy, float *dx,
				   size_t n)
{
	return sw_cuda_map(q, n, sigmoid_gradient(), dx, y, dy);
}

#define SQRT_HALF       0.70710678118654752440f /* 1 / sqrt 2 */
#define SQRT_HALF_OF_PI 0.39894228040143267794f /* 1 / sqrt(2 pi) */

struct gelu {
	__device__ float operator()(float x) const
	{
		return 0.5f * x * (1.0f + erff(x * SQRT_HALF));
	}
};

sw_status sw_cuda_gelu_forward(struct sw_queue *q, const float *x, float *y, size_t n)
{
	return sw_cuda_map(q, n, gelu(), y, x);
}

/* Phi(x) + x phi(x) */
struct gelu_gradient {
	__device__ float operator()(float x, float dy) const
	{
		const float below = 0.5f * (1.0f + erff(x * SQRT_HALF));
		const float density = SQRT_HALF_OF_PI * expf(-0.5f * x * x);

		/* at infinity density is 0, and infinity * 0 no number */
		return dy * (isinf(x) ? below : below + x * density);
	}
};

sw_status sw_cuda_gelu_backward(struct sw_queue *q, const float *x, const float *dy, float *dx,
				size_t n)
{
	return sw_cuda_map(q, n, gelu_gradient(), dx, x, dy);
}

struct silu {
	__device__ float operator()(float x) const
	{
		return x / (1.0f + expf(-x));
	}
};

sw_status sw_cuda_silu_forward(struct sw_queue *q, const float *x, float *y, size_t n)
{
	return sw_cuda_map(q, n, silu(), y, x);
}

struct silu_gradient {
	__device__ float operator()(float x, float dy) const
	{
		const float s = 1.0f / (1.0f + expf(-x));

		/* at infinity one factor is 0, and infinity * 0 no number */
		return dy * (isinf(x) ? s : s * (1.0f + x * (1.0f - s)));
	}
};

sw_status sw_cuda_silu_backward(struct sw_queue *q, const float *x, const float *dy, float *dx,
				size_t n)
{
	return sw_cuda_map(q, n, silu_gradient(), dx, x, dy);
}

struct sum {
	__device__ float operator()(float a, float b) const
	{
		return a + b;
	}
};

sw_status sw_cuda_add(struct sw_queue *q, const float *a, const float *b, float *y, size_t n)
{
	return sw_cuda_map(q, n, sum(), y, a, b);
}

sw_status sw_cuda_accumulate(struct sw_queue *q, const float *x, float *y, size_t n)
{
	return sw_cuda_add(q, y, x, y, n);
}

/* An element stays if its random word is no less than the threshold. */
struct kept {
	uint32_t threshold;
	float scale;
	__device__ float operator()(uint32_t word, float x) const
	{
		return word >= threshold ? x * scale : 0.0f;
	}
};

/* x, y: float[n]; a thread makes four words at a time, as Philox does: those of one block, of which
 * the first and the last may hang over the tensor's ends. quads: of x and y, where the tensor
 * begins with a block; else 0. */
static __global__ void dropout_kernel(const float *x, float *y, size_t n, size_t quads,
				      struct sw_dropout d, const struct sw_step *s, struct kept f)
{
	sw_wait();

	/* Words are counted over the whole batch: a micro-batch that begins within a block leaves
	 * out the words before it, so the same elements are dropped however the batch is cut. */
	const size_t before = d.first % 4;

	for (SW_EACH(block, (before + n + 3) / 4)) {
		const struct sw_philox_words r = sw_philox_block(d.seed, SW_PHILOX_DROPOUT, d.layer,
								 s->step, d.first / 4 + block);

		if (block < quads) {
			struct sw_quad v = *(const struct sw_quad *)(x + 4 * block);

			SW_UNROLL
			for (size_t k = 0; k < 4; k++)
				v.v[k] = f(r.v[k], v.v[k]);
			sw_quad_put(y + 4 * block, v);
			continue;
		}
		SW_UNROLL
		for (size_t k = 0; k < 4; k++) {
			const size_t i = 4 * block + k; /* before + the element */

			if (i >= before && i - before < n)
				y[i - before] = f(r.v[k], x[i - before]);
		}
	}
}

sw_status sw_cuda_dropout(struct sw_queue *q, const float *x, float *y, size_t n,
			  struct sw_dropout d, const struct sw_step *s)
{
	if (!(d.p >= 0.0f && d.p < 1.0f))
		return SW_INVALID;
	return sw_cuda_run_items(q, n ? (d.first % 4 + n - 1) / 4 + 1 : 0, dropout_kernel, x, y, n,
				 d.first % 4 ? 0 : sw_quads(n, x, y), d, s,
				 kept{sw_philox_threshold(d.p), 1.0f / (1.0f - d.p)});
}

cudaError_t sw_cuda_probe(int *ptx)
{
	struct cudaFuncAttributes a;
	const cudaError_t e =
		cudaFuncGetAttributes(&a, (const void *)sw_map_kernel<relu, const float>);

	*ptx = e == cudaSuccess ? a.ptxVersion : 0;
	return e;
}
