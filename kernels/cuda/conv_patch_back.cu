/* kernels/cuda/conv_patch_back.cu — convolution by patches, backward. */
#include "kernels/cuda/conv_patch.cuh"

/* Patches of a segment of the weights' gradient, at the least, and segments at the most. */
#define SEGMENT     1024
#define SEGMENT_MAX 64
/* Entries of dz that lie in shared memory at once. */
#define LIST 1024

/* --- dz --- */

/* y: NULL without relu. argmax: NULL, or y and dy are those of the pooling behind it. */
struct dz_from {
	const float *__restrict__ y;
	const float *__restrict__ dy;
	const int32_t *__restrict__ argmax;
};

/* The gradient of a window and, in *place, which of its patch has it; 0 for a window outside. u, v
 * below 0 wrap around, and are over all. */
static __device__ float dz_pooled(const struct dz_from &f, const struct shape &d, unsigned plane,
				  unsigned u, unsigned v, unsigned *place)
{
	const int in = u < d.oh / 2 && v < d.ow / 2;
	/* A window outside reads element 0, whose value is dropped: loads without a branch do not
	 * wait for one another. */
	const unsigned i = in ? (plane * (d.oh / 2) + u) * (d.ow / 2) + v : 0;
	/* argmax counts in the full plane: less its window's first place it is 0, 1, ow or ow +
	 * 1. */
	const unsigned at = (unsigned)f.argmax[i] - 2 * (u * d.ow + v), below = at >= d.ow;
	const float dz = sw_dz_at(f.y, f.dy, i);

	*place = 2 * below + at - (below ? d.ow : 0);
	return in ? dz : 0.0f;
}

/* Place e of a patch of an image's plane; 0 outside of the plane. */
static __device__ float dz_place(const struct dz_from &f, const struct shape &d, unsigned plane,
				 unsigned u, unsigned v, unsigned e)
{
	const unsigned r = 2 * u + e / 2, s = 2 * v + e % 2;
	const int in = r < d.oh && s < d.ow;
	const float dz = sw_dz_at(f.y, f.dy, in ? (plane * d.oh + r) * d.ow + s : 0);

	return in ? dz : 0.0f;
}

/* --- gradient of the input --- */

/* z: all of dz's plane that a patch of the input meets, from row 2 u and column 2 v on */
template <int K, bool POOLED>
static __device__ void dz_block(const struct dz_from &f, const struct shape &d, unsigned plane,
				unsigned u, unsigned v, float (&z)[K + 1][K + 1])
{
	SW_UNROLL
	for (unsigned k = 0; k < (K + 1) / 2 * ((K + 1) / 2); k++) {
		const unsigned up = k / ((K + 1) / 2), left = k % ((K + 1) / 2);
		unsigned place = 0;
		const float one = POOLED ? dz_pooled(f, d, plane, u + up, v + left, &place) : 0.0f;

		SW_UNROLL
		for (unsigned e = 0; e < PATCH; e++)
			z[2 * up + e / 2][2 * left + e % 2] =
				!POOLED      ? dz_place(f, d, plane, u + up, v + left, e)
				: place == e ? one
					     : 0.0f;
	}
}

/* One tile: CHANNELS planes of dx: float[B][C][H][W] at 32 patches. */
template <int CHANNELS, int K, bool POOLED>
static __device__ void input_tile(const struct dz_from &f, const float *__restrict__ w,
				  float *__restrict__ dx, const struct shape &d, unsigned tile)
{
	__shared__ float sums[SW_CUDA_WARPS][CHANNELS][PATCH][TILE];
	const unsigned lane = threadIdx.x % TILE, warp = threadIdx.x / TILE;
	const unsigned c = sw_cuda_divide(tile, d.in.tiles) * CHANNELS;
	const unsigned at = (tile - c / CHANNELS * d.in.tiles.by) * TILE + lane;
	const struct patch p = patch_of(d.in, at < d.in.n ? at : d.in.n - 1);
	float sum[CHANNELS][PATCH] = {{0}};

	for (unsigned o = warp; o < d.O; o += SW_CUDA_WARPS) {
		float z[K + 1][K + 1];

		dz_block<K, POOLED>(f, d, p.n * d.O + o, p.u + d.pad / 2 - K / 2,
				    p.v + d.pad / 2 - K / 2, z);
		SW_UNROLL
		for (unsigned t = 0; t < CHANNELS; t++) {
			const float *kernel = w + (o * d.C + (c + t < d.C ? c + t : c)) * K * K;

			SW_UNROLL
			for (unsigned k = 0; k < K * K; k++) {
				/* dx is dz correlated with the kernel turned by half a turn. */
				const unsigned i = K - 1 - k / K, j = K - 1 - k % K;

				SW_UNROLL
				for (unsigned e = 0; e < PATCH; e++)
					sum[t][e] =
						fmaf(z[i + e / 2][j + e % 2], kernel[k], sum[t][e]);
			}
		}
	}
	keep_sums<CHANNELS>(sums, sum);
	__syncthreads();
	if (warp < CHANNELS && c + warp < d.C && at < d.in.n) {
		const unsigned r = 2 * p.u - d.pad % 2, s = 2 * p.v - d.pad % 2;
		float v[PATCH];

		add_warps<CHANNELS>(sums, warp, lane, v);
		SW_UNROLL
		/* With an odd pad r and s of the first patches are -1, which as unsigned is over
		 * all. */
		for (unsigned e = 0; e < PATCH; e++)
			if (r + e / 2 < d.H && s + e % 2 < d.W)
				dx[((p.n * d.C + c + warp) * d.H + r + e / 2) * d.W + s + e % 2] =
					v[e];
	}
	__syncthreads(); /* the next tile writes sums again */
}

