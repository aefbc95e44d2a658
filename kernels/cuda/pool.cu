/* kernels/cuda/pool.cu — maximum and mean over windows of an image.
 *
 * A thread an element of what is written. Backward, too, gathers: an element of dx looks at the
 * windows that it lies in, from the first to the last, so that sums have the order of kernels/cpu
 * and nothing has to be zero before. */
#include "kernels/cuda/divisor.cuh"
#include "kernels/cuda/launch.cuh"
#include <math.h>

/* A window's shape as kernels take it: the output's size is made once, on the host. */
struct pool {
	size_t in, out; /* elements of x and of y */
	unsigned H, W, oh, ow, kh, kw, stride, pad;
	struct sw_cuda_divisor by_H, by_W, by_oh, by_ow, by_stride;
};

static struct pool pool_of(const struct sw_window *p)
{
	const size_t planes = p->H && p->W ? p->B * p->C : 0;

	return {planes * p->H * p->W,
		planes * sw_pool_out_h(p) * sw_pool_out_w(p),
		(unsigned)p->H,
		(unsigned)p->W,
		(unsigned)sw_pool_out_h(p),
		(unsigned)sw_pool_out_w(p),
		(unsigned)p->kh,
		(unsigned)p->kw,
		(unsigned)p->stride,
		(unsigned)p->pad,
		sw_cuda_divisor_of(p->H),
		sw_cuda_divisor_of(p->W),
		sw_cuda_divisor_of(sw_pool_out_h(p)),
		sw_cuda_divisor_of(sw_pool_out_w(p)),
		sw_cuda_divisor_of(p->stride)};
}

/* The place of an element: its plane, and its place in that. */
struct spot {
	size_t plane;
	unsigned row, column;
};

static __device__ struct spot spot_of(size_t i, const struct sw_cuda_divisor &by_height,
				      const struct sw_cuda_divisor &by_width)
{
	const struct sw_cuda_place line = sw_cuda_place_of(i, by_width);
	const struct sw_cuda_place plane = sw_cuda_place_of(line.row, by_height);

	return {plane.row, plane.column, line.column};
}

/* [from, to) */
struct span {
	unsigned from, to;
};

/* The part of the window at `at` that lies inside [0, n). */
static __device__ struct span inside(unsigned at, unsigned k, unsigned n, unsigned stride,
				     unsigned pad)
{
	const unsigned begin = at * stride, end = begin + k;

	return {begin < pad ? 0 : begin - pad, end - pad < n ? end - pad : n};
}

/* The windows of [0, out) in which place `at` lies: those that begin in (at + pad - k, at +
 * pad]. */
static __device__ struct span windows(unsigned at, unsigned k, unsigned out,
				      const struct sw_cuda_divisor &stride, unsigned pad)
{
	const unsigned last = sw_cuda_divide(at + pad, stride);

	return {at + pad < k ? 0 : sw_cuda_divide(at + pad - k, stride) + 1,
		last < out ? last + 1 : out};
}

/* x: float[planes][H][W]; y: float[planes][oh][ow]; argmax: int32, as y, or NULL */
static __global__ void maxpool2d_forward_kernel(const float *__restrict__ x, float *__restrict__ y,
						int32_t *__restrict__ argmax, struct pool p)
{
	sw_wait();
	for (SW_EACH(i, p.out)) {
		const struct spot at = spot_of(i, p.by_oh, p.by_ow);
		const float *plane = x + at.plane * p.H * p.W;
		const struct span v = inside(at.row, p.kh, p.H, p.stride, p.pad);
		const struct span h = inside(at.column, p.kw, p.W, p.stride, p.pad);
		unsigned best = v.from * p.W + h.from;
		float most = plane[best];

		for (unsigned r = v.from; r < v.to; r++)
			for (unsigned s = h.from; s < h.to; s++) {
				const float value = plane[r * p.W + s];

				/* A NaN loses each comparison, so it is asked for: a net that
				 * diverged is then seen to. None after it is larger. */
				if (value > most || isnan(value)) {
					best = r * p.W + s;
					most = value;
				}
			}
		y[i] = most;
		if (argmax)
			argmax[i] = (int32_t)best;
	}
}

