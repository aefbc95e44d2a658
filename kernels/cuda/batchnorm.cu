/* kernels/cuda/batchnorm.cu — batch normalisation. Sums are made in double, as in kernels/cpu: mean
 * first, then squares around it.
 *
 * A channel of few values is one block's, in one launch. One of many is cut into parts, by its
 * sizes alone, and takes two launches: the blocks of the first leave the sums of a part each, those
 * of the second put the parts of their channel together, all in the same order, and write a part
 * each. Squares around the means of parts become squares around the channel's:
 *   squares = sum over the parts of (its squares + its values (its mean - mean)^2)
 *
 * Of rows that ranks share, sums are made in one launch or two, leave the kernel for the other
 * ranks', and come back to that which writes. */
#include "kernels/cuda/channels.cuh"
#include <math.h>

/* The sums of a part, or of a channel: of values and squares, or of dy and dy (x - mean). */
struct sums {
	double a, b;
};

/* Of channels whose sums lie in the queue's memory between two launches. */
static struct channels channels_summed(size_t B, size_t C, size_t S)
{
	return channels_of(B, C, S, SW_CUDA_PARTIAL_BYTES / sizeof(struct sums) / C);
}

/* The values of a part, and the squares around their mean; the same in all threads of the block. */
static __device__ struct sums moments_of(const float *x, const struct channels &s,
					 const struct part &p, double *room)
{
	const auto load = [=](size_t at) { return (double)x[at]; };
	double total = 0.0, squares = 0.0;

	each_value(s, p, load, [&](double v) { total += v; });
	total = sw_block_sum(total, room);
	/* The part's own mean: that of the channel is known only when all parts are. */
	const double m = total / (double)(p.to - p.from);

	each_value(s, p, load, [&](double v) { squares += (v - m) * (v - m); });
	return {total, sw_block_sum(squares, room)};
}

/* Those of a channel from its parts'; each warp does it for itself. */
static __device__ struct sums moments_together(const struct sums *partial, const struct channels &s)
{
	double total = 0.0, squares = 0.0;

	/* Each warp of each block adds the channel's parts for itself, in one order: no third
	 * launch. */
	for (SW_EACH_COLUMN(k, s.parts))
		total += partial[k].a;
	total = sw_warp_sum(total);
	for (SW_EACH_COLUMN(k, s.parts)) {
		const double n = (double)(k + 1 < s.parts ? s.each : s.N - k * s.each);
		const double d = partial[k].a / n - total / (double)s.N;

		/* Chan, Golub and LeVeque, 1979: squares around one mean become those around
		 * another. */
		squares += partial[k].b + n * d * d;
	}
	return {total, sw_warp_sum(squares)};
}

/* The values of a part, and their squares. */
static __device__ struct sums squares_of(const float *x, const struct channels &s,
					 const struct part &p, double *room)
{
	const auto load = [=](size_t at) { return (double)x[at]; };
	double total = 0.0, squares = 0.0;

	/* One pass, around 0: the mean of all ranks' rows is not known before their sums meet. */
	each_value(s, p, load, [&](double v) {
		total += v;
		squares += v * v;
	});
	total = sw_block_sum(total, room);
	return {total, sw_block_sum(squares, room)};
}

/* The squares around the mean of N values; below 0 by rounding alone, and a NaN stays. */
static __device__ struct sums around_mean(const struct sums &of, double N)
{
	const double squares = of.b - of.a * (of.a / N);

	return {of.a, squares < 0.0 ? 0.0 : squares};
}

/* partial: [C][parts]; AROUND: squares are those around the part's mean */
template <bool AROUND>
static __global__ void batchnorm_moments_kernel(const float *x, struct sums *partial,
						struct channels s)
{
	sw_wait();

	__shared__ double room[SW_CUDA_BLOCK / SW_CUDA_WARP];