/* --- gradient of the weights --- */

/* The items: segments of patches, times outputs, times groups of 32 elements. */
struct weights_shape {
	unsigned segments, groups;
	unsigned walk; /* patches of a segment */
};

/* dz at a place, and where that is: its first in x, its row and its column. */
struct alignas(16) entry {
	unsigned at;
	float dz;
	unsigned r, s;
};

/* Entry k of a list: one of a patch's, pooled the only one. */
template <bool POOLED>
static __device__ void list_entry(const struct dz_from &f, const struct shape &d, unsigned o,
				  unsigned k, struct entry *to)
{
	const struct patch p = patch_of(d.out, POOLED ? k : k / PATCH);
	unsigned e = k % PATCH;
	const float dz = POOLED ? dz_pooled(f, d, p.n * d.O + o, p.u, p.v, &e)
				: dz_place(f, d, p.n * d.O + o, p.u, p.v, e);
	const int there = 2 * p.u + e / 2 < d.oh && 2 * p.v + e % 2 < d.ow;

	/* A place outside has dz 0, and is said to lie where x has something to read. */
	to->r = there ? 2 * p.u + e / 2 : 0;
	to->s = there ? 2 * p.v + e % 2 : 0;
	to->at = p.n * d.C * d.H * d.W + to->r * d.W + to->s;
	to->dz = dz;
}

/* One element of dw, and what it takes of x. */
struct element {
	const float *__restrict__ x; /* the value that it reads for the place 0 */
	unsigned i, j;               /* rows and columns from a place, around below 0 */
	int real;                    /* reads x; db's, and those that there are not, do not */
	float rest;                  /* stands for x if none is read */
};

template <int K>
static __device__ struct element element_of(const float *x, const struct shape &d, unsigned e)
{
	const unsigned c = e / (K * K), i = e / K % K - d.pad, j = e % K - d.pad;
	const int real = c < d.C;

	return {x + (real ? (int32_t)((c * d.H + i) * d.W + j) : 0), i, j, real,
		real ? 0.0f : 1.0f};
}

/* This warp's part of the list's n patches, of EACH entries: + x dz, in their order. */
template <int EACH, bool PADDED>
static __device__ float list_sum(const struct entry *list, unsigned n, const struct element &mine,
				 const struct shape &d, float sum)
{
	for (unsigned p = threadIdx.x / TILE; p < n; p += SW_CUDA_WARPS) {
		SW_UNROLL
		for (unsigned e = 0; e < EACH; e++) {
			/* All lanes read the same entry: one broadcast of 16 bytes. */
			const struct entry z = list[p * EACH + e];
			float v = mine.rest;

			if (mine.real && (!PADDED || (z.r + mine.i < d.H && z.s + mine.j < d.W)))
				v = mine.x[z.at];
			sum = fmaf(v, z.dz, sum);
		}
	}
	return sum;
}

template <int K, bool POOLED>
static __device__ void weights_tile(const struct dz_from &f, const float *__restrict__ x,
				    const struct sw_cuda_conv_sums &out, const struct shape &d,
				    const struct weights_shape &shape, unsigned item)
{
	const int each = POOLED ? 1 : PATCH; /* entries of a patch */
	__shared__ struct entry list[LIST];
	__shared__ float sums[SW_CUDA_WARPS][TILE];
	const unsigned lane = threadIdx.x % TILE, warp = threadIdx.x / TILE;
	const unsigned o = item / shape.groups % d.O, segment = item / shape.groups / d.O;
	const unsigned e = item % shape.groups * TILE + lane, elements = d.C * K * K;
	const struct element mine = element_of<K>(x, d, e);
	const unsigned from = segment * shape.walk;
	const unsigned to = d.out.n - from < shape.walk ? d.out.n : from + shape.walk;
	float sum = 0.0f;

	for (unsigned first = from; first < to; first += LIST / each) {
		const unsigned n = to - first < LIST / each ? to - first : LIST / each;

		for (unsigned k = threadIdx.x; k < n * each; k += SW_CUDA_BLOCK)
			list_entry<POOLED>(f, d, o, first * each + k, &list[k]);
		__syncthreads();
		sum = d.pad ? list_sum<each, true>(list, n, mine, d, sum)
			    : list_sum<each, false>(list, n, mine, d, sum);
		__syncthreads(); /* the list is made anew */
	}
	sums[warp][lane] = sum;
	__syncthreads();
	float *at = e < elements              ? out.dw + segment * out.step + o * elements + e
		    : e == elements && out.db ? out.db + segment * out.step + o
					      : NULL;
	if (warp == 0 && at) {
		float all = 0.0f;

		for (unsigned k = 0; k < SW_CUDA_WARPS; k++)
			all += sums[k][lane];
		*at = all;
	}
	__syncthreads(); /* the next item writes sums again */
}

