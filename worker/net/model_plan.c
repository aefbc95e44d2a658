/*
 * worker/net/model_plan.c — which buffer each value has, and from when to when it is needed.
 *
 * Time: operation i runs forward at i + 1, the loss at n + 1, operation i backward at 2 n + 1 - i.
 * A convolution and the pooling behind it are one call where nobody else reads the map between: in
 * the pooling's place forward, in the convolution's backward.
 * An operation writes over what it reads where nobody else reads that: not in this pass, and not
 * in the backward pass, where its own or the writer's derivative may be made from it.
 */
#include "kernels/ops.h"
#include "worker/net/model_internal.h"
#include <string.h>

bool sw_model_needs_x(const struct sw_op *op)
{
	switch (op->kind) {
	case SW_OP_LINEAR:
	case SW_OP_CONV2D:
	case SW_OP_GELU:
	case SW_OP_BATCHNORM:
	case SW_OP_LAYERNORM:
	case SW_OP_EMBEDDING:
	case SW_OP_ATTENTION:
		return true;
	default:
		return false;
	}
}

bool sw_model_needs_y(const struct sw_op *op)
{
	switch (op->kind) {
	case SW_OP_RELU:
		return !op->fused;
	case SW_OP_TANH:
	case SW_OP_SIGMOID:
		return true;
	default:
		return op->act != SW_ACT_NONE;
	}
}

bool sw_model_passes(const struct sw_op *op, bool train)
{
	return op->kind == SW_OP_FLATTEN || op->fused || (op->kind == SW_OP_DROPOUT && !train);
}

/* May the operation's y be its x? */
static bool can_overwrite(const struct sw_op *op, bool train)
{
	switch (op->kind) {
	case SW_OP_RELU:
	case SW_OP_TANH:
	case SW_OP_SIGMOID:
	case SW_OP_DROPOUT:
	case SW_OP_ADD:
	case SW_OP_POSITION:
		return true;
	case SW_OP_GELU:
	case SW_OP_BATCHNORM:
	case SW_OP_LAYERNORM:
		return !train;
	default:
		return false;
	}
}

uint16_t sw_model_plan_buffer(struct sw_plan *p, size_t row, size_t fixed, uint16_t from)
{
	p->buffer[p->buffers_n] =
		(struct sw_buffer){.row = row, .fixed = fixed, .from = from, .to = from};
	return (uint16_t)p->buffers_n++;
}

void sw_model_plan_touch(struct sw_plan *p, uint16_t buffer, uint16_t when)
{
	if (buffer != SW_NO_BUFFER && p->buffer[buffer].to < when)
		p->buffer[buffer].to = when;
}

/* Does operation i overwrite its input? readers: of each value. */
static bool overwrites(const struct sw_model *m, size_t i, const uint16_t *readers, bool train)
{
	size_t v = m->op[i].in;

	if (!can_overwrite(&m->op[i], train))
		return false;
	/* a sum of a value with itself has no room */
	while (v && readers[v] == 1 && sw_model_passes(&m->op[v - 1], train))
		v = m->op[v - 1].in;
	return v && readers[v] == 1 && !(train && sw_model_needs_y(&m->op[v - 1]));
}

/* What the operation keeps for its backward pass, or needs for itself. */
static uint16_t plan_saved(struct sw_plan *p, const struct sw_op *op, uint16_t now, bool train)
{
	const size_t to = SW_OPS_ALIGN / sizeof(float);

	if (op->kind == SW_OP_ATTENTION)
		return sw_model_plan_buffer(p, op->heads * op->to.t * op->to.t, 0, now);
	if (!train)
		return SW_NO_BUFFER;
	if (op->kind == SW_OP_LINEAR) /* of what size, the backend says: layout.c */
		return sw_model_plan_buffer(p, 0, 0, now);
	if (op->kind == SW_OP_BATCHNORM)
		return sw_model_plan_buffer(p, 0, 2 * ((op->from.c + to - 1) / to * to), now);
	if (op->kind == SW_OP_LAYERNORM)
		return sw_model_plan_buffer(
			p, op->from.kind == SW_SHAPE_TOKENS ? 2 * op->from.t : 2, 0, now);
	if (op->kind == SW_OP_MAXPOOL2D)
		return sw_model_plan_buffer(p, sw_shape_count(&op->to), 0, now);
	return SW_NO_BUFFER;
}

/* Convolutions whose output goes to a maximum pooling alone: nobody else reads the map between. */
static void pair_pools(struct sw_model *m, const uint16_t *readers)
{
	for (size_t i = 1; i < m->ops_n; i++) {
		struct sw_op *pool = &m->op[i], *conv = &m->op[i - 1];
		bool alone = pool->kind == SW_OP_MAXPOOL2D && pool->in == i && readers[i] == 1;

		if (alone && conv->fused) {
			alone = conv->in == i - 1 && readers[i - 1] == 1;
			conv--;
		}
		if (!alone || conv->kind != SW_OP_CONV2D)
			continue;
		pool->pooled = conv->pooled = true;
		pool->mate = (size_t)(conv - m->op);
		conv->mate = i;
	}
}

static void plan_inputs(const struct sw_model *m, struct sw_plan *p, bool train)
{
	const size_t n = m->ops_n;
	const bool tokens = m->task.input.kind == SW_SHAPE_TOKENS;

	p->value[0] = p->length = p->index = SW_NO_BUFFER;
	if (train || m->task.gathered || m->task.received)
		p->value[0] = sw_model_plan_buffer(p, sw_shape_count(&m->task.input), 0, 0);
	if (train && tokens) {
		p->length = sw_model_plan_buffer(p, 1, 0, 0);
		sw_model_plan_touch(p, p->length, (uint16_t)(2 * n + 1));
	}
	if (!train && m->task.gathered)
		p->index = sw_model_plan_buffer(p, 1, 0, 0);
}

static void plan_forward(const struct sw_model *m, struct sw_plan *p, const uint16_t *readers,
			 bool train)
{
	p->buffers_n = 0;
	plan_inputs(m, p, train);
	for (size_t i = 0; i < m->ops_n; i++) {
		const struct sw_op *op = &m->op[i];
		const uint16_t now = (uint16_t)(i + 1);

		sw_model_plan_touch(p, p->value[op->in], now);
		if (op->kind == SW_OP_ADD)
			sw_model_plan_touch(p, p->value[op->in2], now);
		if (op->kind == SW_OP_MAXPOOL2D && op->pooled) /* the convolution is made now */
			sw_model_plan_touch(p, p->value[m->op[op->mate].in], now);
		if (sw_model_passes(op, train) || overwrites(m, i, readers, train))
			p->value[i + 1] = p->value[op->in];
		else
			p->value[i + 1] = sw_model_plan_buffer(p, sw_shape_count(&op->to), 0, now);
		p->saved[i] = plan_saved(p, op, now, train);
	}
	sw_model_plan_touch(p, p->value[m->ops_n], (uint16_t)(m->ops_n + 1));
}

void sw_model_plan(struct sw_model *m)
{
	uint16_t readers[SW_MODEL_MAX_OPS + 1] = {0};

	for (size_t i = 0; i < m->ops_n; i++) {
		readers[m->op[i].in]++;
		if (m->op[i].kind == SW_OP_ADD)
			readers[m->op[i].in2]++;
	}
	readers[m->ops_n]++; /* the loss */
	pair_pools(m, readers);
	plan_forward(m, &m->train, readers, true);
	plan_forward(m, &m->eval, readers, false);
	sw_model_back(m);
}
