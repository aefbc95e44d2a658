/* kernels/cuda/conv_direct.cu — convolution without columns: few channels, or few images, of any
 * kernel and stride (conv_patch.cu has most of them).
 *
 * A block makes 32 places of CHANNELS planes, a place a lane, and its eight warps share the terms
 * of each sum: warp k takes rows k, k + 8, ... of all kernel rows (channel, i). Partial sums meet
 * in shared memory and are added from the first warp to the last; bias and relu ride along. So even
 * a batch of 4 small images gives hundreds of short blocks, and a sum has one order. The gradient
 * of the input is made the same way, with relu's mask applied as dy is read.
 *
 * For the gradient of the weights a block takes one row of a kernel, (channel, i), of CHANNELS
 * outputs: its threads walk over the places of all images (or of one segment of them), each keeping
 * a sum for each of the row's elements; then warps add up by shuffles, and the block in shared
 * memory. Both gradients are one launch: the first blocks are of dx, the rest of dw. */
#include "kernels/cuda/conv.h"
#include "kernels/cuda/launch.cuh"
#include <math.h>

/* Places of a tile: one a lane. */
#define TILE SW_CUDA_WARP
/* Elements of a kernel's row for which a thread keeps sums, where the width is not known before. */
#define COLUMNS 4

/* Blocks from which on a thread may do more: four for each multiprocessor of today's largest
 * GPU. */
#define FILL 528
/* Places that a thread of the weights' gradient walks over before segments are made. */
#define WALK        16
#define SEGMENT_MAX 64

static unsigned divide_up(unsigned n, unsigned by)
{
	return n / by + (n % by != 0);
}

/* sums: float[WARPS][CHANNELS][TILE] -> the sum over warps for (warp as channel, lane), in order */
template <int CHANNELS>
static __device__ float add_warps(float (*sums)[CHANNELS][TILE], unsigned channel, unsigned lane)
{
	float sum = 0.0f;

	for (unsigned k = 0; k < SW_CUDA_WARPS; k++)
		sum += sums[k][channel][lane];
	return sum;
}

/* --- forward --- */

/* Terms of one kernel row. x: float[W], the row under it; w: float[CHANNELS of them, step
 * apart][kw]; s: the place's first column, wrapped around below 0. */
template <int CHANNELS, int WIDTH>
static __device__ void row_terms(const float *__restrict__ x, const float *__restrict__ w,
				 unsigned s, unsigned step, unsigned channels,
				 const struct sw_cuda_conv &d, float *sum)
{
	const unsigned width = WIDTH ? WIDTH : d.kw;

	SW_UNROLL
	for (unsigned j = 0; j < width; j++) {
		const float v = s + j < d.W ? x[s + j] : 0.0f;

		SW_UNROLL
		for (unsigned t = 0; t < CHANNELS; t++)
			if (t < channels)
				sum[t] = fmaf(v, w[t * step + j], sum[t]);
	}
}

/* x: float[B][C][H][W]; w: float[O][C][kh][kw]; b: float[O] or NULL; y: float[B][O][oh][ow] */
template <int CHANNELS, int WIDTH>
static __global__ void forward_kernel(const float *__restrict__ x, const float *__restrict__ w,
				      const float *__restrict__ b, float *__restrict__ y,
				      struct sw_cuda_conv d, int relu)
{
	sw_wait();

	__shared__ float sums[SW_CUDA_WARPS][CHANNELS][TILE];
	const unsigned lane = threadIdx.x % TILE, warp = threadIdx.x / TILE;
	const unsigned across = (d.B * d.P + TILE - 1) / TILE;
	const unsigned tiles = across * ((d.O + CHANNELS - 1) / CHANNELS);

	for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
		const unsigned at = tile % across * TILE + lane, o = tile / across * CHANNELS;
		const unsigned n = at / d.P, place = at % d.P;
		const unsigned r = place / d.ow * d.stride - d.pad;
		const unsigned s = place % d.ow * d.stride - d.pad;
		float sum[CHANNELS] = {0};

