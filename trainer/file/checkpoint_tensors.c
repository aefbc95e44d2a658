/* trainer/file/checkpoint_tensors.c — the table of a checkpoint's tensors: their names are those of
 * PyTorch's state_dict of an nn.Sequential of the same list. */
#include "trainer/file/checkpoint_format.h"
#include <stdio.h>
#include <string.h>

/* Names a tensor after its layer, or after its operation where that has none. */
static void name(struct sw_checkpoint_tensor *t, const struct sw_op *op, size_t number,
		 const char *last)
{
	if (*op->path)
		snprintf(t->name, sizeof t->name, "%s.%s", op->path, last);
	else
		snprintf(t->name, sizeof t->name, "op%zu.%s", number, last);
}

/* The words of nn.MultiheadAttention for its two products. */
static const char *word(const struct sw_op *op, bool bias)
{
	if (op->kind == SW_OP_LINEAR && op->init == SW_INIT_XAVIER)
		return bias ? "in_proj_bias" : "in_proj_weight";
	if (op->kind == SW_OP_LINEAR && op->init == SW_INIT_NO_BIAS)
		return bias ? "out_proj.bias" : "out_proj.weight";
	return bias ? "bias" : "weight";
}

/* The dimensions of a tensor of n floats. */
static void shape(struct sw_checkpoint_tensor *t, const struct sw_op *op, size_t n, bool bias)
{
	t->rank = 1;
	t->dim[0] = n;
	if (op->kind == SW_OP_LAYERNORM && op->from.kind == SW_SHAPE_IMAGE) {
		t->rank = 3;
		t->dim[0] = op->from.c;
		t->dim[1] = op->from.h;
		t->dim[2] = op->from.w;
	} else if (bias) {
		return; /* one dimension, as above */
	} else if (op->kind == SW_OP_CONV2D) {
		t->rank = 4;
		t->dim[0] = op->to.c;
		t->dim[1] = op->from.c;
		t->dim[2] = op->kernel_h;
		t->dim[3] = op->kernel_w;
	} else if (op->kind == SW_OP_LINEAR || op->kind == SW_OP_EMBEDDING ||
		   op->kind == SW_OP_POSITION) {
		t->rank = 2;
		t->dim[1] = op->kind == SW_OP_LINEAR ? op->fan_in : op->to.d;
		t->dim[0] = n / t->dim[1];
	}
}

size_t sw_checkpoint_tensors(const struct sw_model *m, size_t i,
			     struct sw_checkpoint_tensor out[CHECKPOINT_TENSORS])
{
	const struct sw_op *op = &m->op[i];
	size_t n = 0;

	memset(out, 0, CHECKPOINT_TENSORS * sizeof *out);
	if (op->w_n) {
		name(&out[n], op, i, word(op, false));
		shape(&out[n++], op, op->w_n, false);
	}
	if (op->b_n) {
		name(&out[n], op, i, word(op, true));
		shape(&out[n++], op, op->b_n, true);
	}
	for (size_t k = 0; op->kind == SW_OP_BATCHNORM && k < 2; k++) {
		name(&out[n], op, i, k ? "running_var" : "running_mean");
		out[n].running = 1;
		out[n].rank = 1;
		out[n++].dim[0] = op->to.c;
	}
	return n;
}

size_t sw_checkpoint_tensors_n(const struct sw_model *m)
{
	struct sw_checkpoint_tensor t[CHECKPOINT_TENSORS];
	size_t n = 0;

	for (size_t i = 0; i < m->ops_n; i++)
		n += sw_checkpoint_tensors(m, i, t);
	return n;
}
