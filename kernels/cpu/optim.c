/* kernels/cpu/optim.c — the optimizers; formulas in kernels/ops.h, those of PyTorch's
 * torch.optim.SGD, AdamW and Adam. Their operands never overlap. */
#include "kernels/cpu/cpu.h"
#include <math.h>

sw_status sw_cpu_norm2(struct sw_queue *q, const float *g, double *out, size_t n)
{
	double s[8] = {0}, rest = 0;
	size_t i = 0;

	(void)q;
	/* Eight sums side by side: vectors, in an order that is written down. */
	for (; i + 8 <= n; i += 8)
		for (size_t k = 0; k < 8; k++)
			s[k] += (double)g[i + k] * (double)g[i + k];
	for (; i < n; i++)
		rest += (double)g[i] * (double)g[i];
	*out = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])) + rest;
	return SW_OK;
}

/* By what gradients are multiplied: at most 1; a NaN norm makes them NaN. */
static float clip_factor(float max_norm, const double *norm2)
{
	if (max_norm == 0.0f)
		return 1.0f;
	const double c = (double)max_norm / (sqrt(*norm2) + 1e-6);

	return c >= 1.0 ? 1.0f : (float)c;
}

static void sgd_plain(float *restrict w, const float *restrict g, size_t n, float c, float lr,
		      float decay)
{
	for (size_t i = 0; i < n; i++)
		w[i] -= lr * (c * g[i] + decay * w[i]);
}

static void sgd_momentum(float *restrict w, const float *restrict g, float *restrict v, size_t n,
			 float c, float lr, struct sw_sgd o)
{
	for (size_t i = 0; i < n; i++) {
		const float vi = o.momentum * v[i] + (c * g[i] + o.weight_decay * w[i]);

		v[i] = vi;
		w[i] -= lr * vi;
	}
}

static void sgd_nesterov(float *restrict w, const float *restrict g, float *restrict v, size_t n,
			 float c, float lr, struct sw_sgd o)
{
	for (size_t i = 0; i < n; i++) {
		const float d = c * g[i] + o.weight_decay * w[i];
		const float vi = o.momentum * v[i] + d;

		v[i] = vi;
		w[i] -= lr * (d + o.momentum * vi);
	}
}

sw_status sw_cpu_sgd_step(struct sw_queue *q, float *w, const float *g, float *v, size_t n,
			  struct sw_sgd o, const struct sw_step *s, const double *norm2)
{
	(void)q;
	if ((o.momentum != 0.0f && !v) || (o.max_norm != 0.0f && !norm2))
		return SW_INVALID;
	const float c = clip_factor(o.max_norm, norm2), lr = (float)s->lr;

	if (o.momentum == 0.0f)
		sgd_plain(w, g, n, c, lr, o.weight_decay);
	else if (o.nesterov)
		sgd_nesterov(w, g, v, n, c, lr, o);
	else
		sgd_momentum(w, g, v, n, c, lr, o);
	return SW_OK;
}

/* The step's factors, made in double. */
struct adam {
	float keep; /* 1 - lr weight_decay when decoupled, else 1 */
	float l2;   /* weight_decay when not decoupled, else 0 */
	float size; /* lr / (1 - beta1^t) */
	float root; /* sqrt(1 - beta2^t) */
	float b1, beta2, b2, eps;
};

static void adam(float *restrict w, const float *restrict g, float *restrict m, float *restrict v,
		 size_t n, float c, struct adam f)
{
	/* Kingma and Ba, 2015, algorithm 1; eps is added to the corrected root, as in PyTorch. */
	for (size_t i = 0; i < n; i++) {
		const float gi = c * g[i] + f.l2 * w[i];
		const float mi = m[i] + f.b1 * (gi - m[i]);
		const float vi = f.beta2 * v[i] + f.b2 * gi * gi;

		m[i] = mi;
		v[i] = vi;
		w[i] = w[i] * f.keep - f.size * (mi / (sqrtf(vi) / f.root + f.eps));
	}
}

sw_status sw_cpu_adam_step(struct sw_queue *q, float *w, const float *g, float *m, float *v,
			   size_t n, struct sw_adam o, const struct sw_step *s, const double *norm2)
{
	(void)q;
	if (s->step == 0 || (o.max_norm != 0.0f && !norm2))
		return SW_INVALID;
	const struct adam f = {
		.keep = o.decoupled ? (float)(1.0 - s->lr * (double)o.weight_decay) : 1.0f,
		.l2 = o.decoupled ? 0.0f : o.weight_decay,
		.size = (float)(s->lr / (1.0 - s->beta1_t)),
		.root = (float)sqrt(1.0 - s->beta2_t),
		.b1 = (float)(1.0 - (double)o.beta1),
		.beta2 = o.beta2,
		.b2 = (float)(1.0 - (double)o.beta2),
		.eps = o.eps,
	};

	adam(w, g, m, v, n, clip_factor(o.max_norm, norm2), f);
	return SW_OK;
}
