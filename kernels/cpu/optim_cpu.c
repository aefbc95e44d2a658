/* kernels/cpu/optim_cpu.c — the optimizers; formulas in kernels/ops.h, those of PyTorch's
 * torch.optim.SGD and torch.optim.AdamW. Their operands never overlap. */
#include "kernels/cpu/cpu.h"
#include <math.h>

sw_status sw_cpu_sgd_step(struct sw_queue *q, float *restrict w, const float *restrict g,
			  float *restrict v, size_t n, struct sw_sgd o)
{
	(void)q;
	if (o.momentum == 0.0f) {
		for (size_t i = 0; i < n; i++)
			w[i] -= o.lr * (g[i] + o.weight_decay * w[i]);
		return SW_OK;
	}
	if (!v)
		return SW_INVALID;
	for (size_t i = 0; i < n; i++) {
		const float d = g[i] + o.weight_decay * w[i];
		const float vi = o.momentum * v[i] + d;

		v[i] = vi;
		w[i] -= o.lr * (o.nesterov ? d + o.momentum * vi : vi);
	}
	return SW_OK;
}

sw_status sw_cpu_adamw_step(struct sw_queue *q, float *restrict w, const float *restrict g,
			    float *restrict m, float *restrict v, size_t n, struct sw_adamw o)
{
	const double t = (double)o.step;
	const float keep = (float)(1.0 - (double)o.lr * (double)o.weight_decay);
	const float size = (float)((double)o.lr / (1.0 - pow((double)o.beta1, t)));
	const float root = (float)sqrt(1.0 - pow((double)o.beta2, t));
	const float b1 = (float)(1.0 - (double)o.beta1), b2 = (float)(1.0 - (double)o.beta2);

	(void)q;
	if (o.step == 0)
		return SW_INVALID;
	for (size_t i = 0; i < n; i++) {
		const float mi = m[i] + b1 * (g[i] - m[i]);
		const float vi = o.beta2 * v[i] + b2 * g[i] * g[i];

		m[i] = mi;
		v[i] = vi;
		w[i] = w[i] * keep - size * (mi / (sqrtf(vi) / root + o.eps));
	}
	return SW_OK;
}
