/*
 * kernels/cpu/loops.h — the loops that are built once for each set of instructions.
 *
 * One source, written with vectors of LANES floats as gcc and clang know them, is built three
 * times (loops_plain.c, loops_avx2.c, loops_avx512.c), with other tile sizes; products there are
 * contracted to fused multiply-adds where the machine has them. Each build is one table.
 *
 * Flat     An image is laid out with zeros around: a plane is rows of `stride` floats, each row its
 *          values and then the gap, which pads the row's end and the next row's begin alike; `lead`
 *          floats come before the first row. The value that element (i, j) of a kernel meets at
 *          place (r, s) of the output then lies at p + i * stride + j, p = r * stride + s: a run of
 *          places is a run of memory, over the ends of rows. What falls into the gap is dropped.
 */
#ifndef SW_KERNELS_CPU_LOOPS_H
#define SW_KERNELS_CPU_LOOPS_H

#include "kernels/ops.h"

#define SW_CPU_LANES_MAX 16
/* Floats behind a plane's end that loops may read: the widest tile. */
#define SW_CPU_SLACK (4 * SW_CPU_LANES_MAX + 16)

struct sw_cpu_flat {
	size_t H, W;   /* of the image */
	size_t ph, pw; /* zeros above and below, left and right */
	size_t stride; /* W + pw */
	size_t plane;  /* floats from one channel to the next, slack included */
};

/* out[o][p] = act(b[o] + sum over c, i, j of in[c][p + i stride + j] w(o, c, i, j)) */
struct sw_cpu_correlation {
	struct sw_cpu_flat in;
	size_t C, O, kh, kw;
	size_t oh, ow;
	enum sw_act act;
};

struct sw_cpu_loops {
	size_t lanes;
	/* x: float[C][H][W] to the rows of flat, where mask (as x; NULL: everywhere) is above 0,
	 * else 0. Gaps stay. */
	void (*fill)(const struct sw_cpu_flat *f, size_t C, const float *x, const float *mask,
		     float *flat);
	/* sums: float[C][lanes] += the planes of a flat image; out[c] = their sums */
	void (*planes_add)(const struct sw_cpu_flat *f, size_t C, const float *flat, float *sums);
	void (*planes_end)(size_t C, const float *sums, float *out);

	/* Floats of packed weights and of scratch that correlate takes. */
	size_t (*packed_n)(const struct sw_cpu_correlation *k);
	size_t (*scratch_n)(const struct sw_cpu_correlation *k);
	/* w: float[O][C][kh][kw]; backward 1: w is float[C][O][kh][kw] of the convolution, turned
	 * by half a turn: k's C are that one's outputs. */
	void (*pack)(const struct sw_cpu_correlation *k, const float *w, int backward,
		     float *packed);
	/* in: flat, float[C][plane]; y: float[O][oh][ow] */
	void (*correlate)(const struct sw_cpu_correlation *k, const float *in, const float *packed,
			  const float *b, float *y, float *scratch);
	/* x: flat; dy: flat with x's stride, lead 0 and zeros in the gaps, planes dy_plane apart;
	 * sums: float[sums_n], zero before the first image; added to. */
	size_t (*sums_n)(const struct sw_cpu_correlation *k);
	void (*weights_add)(const struct sw_cpu_correlation *k, const float *x, const float *dy,
			    size_t dy_plane, float *sums, float *scratch);
	/* dw: float[O][C][kh][kw] = what sums hold */
	void (*weights_end)(const struct sw_cpu_correlation *k, const float *sums, float *dw);

	void (*linear_forward)(const float *x, const float *w, const float *b, float *y, size_t B,
			       size_t I, size_t O, enum sw_act act);
	/* dx = dy w */
	void (*linear_dx)(const float *dy, const float *w, float *dx, size_t B, size_t I, size_t O);
	/* dw: float[O][I] = dy^T x; db likewise, or NULL; dy: O of the columns of
	 * float[B][stride] */
	void (*linear_dw)(const float *dy, const float *x, float *dw, float *db, size_t B, size_t I,
			  size_t stride, size_t O);
};

extern const struct sw_cpu_loops sw_cpu_loops_plain, sw_cpu_loops_avx2, sw_cpu_loops_avx512;

/* The table of sw_cpu_isa(). */
const struct sw_cpu_loops *sw_cpu_loops(void);

#endif
