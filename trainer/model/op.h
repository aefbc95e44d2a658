/*
 * trainer/model/op.h — an operation of a model, and what is known of its kind: the rows of
 * op_list.h.
 *
 * A new layer is a row here, what it computes in forward.c and backward.c (nothing, where it works
 * element by element), and a row of trainer/schema.json. A kind that needs more than other kinds
 * has it in one of the functions below.
 * Pure     No state.
 */
#ifndef SW_TRAINER_MODEL_OP_H
#define SW_TRAINER_MODEL_OP_H

#include "kernels/ops.h"
#include "trainer/data/shape.h"
#include <stdbool.h>
#include <stdint.h>

/* Of a row: which of its values the backward pass reads beside dy; and whether dx may lie where dy
 * does, and y where x does, unless training keeps x. */
enum { SW_OP_KEEPS_X = 1, SW_OP_KEEPS_Y = 2, SW_OP_IN_PLACE = 4 };

enum sw_op_kind {
#define SW_OP_ROW(kind, word, id, flags, functions) SW_OP_##kind,
#include "trainer/model/op_list.h"
	SW_OP_KINDS_N
};

/* How an operation's parameters begin; w and b, as PyTorch's layer of that kind has them. */
enum sw_init {
	SW_INIT_NONE,
	SW_INIT_FAN_IN,  /* both U(-1/sqrt(fan in), 1/sqrt(fan in)) */
	SW_INIT_XAVIER,  /* w U(-a, a), a = sqrt(6 / (fan in + fan out)); b 0 */
	SW_INIT_NO_BIAS, /* w as FAN_IN, b 0 */
	SW_INIT_NORM,    /* w 1, b 0 */
	SW_INIT_NORMAL   /* w N(0, 1) */
};

struct sw_op {
	enum sw_op_kind kind;
	enum sw_init init;
	char path[48];   /* of its layer: "2", in residuals "3.body.0", "3.projection"; "" when it
			    is longer */
	uint32_t layer;  /* number in the list */
	uint32_t tensor; /* number of w in it, b is the next: for random streams */
	size_t in, in2;  /* values that it reads; in2: of ADD */
	struct sw_shape from, to;
	bool fused;      /* relu: the operation before it has done this */
	bool pooled;     /* conv2d, maxpool2d: one call makes both ... */
	size_t mate;     /* ... and this is the other */
	enum sw_act act; /* linear, conv2d */
	bool causal;
	size_t kernel_h, kernel_w, stride, pad;
	size_t heads, vocab;
	float p; /* dropout */
	/* parameters: first floats in the weights and how many; 0: none. w: linear float[out][in],
	 * conv2d float[o][c][k][k], norms gamma, embedding and position a table; b: bias, beta */
	size_t w, w_n, b, b_n;
	size_t fan_in;
	size_t mean, var; /* batchnorm: first floats in the running statistics, to.c each */
};

/* "conv2d", "gelu", ... */
const char *sw_op_name(enum sw_op_kind kind);
/* The kind's number in checkpoints. */
uint32_t sw_op_id(enum sw_op_kind kind);
/* Finds the kind of that word; SW_OP_KINDS_N: no operation has it. */
enum sw_op_kind sw_op_find(const char *word);

/* Does its backward pass read x, or y? */
bool sw_op_keeps_x(const struct sw_op *op);
bool sw_op_keeps_y(const struct sw_op *op);
/* May its dx be its dy, and its y its x? */
bool sw_op_back_in_place(const struct sw_op *op);
bool sw_op_in_place(const struct sw_op *op, bool train);
/* Passes its value on as it is: fused relu, flatten, and in evaluation dropout. */
static inline bool sw_op_passes(const struct sw_op *op, bool train)
{
	return op->kind == SW_OP_FLATTEN || op->fused || (op->kind == SW_OP_DROPOUT && !train);
}

/* Floats that it keeps for its backward pass, or needs beside y: *row for each row and *fixed
 * whatever the rows. False: none. */
bool sw_op_saves(const struct sw_op *op, bool train, size_t *row, size_t *fixed);
/* Bytes of scratch memory for rows rows. synced: batch norms leave sums in it for other ranks. */
size_t sw_op_work(const struct sw_op *op, const struct sw_ops *ops, size_t rows, bool train,
		  bool synced);
/* Bytes that a library needs for its products at this precision; 0: no library makes them. */
size_t sw_op_products(const struct sw_op *op, const struct sw_ops *ops, enum sw_precision p,
		      size_t rows);

/* So many floats, and the gap behind them that keeps what follows aligned. */
static inline size_t sw_op_aligned(size_t floats)
{
	const size_t to = SW_OPS_ALIGN / sizeof(float);

	return (floats + to - 1) / to * to;
}

/* Rows and width of a product or a norm: each token is a row. SIZE_MAX: too many to address. */
static inline size_t sw_op_rows(const struct sw_shape *shape, size_t rows)
{
	size_t out;

	if (shape->kind != SW_SHAPE_TOKENS)
		return rows;
	return __builtin_mul_overflow(rows, shape->t, &out) ? SIZE_MAX : out;
}

static inline size_t sw_op_width(const struct sw_shape *shape)
{
	return shape->kind == SW_SHAPE_TOKENS ? shape->d : sw_shape_count(shape);
}

/* The shapes that kernels take, for rows rows. */
struct sw_conv sw_op_conv(const struct sw_op *op, size_t rows);
struct sw_window sw_op_window(const struct sw_op *op, size_t rows);
struct sw_attention sw_op_attention(const struct sw_op *op, size_t rows);

#endif
