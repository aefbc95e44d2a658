/* kernels/cuda/optim.cu — SGD, Adam and AdamW over a whole arena; formulas in
 * kernels/ops.h. Operands never overlap here, and --fmad=false keeps the CPU table's rounding. Each
 * thread makes the step's factors anew, in double: they depend on backend memory. */
#include "kernels/cuda/launch.cuh"
#include <math.h>

/* By what gradients are multiplied: at most 1; a NaN norm makes them NaN. */
static __device__ float clip_factor(float max_norm, const double *norm2)
{
	if (max_norm == 0.0f)
		return 1.0f;
	const double c = (double)max_norm / (sqrt(*norm2) + 1e-6);

	return c >= 1.0 ? 1.0f : (float)c;
}

/* w, g: float[n] */
static __global__ void sgd_plain_kernel(float *__restrict__ w, const float *__restrict__ g,
					size_t n, struct sw_sgd o, const struct sw_step *s,
					const double *norm2)
{
	const float c = clip_factor(o.max_norm, norm2), lr = (float)s->lr;

	for (SW_EACH(i, n))
		w[i] -= lr * (c * g[i] + o.weight_decay * w[i]);
}

/* w, g, v: float[n] */
static __global__ void sgd_momentum_kernel(float *__restrict__ w, const float *__restrict__ g,
					   float *__restrict__ v, size_t n, struct sw_sgd o,
					   const struct sw_step *s, const double *norm2)
{
	const float c = clip_factor(o.max_norm, norm2), lr = (float)s->lr;

	for (SW_EACH(i, n)) {
		const float d = c * g[i] + o.weight_decay * w[i];
		const float vi = o.momentum * v[i] + d;

		v[i] = vi;
		w[i] -= lr * (o.nesterov ? d + o.momentum * vi : vi);
	}
}

sw_status sw_cuda_sgd_step(struct sw_queue *q, float *w, const float *g, float *v, size_t n,
			   struct sw_sgd o, const struct sw_step *s, const double *norm2)
{
	if ((o.momentum != 0.0f && !v) || (o.max_norm != 0.0f && !norm2))
		return SW_INVALID;
	if (o.momentum == 0.0f)
		return sw_cuda_run_items(q, n, sgd_plain_kernel, w, g, n, o, s, norm2);
	return sw_cuda_run_items(q, n, sgd_momentum_kernel, w, g, v, n, o, s, norm2);
}

/* w, g, m, v: float[n] */
static __global__ void adam_kernel(float *__restrict__ w, const float *__restrict__ g,
				   float *__restrict__ m, float *__restrict__ v, size_t n,
				   struct sw_adam o, const struct sw_step *s, const double *norm2)
{
	const float c = clip_factor(o.max_norm, norm2);
	const float keep = o.decoupled ? (float)(1.0 - s->lr * (double)o.weight_decay) : 1.0f;
	const float l2 = o.decoupled ? 0.0f : o.weight_decay;
	const float size = (float)(s->lr / (1.0 - s->beta1_t));
	const float root = (float)sqrt(1.0 - s->beta2_t);
	const float b1 = (float)(1.0 - (double)o.beta1), b2 = (float)(1.0 - (double)o.beta2);

	for (SW_EACH(i, n)) {
		const float gi = c * g[i] + l2 * w[i];
		const float mi = m[i] + b1 * (gi - m[i]);
		const float vi = o.beta2 * v[i] + b2 * gi * gi;

		m[i] = mi;
		v[i] = vi;
		w[i] = w[i] * keep - size * (mi / (sqrtf(vi) / root + o.eps));
	}
}

sw_status sw_cuda_adam_step(struct sw_queue *q, float *w, const float *g, float *m, float *v,
			    size_t n, struct sw_adam o, const struct sw_step *s,
			    const double *norm2)
{
	if (o.max_norm != 0.0f && !norm2)
		return SW_INVALID;
	return sw_cuda_run_items(q, n, adam_kernel, w, g, m, v, n, o, s, norm2);
}