		/* Lanes behind the last place add nothing, but come to the barriers. */
		for (unsigned k = warp; n < d.B && k < d.C * d.kh; k += SW_CUDA_WARPS) {
			const unsigned c = k / d.kh, row = r + k % d.kh;

			if (row < d.H)
				row_terms<CHANNELS, WIDTH>(x + ((n * d.C + c) * d.H + row) * d.W,
							   w + (o * d.C * d.kh + k) * d.kw, s, d.K,
							   d.O - o, d, sum);
		}
		SW_UNROLL
		for (unsigned t = 0; t < CHANNELS; t++)
			sums[warp][t][lane] = sum[t];
		__syncthreads();
		if (warp < CHANNELS && o + warp < d.O && n < d.B) {
			/* Warp t adds what all eight have found for channel t. */
			const float v =
				add_warps<CHANNELS>(sums, warp, lane) + (b ? b[o + warp] : 0.0f);

			y[(n * d.O + o + warp) * d.P + place] = relu && v <= 0.0f ? 0.0f : v;
		}
		__syncthreads(); /* the next tile writes sums again */
	}
}

/* --- gradient of the input --- */

/* The places of the output that read place `at`, padding counted, through element i of the kernel:
 * one, or none. */
static __device__ int place_of(unsigned at, unsigned i, unsigned stride, unsigned out, unsigned *to)
{
	unsigned r = at - i; /* below 0 wraps around, and is over all */

	if (stride != 1) {
		if (at < i || r % stride)
			return 0;
		r /= stride;
	}
	*to = r;
	return r < out;
}

/* One tile: CHANNELS planes of dx: float[B][C][H][W] at 32 places. */
template <int CHANNELS, int WIDTH>
static __device__ void input_tile(const float *__restrict__ w, const float *y, const float *dy,
				  float *__restrict__ dx, const struct sw_cuda_conv &d,
				  unsigned tile)
{
	__shared__ float sums[SW_CUDA_WARPS][CHANNELS][TILE];
	const unsigned lane = threadIdx.x % TILE, warp = threadIdx.x / TILE;
	const unsigned image = d.H * d.W, across = (d.B * image + TILE - 1) / TILE;
	const unsigned at = tile % across * TILE + lane, c = tile / across * CHANNELS;
	const unsigned n = at / image, place = at % image;
	const unsigned width = WIDTH ? WIDTH : d.kw, step = d.kh * d.kw;
	float sum[CHANNELS] = {0};

	for (unsigned k = warp; n < d.B && k < d.O * d.kh; k += SW_CUDA_WARPS) {
		const unsigned o = k / d.kh, i = k % d.kh;
		const float *row = w + ((o * d.C + c) * d.kh + i) * d.kw;
		unsigned r, s;

		if (!place_of(place / d.W + d.pad, i, d.stride, d.oh, &r))
			continue;
		SW_UNROLL
		for (unsigned j = 0; j < width; j++) {
			if (!place_of(place % d.W + d.pad, j, d.stride, d.ow, &s))
				continue;
			const float v = sw_dz_at(y, dy, ((n * d.O + o) * d.oh + r) * d.ow + s);

			SW_UNROLL
			for (unsigned t = 0; t < CHANNELS; t++)
				if (t < d.C - c)
					sum[t] = fmaf(v, row[t * step + j], sum[t]);
		}
	}
	SW_UNROLL
	for (unsigned t = 0; t < CHANNELS; t++)
		sums[warp][t][lane] = sum[t];
	__syncthreads();
	if (warp < CHANNELS && c + warp < d.C && n < d.B)
		dx[(n * d.C + c + warp) * image + place] = add_warps<CHANNELS>(sums, warp, lane);
	__syncthreads(); /* the next tile writes sums again */
}

/* --- gradient of the weights --- */

/* The items: segments of places, times tiles of outputs, times rows of a kernel (channel, i), times
 * tiles of such a row. Without a channel there is one row, for db. */
struct weights_shape {
	unsigned segments, outputs, rows, parts;
	unsigned walk; /* places of a segment */
};

struct weights_item {
	unsigned segment, o, k, first; /* first: column of the kernel */
};

