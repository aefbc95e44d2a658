/* trainer/model/shapes.c — operations: which shapes they take and make, what parameters they
 * have. */
#include "kernels/ops.h"
#include "trainer/model/internal.h"
#include <stdio.h>
#include <string.h>

const struct sw_shape *sw_model_shape(const struct sw_model *m, size_t value)
{
	return value ? &m->op[value - 1].to : &m->task.input;
}

const char *sw_model_shape_text(const struct sw_shape *s, char out[80])
{
	if (s->kind == SW_SHAPE_IMAGE)
		snprintf(out, 80, "%zu x %zu x %zu", s->c, s->h, s->w);
	else if (s->kind == SW_SHAPE_TOKENS && s->d)
		snprintf(out, 80, "%zu tokens of %zu", s->t, s->d);
	else if (s->kind == SW_SHAPE_TOKENS)
		snprintf(out, 80, "%zu tokens", s->t);
	else
		snprintf(out, 80, "%zu numbers", s->c);
	return out;
}

static bool same_shape(const struct sw_shape *a, const struct sw_shape *b)
{
	return a->kind == b->kind && sw_shape_count(a) == sw_shape_count(b) && a->c == b->c &&
	       a->h == b->h && a->t == b->t;
}

static sw_status wrong(const struct sw_model *m, size_t in, const char *layer, const char *wants,
		       const struct sw_model_at *at)
{
	char text[80];

	return sw_err_at(at->err, SW_INVALID, at->ptr, "%s takes %s, what comes to it is %s", layer,
			 wants, sw_model_shape_text(sw_model_shape(m, in), text));
}

/* A tensor of n floats among the weights, 64-byte aligned. */
static size_t tensor(struct sw_model *m, size_t n)
{
	const size_t here = m->weights_n;

	/* The gap is part of the arena, and 0 for good: optimizers and sums go over it. */
	m->weights_n += sw_op_aligned(n);
	m->parameters += n;
	return here;
}

static void parameters(struct sw_model *m, struct sw_op *op, enum sw_init init, size_t w_n,
		       size_t b_n)
{
	op->init = init;
	op->w_n = w_n;
	op->b_n = b_n;
	op->w = tensor(m, w_n);
	op->b = tensor(m, b_n);
}

/* "/3/residual/0/linear" -> "3.body.0". A residual's own operations are those of a part. */
static void path_of(const struct sw_model_at *at, char *out, size_t cap)
{
	size_t n = 0;

	out[0] = '\0';
	for (const char *word = at->ptr; *word == '/';) {
		const size_t len = strcspn(word + 1, "/");
		const bool body = strncmp(word + 1, "residual", len) == 0 && word[1 + len] == '/';
		const bool place = word[1] >= '0' && word[1] <= '9';

		if (place || body)
			n += (size_t)snprintf(out + n, n < cap ? cap - n : 0, "%s%.*s",
					      n ? "." : "", body ? 4 : (int)len,
					      body ? "body" : word + 1);
		word += 1 + len;
	}
	if (at->part)
		n += (size_t)snprintf(out + n, n < cap ? cap - n : 0, ".%s", at->part);
	if (n >= cap)
		out[0] = '\0';
}

sw_status sw_model_op(struct sw_model *m, enum sw_op_kind kind, size_t in,
		      const struct sw_model_at *at)
{
	struct sw_op *op = &m->op[m->ops_n];

	if (m->ops_n == SW_MODEL_MAX_OPS)
		return sw_err_at(at->err, SW_TOO_BIG, at->ptr, "a model has at most %d operations",
				 SW_MODEL_MAX_OPS);
	memset(op, 0, sizeof *op);
	op->kind = kind;
	op->layer = at->layer;
	path_of(at, op->path, sizeof op->path);
	op->in = op->in2 = in;
	op->from = op->to = *sw_model_shape(m, in);
	if (op->from.kind == SW_SHAPE_TOKENS && op->from.d == 0 && kind != SW_OP_EMBEDDING)
		return sw_err_at(at->err, SW_INVALID, at->ptr,
				 "the data set has tokens: the first layer must be "
				 "{\"embedding\": N}");
	m->ops_n++;
	return SW_OK;
}

sw_status sw_model_linear(struct sw_model *m, size_t in, size_t width, bool bias,
			  const struct sw_model_at *at)
{
	struct sw_op *op = &m->op[m->ops_n];
	sw_status rc = sw_model_op(m, SW_OP_LINEAR, in, at);

	if (rc != SW_OK)
		return rc;
	if (op->from.kind == SW_SHAPE_IMAGE)
		return wrong(m, in, "linear", "numbers or tokens (put \"flatten\" before it)", at);
	if (op->to.kind == SW_SHAPE_TOKENS)
		op->to.d = width;
	else
		op->to.c = width;
	op->fan_in = sw_op_width(&op->from);
	parameters(m, op, SW_INIT_FAN_IN, op->fan_in * width, bias ? width : 0);
	return SW_OK;
}

