/*
 * trainer/model/back.c — the backward pass: which gradient lies where.
 *
 * It goes from the loss to the first operation with parameters, or to value 0 if that is received.
 * A value's gradient is the sum over its readers. The first of them (from the end) gives it a
 * buffer; the others add to it. A sum passes its own gradient on to both of its inputs, so that one
 * buffer may be the gradient of several values: then it is read, and written only by the last of
 * them.
 */
#include "trainer/model/internal.h"

struct back {
	struct sw_model *m;
	uint16_t grad[SW_MODEL_MAX_OPS + 1];  /* of each value; SW_NO_BUFFER: none yet */
	uint16_t users[SW_MODEL_MAX_BUFFERS]; /* values whose gradient a buffer is, and of which
						 it is not consumed */
	bool wanted[SW_MODEL_MAX_OPS + 1];    /* has a parameter on its way */
	uint16_t now;
};

static size_t count(const struct back *b, size_t value)
{
	return sw_shape_count(sw_model_shape(b->m, value));
}

static void emit(struct back *b, struct sw_back step)
{
	b->m->back[b->m->back_n++] = step;
	sw_plan_touch(&b->m->train, step.dy, b->now);
	sw_plan_touch(&b->m->train, step.dx, b->now);
	sw_plan_touch(&b->m->train, step.other, b->now);
}

static uint16_t fresh(struct back *b, size_t value)
{
	return sw_plan_buffer(&b->m->train, count(b, value), 0, b->now);
}

/* Buffer `from` holds a part of the value's gradient. own: no other value's gradient is in it. */
static void contribute(struct back *b, size_t value, uint16_t from, bool own)
{
	const uint16_t old = b->grad[value];

	if (old == SW_NO_BUFFER) {
		b->grad[value] = from;
		b->users[from]++;
	} else if (b->users[old] == 1 && old != from) {
		emit(b, (struct sw_back){.kind = SW_BACK_ACCUMULATE,
					 .dy = from,
					 .dx = old,
					 .other = SW_NO_BUFFER,
					 .value = (uint16_t)value});
	} else {
		/* Another value's gradient is in `old`, too: it may be read, and not written. */
		const uint16_t sum = own ? from : fresh(b, value);

		emit(b, (struct sw_back){.kind = SW_BACK_ADD,
					 .dy = from,
					 .other = old,
					 .dx = sum,
					 .value = (uint16_t)value});
		b->users[old]--;
		b->users[sum]++;
		b->grad[value] = sum;
	}
}

/* linear and conv2d with relu mask dy where it lies: they need it alone. */
static uint16_t own_dy(struct back *b, size_t i, uint16_t dy)
{
	const struct sw_op *op = &b->m->op[i];
	uint16_t copy;

	if (op->act == SW_ACT_NONE || b->users[dy] == 0)
		return dy;
	copy = fresh(b, i + 1);
	emit(b, (struct sw_back){.kind = SW_BACK_ADD,
				 .dy = dy,
				 .other = SW_NO_BUFFER,
				 .dx = copy,
				 .value = (uint16_t)(i + 1)});
	return copy;
}

/* A convolution makes the gradient of its pooling, too: from this buffer. */
static uint16_t pooling(struct back *b, const struct sw_op *op)
{
	if (op->kind != SW_OP_CONV2D || !op->pooled)
		return SW_NO_BUFFER;
	sw_plan_touch(&b->m->train, b->m->train.value[op->mate + 1], b->now);
	sw_plan_touch(&b->m->train, b->m->train.saved[op->mate], b->now);
	return b->grad[op->mate + 1];
}

static void back_op(struct back *b, size_t i)
{
	struct sw_model *m = b->m;
	const struct sw_op *op = &m->op[i];
	uint16_t dy = b->grad[i + 1], dx = SW_NO_BUFFER;

	b->users[dy]--; /* consumed here */
	if (sw_op_passes(op, true)) {
		contribute(b, op->in, dy, b->users[dy] == 0);
		return;
	}
	if (op->kind == SW_OP_ADD) {
		/* the last to come to it may own it */
		if (b->wanted[op->in])
			contribute(b, op->in, dy, false);
		if (b->wanted[op->in2])
			contribute(b, op->in2, dy, false);
		return;
	}
	dy = own_dy(b, i, dy);
	/* the norms write theirs whether it is wanted or not */
	if ((b->wanted[op->in] && op->kind != SW_OP_POSITION) || op->kind == SW_OP_BATCHNORM ||
	    op->kind == SW_OP_LAYERNORM)
		dx = sw_op_back_in_place(op) && b->users[dy] == 0 ? dy : fresh(b, op->in);
	if (op->kind != SW_OP_MAXPOOL2D || !op->pooled)
		emit(b, (struct sw_back){.kind = SW_BACK_OP,
					 .op = (uint16_t)i,
					 .dy = dy,
					 .dx = dx,
					 .other = pooling(b, op),
					 .value = (uint16_t)op->in});
	/* The derivative reads these: they have to last until now. */
	if (sw_op_keeps_x(op))
		sw_plan_touch(&m->train, m->train.value[op->in], b->now);
	if (sw_op_keeps_y(op))
		sw_plan_touch(&m->train, m->train.value[i + 1], b->now);
	sw_plan_touch(&m->train, m->train.saved[i], b->now);
	if (op->kind == SW_OP_POSITION && b->wanted[op->in])
		contribute(b, op->in, dy, b->users[dy] == 0);
	else if (b->wanted[op->in] && dx != SW_NO_BUFFER)
		contribute(b, op->in, dx, true);
}

void sw_model_back(struct sw_model *m)
{
	struct back b = {.m = m};
	const size_t n = m->ops_n;

	for (size_t v = 0; v <= n; v++)
		b.grad[v] = SW_NO_BUFFER;
	b.wanted[0] = m->task.received;
	for (size_t i = 0; i < n; i++) {
		const struct sw_op *op = &m->op[i];

		b.wanted[i + 1] = op->w_n > 0 || b.wanted[op->in] ||
				  (op->kind == SW_OP_ADD && b.wanted[op->in2]);
	}
	m->back_n = 0;
	b.now = (uint16_t)(n + 1);
	m->loss_grad = b.grad[n] = fresh(&b, n);
	b.users[b.grad[n]] = 1;
	for (size_t i = n; i-- > 0;) {
		b.now = (uint16_t)(2 * n + 1 - i);
		if (b.wanted[i + 1] && b.grad[i + 1] != SW_NO_BUFFER)
			back_op(&b, i);
	}
	m->input_grad = m->task.received ? b.grad[0] : SW_NO_BUFFER;
	/* while this gradient is being sent, another part's value 0 may be received into this one's
	 * place */
	sw_plan_touch(&m->train, m->input_grad, (uint16_t)(2 * n + 2));
	if (m->task.received)
		sw_plan_touch(&m->train, m->train.value[0], (uint16_t)(2 * n + 2));
}