static __device__ struct weights_item item_of(const struct weights_shape &s, unsigned item,
					      unsigned channels, unsigned width)
{
	const unsigned rest = item / s.parts / s.rows;

	return {rest / s.outputs, rest % s.outputs * channels, item / s.parts % s.rows,
		item % s.parts * width};
}

/* This thread's share of the places: sum[t][j] += x dz, bias[t] += dz */
template <int CHANNELS, int WIDTH>
static __device__ void weights_walk(const float *__restrict__ x, const float *y, const float *dy,
				    const struct sw_cuda_conv &d, const struct weights_item &item,
				    unsigned walk, float (&sum)[CHANNELS][WIDTH],
				    float (&bias)[CHANNELS])
{
	const unsigned c = item.k / d.kh, i = item.k % d.kh, all = d.B * d.P;
	const unsigned from = item.segment * walk, to = all - from < walk ? all : from + walk;

	for (unsigned at = from + threadIdx.x; at < to; at += SW_CUDA_BLOCK) {
		const unsigned n = at / d.P, place = at % d.P;
		const unsigned row = place / d.ow * d.stride + i - d.pad;
		const unsigned s = place % d.ow * d.stride + item.first - d.pad;
		float dz[CHANNELS];

		SW_UNROLL
		for (unsigned t = 0; t < CHANNELS; t++) {
			const unsigned plane = n * d.O + item.o + t;

			dz[t] = item.o + t < d.O ? sw_dz_at(y, dy, plane * d.P + place) : 0.0f;
			bias[t] += dz[t];
		}
		if (row >= d.H || d.C == 0)
			continue;
		const float *under = x + ((n * d.C + c) * d.H + row) * d.W;

		SW_UNROLL
		for (unsigned j = 0; j < WIDTH; j++) {
			const float v = s + j < d.W ? under[s + j] : 0.0f;

			SW_UNROLL
			for (unsigned t = 0; t < CHANNELS; t++)
				sum[t][j] = fmaf(v, dz[t], sum[t][j]);
		}
	}
}

/* The place of element e of an item, the sums' first and then the bias's; NULL: none. */
static __device__ float *weights_to(const struct sw_cuda_conv_sums &out,
				    const struct sw_cuda_conv &d, const struct weights_item &item,
				    unsigned e, unsigned channels, unsigned width)
{
	const unsigned weights = channels * width, base = item.segment * out.step;
	const unsigned t = e < weights ? e / width : e - weights, j = item.first + e % width;

	if (item.o + t >= d.O)
		return NULL;
	if (e < weights)
		return j < d.kw && d.C ? out.dw + base + (item.o + t) * d.K + item.k * d.kw + j
				       : NULL;
	return out.db && item.k == 0 && item.first == 0 ? out.db + base + item.o + t : NULL;
}

template <int CHANNELS, int WIDTH>
static __device__ void weights_tile(const float *__restrict__ x, const float *y, const float *dy,
				    const struct sw_cuda_conv_sums &out,
				    const struct sw_cuda_conv &d, const struct weights_shape &shape,
				    unsigned number)
{
	__shared__ float sums[SW_CUDA_WARPS][CHANNELS * WIDTH + CHANNELS];
	const unsigned lane = threadIdx.x % TILE, warp = threadIdx.x / TILE, e = threadIdx.x;
	const struct weights_item item = item_of(shape, number, CHANNELS, WIDTH);
	float sum[CHANNELS][WIDTH] = {{0}}, bias[CHANNELS] = {0};

	weights_walk<CHANNELS, WIDTH>(x, y, dy, d, item, shape.walk, sum, bias);
	SW_UNROLL
	for (unsigned t = 0; t < CHANNELS; t++) {
		/* The same in all threads, so the shuffles have their lanes; each other item of
		 * these outputs would find the same db. */
		if (item.k == 0 && item.first == 0) { /* the item that makes db */
			const float b = sw_warp_sumf(bias[t]);

			if (lane == 0)
				sums[warp][CHANNELS * WIDTH + t] = b;
		}
		SW_UNROLL
		for (unsigned j = 0; j < WIDTH; j++) {
			const float v = sw_warp_sumf(sum[t][j]);

			if (lane == 0)
				sums[warp][t * WIDTH + j] = v;
		}
	}
	__syncthreads();
	float *to = e < CHANNELS * WIDTH + CHANNELS ? weights_to(out, d, item, e, CHANNELS, WIDTH)
						    : NULL;
	if (to) {
		float all = 0.0f;

		for (unsigned k = 0; k < SW_CUDA_WARPS; k++)
			all += sums[k][e];
		*to = all;
	}
	__syncthreads(); /* the next item writes sums again */
}

