/* kernels/cuda/cuda_optimizer.cu — SGD and AdamW over a whole arena; formulas in kernels/ops.h.
 * Operands never overlap here, and --fmad=false keeps the CPU table's rounding. */
#include "kernels/cuda/launch.cuh"
#include <math.h>

/* w, g: float[n] */
static __global__ void sgd_plain_kernel(float *__restrict__ w, const float *__restrict__ g,
					size_t n, struct sw_sgd o)
{
	for (SW_EACH(i, n))
		w[i] -= o.lr * (g[i] + o.weight_decay * w[i]);
}

/* w, g, v: float[n] */
static __global__ void sgd_momentum_kernel(float *__restrict__ w, const float *__restrict__ g,
					   float *__restrict__ v, size_t n, struct sw_sgd o)
{
	for (SW_EACH(i, n)) {
		const float d = g[i] + o.weight_decay * w[i];
		const float vi = o.momentum * v[i] + d;

		v[i] = vi;
		w[i] -= o.lr * (o.nesterov ? d + o.momentum * vi : vi);
	}
}

sw_status sw_cuda_sgd_step(struct sw_queue *q, float *w, const float *g, float *v, size_t n,
			   struct sw_sgd o)
{
	const sw_status status = sw_cuda_use();

	if (o.momentum != 0.0f && !v)
		return SW_INVALID;
	if (status != SW_OK || n == 0)
		return status;
	if (o.momentum == 0.0f)
		SW_LAUNCH(sgd_plain_kernel, sw_cuda_grid_items(n), SW_CUDA_BLOCK, q, w, g, n, o);
	else
		SW_LAUNCH(sgd_momentum_kernel, sw_cuda_grid_items(n), SW_CUDA_BLOCK, q, w, g, v, n,
			  o);
	return sw_cuda_launched();
}

/* The step's factors, made once by the host in double. */
struct adamw_factors {
	float keep; /* 1 - lr weight_decay */
	float size; /* lr / (1 - beta1^t) */
	float root; /* sqrt(1 - beta2^t) */
	float b1;   /* 1 - beta1 */
	float beta2;
	float b2; /* 1 - beta2 */
	float eps;
};

/* w, g, m, v: float[n] */
static __global__ void adamw_kernel(float *__restrict__ w, const float *__restrict__ g,
				    float *__restrict__ m, float *__restrict__ v, size_t n,
				    struct adamw_factors f)
{
	for (SW_EACH(i, n)) {
		const float gi = g[i];
		const float mi = m[i] + f.b1 * (gi - m[i]);
		const float vi = f.beta2 * v[i] + f.b2 * gi * gi;

		m[i] = mi;
		v[i] = vi;
		w[i] = w[i] * f.keep - f.size * (mi / (sqrtf(vi) / f.root + f.eps));
	}
}

sw_status sw_cuda_adamw_step(struct sw_queue *q, float *w, const float *g, float *m, float *v,
			     size_t n, struct sw_adamw o)
{
	const sw_status status = sw_cuda_use();
	const double t = (double)o.step;
	struct adamw_factors f;

	if (o.step == 0)
		return SW_INVALID;
	if (status != SW_OK || n == 0)
		return status;
	f.keep = (float)(1.0 - (double)o.lr * (double)o.weight_decay);
	f.size = (float)((double)o.lr / (1.0 - pow((double)o.beta1, t)));
	f.root = (float)sqrt(1.0 - pow((double)o.beta2, t));
	f.b1 = (float)(1.0 - (double)o.beta1);
	f.beta2 = o.beta2;
	f.b2 = (float)(1.0 - (double)o.beta2);
	f.eps = o.eps;
	SW_LAUNCH(adamw_kernel, sw_cuda_grid_items(n), SW_CUDA_BLOCK, q, w, g, m, v, n, f);
	return sw_cuda_launched();
}