	for (size_t item = blockIdx.x; item < s.C * s.parts; item += gridDim.x) {
		const struct sums found = AROUND ? moments_of(x, s, part_of(s, item), room)
						 : squares_of(x, s, part_of(s, item), room);

		if (threadIdx.x == 0)
			partial[item] = found;
	}
}

/* running += momentum (value - running) */
static __device__ void move_running(float *running, double value, float momentum)
{
	*running = (float)((double)*running + (double)momentum * (value - (double)*running));
}

/* The source of a channel's sums: the block that has it to itself, its parts' sums, which are
 * [C][parts], or all ranks', which are [C]. */
enum sums_from { OF_BLOCK, OF_PARTS, OF_RANKS };

/* x, y: float[B][C][S], perhaps the same; the others float[C]; N: values that the sums are of */
template <enum sums_from FROM>
static __global__ void __launch_bounds__(FROM == OF_BLOCK ? SW_CUDA_BLOCK_MAX : SW_CUDA_BLOCK)
	batchnorm_train_kernel(const float *x, const float *gamma, const float *beta,
			       float *running_mean, float *running_var, float *y, float *mean,
			       float *rstd, const struct sums *partial, double N, struct channels s,
			       struct sw_norm n, bool quads)
{
	sw_wait();

	__shared__ double room[SW_CUDA_BLOCK_MAX / SW_CUDA_WARP];

