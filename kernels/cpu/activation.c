/* kernels/cpu/activation.c — activations, sums and dropout. x and y may be the same pointer, so
 * none of these is restrict; loops that are arithmetic alone have one for each case, for the
 * compiler makes vectors only of what it knows to be apart. */
#include "kernels/cpu/cpu.h"
#include "kernels/philox.h"
#include <math.h>

static void relu_apart(const float *restrict x, float *restrict y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] = x[i] <= 0.0f ? 0.0f : x[i]; /* a NaN is not <= 0: it stays */
}

static void relu_here(float *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = x[i] <= 0.0f ? 0.0f : x[i];
}

sw_status sw_cpu_relu_forward(struct sw_queue *q, const float *x, float *y, size_t n)
{
	(void)q;
	if (x == y)
		relu_here(y, n);
	else
		relu_apart(x, y, n);
	return SW_OK;
}

static void mask_apart(const float *restrict y, const float *restrict dy, float *restrict dx,
		       size_t n)
{
	for (size_t i = 0; i < n; i++)
		dx[i] = y[i] > 0.0f ? dy[i] : 0.0f;
}

static void mask_here(const float *restrict y, float *restrict dx, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const float v = dx[i];

		dx[i] = y[i] > 0.0f ? v : 0.0f;
	}
}

sw_status sw_cpu_relu_backward(struct sw_queue *q, const float *y, const float *dy, float *dx,
			       size_t n)
{
	(void)q;
	if (dx == dy)
		mask_here(y, dx, n);
	else
		mask_apart(y, dy, dx, n);
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

sw_status sw_cpu_silu_forward(struct sw_queue *q, const float *x, float *y, size_t n)
{
	(void)q;
	for (size_t i = 0; i < n; i++)
		y[i] = x[i] / (1.0f + expf(-x[i]));
	return SW_OK;
}

sw_status sw_cpu_silu_backward(struct sw_queue *q, const float *x, const float *dy, float *dx,
			       size_t n)
{
	(void)q;
	for (size_t i = 0; i < n; i++) {
		const float v = x[i], s = 1.0f / (1.0f + expf(-v));

		/* at infinity one factor is 0, and infinity * 0 no number */
		dx[i] = dy[i] * (isinf(v) ? s : s * (1.0f + v * (1.0f - s)));
	}
	return SW_OK;
}

static void add_apart(const float *restrict a, const float *restrict b, float *restrict y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] = a[i] + b[i];
}

static void add_here(const float *restrict x, float *restrict y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] += x[i];
}

sw_status sw_cpu_add(struct sw_queue *q, const float *a, const float *b, float *y, size_t n)
{
	(void)q;
	if (a == b) /* of all the same, too */
		for (size_t i = 0; i < n; i++)
			y[i] = a[i] + a[i];
	else if (y == a || y == b)
		add_here(y == a ? b : a, y, n);
	else
		add_apart(a, b, y, n);
	return SW_OK;
}

sw_status sw_cpu_accumulate(struct sw_queue *q, const float *x, float *y, size_t n)
{
	(void)q;
	add_here(x, y, n);
	return SW_OK;
}

sw_status sw_cpu_dropout(struct sw_queue *q, const float *x, float *y, size_t n,
			 struct sw_dropout d, const struct sw_step *s)
{
	(void)q;
	if (!(d.p >= 0.0f && d.p < 1.0f))
		return SW_INVALID;

	const uint32_t threshold = sw_philox_threshold(d.p);
	const float scale = 1.0f / (1.0f - d.p);

	for (size_t i = 0; i < n;) {
		/* An element's word is told by its place in the whole batch, so micro-batches and
		 * the CUDA table drop the same. */
		const uint64_t at = d.first + i;
		const struct sw_philox_words r =
			sw_philox_block(d.seed, SW_PHILOX_DROPOUT, d.layer, s->step, at / 4);

		for (size_t k = at % 4; k < 4 && i < n; k++, i++)
			y[i] = r.v[k] >= threshold ? x[i] * scale : 0.0f;
	}
	return SW_OK;
}
