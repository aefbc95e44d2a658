/* kernels/cuda/conv.h — the two ways of a convolution, and what they share. */
#ifndef SW_KERNELS_CUDA_CONV_H
#define SW_KERNELS_CUDA_CONV_H

#include "kernels/cuda/cuda.h"

/* A convolution's shape as kernels take it: 32 bits divide several times as fast as 64, and the
 * output's size is made once, on the host. Sizes of one image or kernel fit by ops.h's limits. */
struct sw_cuda_conv {
	unsigned B, C, H, W, O, kh, kw, stride, pad;
	unsigned oh, ow;
	unsigned P; /* oh * ow */
	unsigned K; /* C * kh * kw */
};

static inline struct sw_cuda_conv sw_cuda_conv_of(const struct sw_conv *c)
{
	struct sw_cuda_conv d;

	d.B = (unsigned)c->B;
	d.C = (unsigned)c->C;
	d.H = (unsigned)c->H;
	d.W = (unsigned)c->W;
	d.O = (unsigned)c->O;
	d.kh = (unsigned)c->kh;
	d.kw = (unsigned)c->kw;
	d.stride = (unsigned)c->stride;
	d.pad = (unsigned)c->pad;
	d.oh = (unsigned)sw_conv_out_h(c);
	d.ow = (unsigned)sw_conv_out_w(c);
	d.P = d.oh * d.ow;
	d.K = d.C * d.kh * d.kw;
	return d;
}

/* How direct kernels are to be taken; zeros: as the shape says. */
struct sw_cuda_conv_way {
	unsigned channels; /* of which a thread keeps sums: 1 or 4; of patches, 2 or 4 */
	unsigned walk;     /* places that a thread of the weights' gradient walks over, about */
};

/* The place of dw and db: the gradients themselves, or the partial sums of each segment of the
 * places that they are of, float[segments][O K + O]. */
struct sw_cuda_conv_sums {
	float *dw, *db; /* db: or NULL */
	unsigned step;  /* floats from one segment to the next */
};

/* Direct: one launch forward; one backward, two where the gradient of the weights sums over so many
 * places that its blocks alone would not fill a GPU. Everything is counted in 32 bits: each tensor
 * has fewer than 2^31 elements. y: NULL where no relu masks dy, which is not written. */
size_t sw_cuda_conv_direct_workspace(const struct sw_conv *c, struct sw_cuda_conv_way way);
sw_status sw_cuda_conv_direct_forward(struct sw_queue *q, const float *x, const float *w,
				      const float *b, float *y, const struct sw_conv *c,
				      enum sw_act act, struct sw_cuda_conv_way way);
sw_status sw_cuda_conv_direct_backward(struct sw_queue *q, const float *x, const float *w,
				       const float *y, const float *dy, float *dx, float *dw,
				       float *db, const struct sw_conv *c, void *work,
				       struct sw_cuda_conv_way way);

/* Patches: the same for square kernels of 3 or 5 with stride 1, no size 0. pooled: NULL, or the
 * output is pooled by windows of 2 x 2 beside one another, to pooled and argmax (or NULL): then y
 * is not written. argmax, backward: NULL, or y and dy are those of the pooling. */
size_t sw_cuda_conv_patch_workspace(const struct sw_conv *c, struct sw_cuda_conv_way way);
sw_status sw_cuda_conv_patch_forward(struct sw_queue *q, const float *x, const float *w,
				     const float *b, float *y, float *pooled, int32_t *argmax,
				     const struct sw_conv *c, enum sw_act act,
				     struct sw_cuda_conv_way way);
sw_status sw_cuda_conv_patch_backward(struct sw_queue *q, const float *x, const float *w,
				      const float *y, const float *dy, const int32_t *argmax,
				      float *dx, float *dw, float *db, const struct sw_conv *c,
				      void *work, struct sw_cuda_conv_way way);

/* sums: float[segments][n + O] -> dw: float[n]; db: float[O], or NULL. One launch. */
sw_status sw_cuda_conv_add_segments(struct sw_queue *q, const float *sums, float *dw, float *db,
				    size_t segments, size_t n, size_t O);

/* Columns: im2col and cuBLAS, some images at a time; any shape without a 0. */
size_t sw_cuda_conv_columns_workspace(const struct sw_conv *c);
size_t sw_cuda_conv_columns_products(enum sw_precision p, const struct sw_conv *c);
sw_status sw_cuda_conv_columns_forward(struct sw_queue *q, const float *x, const float *w,
				       const float *b, float *y, const struct sw_conv *c,
				       enum sw_act act, void *work);
sw_status sw_cuda_conv_columns_backward(struct sw_queue *q, const float *x, const float *w,
					const float *y, const float *dy, float *dx, float *dw,
					float *db, const struct sw_conv *c, void *work);

#ifdef __cplusplus
extern "C" {
#endif
/* 0: the shape decides; 1: direct with 1 channel; 2: direct with 4, and as many segments as can be;
 * 3: columns; 4, 5: as 1 and 2, but without patches. For tests. */
void sw_cuda_conv_force(int path);
#ifdef __cplusplus
}
#endif

#endif
