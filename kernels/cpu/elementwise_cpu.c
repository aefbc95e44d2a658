/* kernels/cpu/elementwise_cpu.c — relu, tanh, dropout and gather. x and y may be the same pointer,
 * so nothing here is restrict. */
#include "kernels/cpu/cpu.h"
#include "kernels/philox.h"
#include <math.h>
#include <string.h>

sw_status sw_cpu_gather(struct sw_queue *q, const float *rows, const int32_t *index, float *out,
			size_t B, size_t D)
{
	(void)q;
	for (size_t b = 0; b < B && D; b++)
		memcpy(out + b * D, rows + (size_t)index[b] * D, D * sizeof *out);
	return SW_OK;
}

sw_status sw_cpu_gather_i32(struct sw_queue *q, const int32_t *values, const int32_t *index,
			    int32_t *out, size_t B)
{
	(void)q;
	for (size_t b = 0; b < B; b++)
		out[b] = values[index[b]];
	return SW_OK;
}

sw_status sw_cpu_relu_forward(struct sw_queue *q, const float *x, float *y, size_t n)
{
	(void)q;
	for (size_t i = 0; i < n; i++)
		y[i] = x[i] <= 0.0f ? 0.0f : x[i]; /* a NaN is not <= 0: it stays */
	return SW_OK;
}

sw_status sw_cpu_relu_backward(struct sw_queue *q, const float *y, const float *dy, float *dx,
			       size_t n)
{
	(void)q;
	for (size_t i = 0; i < n; i++)
		dx[i] = y[i] > 0.0f ? dy[i] : 0.0f;
	return SW_OK;
}

sw_status sw_cpu_tanh_forward(struct sw_queue *q, const float *x, float *y, size_t n)
{
	(void)q;
	for (size_t i = 0; i < n; i++)
		y[i] = tanhf(x[i]);
	return SW_OK;
}

sw_status sw_cpu_tanh_backward(struct sw_queue *q, const float *y, const float *dy, float *dx,
			       size_t n)
{
	(void)q;
	for (size_t i = 0; i < n; i++)
		dx[i] = dy[i] * (1.0f - y[i] * y[i]);
	return SW_OK;
}

sw_status sw_cpu_dropout(struct sw_queue *q, const float *x, float *y, size_t n,
			 struct sw_dropout d)
{
	const uint32_t threshold = sw_dropout_threshold(d.p);
	const float scale = 1.0f / (1.0f - d.p);

	(void)q;
	if (!(d.p >= 0.0f && d.p < 1.0f))
		return SW_INVALID;
	for (size_t i = 0; i < n; i += 4) {
		const struct sw_philox_words r =
			sw_philox_block(d.seed, SW_PHILOX_DROPOUT, d.layer, d.step, i / 4);

		for (size_t k = 0; k < 4 && i + k < n; k++)
			y[i + k] = r.v[k] >= threshold ? x[i + k] * scale : 0.0f;
	}
	return SW_OK;
}
