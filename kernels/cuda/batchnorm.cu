/* kernels/cuda/batchnorm.cu — batch normalisation. Sums are made in double, as in kernels/cpu: mean
 * first, then squares around it.
 *
 * A channel of few values is one block's, in one launch. One of many is cut into parts, by its sizes
 * alone, and takes two launches: the blocks of the first leave the sums of a part each, those of the
 * second put the parts of their channel together, all in the same order, and write a part each.
 * Squares around the means of parts become squares around the channel's:
 *   squares = sum over the parts of (its squares + its values (its mean - mean)^2) */
#include "kernels/cuda/launch.cuh"
#include <math.h>

/* Values of a channel that are one block's: 32 for each of its threads. */
#ifndef SW_CUDA_PART_VALUES
#define SW_CUDA_PART_VALUES 8192
#endif

/* x: float[B][C][S]; the N = B S values of a channel in `parts` parts of `each`, the last perhaps
 * smaller */
struct channels {
	size_t B, C, S;
	size_t N, parts, each;
};

/* What a part, or a channel, adds up to: of values and squares, or of dy and dy (x - mean). */
struct sums {
	double a, b;
};

static struct channels channels_of(size_t B, size_t C, size_t S, size_t most)
{
	const size_t N = B * S, want = (N - 1) / SW_CUDA_PART_VALUES + 1;
	const size_t parts = want < most ? want : most ? most : 1;
	const size_t each = ((N - 1) / parts / 4 + 1) * 4; /* a part begins with a quad */

	return {B, C, S, N, (N - 1) / each + 1, each};
}

/* Of channels whose sums lie in the queue's memory between two launches. */
static struct channels channels_summed(size_t B, size_t C, size_t S)
{
	return channels_of(B, C, S, SW_CUDA_PARTIAL_BYTES / sizeof(struct sums) / C);
}

static unsigned channels_grid(const struct channels &s)
{
	return sw_cuda_grid_blocks(s.C * s.parts);
}

/* A block with more threads where it has a channel of many values to itself. */
static unsigned channels_block(const struct channels &s)
{
	return s.parts == 1 && s.N > 4 * SW_CUDA_BLOCK ? SW_CUDA_BLOCK_MAX : SW_CUDA_BLOCK;
}

/* Values [from, to) of channel c. */
struct part {
	size_t c, from, to;
};

static __device__ struct part part_of(const struct channels &s, size_t item)
{
	const size_t from = item % s.parts * s.each;

	return {item / s.parts, from, from + s.each < s.N ? from + s.each : s.N};
}

/* A thread's way over the values of a part: the ith of a channel lies in plane i / S, at i % S. */
struct way {
	size_t i, b, s;
	size_t step, step_b, step_s;
};

static __device__ struct way way_from(size_t from, size_t S)
{
	const size_t i = from + threadIdx.x, step = blockDim.x;

	return {i, i / S, i % S, step, step / S, step % S};
}

static __device__ void way_on(struct way *w, size_t S)
{
	w->i += w->step;
	w->b += w->step_b;
	w->s += w->step_s;
	if (w->s >= S) {
		w->s -= S;
		w->b++;
	}
}

/* Calls use(load(place)) for this thread's values of p, in turn; four loads are made before the
 * first of their values is used. */
#define FLIGHT 4
template <class L, class U>
static __device__ void each_value(const struct channels &s, const struct part &p, L load, U use)
{
	struct way w = way_from(p.from, s.S);

	while (w.i + (FLIGHT - 1) * w.step < p.to) {
		decltype(load(0)) v[FLIGHT];

		SW_UNROLL
		for (int k = 0; k < FLIGHT; k++) {
			v[k] = load((w.b * s.C + p.c) * s.S + w.s);
			way_on(&w, s.S);
		}
		SW_UNROLL
		for (int k = 0; k < FLIGHT; k++)
			use(v[k]);
	}
	for (; w.i < p.to; way_on(&w, s.S))
		use(load((w.b * s.C + p.c) * s.S + w.s));
}

/* y = f(x...) for the values of p; by quads where planes are made of them. */
template <class F, class... T>
static __device__ void map_values(const struct channels &s, const struct part &p, bool quads, F f,
				  float *y, T *...x)
{
	const size_t S = quads ? s.S / 4 : s.S, to = quads ? p.to / 4 : p.to;

	for (struct way w = way_from(quads ? p.from / 4 : p.from, S); w.i < to; way_on(&w, S)) {
		const size_t at = (w.b * s.C + p.c) * S + w.s;

		if (quads)
			sw_map_quad(f, y + 4 * at, sw_quad_at(x + 4 * at)...);
		else
			y[at] = f(x[at]...);
	}
}

/* The values of a part, and the squares around their mean; the same in all threads of the block. */
static __device__ struct sums moments_of(const float *x, const struct channels &s,
					 const struct part &p, double *room)
{
	const auto load = [=](size_t at) { return (double)x[at]; };
	double total = 0.0, squares = 0.0;

	each_value(s, p, load, [&](double v) { total += v; });
	total = sw_block_sum(total, room);
	const double m = total / (double)(p.to - p.from);

	each_value(s, p, load, [&](double v) { squares += (v - m) * (v - m); });
	return {total, sw_block_sum(squares, room)};
}

