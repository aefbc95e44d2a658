#include "trainer/model/op.h"
#include <string.h>

static const struct {
	const char *word;
	uint32_t id;
	unsigned flags;
} rows_of[] = {
#define SW_OP_ROW(kind, word, id, flags, functions) [SW_OP_##kind] = {word, id, flags},

#define SW_OP_EACH(kind, word, id, flags) [SW_OP_##kind] = {#word, id, (flags) | SW_OP_IN_PLACE},
#include "trainer/model/op_list.h"
};

const char *sw_op_name(enum sw_op_kind kind)
{
	return rows_of[kind].word;
}

uint32_t sw_op_id(enum sw_op_kind kind)
{
	return rows_of[kind].id;
}

enum sw_op_kind sw_op_find(const char *word)
{
	enum sw_op_kind k = 0;

	while (k < SW_OP_KINDS_N && strcmp(rows_of[k].word, word) != 0)
		k++;
	return k;
}

bool sw_op_keeps_x(const struct sw_op *op)
{
	return (rows_of[op->kind].flags & SW_OP_KEEPS_X) != 0;
}

bool sw_op_keeps_y(const struct sw_op *op)
{
	if (op->fused)
		return false;
	return (rows_of[op->kind].flags & SW_OP_KEEPS_Y) != 0 || op->act != SW_ACT_NONE;
}

bool sw_op_back_in_place(const struct sw_op *op)
{
	return (rows_of[op->kind].flags & SW_OP_IN_PLACE) != 0;
}

bool sw_op_in_place(const struct sw_op *op, bool train)
{
	return sw_op_back_in_place(op) && !(train && sw_op_keeps_x(op));
}

bool sw_op_saves(const struct sw_op *op, bool train, size_t *row, size_t *fixed)
{
	*row = *fixed = 0;
	if (op->kind == SW_OP_ATTENTION) { /* probabilities, which evaluation needs too */
		*row = op->heads * op->to.t * op->to.t;
		return true;
	}
	if (op->kind == SW_OP_BATCHNORM) /* mean and 1 / deviation, each aligned */
		*fixed = 2 * sw_op_aligned(op->from.c);
	else if (op->kind == SW_OP_LAYERNORM)
		*row = op->from.kind == SW_SHAPE_TOKENS ? 2 * op->from.t : 2;
	else if (op->kind == SW_OP_MAXPOOL2D) /* the place of the largest */
		*row = sw_shape_count(&op->to);
	else if (op->kind != SW_OP_LINEAR) /* its size depends on the precision: sw_layout_make */
		return false;
	return train;
}

size_t sw_op_work(const struct sw_op *op, const struct sw_ops *ops, size_t rows, bool train,
		  bool synced)
{
	const struct sw_conv conv = sw_op_conv(op, rows);
	const struct sw_attention attention = sw_op_attention(op, rows);

	if (op->kind == SW_OP_CONV2D)
		return ops->conv2d_workspace(&conv);
	if (op->kind == SW_OP_ATTENTION)
		return ops->attention_workspace(&attention);
	if (op->kind == SW_OP_EMBEDDING && train)
		return ops->embedding_workspace(rows * op->to.t, op->vocab, op->to.d);
	return op->kind == SW_OP_BATCHNORM && synced ? 2 * op->from.c * sizeof(double) : 0;
}

size_t sw_op_products(const struct sw_op *op, const struct sw_ops *ops, enum sw_precision p,
		      size_t rows)
{
	const struct sw_conv conv = sw_op_conv(op, rows);

	if (op->kind == SW_OP_LINEAR)
		return ops->linear_products(p, sw_op_rows(&op->from, rows), sw_op_width(&op->from),
					    sw_op_width(&op->to));
	return op->kind == SW_OP_CONV2D ? ops->conv2d_products(p, &conv) : 0;
}

struct sw_conv sw_op_conv(const struct sw_op *op, size_t rows)
{
	return (struct sw_conv){.B = rows,
				.C = op->from.c,
				.H = op->from.h,
				.W = op->from.w,
				.O = op->to.c,
				.kh = op->kernel_h,
				.kw = op->kernel_w,
				.stride = op->stride,
				.pad = op->pad};
}

struct sw_window sw_op_window(const struct sw_op *op, size_t rows)
{
	return (struct sw_window){.B = rows,
				  .C = op->from.c,
				  .H = op->from.h,
				  .W = op->from.w,
				  .kh = op->kernel_h,
				  .kw = op->kernel_w,
				  .stride = op->stride,
				  .pad = op->pad};
}

struct sw_attention sw_op_attention(const struct sw_op *op, size_t rows)
{
	return (struct sw_attention){
		.B = rows, .T = op->to.t, .D = op->to.d, .heads = op->heads, .causal = op->causal};
}
