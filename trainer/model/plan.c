/*
 * trainer/model/plan.c — which buffer each value has, and from when to when it is needed.
 *
 * Time: operation i runs forward at i + 1, the loss at n + 1, operation i backward at 2 n + 1 - i.
 * A convolution and the pooling behind it are one call if no other operation reads the map between
 * them: forward in the pooling's place, backward in the convolution's.
 * An operation writes over its input if nothing reads that later: no other operation in this pass,
 * and no derivative in the backward pass, its own or that of the operation which wrote the input.
 */
#include "trainer/model/internal.h"

/* Does operation i overwrite its input? readers: of each value. */
static bool overwrites(const struct sw_model *m, size_t i, const uint16_t *readers, bool train)
{
	size_t v = m->op[i].in;

	if (!sw_op_in_place(&m->op[i], train))
		return false; /* training needs its input again, or places differ */
	/* a sum of a value with itself has no room */
	while (v && readers[v] == 1 && sw_op_passes(&m->op[v - 1], train))
		v = m->op[v - 1].in;
	return v && readers[v] == 1 && !(train && sw_op_keeps_y(&m->op[v - 1]));
}

static uint16_t plan_saved(struct sw_plan *p, const struct sw_op *op, uint16_t now, bool train)
{
	size_t row, fixed;

	return sw_op_saves(op, train, &row, &fixed) ? sw_plan_buffer(p, row, fixed, now)
						    : SW_NO_BUFFER;
}

/* Convolutions whose output goes to a maximum pooling alone: nobody else reads the map between. */
static void pair_pools(struct sw_model *m, const uint16_t *readers)
{
	for (size_t i = 1; i < m->ops_n; i++) {
		struct sw_op *pool = &m->op[i], *conv = &m->op[i - 1];
		bool alone = pool->kind == SW_OP_MAXPOOL2D && pool->in == i && readers[i] == 1;

		/* A relu between them is the convolution's own: the pair is one operation further
		 * apart. */
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
		p->value[0] = sw_plan_buffer(p, sw_shape_count(&m->task.input), 0, 0);
	if (train && tokens) {
		p->length = sw_plan_buffer(p, 1, 0, 0);
		/* Attention and the mean read the lengths forward and backward. */
		sw_plan_touch(p, p->length, (uint16_t)(2 * n + 1));
	}
	if (!train && m->task.gathered)
		p->index = sw_plan_buffer(p, 1, 0, 0);
}

static void plan_forward(const struct sw_model *m, struct sw_plan *p, const uint16_t *readers,
			 bool train)
{
	p->buffers_n = 0;
	plan_inputs(m, p, train);
	for (size_t i = 0; i < m->ops_n; i++) {
		const struct sw_op *op = &m->op[i];
		const uint16_t now = (uint16_t)(i + 1);

		sw_plan_touch(p, p->value[op->in], now);
		if (op->kind == SW_OP_ADD)
			sw_plan_touch(p, p->value[op->in2], now);
		if (op->kind == SW_OP_MAXPOOL2D && op->pooled) /* the convolution is made now */
			sw_plan_touch(p, p->value[m->op[op->mate].in], now);
		if (sw_op_passes(op, train) || overwrites(m, i, readers, train))
			p->value[i + 1] = p->value[op->in];
		else
			p->value[i + 1] = sw_plan_buffer(p, sw_shape_count(&op->to), 0, now);
		p->saved[i] = plan_saved(p, op, now, train);
	}
	sw_plan_touch(p, p->value[m->ops_n], (uint16_t)(m->ops_n + 1));
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