sw_status sw_cuda_maxpool2d_forward(struct sw_queue *q, const float *x, float *y, int32_t *argmax,
				    const struct sw_window *w)
{
	const struct pool p = pool_of(w);

	if (!sw_window_fits(w))
		return SW_INVALID;
	return sw_cuda_run_items(q, p.out, maxpool2d_forward_kernel, x, y, argmax, p);
}

/* dy: float[planes][oh][ow]; argmax: int32, as dy; dx: float[planes][H][W] */
static __global__ void maxpool2d_backward_kernel(const float *__restrict__ dy,
						 const int32_t *__restrict__ argmax,
						 float *__restrict__ dx, struct pool p)
{
	sw_wait();
	for (SW_EACH(i, p.in)) {
		const struct spot at = spot_of(i, p.by_H, p.by_W);
		const size_t plane = at.plane * p.oh * p.ow;
		const unsigned place = at.row * p.W + at.column;
		const struct span v = windows(at.row, p.kh, p.oh, p.by_stride, p.pad);
		const struct span h = windows(at.column, p.kw, p.ow, p.by_stride, p.pad);
		float sum = 0.0f;

		for (unsigned r = v.from; r < v.to; r++)
			for (unsigned s = h.from; s < h.to; s++) {
				const size_t from = plane + r * p.ow + s;

				if ((unsigned)argmax[from] == place)
					sum += dy[from];
			}
		dx[i] = sum;
	}
}

sw_status sw_cuda_maxpool2d_backward(struct sw_queue *q, const float *dy, const int32_t *argmax,
				     float *dx, const struct sw_window *w)
{
	const struct pool p = pool_of(w);

	if (!sw_window_fits(w))
		return SW_INVALID;
	return sw_cuda_run_items(q, p.in, maxpool2d_backward_kernel, dy, argmax, dx, p);
}

/* x: float[planes][H][W]; y: float[planes][oh][ow] */
static __global__ void avgpool2d_forward_kernel(const float *__restrict__ x, float *__restrict__ y,
						struct pool p)
{
	sw_wait();
	for (SW_EACH(i, p.out)) {
		const struct spot at = spot_of(i, p.by_oh, p.by_ow);
		const float *plane = x + at.plane * p.H * p.W;
		const struct span v = inside(at.row, p.kh, p.H, p.stride, p.pad);
		const struct span h = inside(at.column, p.kw, p.W, p.stride, p.pad);
		float sum = 0.0f;

		for (unsigned r = v.from; r < v.to; r++)
			for (unsigned s = h.from; s < h.to; s++)
				sum += plane[r * p.W + s];
		/* The padding counts as zeros: PyTorch's count_include_pad. */
		y[i] = sum / (float)(p.kh * p.kw);
	}
}

sw_status sw_cuda_avgpool2d_forward(struct sw_queue *q, const float *x, float *y,
				    const struct sw_window *w)
{
	const struct pool p = pool_of(w);

	if (!sw_window_fits(w))
		return SW_INVALID;
	return sw_cuda_run_items(q, p.out, avgpool2d_forward_kernel, x, y, p);
}

/* dy: float[planes][oh][ow]; dx: float[planes][H][W] */
static __global__ void avgpool2d_backward_kernel(const float *__restrict__ dy,
						 float *__restrict__ dx, struct pool p)
{
	sw_wait();
	for (SW_EACH(i, p.in)) {
		const struct spot at = spot_of(i, p.by_H, p.by_W);
		const float *plane = dy + at.plane * p.oh * p.ow;
		const struct span v = windows(at.row, p.kh, p.oh, p.by_stride, p.pad);
		const struct span h = windows(at.column, p.kw, p.ow, p.by_stride, p.pad);
		float sum = 0.0f;

		for (unsigned r = v.from; r < v.to; r++)
			for (unsigned s = h.from; s < h.to; s++)
				sum += plane[r * p.ow + s] / (float)(p.kh * p.kw);
		dx[i] = sum;
	}
}

sw_status sw_cuda_avgpool2d_backward(struct sw_queue *q, const float *dy, float *dx,
				     const struct sw_window *w)
{
	const struct pool p = pool_of(w);

	if (!sw_window_fits(w))
		return SW_INVALID;
	return sw_cuda_run_items(q, p.in, avgpool2d_backward_kernel, dy, dx, p);
}