/* The first `inputs` tiles are of dx, the rest of dw and db. */
template <int CHANNELS, int WIDTH>
static __global__ void backward_kernel(const float *__restrict__ x, const float *__restrict__ w,
				       const float *y, const float *dy, float *__restrict__ dx,
				       struct sw_cuda_conv_sums out, struct sw_cuda_conv d,
				       struct weights_shape items, unsigned inputs, unsigned tiles)
{
	sw_wait();
	for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x)
		if (tile < inputs)
			input_tile<CHANNELS, WIDTH>(w, y, dy, dx, d, tile);
		else
			weights_tile<CHANNELS, WIDTH ? WIDTH : COLUMNS>(x, y, dy, out, d, items,
									tile - inputs);
}

/* sums: float[segments][n + O]; dw: float[n]; db: float[O], or NULL */
static __global__ void add_segments_kernel(const float *__restrict__ sums, float *__restrict__ dw,
					   float *__restrict__ db, size_t segments, size_t n,
					   size_t O)
{
	sw_wait();
	for (SW_EACH(e, db ? n + O : n)) {
		float *to = e < n ? dw + e : db + (e - n);
		float sum = 0.0f;

		for (size_t k = 0; k < segments; k++)
			sum += sums[k * (n + O) + e];
		*to = sum;
	}
}

sw_status sw_cuda_conv_add_segments(struct sw_queue *q, const float *sums, float *dw, float *db,
				    size_t segments, size_t n, size_t O)
{
	return sw_cuda_run_items(q, n + O, add_segments_kernel, sums, dw, db, segments, n, O);
}

/* --- how many of what --- */

static unsigned most_segments(const struct sw_cuda_conv &d, unsigned walk)
{
	const unsigned want = divide_up(d.B * d.P, SW_CUDA_BLOCK * (walk ? walk : WALK));

	return want < 1 ? 1 : want < SEGMENT_MAX ? want : SEGMENT_MAX;
}

static unsigned columns_of(const struct sw_cuda_conv &d)
{
	return d.kw == 1 || d.kw == 3 ? d.kw : COLUMNS;
}

static struct weights_shape weights_of(const struct sw_cuda_conv &d, unsigned channels,
				       unsigned walk)
{
	struct weights_shape s = {1, divide_up(d.O, channels), d.C ? d.C * d.kh : 1,
				  divide_up(d.kw, columns_of(d)), 0};
	const unsigned items = s.outputs * s.rows * s.parts, places = d.B * d.P;

	if (items && divide_up(FILL, items) < most_segments(d, walk))
		s.segments = divide_up(FILL, items);
	else
		s.segments = most_segments(d, walk);
	/* walk is rounded up, so that fewer segments may be enough: none is left without a
	 * place. */
	s.walk = divide_up(places, s.segments);
	if (s.walk)
		s.segments = divide_up(places, s.walk);
	return s;
}

static unsigned inputs_of(const struct sw_cuda_conv &d, unsigned channels)
{
	return divide_up(d.B * d.H * d.W, TILE) * divide_up(d.C, channels);
}

static unsigned outputs_of(const struct sw_cuda_conv &d, unsigned channels)
{
	return divide_up(d.B * d.P, TILE) * divide_up(d.O, channels);
}

static unsigned items_of(const struct weights_shape &s)
{
	return s.segments * s.outputs * s.rows * s.parts;
}

size_t sw_cuda_conv_direct_workspace(const struct sw_conv *c, struct sw_cuda_conv_way way)
{
	const struct sw_cuda_conv d = sw_cuda_conv_of(c);
	const unsigned segments = most_segments(d, way.walk);

	return segments > 1 ? ((size_t)d.O * d.K + d.O) * segments * sizeof(float) : 0;
}