static sw_status window(struct sw_model *m, struct sw_op *op, const struct sw_op *shape,
			const char *name, const struct sw_model_at *at)
{
	char text[80];

	op->kernel_h = shape->kernel_h;
	op->kernel_w = shape->kernel_w;
	op->stride = shape->stride;
	op->pad = shape->pad;
	if (op->from.kind != SW_SHAPE_IMAGE)
		return wrong(m, op->in, name, "images", at);
	op->to.h = sw_window_out(op->from.h, op->kernel_h, op->stride, op->pad);
	op->to.w = sw_window_out(op->from.w, op->kernel_w, op->stride, op->pad);
	if (op->to.h == 0 || op->to.w == 0)
		return sw_err_at(
			at->err, SW_INVALID, at->ptr,
			"a window of %zu x %zu does not fit an image of %s with padding %zu",
			op->kernel_h, op->kernel_w, sw_model_shape_text(&op->from, text), op->pad);
	return SW_OK;
}

sw_status sw_model_conv(struct sw_model *m, size_t in, const struct sw_op *shape, size_t width,
			bool bias, const struct sw_model_at *at)
{
	struct sw_op *op = &m->op[m->ops_n];
	sw_status rc = sw_model_op(m, SW_OP_CONV2D, in, at);

	if (rc != SW_OK)
		return rc;
	rc = window(m, op, shape, "conv2d", at);
	if (rc != SW_OK)
		return rc;
	op->fan_in = op->from.c * op->kernel_h * op->kernel_w;
	op->to.c = width;
	parameters(m, op, SW_INIT_FAN_IN, op->fan_in * width, bias ? width : 0);
	return SW_OK;
}

sw_status sw_model_pool(struct sw_model *m, enum sw_op_kind kind, const struct sw_op *shape,
			const struct sw_model_at *at)
{
	const char *name = sw_op_name(kind);
	struct sw_op *op = &m->op[m->ops_n];
	sw_status rc = sw_model_op(m, kind, m->ops_n, at);

	if (rc != SW_OK)
		return rc;
	if (2 * shape->pad > shape->kernel_h)
		return sw_err_at(at->err, SW_INVALID, at->ptr,
				 "the padding %zu is more than half the window %zu", shape->pad,
				 shape->kernel_h);
	return window(m, op, shape, name, at);
}

sw_status sw_model_batchnorm(struct sw_model *m, const struct sw_model_at *at)
{
	struct sw_op *op = &m->op[m->ops_n];
	sw_status rc = sw_model_op(m, SW_OP_BATCHNORM, m->ops_n, at);

	if (rc != SW_OK)
		return rc;
	if (op->from.kind == SW_SHAPE_TOKENS)
		return wrong(m, op->in, "batchnorm", "numbers or images (tokens have layernorm)",
			     at);
	op->mean = m->running_n;
	op->var = op->mean + sw_op_aligned(op->from.c);
	m->running_n = op->var + sw_op_aligned(op->from.c);
	parameters(m, op, SW_INIT_NORM, op->from.c, op->from.c);
	return SW_OK;
}

sw_status sw_model_layernorm(struct sw_model *m, const struct sw_model_at *at)
{
	struct sw_op *op = &m->op[m->ops_n];
	sw_status rc = sw_model_op(m, SW_OP_LAYERNORM, m->ops_n, at);

	if (rc == SW_OK)
		parameters(m, op, SW_INIT_NORM, sw_op_width(&op->from), sw_op_width(&op->from));
	return rc;
}

sw_status sw_model_attention(struct sw_model *m, size_t heads, bool causal,
			     const struct sw_model_at *at)
{
	const size_t first = m->ops_n;
	const struct sw_shape *x = sw_model_shape(m, first);
	sw_status rc;

	if (x->kind != SW_SHAPE_TOKENS || x->d == 0)
		return wrong(m, first, "attention", "tokens (put \"embedding\" before it)", at);
	if (x->d % heads != 0)
		return sw_err_at(at->err, SW_INVALID, at->ptr,
				 "%zu heads do not divide the width %zu", heads, x->d);
	const size_t width = x->d;

	rc = sw_model_linear(m, first, 3 * width, true, at);
	if (rc == SW_OK)
		rc = sw_model_op(m, SW_OP_ATTENTION, m->ops_n, at);
	if (rc != SW_OK)
		return rc;
	m->op[first].init = SW_INIT_XAVIER;
	m->op[first + 1].to.d = width;
	m->op[first + 1].heads = heads;
	m->op[first + 1].causal = causal;
	rc = sw_model_linear(m, m->ops_n, width, true, at);
	if (rc != SW_OK)
		return rc;
	m->op[first + 2].init = SW_INIT_NO_BIAS;
	m->op[first + 2].tensor = 2;
	return SW_OK;
}

