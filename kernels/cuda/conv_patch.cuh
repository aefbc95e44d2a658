/*
 * kernels/cuda/conv_patch.cuh — convolution without columns, by square kernels of 3 or 5 with
 * stride 1: a thread works on patches of 2 x 2 places, so that rows of the image and of the kernel
 * which lie in registers are used several times.
 *
 * Forward  A block makes 32 patches of CHANNELS planes, a patch a lane; its eight warps share the
 *          terms: warp k takes rows k, k + 8, ... of all kernel rows (channel, i). Partial sums
 *          meet in shared memory and are added from the first warp to the last; bias and relu ride
 *          along, and so does the maximum of a pooling whose windows are the patches.
 * dz       Backward, too, looks at patches: relu's mask is applied as they are read, and the
 *          gradient of the pooling is made there: one place of a window has it.
 * dx       As forward, warp k takes outputs k, k + 8, ...: of each all of dz that a patch of the
 *          input meets is in registers.
 * dw       A block makes 32 elements of one output's dw (db is one behind them), an element a lane.
 *          dz goes to shared memory as a list, a place or, pooled, a window an entry; its eight
 *          warps take the patches by turns.
 * Sums have one order, which pooling does not change: where dz is 0 it adds nothing.
 */
#ifndef SW_KERNELS_CUDA_CONV_PATCH_CUH
#define SW_KERNELS_CUDA_CONV_PATCH_CUH

#include "kernels/cuda/conv.h"
#include "kernels/cuda/divisor.cuh"
#include "kernels/cuda/launch.cuh"
#include <math.h>

/* Patches of a tile, or elements of dw: one a lane. */
#define TILE  SW_CUDA_WARP
#define PATCH 4 /* places of a patch */

/* Blocks from which on a thread makes more planes: four for each multiprocessor of today's largest
 * GPU. */
#define FILL 528

/* The patches of all images, and how many tiles they are. */
struct grid {
	unsigned n;
	struct sw_cuda_divisor image, row, tiles;
};

struct shape {
	unsigned B, C, H, W, O, oh, ow, pad;
	struct grid out, in; /* of the output; of the input, those that begin with its padding */
};

static inline unsigned divide_up(unsigned n, unsigned by)
{
	return n / by + (n % by != 0);
}

static inline struct grid grid_of(unsigned B, unsigned h, unsigned w)
{
	const unsigned rows = divide_up(h, 2), columns = divide_up(w, 2), n = B * rows * columns;

	return {n, sw_cuda_divisor_of(rows * columns), sw_cuda_divisor_of(columns),
		sw_cuda_divisor_of(divide_up(n, TILE))};
}

static inline struct shape shape_of(const struct sw_conv *c)
{
	const struct sw_cuda_conv d = sw_cuda_conv_of(c);
	/* With an odd pad the input's patches begin one row and column before it: what a patch
	 * meets of dz then begins with a patch of dz. */
	const unsigned odd = d.pad % 2;

	return {d.B,
		d.C,
		d.H,
		d.W,
		d.O,
		d.oh,
		d.ow,
		d.pad,
		grid_of(d.B, d.oh, d.ow),
		grid_of(d.B, d.H + odd, d.W + odd)};
}

struct patch {
	unsigned n, u, v; /* image, row and column of the patch */
};

static __device__ struct patch patch_of(const struct grid &g, unsigned at)
{
	const unsigned n = sw_cuda_divide(at, g.image), rest = at - n * g.image.by;
	const unsigned u = sw_cuda_divide(rest, g.row);

	return {n, u, rest - u * g.row.by};
}

/* This thread's sums, for add_warps after a barrier. */
template <int CHANNELS>
static __device__ void keep_sums(float (*sums)[CHANNELS][PATCH][TILE],
				 const float (&sum)[CHANNELS][PATCH])
{
	/* The lane is the last index: a warp's 32 stores fall on 32 banks. */
	SW_UNROLL
	for (unsigned t = 0; t < CHANNELS; t++) {
		SW_UNROLL
		for (unsigned e = 0; e < PATCH; e++)
			sums[threadIdx.x / TILE][t][e][threadIdx.x % TILE] = sum[t][e];
	}
}

/* sums: float[WARPS][CHANNELS][PATCH][TILE] -> a channel's patch, added from the first warp on */
template <int CHANNELS>
static __device__ void add_warps(float (*sums)[CHANNELS][PATCH][TILE], unsigned channel,
				 unsigned lane, float (&out)[PATCH])
{
	SW_UNROLL
	for (unsigned e = 0; e < PATCH; e++) {
		out[e] = 0.0f;
		SW_UNROLL
		for (unsigned k = 0; k < SW_CUDA_WARPS; k++)
			out[e] += sums[k][channel][e][lane];
	}
}

#endif