/* Those of a channel from its parts'; each warp does it for itself. */
static __device__ struct sums moments_together(const struct sums *partial, const struct channels &s)
{
	double total = 0.0, squares = 0.0;

	for (SW_EACH_COLUMN(k, s.parts))
		total += partial[k].a;
	total = sw_warp_sum(total);
	for (SW_EACH_COLUMN(k, s.parts)) {
		const double n = (double)(k + 1 < s.parts ? s.each : s.N - k * s.each);
		const double d = partial[k].a / n - total / (double)s.N;

		squares += partial[k].b + n * d * d;
	}
	return {total, sw_warp_sum(squares)};
}

/* partial: [C][parts] */
static __global__ void batchnorm_moments_kernel(const float *x, struct sums *partial,
						struct channels s)
{
	sw_wait();

	__shared__ double room[SW_CUDA_BLOCK / SW_CUDA_WARP];

	for (size_t item = blockIdx.x; item < s.C * s.parts; item += gridDim.x) {
		const struct sums found = moments_of(x, s, part_of(s, item), room);

		if (threadIdx.x == 0)
			partial[item] = found;
	}
}

/* running += momentum (value - running) */
static __device__ void move_running(float *running, double value, float momentum)
{
	*running = (float)((double)*running + (double)momentum * (value - (double)*running));
}

/* x, y: float[B][C][S], perhaps the same; the others float[C]; partial: [C][parts]; ALONE: a
 * block has a channel to itself, and makes the sums, too */
template <bool ALONE>
static __global__ void __launch_bounds__(ALONE ? SW_CUDA_BLOCK_MAX : SW_CUDA_BLOCK)
	batchnorm_train_kernel(const float *x, const float *gamma, const float *beta,
			       float *running_mean, float *running_var, float *y, float *mean,
			       float *rstd, const struct sums *partial, struct channels s,
			       struct sw_norm n, bool quads)
{
	sw_wait();

	__shared__ double room[SW_CUDA_BLOCK_MAX / SW_CUDA_WARP];
	const double N = (double)s.N;

	for (size_t item = blockIdx.x; item < s.C * s.parts; item += gridDim.x) {
		const struct part p = part_of(s, item);
		const struct sums of = ALONE ? moments_of(x, s, p, room)
					     : moments_together(partial + p.c * s.parts, s);
		const double m = of.a / N, squares = of.b;
		const float center = (float)m, r = (float)(1.0 / sqrt(squares / N + (double)n.eps));
		const float a = r * gamma[p.c], b = beta[p.c];

		if (p.from == 0 && threadIdx.x == 0) {
			mean[p.c] = center;
			rstd[p.c] = r;
			move_running(&running_mean[p.c], m, n.momentum);
			if (s.N > 1)
				move_running(&running_var[p.c], squares / (N - 1.0), n.momentum);
		}
		map_values(
			s, p, quads, [=](float v) { return (v - center) * a + b; }, y, x);
	}
}

sw_status sw_cuda_batchnorm_train(struct sw_queue *q, const float *x, const float *gamma,
				  const float *beta, float *running_mean, float *running_var,
				  float *y, float *mean, float *rstd, size_t B, size_t C, size_t S,
				  struct sw_norm n)
{
	struct sums *partial = (struct sums *)q->partial;
	sw_status rc = sw_cuda_use();

	if (rc != SW_OK || B == 0 || C == 0 || S == 0)
		return rc;
	const struct channels s = channels_summed(B, C, S);

	if (s.parts > 1)
		rc = sw_cuda_run(q, channels_grid(s), batchnorm_moments_kernel, x, partial, s);
	if (rc != SW_OK)
		return rc;
	const auto kernel = s.parts == 1 ? batchnorm_train_kernel<true>
					 : batchnorm_train_kernel<false>;

	SW_LAUNCH(kernel, channels_grid(s), channels_block(s), q, x, gamma, beta, running_mean,
		  running_var, y, mean, rstd, partial, s, n, sw_row_quads(S, x, y) != 0);
	return sw_cuda_launched();
}

/* x, y: float[B][C][S], perhaps the same; the others float[C] */
static __global__ void batchnorm_eval_kernel(const float *x, const float *gamma, const float *beta,
					     const float *running_mean, const float *running_var,
					     float *y, struct channels s, float eps, bool quads)
{
	sw_wait();
	for (size_t item = blockIdx.x; item < s.C * s.parts; item += gridDim.x) {
		const struct part p = part_of(s, item);
		const float a =
			(float)((double)gamma[p.c] / sqrt((double)running_var[p.c] + (double)eps));
		const float center = running_mean[p.c], b = beta[p.c];

		map_values(
			s, p, quads, [=](float v) { return (v - center) * a + b; }, y, x);
	}
}

