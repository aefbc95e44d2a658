/* kernels/cuda/norm.cu — batch and layer normalisation. Sums are made in double, as in
 * kernels/cpu: mean first, then squares around it. A block a channel, a warp a row; after the first
 * pass the values come from the cache, as long as one channel (one row) of a batch fits it. */
#include "kernels/cuda/launch.cuh"
#include <math.h>

/* Columns of a tile of layernorm_columns_kernel: one a lane. */
#define TILE SW_CUDA_WARP

/* A thread's way over the values of a channel: the ith of B S lies in plane i / S, at i % S. */
struct way {
	size_t b, s;
	size_t step_b, step_s;
};

static __device__ struct way way_from(size_t first, size_t step, size_t S)
{
	return {first / S, first % S, step / S, step % S};
}

static __device__ void way_on(struct way *w, size_t S)
{
	w->b += w->step_b;
	w->s += w->step_s;
	if (w->s >= S) {
		w->s -= S;
		w->b++;
	}
}

/* for w = values first, first + step, ... of a channel */
#define EACH_VALUE(w, first, step)                                                                 \
	struct way w = way_from(first, step, S);                                                   \
	w.b < B;                                                                                   \
	way_on(&w, S)

#define PLACE(w, c) (((w).b * C + (c)) * S + (w).s)

/* running += momentum (value - running) */
static __device__ void move_running(float *running, double value, float momentum)
{
	*running = (float)((double)*running + (double)momentum * (value - (double)*running));
}

/* x, y: float[B][C][S], perhaps the same; the others float[C] */
static __global__ void __launch_bounds__(SW_CUDA_BLOCK_MAX)
	batchnorm_train_kernel(const float *x, const float *gamma, const float *beta,
			       float *running_mean, float *running_var, float *y, float *mean,
			       float *rstd, size_t B, size_t C, size_t S, struct sw_norm n)
{
	__shared__ double room[SW_CUDA_BLOCK_MAX / SW_CUDA_WARP];
	const double N = (double)(B * S);

	for (size_t c = blockIdx.x; c < C; c += gridDim.x) {
		double total = 0.0, squares = 0.0;

		for (EACH_VALUE(w, threadIdx.x, blockDim.x))
			total += (double)x[PLACE(w, c)];
		const double m = sw_block_sum(total, room) / N;

		for (EACH_VALUE(w, threadIdx.x, blockDim.x)) {
			const double d = (double)x[PLACE(w, c)] - m;

			squares += d * d;
		}
		squares = sw_block_sum(squares, room);
		const float center = (float)m, r = (float)(1.0 / sqrt(squares / N + (double)n.eps));
		const float a = r * gamma[c], b = beta[c];

		if (threadIdx.x == 0) {
			mean[c] = center;
			rstd[c] = r;
			move_running(&running_mean[c], m, n.momentum);
			if (B * S > 1)
				move_running(&running_var[c], squares / (N - 1.0), n.momentum);
		}
		for (EACH_VALUE(w, threadIdx.x, blockDim.x))
			y[PLACE(w, c)] = (x[PLACE(w, c)] - center) * a + b;
	}
}

/* A block with more threads where a channel has many values. */
static unsigned channel_block(size_t values)
{
	return values > 4 * SW_CUDA_BLOCK ? SW_CUDA_BLOCK_MAX : SW_CUDA_BLOCK;
}

sw_status sw_cuda_batchnorm_train(struct sw_queue *q, const float *x, const float *gamma,
				  const float *beta, float *running_mean, float *running_var,
				  float *y, float *mean, float *rstd, size_t B, size_t C, size_t S,
				  struct sw_norm n)
{
	const sw_status rc = sw_cuda_use();

	if (rc != SW_OK || B == 0 || C == 0 || S == 0)
		return rc;
	SW_LAUNCH(batchnorm_train_kernel, sw_cuda_grid_blocks(C), channel_block(B * S), q, x, gamma,
		  beta, running_mean, running_var, y, mean, rstd, B, C, S, n);
	return sw_cuda_launched();
}

/* x, y: float[B][C][S], perhaps the same; the others float[C]; each channel by `parts` blocks */
static __global__ void batchnorm_eval_kernel(const float *x, const float *gamma, const float *beta,
					     const float *running_mean, const float *running_var,
					     float *y, size_t B, size_t C, size_t S, float eps,
					     size_t parts)
{
	for (size_t item = blockIdx.x; item < C * parts; item += gridDim.x) {
		const size_t c = item / parts, first = item % parts * blockDim.x + threadIdx.x;
		const float a =
			(float)((double)gamma[c] / sqrt((double)running_var[c] + (double)eps));
		const float center = running_mean[c], b = beta[c];

		for (EACH_VALUE(w, first, parts * blockDim.x))
			y[PLACE(w, c)] = (x[PLACE(w, c)] - center) * a + b;
	}
}

