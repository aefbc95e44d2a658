/* kernels/cuda/conv_patch.cu — convolution by patches, forward. */
#include "kernels/cuda/conv_patch.cuh"

/* The image's window of a patch of the output: its first row and column in the image, wrapped
 * around below 0, and the steps to its second ones, 0 at the output's edge (such a place is not
 * written). */
struct window {
	unsigned r, s, below, right;
};

/* The terms of one kernel row: sum[t] += those of channel t. x: float[H][W], an image's plane; w:
 * float[K] of each channel, channel t at step[t]; i: the row in the kernel. */
template <int CHANNELS, int K, bool PADDED>
static __device__ void row_terms(const float *__restrict__ x, const float *__restrict__ w,
				 const unsigned (&step)[CHANNELS], unsigned i,
				 const struct window &at, const struct shape &d,
				 float (&sum)[CHANNELS][PATCH])
{
	float v[2][K + 1];

	/* Two rows of K + 1 values serve all four places of the patch, and each of the channels. */
	SW_UNROLL
	for (unsigned a = 0; a < 2; a++) {
		const unsigned r = at.r + i + (a ? at.below : 0);
		const float *row = x + (int32_t)(r * d.W + at.s); /* in x where it is read */
		const int there = !PADDED || r < d.H;

		SW_UNROLL
		for (unsigned j = 0; j < K; j++)
			v[a][j] = there && (!PADDED || at.s + j < d.W) ? row[j] : 0.0f;
		/* right is 0 where there is no second column: then a value is read that the image
		 * has, for a place that is not written. */
		row += at.right; /* the last of a patch's second column */
		v[a][K] = there && (!PADDED || at.s + K - 1 + at.right < d.W) ? row[K - 1] : 0.0f;
	}
	SW_UNROLL
	for (unsigned t = 0; t < CHANNELS; t++) {
		const float *k = w + step[t];

		SW_UNROLL
		for (unsigned j = 0; j < K; j++) {
			SW_UNROLL
			for (unsigned e = 0; e < PATCH; e++)
				sum[t][e] = fmaf(v[e / 2][j + e % 2], k[j], sum[t][e]);
		}
	}
}

/* The output of a patch. y: float[B][O][oh][ow]; pooled: float[B][O][oh / 2][ow / 2], with
 * argmax, or NULL: then y is written. */
struct forward_out {
	float *y, *pooled;
	int32_t *argmax;
	int relu;
};

static __device__ void write_patch(const struct forward_out &out, const struct shape &d,
				   const struct patch &p, unsigned o, float bias, float (&v)[PATCH])
{
	const unsigned plane = p.n * d.O + o, first = 2 * p.u * d.ow + 2 * p.v;
	unsigned best = 0;

	SW_UNROLL
	for (unsigned e = 0; e < PATCH; e++) {
		const float sum = v[e] + bias;

		v[e] = out.relu && sum <= 0.0f ? 0.0f : sum;
	}
	if (!out.pooled) {
		SW_UNROLL
		for (unsigned e = 0; e < PATCH; e++)
			if (2 * p.u + e / 2 < d.oh && 2 * p.v + e % 2 < d.ow)
				out.y[plane * d.oh * d.ow + first + e / 2 * d.ow + e % 2] = v[e];
		return;
	}
	if (p.u >= d.oh / 2 || p.v >= d.ow / 2)
		return;
	float most = v[0];

	/* In the order of maxpool2d_forward and by its rule, so that argmax is the same, of equals
	 * and of a NaN. */
	SW_UNROLL
	for (unsigned e = 1; e < PATCH; e++)
		if (v[e] > most || isnan(v[e])) {
			best = e;
			most = v[e];
		}
	const unsigned to = (plane * (d.oh / 2) + p.u) * (d.ow / 2) + p.v;

	out.pooled[to] = most;
	if (out.argmax)
		out.argmax[to] = (int32_t)(first + best / 2 * d.ow + best % 2);
}

/* x: float[B][C][H][W]; w: float[O][C][K][K]; b: float[O] or NULL */
template <int CHANNELS, int K>
static __global__ void forward_kernel(const float *__restrict__ x, const float *__restrict__ w,
				      const float *__restrict__ b, struct forward_out out,
				      struct shape d, unsigned tiles)
{
	sw_wait();

	__shared__ float sums[SW_CUDA_WARPS][CHANNELS][PATCH][TILE];
	const unsigned lane = threadIdx.x % TILE, warp = threadIdx.x / TILE;

	for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
		const unsigned o = sw_cuda_divide(tile, d.out.tiles) * CHANNELS;
		const unsigned at = (tile - o / CHANNELS * d.out.tiles.by) * TILE + lane;
		/* lanes behind the last patch make it, too, and do not write it */
		const struct patch p = patch_of(d.out, at < d.out.n ? at : d.out.n - 1);
		const struct window from = {2 * p.u - d.pad, 2 * p.v - d.pad, 2 * p.u + 1 < d.oh,
					    2 * p.v + 1 < d.ow};
		float sum[CHANNELS][PATCH] = {{0}};
		unsigned step[CHANNELS];

		/* Channels behind the last are made with the weights of o, which are there, and not
		 * written. */
		SW_UNROLL
		for (unsigned t = 0; t < CHANNELS; t++)
			step[t] = (o + t < d.O ? o + t : o) * d.C * K * K;
		for (unsigned k = warp; k < d.C * K; k += SW_CUDA_WARPS) {
			const float *plane = x + (p.n * d.C + k / K) * d.H * d.W;

			/* Two builds: without padding no load asks whether it is inside. */
			if (d.pad)
				row_terms<CHANNELS, K, true>(plane, w + k * K, step, k % K, from, d,
							     sum);
			else
				row_terms<CHANNELS, K, false>(plane, w + k * K, step, k % K, from,
							      d, sum);
		}
		keep_sums<CHANNELS>(sums, sum);
		__syncthreads();
		if (warp < CHANNELS && o + warp < d.O && at < d.out.n) {
			float v[PATCH];

			add_warps<CHANNELS>(sums, warp, lane, v);
			write_patch(out, d, p, o + warp, b ? b[o + warp] : 0.0f, v);
		}
		__syncthreads(); /* the next tile writes sums again */
	}
}

template <int CHANNELS, int K>
static sw_status forward(struct sw_queue *q, const float *x, const float *w, const float *b,
			 const struct forward_out &out, const struct shape &d)
{
	const unsigned tiles = d.out.tiles.by * divide_up(d.O, CHANNELS);

	return sw_cuda_run(q, sw_cuda_grid_blocks(tiles), forward_kernel<CHANNELS, K>, x, w, b, out,
			   d, tiles);
}

sw_status sw_cuda_conv_patch_forward(struct sw_queue *q, const float *x, const float *w,
				     const float *b, float *y, float *pooled, int32_t *argmax,
				     const struct sw_conv *c, enum sw_act act,
				     struct sw_cuda_conv_way way)
{
	const struct shape d = shape_of(c);
	const struct forward_out out = {y, pooled, argmax, act == SW_ACT_RELU};
	/* With four channels x is read half as often as with two, but there are half as many
	 * blocks: only where they still fill the card. */
	const int four = way.channels ? way.channels == 4
				      : d.out.tiles.by * divide_up(d.O, 4) >= FILL;

	if (c->kw == 3)
		return four ? forward<4, 3>(q, x, w, b, out, d) : forward<2, 3>(q, x, w, b, out, d);
	return four ? forward<4, 5>(q, x, w, b, out, d) : forward<2, 5>(q, x, w, b, out, d);
}