	for (size_t item = blockIdx.x; item < s.C * s.parts; item += gridDim.x) {
		const struct part p = part_of(s, item);
		const struct sums of = FROM == OF_BLOCK ? moments_of(x, s, p, room)
				       : FROM == OF_PARTS
					       ? moments_together(partial + p.c * s.parts, s)
					       : around_mean(partial[p.c], N);
		const double m = of.a / N, squares = of.b;
		/* The rounded mean, as backward will read it: both subtract the same. */
		const float center = (float)m, r = (float)(1.0 / sqrt(squares / N + (double)n.eps));
		const float a = r * gamma[p.c], b = beta[p.c];

		/* One of a channel's parts alone, or the running mean would move once a part. */
		if (p.from == 0 && threadIdx.x == 0) {
			mean[p.c] = center;
			rstd[p.c] = r;
			move_running(&running_mean[p.c], m, n.momentum);
			/* Of one value the unbiased variance is 0 / 0. */
			if (N > 1.0)
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

	/* Both launches are given the same s: a part is the same values in each. */
	if (s.parts > 1)
		rc = sw_cuda_run(q, channels_grid(s), batchnorm_moments_kernel<true>, x, partial,
				 s);
	if (rc != SW_OK)
		return rc;
	const auto kernel = s.parts == 1 ? batchnorm_train_kernel<OF_BLOCK>
					 : batchnorm_train_kernel<OF_PARTS>;

	SW_LAUNCH(kernel, channels_grid(s), channels_block(s), q, x, gamma, beta, running_mean,
		  running_var, y, mean, rstd, partial, (double)s.N, s, n,
		  sw_row_quads(S, x, y) != 0);
	return sw_cuda_launched();
}

sw_status sw_cuda_batchnorm_train_summed(struct sw_queue *q, const float *x, const double *sums,
					 const float *gamma, const float *beta, float *running_mean,
					 float *running_var, float *y, float *mean, float *rstd,
					 size_t N, size_t B, size_t C, size_t S, struct sw_norm n)
{
	if (N == 0 || C == 0 || S == 0)
		return sw_cuda_use();
	/* No part leaves a sum behind, so no memory bounds their number. */
	const struct channels s = channels_of(B, C, S, SIZE_MAX);

	return sw_cuda_run(q, channels_grid(s), batchnorm_train_kernel<OF_RANKS>, x, gamma, beta,
			   running_mean, running_var, y, mean, rstd, (const struct sums *)sums,
			   (double)N, s, n, sw_row_quads(S, x, y) != 0);
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

/* A part's sums of dy, and of dy (x - mean). */
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

/* The gradients of a channel's gamma and beta. */
static __device__ void put_gradients(const struct sums &of, size_t c, const float *rstd,
				     float *dgamma, float *dbeta)
{
	dbeta[c] = (float)of.a;
	dgamma[c] = (float)(of.b * (double)rstd[c]);
}

/* partial: [C][parts]; with one part these are the channel's, and all there is to gamma and beta */
static __global__ void batchnorm_gradients_kernel(const float *x, const float *mean,
						  const float *rstd, const float *dy,
						  struct sums *partial, float *dgamma, float *dbeta,
						  struct channels s)
{
	sw_wait();

	__shared__ double room[SW_CUDA_BLOCK / SW_CUDA_WARP];

	for (size_t item = blockIdx.x; item < s.C * s.parts; item += gridDim.x) {
		const struct part p = part_of(s, item);
		const struct sums found = gradients_of(x, dy, mean[p.c], s, p, room);

		if (threadIdx.x == 0) {
			partial[item] = found;
			if (s.parts == 1)
				put_gradients(found, p.c, rstd, dgamma, dbeta);
		}
	}
}

/* x, dy, dx: float[B][C][S], dx perhaps dy; the others float[C]; FROM, N: as in train.
 * dx = a (dy - mean(dy)) - k (x - mean), k = a rstd^2 mean(dy (x - mean)), a = gamma rstd */
template <enum sums_from FROM>
static __global__ void __launch_bounds__(FROM == OF_BLOCK ? SW_CUDA_BLOCK_MAX : SW_CUDA_BLOCK)
	batchnorm_backward_kernel(const float *x, const float *gamma, const float *mean,
				  const float *rstd, const float *dy, float *dx, float *dgamma,
				  float *dbeta, const struct sums *partial, double N,
				  struct channels s, bool quads)
{
	sw_wait();

	__shared__ double room[SW_CUDA_BLOCK_MAX / SW_CUDA_WARP];

	for (size_t item = blockIdx.x; item < s.C * s.parts; item += gridDim.x) {
		const struct part p = part_of(s, item);
		const float center = mean[p.c], a = gamma[p.c] * rstd[p.c];
		const double r = (double)rstd[p.c];
		const struct sums of =
			FROM == OF_BLOCK   ? gradients_of(x, dy, center, s, p, room)
			: FROM == OF_PARTS ? gradients_together(partial + p.c * s.parts, s.parts)
					   : partial[p.c];

		/* For ranks the sums' launch has written them: those of these rows alone, which are
		 * added up with the other gradients. */
		if (FROM != OF_RANKS && p.from == 0 && threadIdx.x == 0)
			put_gradients(of, p.c, rstd, dgamma, dbeta);
		const float mean_dy = (float)(of.a / N);
		const float k = (float)((double)gamma[p.c] * r * r * r * of.b / N);

		map_values(
			s, p, quads,
			[=](float d, float v) { return a * (d - mean_dy) - k * (v - center); }, dx,
			dy, x);
	}
}

/* Those of no rows. */
static sw_status no_gradients(struct sw_queue *q, float *dgamma, float *dbeta, size_t C)
{
	const sw_status rc = sw_cuda_zero(q, dgamma, C * sizeof *dgamma);

	return rc == SW_OK ? sw_cuda_zero(q, dbeta, C * sizeof *dbeta) : rc;
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
	if (B == 0 || S == 0)
		return no_gradients(q, dgamma, dbeta, C);
	const struct channels s = channels_summed(B, C, S);

	if (s.parts > 1)
		rc = sw_cuda_run(q, channels_grid(s), batchnorm_gradients_kernel, x, mean, rstd, dy,
				 partial, dgamma, dbeta, s);
	if (rc != SW_OK)
		return rc;
	const auto kernel = s.parts == 1 ? batchnorm_backward_kernel<OF_BLOCK>
					 : batchnorm_backward_kernel<OF_PARTS>;

	SW_LAUNCH(kernel, channels_grid(s), channels_block(s), q, x, gamma, mean, rstd, dy, dx,
		  dgamma, dbeta, partial, (double)s.N, s, sw_row_quads(S, x, dy, dx) != 0);
	return sw_cuda_launched();
}

sw_status sw_cuda_batchnorm_backward_summed(struct sw_queue *q, const float *x, const float *gamma,
					    const float *mean, const float *rstd, const float *dy,
					    const double *sums, float *dx, size_t N, size_t B,
					    size_t C, size_t S)
{
	if (N == 0 || B == 0 || C == 0 || S == 0)
		return sw_cuda_use();
	const struct channels s = channels_of(B, C, S, SIZE_MAX);

	return sw_cuda_run(q, channels_grid(s), batchnorm_backward_kernel<OF_RANKS>, x, gamma, mean,
			   rstd, dy, dx, NULL, NULL, (const struct sums *)sums, (double)N, s,
			   sw_row_quads(S, x, dy, dx) != 0);
}

/* --- the sums that ranks add up --- */

/* partial: [C][parts], parts at least 2; sums: [C], a warp each; of a forward pass dgamma is
 * NULL */
static __global__ void batchnorm_together_kernel(const struct sums *partial, struct sums *sums,
						 const float *rstd, float *dgamma, float *dbeta,
						 struct channels s)
{
	sw_wait();
	for (SW_EACH_ROW(c, s.C)) {
		const struct sums of = gradients_together(partial + c * s.parts, s.parts);

		if (threadIdx.x % SW_CUDA_WARP != 0)
			continue;
		sums[c] = of;
		if (dgamma)
			put_gradients(of, c, rstd, dgamma, dbeta);
	}
}

static sw_status together(struct sw_queue *q, struct sums *sums, const float *rstd, float *dgamma,
			  float *dbeta, const struct channels &s)
{
	return sw_cuda_run(q, sw_cuda_grid_rows(s.C), batchnorm_together_kernel,
			   (const struct sums *)q->partial, sums, rstd, dgamma, dbeta, s);
}

/* With one part the sums are made where they are to lie. */
static struct sums *partial_of(struct sw_queue *q, double *sums, const struct channels &s)
{
	return s.parts > 1 ? (struct sums *)q->partial : (struct sums *)sums;
}

sw_status sw_cuda_batchnorm_sums(struct sw_queue *q, const float *x, double *sums, size_t B,
				 size_t C, size_t S)
{
	if (B == 0 || C == 0 || S == 0)
		return sw_cuda_zero(q, sums, C * sizeof(struct sums));
	const struct channels s = channels_summed(B, C, S);
	const sw_status rc = sw_cuda_run(q, channels_grid(s), batchnorm_moments_kernel<false>, x,
					 partial_of(q, sums, s), s);

	return rc == SW_OK && s.parts > 1 ? together(q, (struct sums *)sums, NULL, NULL, NULL, s)
					  : rc;
}

sw_status sw_cuda_batchnorm_backward_sums(struct sw_queue *q, const float *x, const float *mean,
					  const float *rstd, const float *dy, double *sums,
					  float *dgamma, float *dbeta, size_t B, size_t C, size_t S)
{
	sw_status rc;

	if (B == 0 || C == 0 || S == 0) {
		rc = sw_cuda_zero(q, sums, C * sizeof(struct sums));
		return rc == SW_OK ? no_gradients(q, dgamma, dbeta, C) : rc;
	}
	const struct channels s = channels_summed(B, C, S);

	rc = sw_cuda_run(q, channels_grid(s), batchnorm_gradients_kernel, x, mean, rstd, dy,
			 partial_of(q, sums, s), dgamma, dbeta, s);
	return rc == SW_OK && s.parts > 1 ? together(q, (struct sums *)sums, rstd, dgamma, dbeta, s)
					  : rc;
}