sw_status sw_cuda_batchnorm_eval(struct sw_queue *q, const float *x, const float *gamma,
				 const float *beta, const float *running_mean,
				 const float *running_var, float *y, size_t B, size_t C, size_t S,
				 struct sw_norm n)
{
	if (B == 0 || C == 0 || S == 0)
		return sw_cuda_use();
	const struct channels s = channels_of(B, C, S, SIZE_MAX);

	return sw_cuda_run(q, channels_grid(s), batchnorm_eval_kernel, x, gamma, beta, running_mean,
			   running_var, y, s, n.eps, sw_row_quads(S, x, y) != 0);
}

/* What a part adds up to of dy, and of dy (x - mean). */
static __device__ struct sums gradients_of(const float *x, const float *dy, float center,
					   const struct channels &s, const struct part &p,
					   double *room)
{
	struct pair {
		float dy, x;
	};
	double all = 0.0, product = 0.0;

	each_value(
		s, p,
		[=](size_t at) {
			return pair{dy[at], x[at]};
		},
		[&](const pair &v) {
			all += (double)v.dy;
			product += (double)v.dy * (double)(v.x - center);
		});
	all = sw_block_sum(all, room);
	return {all, sw_block_sum(product, room)};
}

static __device__ struct sums gradients_together(const struct sums *partial, size_t parts)
{
	double all = 0.0, product = 0.0;

	for (SW_EACH_COLUMN(k, parts)) {
		all += partial[k].a;
		product += partial[k].b;
	}
	return {sw_warp_sum(all), sw_warp_sum(product)};
}

/* partial: [C][parts] */
static __global__ void batchnorm_gradients_kernel(const float *x, const float *mean,
						  const float *dy, struct sums *partial,
						  struct channels s)
{
	sw_wait();

	__shared__ double room[SW_CUDA_BLOCK / SW_CUDA_WARP];

	for (size_t item = blockIdx.x; item < s.C * s.parts; item += gridDim.x) {
		const struct part p = part_of(s, item);
		const struct sums found = gradients_of(x, dy, mean[p.c], s, p, room);

		if (threadIdx.x == 0)
			partial[item] = found;
	}
}

/* x, dy, dx: float[B][C][S], dx perhaps dy; the others float[C]; partial: as in train.
 * dx = a (dy - mean(dy)) - k (x - mean), k = a rstd^2 mean(dy (x - mean)), a = gamma rstd */
template <bool ALONE>
static __global__ void __launch_bounds__(ALONE ? SW_CUDA_BLOCK_MAX : SW_CUDA_BLOCK)
	batchnorm_backward_kernel(const float *x, const float *gamma, const float *mean,
				  const float *rstd, const float *dy, float *dx, float *dgamma,
				  float *dbeta, const struct sums *partial, struct channels s,
				  bool quads)
{
	sw_wait();

	__shared__ double room[SW_CUDA_BLOCK_MAX / SW_CUDA_WARP];
	const double N = (double)s.N;

	for (size_t item = blockIdx.x; item < s.C * s.parts; item += gridDim.x) {
		const struct part p = part_of(s, item);
		const float center = mean[p.c], a = gamma[p.c] * rstd[p.c];
		const double r = (double)rstd[p.c];
		const struct sums of = ALONE ? gradients_of(x, dy, center, s, p, room)
					     : gradients_together(partial + p.c * s.parts, s.parts);

		if (p.from == 0 && threadIdx.x == 0) {
			dbeta[p.c] = (float)of.a;
			dgamma[p.c] = (float)(of.b * r);
		}
		const float mean_dy = (float)(of.a / N);
		const float k = (float)((double)gamma[p.c] * r * r * r * of.b / N);

		map_values(
			s, p, quads,
			[=](float d, float v) { return a * (d - mean_dy) - k * (v - center); }, dx,
			dy, x);
	}
}

sw_status sw_cuda_batchnorm_backward(struct sw_queue *q, const float *x, const float *gamma,
				     const float *mean, const float *rstd, const float *dy,
				     float *dx, float *dgamma, float *dbeta, size_t B, size_t C,
				     size_t S)
{
	struct sums *partial = (struct sums *)q->partial;
	sw_status rc = sw_cuda_use();

	if (rc != SW_OK || C == 0)
		return rc;
	if (B == 0 || S == 0) { /* gradients of nothing */
		rc = sw_cuda_zero(q, dgamma, C * sizeof *dgamma);
		return rc == SW_OK ? sw_cuda_zero(q, dbeta, C * sizeof *dbeta) : rc;
	}
	const struct channels s = channels_summed(B, C, S);

	if (s.parts > 1)
		rc = sw_cuda_run(q, channels_grid(s), batchnorm_gradients_kernel, x, mean, dy,
				 partial, s);
	if (rc != SW_OK)
		return rc;
	const auto kernel = s.parts == 1 ? batchnorm_backward_kernel<true>
					 : batchnorm_backward_kernel<false>;

	SW_LAUNCH(kernel, channels_grid(s), channels_block(s), q, x, gamma, mean, rstd, dy, dx,
		  dgamma, dbeta, partial, s, sw_row_quads(S, x, dy, dx) != 0);
	return sw_cuda_launched();
}