sw_status sw_model_embedding(struct sw_model *m, size_t dim, size_t vocab,
			     const struct sw_model_at *at)
{
	struct sw_op *op = &m->op[m->ops_n];
	sw_status rc;

	if (m->ops_n != 0 || m->task.input.kind != SW_SHAPE_TOKENS)
		return wrong(m, m->ops_n, "embedding", "the tokens of a data set", at);
	rc = sw_model_op(m, SW_OP_EMBEDDING, m->ops_n, at);
	if (rc != SW_OK)
		return rc;
	op->vocab = vocab ? vocab : m->task.vocab;
	if (op->vocab < m->task.vocab)
		return sw_err_at(at->err, SW_INVALID, at->ptr,
				 "the data set has tokens up to %zu, the embedding a vocab of %zu",
				 m->task.vocab - 1, op->vocab);
	op->to.d = dim;
	parameters(m, op, SW_INIT_NORMAL, op->vocab * dim, 0);
	return SW_OK;
}

sw_status sw_model_position(struct sw_model *m, size_t most, const struct sw_model_at *at)
{
	struct sw_op *op = &m->op[m->ops_n];
	sw_status rc = sw_model_op(m, SW_OP_POSITION, m->ops_n, at);

	if (rc != SW_OK)
		return rc;
	if (op->from.kind != SW_SHAPE_TOKENS)
		return wrong(m, op->in, "positional", "tokens", at);
	if (most && most < op->from.t)
		return sw_err_at(at->err, SW_INVALID, at->ptr,
				 "a row has %zu tokens, positional has %zu places", op->from.t,
				 most);
	parameters(m, op, SW_INIT_NORMAL, (most ? most : op->from.t) * op->from.d, 0);
	return SW_OK;
}

/* x, made to look like the body's value: a 1x1 convolution and its norm, or a linear layer. */
static sw_status project(struct sw_model *m, size_t x, const struct sw_shape *to,
			 const struct sw_model_at *at)
{
	const struct sw_shape *from = sw_model_shape(m, x);
	struct sw_model_at part = *at;
	struct sw_op shape = {.kernel_h = 1, .kernel_w = 1};
	char a[80], b[80];
	sw_status rc;

	if (from->kind == to->kind && to->kind == SW_SHAPE_IMAGE) {
		/* The smallest stride that leaves at most to->h; whether it leaves as many, on both
		 * sides, is asked below. */
		shape.stride = (from->h + to->h - 1) / to->h;
		if (sw_window_out(from->h, 1, shape.stride, 0) == to->h &&
		    sw_window_out(from->w, 1, shape.stride, 0) == to->w) {
			part.part = "projection.0";
			rc = sw_model_conv(m, x, &shape, to->c, false, &part);
			part.part = "projection.1";
			return rc == SW_OK ? sw_model_batchnorm(m, &part) : rc;
		}
	} else if (from->kind == to->kind && from->t == to->t) {
		part.part = "projection";
		return sw_model_linear(m, x, to->kind == SW_SHAPE_FLAT ? to->c : to->d, true,
				       &part);
	}
	return sw_err_at(at->err, SW_INVALID, at->ptr,
			 "what a residual begins with (%s) has no projection to its end (%s)",
			 sw_model_shape_text(from, a), sw_model_shape_text(to, b));
}

sw_status sw_model_residual_end(struct sw_model *m, size_t x, const struct sw_model_at *at)
{
	const size_t body = m->ops_n;
	const struct sw_shape to = *sw_model_shape(m, body);
	sw_status rc = SW_OK;
	bool does = false;

	for (size_t i = x; i < m->ops_n; i++)
		does = does || !sw_op_passes(&m->op[i], true);
	if (!does)
		return sw_err_at(at->err, SW_INVALID, at->ptr, "the residual's list does nothing");
	if (!same_shape(sw_model_shape(m, x), &to)) {
		rc = project(m, x, &to, at);
		x = m->ops_n;
	}
	if (rc == SW_OK)
		rc = sw_model_op(m, SW_OP_ADD, body, at);
	if (rc == SW_OK)
		m->op[m->ops_n - 1].in2 = x;
	return rc;
}
