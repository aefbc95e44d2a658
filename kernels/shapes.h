/*
 * kernels/shapes.h — the plain structs that the entries of kernels/ops.h take: shapes, options, and
 * what lies in backend memory beside the tensors.
 *
 * Pure     Usable from C, C++ and CUDA device code. All sizes are size_t, all options floats.
 */
#ifndef SW_KERNELS_SHAPES_H
#define SW_KERNELS_SHAPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The epilogue of a product, for each element; its derivative is made from the output. */
enum sw_act { SW_ACT_NONE, SW_ACT_RELU };

/* How products are made of float operands, with sums in fp32 or wider and a float result: SW_TF32
 * takes 10 bits behind the point of each operand, as the device rounds, SW_BF16 7, rounded to the
 * nearest, ties to even. Whatever is no product is fp32 at each. */
enum sw_precision { SW_FP32, SW_TF32, SW_BF16 };

/* A convolution over B images of C x H x W with O kernels of C x kh x kw. */
struct sw_conv {
	size_t B, C, H, W;
	size_t O, kh, kw;
	size_t stride, pad; /* in both directions; stride at least 1 */
};

/* A pooling window over B images of C x H x W. */
struct sw_window {
	size_t B, C, H, W;
	size_t kh, kw;
	size_t stride, pad;
};

/* A convolution's output that goes through maximum pooling, in backend memory. */
struct sw_pooled {
	struct sw_window p; /* over full */
	float *full;        /* float[B][C][H][W] of p: the convolution's */
	float *y;           /* the pooling's, and with it: */
	int32_t *argmax;    /* NULL in evaluation */
};

/* The places of a window of k along n padded by pad; 0 when it does not fit. */
static inline size_t sw_window_out(size_t n, size_t k, size_t stride, size_t pad)
{
	return k == 0 || stride == 0 || n + 2 * pad < k ? 0 : (n + 2 * pad - k) / stride + 1;
}

static inline size_t sw_conv_out_h(const struct sw_conv *c)
{
	return sw_window_out(c->H, c->kh, c->stride, c->pad);
}

static inline size_t sw_conv_out_w(const struct sw_conv *c)
{
	return sw_window_out(c->W, c->kw, c->stride, c->pad);
}

/* Whether the shape is in the limits of kernels/ops.h, and makes sense. */
static inline int sw_conv_fits(const struct sw_conv *c)
{
	return c->B <= INT32_MAX && c->C <= INT32_MAX && c->H <= INT32_MAX && c->W <= INT32_MAX &&
	       c->O <= INT32_MAX && c->kh <= INT32_MAX && c->kw <= INT32_MAX &&
	       c->pad <= INT32_MAX && c->H * c->W <= INT32_MAX && c->kh * c->kw <= INT32_MAX &&
	       c->C * c->kh * c->kw <= INT32_MAX && c->stride && c->kh && c->kw &&
	       (!c->B || !c->C || (sw_conv_out_h(c) && sw_conv_out_w(c)));
}

static inline size_t sw_pool_out_h(const struct sw_window *p)
{
	return sw_window_out(p->H, p->kh, p->stride, p->pad);
}

static inline size_t sw_pool_out_w(const struct sw_window *p)
{
	return sw_window_out(p->W, p->kw, p->stride, p->pad);
}

/* Whether the shape is in the limits of kernels/ops.h, as is the padded image, and makes sense. */
static inline int sw_window_fits(const struct sw_window *p)
{
	return p->B <= INT32_MAX && p->C <= INT32_MAX && p->H <= INT32_MAX && p->W <= INT32_MAX &&
	       p->H * p->W <= INT32_MAX && p->kh && p->kw && p->stride && p->stride <= INT32_MAX &&
	       p->pad <= p->kh / 2 && p->pad <= p->kw / 2 && p->pad <= INT32_MAX &&
	       p->H + 2 * p->pad <= INT32_MAX && p->W + 2 * p->pad <= INT32_MAX &&
	       (!p->B || !p->C || !p->H || !p->W || (sw_pool_out_h(p) && sw_pool_out_w(p)));
}

