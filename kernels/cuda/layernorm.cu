/* kernels/cuda/layernorm.cu — layer normalisation: a warp a row, whose sums are made in double, as
 * in kernels/cpu; the gradients of gamma and beta are sums over columns. */
#include "kernels/cuda/launch.cuh"
#include <math.h>

/* Columns of a tile of columns_kernel: one a lane. */
#define TILE SW_CUDA_WARP

/* Rows that one of its blocks adds up at least, where there are several: eight for each warp. */
#define SEGMENT_ROWS 64

/* x, y: float[R][D], y perhaps x; gamma, beta: float[D]; mean, rstd: float[R] or NULL; a warp a
 * row, of `quads` quads */
static __global__ void layernorm_forward_kernel(const float *x, const float *gamma,
						const float *beta, float *y, float *mean,
						float *rstd, size_t R, size_t D, size_t quads,
						float eps)
{
	sw_wait();
	for (SW_EACH_ROW(r, R)) {
		const float *row = x + r * D;
		double total = 0.0, squares = 0.0;

		SW_UNROLL_4
		for (SW_EACH_COLUMN(d, D))
			total += (double)row[d];
		const double m = sw_warp_sum(total) / (double)D;

		SW_UNROLL_4
		for (SW_EACH_COLUMN(d, D))
			squares += ((double)row[d] - m) * ((double)row[d] - m);
		squares = sw_warp_sum(squares);
		const float center = (float)m;
		const float k = (float)(1.0 / sqrt(squares / (double)D + (double)eps));

		if (mean && threadIdx.x % SW_CUDA_WARP == 0) {
			mean[r] = center;
			rstd[r] = k;
		}
		__syncwarp(); /* y may be x: other lanes write what this one has read */
		sw_map([=](float v, float g, float b) { return (v - center) * k * g + b; },
		       threadIdx.x % SW_CUDA_WARP, SW_CUDA_WARP, D, quads, y + r * D, row, gamma,
		       beta);
	}
}

sw_status sw_cuda_layernorm_forward(struct sw_queue *q, const float *x, const float *gamma,
				    const float *beta, float *y, float *mean, float *rstd, size_t R,
				    size_t D, struct sw_norm n)
{
	return sw_cuda_run_rows(q, D ? R : 0, layernorm_forward_kernel, x, gamma, beta, y, mean,
				rstd, R, D, sw_row_quads(D, x, gamma, beta, y), n.eps);
}

/* x, dy: float[R][D]; mean, rstd: float[R]; dgamma, dbeta: float[segments][D], the sums of each
 * segment's rows. A block takes a tile of 32
 * columns of one segment: lane d of warp k adds rows k, k + warps, ... of column d, then warp 0
 * adds what the warps found, from the first to the last. */
static __global__ void __launch_bounds__(SW_CUDA_BLOCK_MAX)
	layernorm_columns_kernel(const float *x, const float *mean, const float *rstd,
				 const float *dy, float *dgamma, float *dbeta, size_t R, size_t D,
				 size_t segments)
{
	sw_wait();

	__shared__ float gammas[SW_CUDA_BLOCK_MAX / TILE][TILE];
	__shared__ float betas[SW_CUDA_BLOCK_MAX / TILE][TILE];
	const unsigned lane = threadIdx.x % TILE, warp = threadIdx.x / TILE;
	const unsigned warps = blockDim.x / TILE;
	const size_t across = (D - 1) / TILE + 1, rows = (R + segments - 1) / segments;

	for (size_t tile = blockIdx.x; tile < across * segments; tile += gridDim.x) {
		const size_t d = tile % across * TILE + lane, segment = tile / across;
		const size_t to = (segment + 1) * rows < R ? (segment + 1) * rows : R;
		/* Lanes behind the last column have no rows, but come to the barriers. */
		const size_t end = d < D ? to : 0;
		float g = 0.0f, b = 0.0f;

		SW_UNROLL_4
		/* A warp reads 32 neighbours of one row: dy and x coalesce, mean and rstd are
		 * broadcast. */
		for (size_t r = segment * rows + warp; r < end; r += warps) {
			const float v = dy[r * D + d];

			g += v * ((x[r * D + d] - mean[r]) * rstd[r]);
			b += v;
		}
		gammas[warp][lane] = g;
		betas[warp][lane] = b;
		__syncthreads();
		if (warp == 0 && d < D) {
			g = b = 0.0f;
			/* In the warps' order, not in that in which they end. */
			for (unsigned k = 0; k < warps; k++) {
				g += gammas[k][lane];
				b += betas[k][lane];
			}
			dgamma[segment * D + d] = g;
			dbeta[segment * D + d] = b;
		}
		__syncthreads(); /* the next tile writes the sums again */
	}
}