/* --- launches --- */

struct operands {
	const float *x, *w, *b, *y, *dy;
	float *out, *dx;
	struct sw_cuda_conv_sums weights;
	int relu;
	struct weights_shape items;
};

template <int CHANNELS, int WIDTH>
static sw_status forward_launch(struct sw_queue *q, const struct operands &p, struct sw_cuda_conv d)
{
	return sw_cuda_run(q, sw_cuda_grid_blocks(outputs_of(d, CHANNELS)),
			   forward_kernel<CHANNELS, WIDTH>, p.x, p.w, p.b, p.out, d, p.relu);
}

template <int CHANNELS, int WIDTH>
static sw_status backward_launch(struct sw_queue *q, const struct operands &p,
				 struct sw_cuda_conv d)
{
	const unsigned inputs = p.dx ? inputs_of(d, CHANNELS) : 0;
	const unsigned tiles = inputs + items_of(p.items);

	return sw_cuda_run(q, sw_cuda_grid_blocks(tiles), backward_kernel<CHANNELS, WIDTH>, p.x,
			   p.w, p.y, p.dy, p.dx, p.weights, d, p.items, inputs, tiles);
}

/* The build of a kernel for this width. */
template <int CHANNELS>
static sw_status launch(struct sw_queue *q, const struct operands &p, struct sw_cuda_conv d,
			int forward)
{
	switch (d.kw) {
	case 1:
		return forward ? forward_launch<CHANNELS, 1>(q, p, d)
			       : backward_launch<CHANNELS, 1>(q, p, d);
	case 3:
		return forward ? forward_launch<CHANNELS, 3>(q, p, d)
			       : backward_launch<CHANNELS, 3>(q, p, d);
	default:
		return forward ? forward_launch<CHANNELS, 0>(q, p, d)
			       : backward_launch<CHANNELS, 0>(q, p, d);
	}
}

sw_status sw_cuda_conv_direct_forward(struct sw_queue *q, const float *x, const float *w,
				      const float *b, float *y, const struct sw_conv *c,
				      enum sw_act act, struct sw_cuda_conv_way way)
{
	const struct sw_cuda_conv d = sw_cuda_conv_of(c);
	struct operands p = {};

	if (outputs_of(d, 1) == 0)
		return SW_OK;
	p.x = x;
	p.w = w;
	p.b = b;
	p.out = y;
	p.relu = act == SW_ACT_RELU;
	if (way.channels == 4 || (way.channels == 0 && outputs_of(d, 4) >= FILL))
		return launch<4>(q, p, d, 1);
	return launch<1>(q, p, d, 1);
}

sw_status sw_cuda_conv_direct_backward(struct sw_queue *q, const float *x, const float *w,
				       const float *y, const float *dy, float *dx, float *dw,
				       float *db, const struct sw_conv *c, void *work,
				       struct sw_cuda_conv_way way)
{
	const struct sw_cuda_conv d = sw_cuda_conv_of(c);
	const unsigned inputs = dx ? inputs_of(d, 4) : 0, weights = d.O * d.K;
	struct weights_shape items = weights_of(d, 4, way.walk);
	struct operands p = {};
	int four = way.channels == 4;
	sw_status rc;

	if (inputs + items_of(items) == 0)
		return SW_OK;
	if (way.channels == 0)
		four = inputs + items_of(items) >= FILL;
	if (!four)
		items = weights_of(d, 1, way.walk);
	p.x = x;
	p.w = w;
	p.y = y;
	p.dy = dy;
	p.dx = dx;
	p.items = items;
	p.weights = {dw, db, 0};
	if (items.segments > 1)
		p.weights = {(float *)work, (float *)work + weights, weights + d.O};
	rc = four ? launch<4>(q, p, d, 0) : launch<1>(q, p, d, 0);
	if (rc == SW_OK && items.segments > 1)
		rc = sw_cuda_conv_add_segments(q, (const float *)work, dw, db, items.segments,
					       weights, d.O);
	return rc;
}
