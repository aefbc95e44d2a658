/* kernels/cpu/loss_cpu.c — cross entropy and mean squared error. */
#include "kernels/cpu/cpu.h"
#include <math.h>

/* One row of C logits. Returns its loss; *best is the first largest logit, -1 with a NaN. */
static double cross_entropy_row(const float *z, int32_t label, float *p, size_t C, int32_t *best)
{
	const float at_label = z[label]; /* p may be z: read before it is written */
	double sum = 0;
	float max = z[0];
	int nan = isnan(z[0]);

	*best = 0;
	for (size_t c = 1; c < C; c++) {
		nan |= isnan(z[c]);
		if (z[c] > max) {
			max = z[c];
			*best = (int32_t)c;
		}
	}
	for (size_t c = 0; c < C; c++) {
		const float e = expf(z[c] - max);

		sum += (double)e;
		if (p)
			p[c] = e;
	}
	for (size_t c = 0; p && c < C; c++)
		p[c] = (float)((double)p[c] / sum);
	if (nan) {
		*best = -1;
		return (double)NAN;
	}
	return log(sum) + (double)max - (double)at_label;
}

sw_status sw_cpu_cross_entropy_forward(struct sw_queue *q, const float *z, const int32_t *label,
				       float *p, struct sw_metrics *m, size_t B, size_t C)
{
	(void)q;
	if (C == 0)
		return SW_INVALID;
	for (size_t b = 0; b < B; b++) {
		int32_t best;

		m->loss_sum +=
			cross_entropy_row(z + b * C, label[b], p ? p + b * C : NULL, C, &best);
		m->correct += best == label[b];
	}
	m->rows += (double)B;
	return SW_OK;
}

sw_status sw_cpu_cross_entropy_backward(struct sw_queue *q, const float *p, const int32_t *label,
					float *dz, float scale, size_t B, size_t C)
{
	(void)q;
	for (size_t b = 0; b < B; b++)
		for (size_t c = 0; c < C; c++) {
			const float hit = (size_t)label[b] == c ? 1.0f : 0.0f;

			dz[b * C + c] = scale * (p[b * C + c] - hit);
		}
	return SW_OK;
}

sw_status sw_cpu_mse_forward(struct sw_queue *q, const float *y, const float *t,
			     struct sw_metrics *m, size_t B, size_t O)
{
	(void)q;
	if (O == 0)
		return SW_INVALID;
	for (size_t b = 0; b < B; b++) {
		double sum = 0;

		for (size_t o = 0; o < O; o++) {
			const double d = (double)y[b * O + o] - (double)t[b * O + o];

			sum += d * d;
		}
		m->loss_sum += sum / (double)O;
	}
	m->rows += (double)B;
	return SW_OK;
}

sw_status sw_cpu_mse_backward(struct sw_queue *q, const float *y, const float *t, float *dy,
			      float scale, size_t B, size_t O)
{
	const float k = O ? scale * 2.0f / (float)O : 0.0f;

	(void)q;
	for (size_t i = 0; i < B * O; i++)
		dy[i] = k * (y[i] - t[i]);
	return SW_OK;
}
