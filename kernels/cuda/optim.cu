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
static __global__ void sgd_plain_kernel(float *w, const float *g, size_t n, size_t quads,
					struct sw_sgd o, const struct sw_step *s,
					const double *norm2)
{
	sw_wait();

	const float c = clip_factor(o.max_norm, norm2), lr = (float)s->lr;

	sw_map([=](float wi, float gi) { return wi - lr * (c * gi + o.weight_decay * wi); },
	       SW_GRID_FIRST, SW_GRID_STEP, n, quads, w, (const float *)w, g);
}

/* w, g, v: float[n] */
static __global__ void sgd_momentum_kernel(float *w, const float *g, float *v, size_t n,
					   size_t quads, struct sw_sgd o, const struct sw_step *s,
					   const double *norm2)
{
	sw_wait();

	const float c = clip_factor(o.max_norm, norm2), lr = (float)s->lr;

	sw_map(
		[=](float wi, float gi, float &vi) {
			const float d = c * gi + o.weight_decay * wi;

			vi = o.momentum * vi + d;
			return wi - lr * (o.nesterov ? d + o.momentum * vi : vi);
		},
		SW_GRID_FIRST, SW_GRID_STEP, n, quads, w, (const float *)w, g, v);
}

sw_status sw_cuda_sgd_step(struct sw_queue *q, float *w, const float *g, float *v, size_t n,
			   struct sw_sgd o, const struct sw_step *s, const double *norm2)
{
	size_t quads = sw_quads(n, w, g);

	if ((o.momentum != 0.0f && !v) || (o.max_norm != 0.0f && !norm2))
		return SW_INVALID;
	if (o.momentum == 0.0f)
		return sw_cuda_run_items(q, quads ? quads : n, sgd_plain_kernel, w, g, n, quads, o,
					 s, norm2);
	quads = sw_quads(n, w, g, v);
	return sw_cuda_run_items(q, quads ? quads : n, sgd_momentum_kernel, w, g, v, n, quads, o, s,
				 norm2);
}

/* w, g, m, v: float[n] */
static __global__ void adam_kernel(float *w, const float *g, float *m, float *v, size_t n,
				   size_t quads, struct sw_adam o, const struct sw_step *s,
				   const double *norm2)
{
	sw_wait();

	const float c = clip_factor(o.max_norm, norm2);
	const float keep = o.decoupled ? (float)(1.0 - s->lr * (double)o.weight_decay) : 1.0f;
	const float l2 = o.decoupled ? 0.0f : o.weight_decay;
	const float size = (float)(s->lr / (1.0 - s->beta1_t));
	const float root = (float)sqrt(1.0 - s->beta2_t);
	const float b1 = (float)(1.0 - (double)o.beta1), b2 = (float)(1.0 - (double)o.beta2);

	/* Kingma and Ba, 2015, algorithm 1, its two corrections made once a step; eps is added to
	 * the corrected root. Decoupled decay is that of Loshchilov and Hutter, 2019. */
	sw_map(
		[=](float wi, float g_i, float &mi, float &vi) {
			const float gi = c * g_i + l2 * wi;

			mi = mi + b1 * (gi - mi);
			vi = o.beta2 * vi + b2 * gi * gi;
			return wi * keep - size * (mi / (sqrtf(vi) / root + o.eps));
		},
		SW_GRID_FIRST, SW_GRID_STEP, n, quads, w, (const float *)w, g, m, v);
}

sw_status sw_cuda_adam_step(struct sw_queue *q, float *w, const float *g, float *m, float *v,
			    size_t n, struct sw_adam o, const struct sw_step *s,
			    const double *norm2)
{
	const size_t quads = sw_quads(n, w, g, m, v);

	if (o.max_norm != 0.0f && !norm2)
		return SW_INVALID;
	return sw_cuda_run_items(q, quads ? quads : n, adam_kernel, w, g, m, v, n, quads, o, s,
				 norm2);
}
