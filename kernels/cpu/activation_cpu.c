/* kernels/cpu/activation_cpu.c — activations, sums and dropout. x and y may be the same pointer, so
 * nothing here is restrict. */
#include "kernels/cpu/cpu.h"
#include "kernels/philox.h"
#include <math.h>

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

sw_status sw_cpu_sigmoid_forward(struct sw_queue *q, const float *x, float *y, size_t n)
{
	(void)q;
	for (size_t i = 0; i < n; i++)
		y[i] = 1.0f / (1.0f + expf(-x[i]));
	return SW_OK;
}

sw_status sw_cpu_sigmoid_backward(struct sw_queue *q, const float *y, const float *dy, float *dx,
				  size_t n)
{
	(void)q;
	for (size_t i = 0; i < n; i++)
		dx[i] = dy[i] * (y[i] * (1.0f - y[i]));
	return SW_OK;
}

#define SQRT_HALF       0.70710678118654752440f /* 1 / sqrt 2 */
#define SQRT_HALF_OF_PI 0.39894228040143267794f /* 1 / sqrt(2 pi) */

sw_status sw_cpu_gelu_forward(struct sw_queue *q, const float *x, float *y, size_t n)
{
	(void)q;
	for (size_t i = 0; i < n; i++)
		y[i] = 0.5f * x[i] * (1.0f + erff(x[i] * SQRT_HALF));
	return SW_OK;
}

/* d/dx x Phi(x) = Phi(x) + x phi(x), Phi and phi of the standard normal */
sw_status sw_cpu_gelu_backward(struct sw_queue *q, const float *x, const float *dy, float *dx,
			       size_t n)
{
	(void)q;
	for (size_t i = 0; i < n; i++) {
		const float v = x[i], below = 0.5f * (1.0f + erff(v * SQRT_HALF));
		const float density = SQRT_HALF_OF_PI * expf(-0.5f * v * v);

		/* at infinity density is 0, and infinity * 0 no number */
		dx[i] = dy[i] * (isinf(v) ? below : below + v * density);
	}
	return SW_OK;
}

sw_status sw_cpu_add(struct sw_queue *q, const float *a, const float *b, float *y, size_t n)
{
	(void)q;
	for (size_t i = 0; i < n; i++)
		y[i] = a[i] + b[i];
	return SW_OK;
}

sw_status sw_cpu_accumulate(struct sw_queue *q, const float *x, float *y, size_t n)
{
	(void)q;
	for (size_t i = 0; i < n; i++)
		y[i] += x[i];
	return SW_OK;
}

sw_status sw_cpu_dropout(struct sw_queue *q, const float *x, float *y, size_t n,
			 struct sw_dropout d, const struct sw_step *s)
{
	const uint32_t threshold = sw_dropout_threshold(d.p);
	const float scale = 1.0f / (1.0f - d.p);

	(void)q;
	if (!(d.p >= 0.0f && d.p < 1.0f))
		return SW_INVALID;
	for (size_t i = 0; i < n;) {
		const uint64_t at = d.first + i;
		const struct sw_philox_words r =
			sw_philox_block(d.seed, SW_PHILOX_DROPOUT, d.layer, s->step, at / 4);

		for (size_t k = at % 4; k < 4 && i < n; k++, i++)
			y[i] = r.v[k] >= threshold ? x[i] * scale : 0.0f;
	}
	return SW_OK;
}