/* gammas, betas: float[segments][D]; dgamma, dbeta: float[D] = the segments from the first to the
 * last */
static __global__ void layernorm_segments_kernel(const float *__restrict__ gammas,
						 const float *__restrict__ betas,
						 float *__restrict__ dgamma,
						 float *__restrict__ dbeta, size_t segments,
						 size_t D)
{
	sw_wait();
	for (SW_EACH(d, D)) {
		float g = 0.0f, b = 0.0f;

		SW_UNROLL_4
		for (size_t k = 0; k < segments; k++) {
			g += gammas[k * D + d];
			b += betas[k * D + d];
		}
		dgamma[d] = g;
		dbeta[d] = b;
	}
}

/* One launch; two for tensors of many rows. */
static sw_status columns(struct sw_queue *q, const float *x, const float *mean, const float *rstd,
			 const float *dy, float *dgamma, float *dbeta, size_t R, size_t D)
{
	const size_t most = SW_CUDA_PARTIAL_BYTES / (2 * sizeof(float)) / D;
	const size_t want = R / SEGMENT_ROWS < most ? R / SEGMENT_ROWS : most;
	const size_t segments = want > 1 ? want : 1;
	float *gammas = (float *)q->partial, *betas = gammas + segments * D;
	sw_status rc = sw_cuda_use();

	if (rc != SW_OK)
		return rc;
	/* Only where D is so large that q->partial has no room for two segments are there many rows
	 * for one: then more warps share them. */
	SW_LAUNCH(layernorm_columns_kernel, sw_cuda_grid_blocks(((D - 1) / TILE + 1) * segments),
		  segments == 1 && R > 4 * SW_CUDA_BLOCK ? SW_CUDA_BLOCK_MAX : SW_CUDA_BLOCK, q, x,
		  mean, rstd, dy, segments > 1 ? gammas : dgamma, segments > 1 ? betas : dbeta, R,
		  D, segments);
	rc = sw_cuda_launched();
	if (rc != SW_OK || segments == 1)
		return rc;
	return sw_cuda_run_items(q, D, layernorm_segments_kernel, gammas, betas, dgamma, dbeta,
				 segments, D);
}

/* x, dy, dx: float[R][D], dx perhaps dy; gamma: float[D]; mean, rstd: float[R]; a warp a row, of
 * `quads` quads. With h = (x - mean) rstd and e = dy gamma:
 *   dx = rstd (e - mean(e) - h mean(e h)) */
static __global__ void layernorm_backward_kernel(const float *x, const float *gamma,
						 const float *mean, const float *rstd,
						 const float *dy, float *dx, size_t R, size_t D,
						 size_t quads)
{
	sw_wait();
	for (SW_EACH_ROW(r, R)) {
		const float *xs = x + r * D, *dys = dy + r * D;
		const float center = mean[r], k = rstd[r];
		double all = 0.0, product = 0.0;

		SW_UNROLL_4
		for (SW_EACH_COLUMN(d, D)) {
			const float e = dys[d] * gamma[d];

			all += (double)e;
			product += (double)e * (double)((xs[d] - center) * k);
		}
		const float mean_e = (float)(sw_warp_sum(all) / (double)D);
		const float mean_eh = (float)(sw_warp_sum(product) / (double)D);

		__syncwarp(); /* dx may be dy */
		sw_map([=](float e, float v,
			   float g) { return k * (e * g - mean_e - (v - center) * k * mean_eh); },
		       threadIdx.x % SW_CUDA_WARP, SW_CUDA_WARP, D, quads, dx + r * D, dys, xs,
		       gamma);
	}
}

sw_status sw_cuda_layernorm_backward(struct sw_queue *q, const float *x, const float *gamma,
				     const float *mean, const float *rstd, const float *dy,
				     float *dx, float *dgamma, float *dbeta, size_t R, size_t D)
{
	sw_status rc;

	if (D == 0)
		return sw_cuda_use();
	/* First, because dx may be dy. */
	rc = columns(q, x, mean, rstd, dy, dgamma, dbeta, R, D);
	if (rc != SW_OK)
		return rc;
	return sw_cuda_run_rows(q, R, layernorm_backward_kernel, x, gamma, mean, rstd, dy, dx, R, D,
				sw_row_quads(D, x, gamma, dy, dx));
}