/* The first `inputs` tiles are of dx, the rest of dw and db. */
template <int CHANNELS, int K, bool POOLED>
static __global__ void backward_kernel(const float *__restrict__ x, const float *__restrict__ w,
				       struct dz_from f, float *__restrict__ dx,
				       struct sw_cuda_conv_sums out, struct shape d,
				       struct weights_shape items, unsigned inputs, unsigned tiles)
{
	sw_wait();
	for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x)
		if (tile < inputs)
			input_tile<CHANNELS, K, POOLED>(f, w, dx, d, tile);
		else
			weights_tile<K, POOLED>(f, x, out, d, items, tile - inputs);
}

/* --- how many of what --- */

static unsigned most_segments(const struct shape &d, struct sw_cuda_conv_way way)
{
	const unsigned want = divide_up(d.out.n, way.walk ? way.walk * TILE : SEGMENT);

	return want < SEGMENT_MAX ? want : SEGMENT_MAX;
}

static struct weights_shape weights_of(const struct shape &d, unsigned K,
				       struct sw_cuda_conv_way way)
{
	const unsigned groups = divide_up(d.C * K * K + 1, TILE), most = most_segments(d, way);
	const unsigned want = divide_up(FILL, d.O * groups), segments = want < most ? want : most;
	const unsigned walk = divide_up(d.out.n, segments);

	return {divide_up(d.out.n, walk), groups, walk};
}

size_t sw_cuda_conv_patch_workspace(const struct sw_conv *c, struct sw_cuda_conv_way way)
{
	const struct shape d = shape_of(c);
	const unsigned segments = most_segments(d, way);

	return segments > 1 ? (c->O * c->C * c->kh * c->kw + c->O) * segments * sizeof(float) : 0;
}

/* --- launches --- */

struct backward_operands {
	const float *x, *w;
	struct dz_from f;
	float *dx;
	struct sw_cuda_conv_sums out;
	struct weights_shape items;
};

template <int CHANNELS, int K, bool POOLED>
static sw_status backward(struct sw_queue *q, const struct backward_operands &p,
			  const struct shape &d)
{
	const unsigned inputs = p.dx ? d.in.tiles.by * divide_up(d.C, CHANNELS) : 0;
	const unsigned tiles = inputs + p.items.segments * p.items.groups * d.O;

	return sw_cuda_run(q, sw_cuda_grid_blocks(tiles), backward_kernel<CHANNELS, K, POOLED>, p.x,
			   p.w, p.f, p.dx, p.out, d, p.items, inputs, tiles);
}

template <int CHANNELS>
static sw_status backward_of(struct sw_queue *q, const struct backward_operands &p,
			     const struct shape &d, size_t K)
{
	if (K == 3)
		return p.f.argmax ? backward<CHANNELS, 3, true>(q, p, d)
				  : backward<CHANNELS, 3, false>(q, p, d);
	return p.f.argmax ? backward<CHANNELS, 5, true>(q, p, d)
			  : backward<CHANNELS, 5, false>(q, p, d);
}

sw_status sw_cuda_conv_patch_backward(struct sw_queue *q, const float *x, const float *w,
				      const float *y, const float *dy, const int32_t *argmax,
				      float *dx, float *dw, float *db, const struct sw_conv *c,
				      void *work, struct sw_cuda_conv_way way)
{
	const struct shape d = shape_of(c);
	const unsigned weights = (unsigned)(c->O * c->C * c->kh * c->kw);
	struct backward_operands p = {x,  w,           {y, dy, argmax},
				      dx, {dw, db, 0}, weights_of(d, (unsigned)c->kw, way)};
	const int four = way.channels ? way.channels == 4
				      : d.in.tiles.by * divide_up(d.C, 4) >= FILL;
	sw_status rc;

	if (p.items.segments > 1)
		p.out = {(float *)work, (float *)work + weights, weights + d.O};
	rc = four ? backward_of<4>(q, p, d, c->kw) : backward_of<2>(q, p, d, c->kw);
	if (rc == SW_OK && p.items.segments > 1)
		rc = sw_cuda_conv_add_segments(q, (const float *)work, dw, db, p.items.segments,
					       weights, d.O);
	return rc;
}