struct sw_attention {
	size_t B, T, D;
	size_t heads; /* divides D */
	int causal;   /* 1: a query sees the keys up to its own place */
};

/* Whether the shape is in the limits of kernels/ops.h, and heads divides D. */
static inline int sw_attention_fits(const struct sw_attention *a)
{
	return a->heads && a->D % a->heads == 0 && a->B <= INT32_MAX && a->T <= INT32_MAX / 4 &&
	       a->D <= INT32_MAX / 4 && a->heads <= INT32_MAX;
}

static inline int sw_attention_empty(const struct sw_attention *a)
{
	return !a->B || !a->T || !a->D;
}

/* Whether a linear layer's shape is in those limits. */
static inline int sw_linear_fits(size_t rows, size_t in, size_t out)
{
	return rows <= INT32_MAX && in <= INT32_MAX && out <= INT32_MAX;
}

struct sw_norm {
	float eps;      /* PyTorch: 1e-5 */
	float momentum; /* batchnorm's: 0.1 */
};

/* All that changes from step to step, in backend memory, 8-byte aligned: kernels that were recorded
 * once (a CUDA graph) run again without new arguments. */
struct sw_step {
	uint64_t step;  /* of the optimizer, from 1 */
	uint64_t epoch; /* from 1, for augmentation */
	double lr;
	double beta1_t, beta2_t; /* beta^step, for Adam's bias correction */
};

/* Of epoch 0: the caller sets it. */
struct sw_step sw_step_make(uint64_t step, double lr, double beta1, double beta2);

/* How images are taken from the data set. With w[0..3] = the words of the Philox block (seed,
 * SW_PHILOX_AUGMENT, 0, step->epoch, the row's number), row r and column s of the output
 * are row r + w[0] % (2 pad + 1) - pad and column s' + w[1] % (2 pad + 1) - pad of the image, where
 * s' is W - 1 - s when flip is 1 and w[2] is odd, else s. So a row's crop depends on neither its
 * batch nor its place in it. */
struct sw_images {
	size_t C, H, W;
	int u8;  /* rows are uint8, not float */
	int pad; /* 0: no crop */
	int flip;
	uint64_t seed;
	const struct sw_step *step; /* backend memory; NULL: of epoch 0 */
	const float *scale, *shift; /* float[C], or NULL (both): raw * 1 + 0 */
	const int32_t
		*number; /* int32[B], the rows' numbers in the data set; NULL: index has them */
};

/* The mask of dropout: element i draws word i % 4 of the Philox block
 * sw_philox_block(seed, SW_PHILOX_DROPOUT, layer, step, i / 4) (kernels/philox.h). */
struct sw_dropout {
	uint64_t seed;
	uint32_t layer;
	uint64_t first; /* the tensor's first element in that of the whole batch (micro-batches) */
	float p;        /* in [0, 1): the part that is set to 0 */
};

struct sw_sgd {
	float momentum;     /* 0: velocity is neither read nor written */
	float weight_decay; /* L2: added to the gradient */
	int nesterov;       /* 0 or 1; only with momentum */
	float max_norm;     /* 0: gradients are not clipped */
};

struct sw_adam {
	float beta1, beta2;
	float eps;
	float weight_decay;
	int decoupled;  /* 1: AdamW */
	float max_norm; /* 0: gradients are not clipped */
};

/* Sums over the rows seen since they were zeroed; lives in backend memory, 8-byte aligned. Doubles,
 * so that 2^53 rows are counted exactly. Read with download. */
struct sw_metrics {
	double rows;     /* without those of label -1 */
	double loss_sum; /* sum over rows of the row's loss */
	/* cross_entropy: */
	double correct; /* rows whose largest logit (the first of equals) is the label's */
	double top5;    /* rows with fewer than 5 logits above the label's, ties before it counted;
			 * with C <= 5 every row without a NaN */
	/* mse, over values = rows * O: */
	double values;
	double abs_sum;             /* |y - t|: mae = abs_sum / values */
	double square_sum;          /* (y - t)^2 */
	double t_sum, t_square_sum; /* r2 = 1 - square_sum / (t_square_sum - t_sum^2 / values) */
};

#ifdef __cplusplus
}
#endif
#endif