sw_status sw_cuda_batchnorm_eval(struct sw_queue *q, const float *x, const float *gamma,
				 const float *beta, const float *running_mean,
				 const float *running_var, float *y, size_t B, size_t C, size_t S,
				 struct sw_norm n)
{
	const size_t each = 4 * SW_CUDA_BLOCK; /* values of a channel that one block takes */
	const size_t parts = (B * S + each - 1) / each;

	if (B == 0 || C == 0 || S == 0)
		return sw_cuda_use();
	return sw_cuda_run(q, sw_cuda_grid_blocks(C * parts), batchnorm_eval_kernel, x, gamma, beta,
			   running_mean, running_var, y, B, C, S, n.eps, parts);
}

static __device__ void put_gradient(float *to, double value, int accumulate)
{
	*to = accumulate ? *to + (float)value : (float)value;
}

/* x, dy, dx: float[B][C][S], dx perhaps dy; the others float[C].
 * dx = a (dy - mean(dy)) - k (x - mean), k = a rstd^2 mean(dy (x - mean)), a = gamma rstd */
static __global__ void __launch_bounds__(SW_CUDA_BLOCK_MAX)
	batchnorm_backward_kernel(const float *x, const float *gamma, const float *mean,
				  const float *rstd, const float *dy, float *dx, float *dgamma,
				  float *dbeta, size_t B, size_t C, size_t S, int accumulate)
{
	__shared__ double room[SW_CUDA_BLOCK_MAX / SW_CUDA_WARP];
	const double N = (double)(B * S);

	for (size_t c = blockIdx.x; c < C; c += gridDim.x) {
		const float center = mean[c], a = gamma[c] * rstd[c];
		const double r = (double)rstd[c];
		double all = 0.0, product = 0.0;

		for (EACH_VALUE(w, threadIdx.x, blockDim.x)) {
			const float d = dy[PLACE(w, c)];

			all += (double)d;
			product += (double)d * (double)(x[PLACE(w, c)] - center);
		}
		all = sw_block_sum(all, room);
		product = sw_block_sum(product, room);
		if (threadIdx.x == 0) {
			put_gradient(&dbeta[c], all, accumulate);
			put_gradient(&dgamma[c], product * r, accumulate);
		}
		const float mean_dy = (float)(all / N);
		const float k = (float)((double)gamma[c] * r * r * r * product / N);

		for (EACH_VALUE(w, threadIdx.x, blockDim.x))
			dx[PLACE(w, c)] =
				a * (dy[PLACE(w, c)] - mean_dy) - k * (x[PLACE(w, c)] - center);
	}
}

static sw_status no_gradient(struct sw_queue *q, float *dgamma, float *dbeta, size_t n,
			     int accumulate)
{
	sw_status rc = SW_OK;

	if (!accumulate)
		rc = sw_cuda_zero(q, dgamma, n * sizeof *dgamma);
	if (!accumulate && rc == SW_OK)
		rc = sw_cuda_zero(q, dbeta, n * sizeof *dbeta);
	return rc;
}

sw_status sw_cuda_batchnorm_backward(struct sw_queue *q, const float *x, const float *gamma,
				     const float *mean, const float *rstd, const float *dy,
				     float *dx, float *dgamma, float *dbeta, size_t B, size_t C,
				     size_t S, int accumulate)
{
	const sw_status rc = sw_cuda_use();

	if (rc != SW_OK || C == 0)
		return rc;
	if (B == 0 || S == 0)
		return no_gradient(q, dgamma, dbeta, C, accumulate);
	SW_LAUNCH(batchnorm_backward_kernel, sw_cuda_grid_blocks(C), channel_block(B * S), q, x,
		  gamma, mean, rstd, dy, dx, dgamma, dbeta, B, C, S, accumulate);
	return sw_cuda_launched();
}

/* x, y: float[R][D], y perhaps x; gamma, beta: float[D]; mean, rstd: float[R] or NULL */
static __global__ void layernorm_forward_kernel(const float *x, const float *gamma,
						const float *beta, float *y, float *mean,
						float *rstd, size_t R, size_t D, float eps)
{
	for (SW_EACH_ROW(r, R)) {
		const float *row = x + r * D;
		double total = 0.0, squares = 0.0;

		for (SW_EACH_COLUMN(d, D))
			total += (double)row[d];
		const double m = sw_warp_sum(total) / (double)D;

		for (SW_EACH_COLUMN(d, D))
			squares += ((double)row[d] - m) * ((double)row[d] - m);
		squares = sw_warp_sum(squares);
		const float center = (float)m;
		const float k = (float)(1.0 / sqrt(squares / (double)D + (double)eps));

		if (mean && threadIdx.x % SW_CUDA_WARP == 0) {
			mean[r] = center;
			rstd[r] = k;
		}
		for (SW_EACH_COLUMN(d, D))
			y[r * D + d] = (row[d] - center) * k * gamma[d] + beta[d];
	}
}

