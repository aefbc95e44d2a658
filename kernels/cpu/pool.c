/* kernels/cpu/pool.c — maximum and mean over windows of an image. */
#define LANES 4
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/vector.h"
#include <math.h>

static size_t planes(const struct sw_window *p)
{
	return p->H && p->W ? p->B * p->C : 0;
}

/* The part [from, to) of a window at `at` that lies inside [0, n). */
struct span {
	size_t from, to;
};

static struct span inside(size_t at, size_t k, size_t n, const struct sw_window *p)
{
	const size_t begin = at * p->stride, end = begin + k;

	return (struct span){begin < p->pad ? 0 : begin - p->pad,
			     end - p->pad < n ? end - p->pad : n};
}

static size_t window_max(const float *x, struct span h, struct span v, size_t W)
{
	size_t best = v.from * W + h.from;

	for (size_t r = v.from; r < v.to; r++)
		for (size_t s = h.from; s < h.to; s++) {
			const float value = x[r * W + s];

			if (value > x[best] || isnan(value))
				best = r * W + s;
		}
	return best;
}

/* Takes v at `at` where it beats the best. */
INLINE void better(vec *best, ivec *best_at, vec v, ivec at)
{
	const ivec yes = (v > *best) | ~(v <= INFINITY); /* a NaN is not <= anything */

	*best = (vec)(((ivec)v & yes) | ((ivec)*best & ~yes));
	*best_at = (at & yes) | (*best_at & ~yes);
}

/* Four windows of 2 x 2 at a step of 2, from column s of the output; row: of the first value, `at`
 * of it in the plane. */
INLINE void max_2x2(const float *row, size_t W, size_t at, float *y, int32_t *argmax)
{
	const vec a = load(row), b = load(row + 4), c = load(row + W), d = load(row + W + 4);
	const int first = (int)at;
	ivec best_at = {first, first + 2, first + 4, first + 6};
	const ivec left = best_at, below = left + (int)W;
	vec best = __builtin_shufflevector(a, b, 0, 2, 4, 6);

	better(&best, &best_at, __builtin_shufflevector(a, b, 1, 3, 5, 7), left + 1);
	better(&best, &best_at, __builtin_shufflevector(c, d, 0, 2, 4, 6), below);
	better(&best, &best_at, __builtin_shufflevector(c, d, 1, 3, 5, 7), below + 1);
	store(y, best);
	for (size_t k = 0; argmax && k < 4; k++)
		argmax[k] = (int32_t)best_at[k];
}

/* A plane in windows of 2 x 2, at least four to a row; the last four overlap those before. */
static void max_plane_2x2(const float *x, float *y, int32_t *argmax, const struct sw_window *p)
{
	const size_t oh = sw_pool_out_h(p), ow = sw_pool_out_w(p);

	for (size_t r = 0; r < oh; r++)
		/* The last four overlap those before: a window made twice has the same result
		 * twice. */
		for (size_t s = 0; s < ow; s += 4) {
			const size_t o = s + 4 <= ow ? s : ow - 4, at = 2 * r * p->W + 2 * o;

			max_2x2(x + at, p->W, at, y + r * ow + o,
				argmax ? argmax + r * ow + o : NULL);
		}
}

static void max_plane(const float *x, float *y, int32_t *argmax, const struct sw_window *p)
{
	const size_t oh = sw_pool_out_h(p), ow = sw_pool_out_w(p);

	for (size_t r = 0; r < oh; r++)
		for (size_t s = 0; s < ow; s++) {
			const size_t at = window_max(x, inside(s, p->kw, p->W, p),
						     inside(r, p->kh, p->H, p), p->W);

			*y++ = x[at];
			if (argmax)
				*argmax++ = (int32_t)at;
		}
}

sw_status sw_cpu_maxpool2d_forward(struct sw_queue *q, const float *x, float *y, int32_t *argmax,
				   const struct sw_window *p)
{
	const size_t out = sw_pool_out_h(p) * sw_pool_out_w(p);
	const int twos = p->kh == 2 && p->kw == 2 && p->stride == 2 && p->pad == 0 &&
			 sw_pool_out_w(p) >= 4;

	(void)q;
	if (!sw_window_fits(p))
		return SW_INVALID;
	for (size_t n = 0; n < planes(p); n++, x += p->H * p->W, y += out) {
		int32_t *to = argmax ? argmax + n * out : NULL;

		if (twos)
			max_plane_2x2(x, y, to, p);
		else
			max_plane(x, y, to, p);
	}
	return SW_OK;
}

sw_status sw_cpu_maxpool2d_backward(struct sw_queue *q, const float *dy, const int32_t *argmax,
				    float *dx, const struct sw_window *p)
{
	const size_t out = sw_pool_out_h(p) * sw_pool_out_w(p);

	(void)q;
	if (!sw_window_fits(p))
		return SW_INVALID;
	for (size_t n = 0; n < planes(p); n++, dx += p->H * p->W) {
		memset(dx, 0, p->H * p->W * sizeof *dx);
		/* Windows may overlap, and then a place has the sum of several, in the order of the
		 * windows. */
		for (size_t i = 0; i < out; i++)
			dx[*argmax++] += *dy++;
	}
	return SW_OK;
}

static float window_sum(const float *x, struct span h, struct span v, size_t W)
{
	float sum = 0.0f;

	for (size_t r = v.from; r < v.to; r++)
		for (size_t s = h.from; s < h.to; s++)
			sum += x[r * W + s];
	return sum;
}

sw_status sw_cpu_avgpool2d_forward(struct sw_queue *q, const float *x, float *y,
				   const struct sw_window *p)
{
	const size_t oh = sw_pool_out_h(p), ow = sw_pool_out_w(p);

	(void)q;
	if (!sw_window_fits(p))
		return SW_INVALID;
	for (size_t n = 0; n < planes(p); n++, x += p->H * p->W)
		for (size_t r = 0; r < oh; r++)
			for (size_t s = 0; s < ow; s++)
				*y++ = window_sum(x, inside(s, p->kw, p->W, p),
						  inside(r, p->kh, p->H, p), p->W) /
				       (float)(p->kh * p->kw);
	return SW_OK;
}

sw_status sw_cpu_avgpool2d_backward(struct sw_queue *q, const float *dy, float *dx,
				    const struct sw_window *p)
{
	const size_t oh = sw_pool_out_h(p), ow = sw_pool_out_w(p);

	(void)q;
	if (!sw_window_fits(p))
		return SW_INVALID;
	for (size_t n = 0; n < planes(p); n++, dx += p->H * p->W) {
		memset(dx, 0, p->H * p->W * sizeof *dx);
		for (size_t r = 0; r < oh; r++)
			for (size_t s = 0; s < ow; s++, dy++) {
				const struct span h = inside(s, p->kw, p->W, p);
				const struct span v = inside(r, p->kh, p->H, p);
				const float part = *dy / (float)(p->kh * p->kw);

				for (size_t i = v.from; i < v.to; i++)
					for (size_t j = h.from; j < h.to; j++)
						dx[i * p->W + j] += part;
			}
	}
	return SW_OK;
}