sw_status sw_cuda_layernorm_forward(struct sw_queue *q, const float *x, const float *gamma,
				    const float *beta, float *y, float *mean, float *rstd, size_t R,
				    size_t D, struct sw_norm n)
{
	return sw_cuda_run_rows(q, D ? R : 0, layernorm_forward_kernel, x, gamma, beta, y, mean,
				rstd, R, D, n.eps);
}

/* x, dy: float[R][D]; mean, rstd: float[R]; dgamma, dbeta: float[D]. A block takes a tile of 32
 * columns: lane d of warp k adds rows k, k + warps, ... of column d, then warp 0 adds what the
 * warps found, from the first to the last. */
static __global__ void __launch_bounds__(SW_CUDA_BLOCK_MAX)
	layernorm_columns_kernel(const float *x, const float *mean, const float *rstd,
				 const float *dy, float *dgamma, float *dbeta, size_t R, size_t D,
				 int accumulate)
{
	__shared__ float gammas[SW_CUDA_BLOCK_MAX / TILE][TILE];
	__shared__ float betas[SW_CUDA_BLOCK_MAX / TILE][TILE];
	const unsigned lane = threadIdx.x % TILE, warp = threadIdx.x / TILE;
	const unsigned warps = blockDim.x / TILE;

	for (size_t tile = blockIdx.x; tile * TILE < D; tile += gridDim.x) {
		const size_t d = tile * TILE + lane;
		float g = 0.0f, b = 0.0f;

		for (size_t r = warp; d < D && r < R; r += warps) {
			const float v = dy[r * D + d];

			g += v * ((x[r * D + d] - mean[r]) * rstd[r]);
			b += v;
		}
		gammas[warp][lane] = g;
		betas[warp][lane] = b;
		__syncthreads();
		if (warp == 0 && d < D) {
			g = accumulate ? dgamma[d] : 0.0f;
			b = accumulate ? dbeta[d] : 0.0f;
			for (unsigned k = 0; k < warps; k++) {
				g += gammas[k][lane];
				b += betas[k][lane];
			}
			dgamma[d] = g;
			dbeta[d] = b;
		}
		__syncthreads(); /* the next tile writes the sums again */
	}
}

/* x, dy, dx: float[R][D], dx perhaps dy; gamma: float[D]; mean, rstd: float[R].
 * With h = (x - mean) rstd and e = dy gamma: dx = rstd (e - mean(e) - h mean(e h)) */
static __global__ void layernorm_backward_kernel(const float *x, const float *gamma,
						 const float *mean, const float *rstd,
						 const float *dy, float *dx, size_t R, size_t D)
{
	for (SW_EACH_ROW(r, R)) {
		const float *xs = x + r * D, *dys = dy + r * D;
		const float center = mean[r], k = rstd[r];
		double all = 0.0, product = 0.0;

		for (SW_EACH_COLUMN(d, D)) {
			const float e = dys[d] * gamma[d];

			all += (double)e;
			product += (double)e * (double)((xs[d] - center) * k);
		}
		const float mean_e = (float)(sw_warp_sum(all) / (double)D);
		const float mean_eh = (float)(sw_warp_sum(product) / (double)D);

		for (SW_EACH_COLUMN(d, D)) {
			const float h = (xs[d] - center) * k;

			dx[r * D + d] = k * (dys[d] * gamma[d] - mean_e - h * mean_eh);
		}
	}
}

sw_status sw_cuda_layernorm_backward(struct sw_queue *q, const float *x, const float *gamma,
				     const float *mean, const float *rstd, const float *dy,
				     float *dx, float *dgamma, float *dbeta, size_t R, size_t D,
				     int accumulate)
{
	sw_status rc = sw_cuda_use();

	if (rc != SW_OK || D == 0)
		return rc;
	/* First, because dx may be dy. */
	SW_LAUNCH(layernorm_columns_kernel, sw_cuda_grid(D, TILE, SW_CUDA_GRID_MAX),
		  channel_block(R), q, x, mean, rstd, dy, dgamma, dbeta, R, D, accumulate);
	rc = sw_cuda_launched();
	if (rc != SW_OK)
		return rc;
	return sw_cuda_run_rows(q, R, layernorm_backward_kernel, x, gamma, mean, rstd, dy, dx, R,
				D);
}
