/* trainer/net/forward.c — the operations in their order: of each kind in op_list.h the function
 * that calls its kernel. */
#include "base/beat.h"
#include "trainer/net/internal.h"

static const struct sw_norm norm = {.eps = 1e-5f, .momentum = 0.1f};

/* One operation of a pass. */
struct call {
	const struct sw_net_pass *p;
	const struct sw_net *net;
	const struct sw_op *op;
	size_t i; /* its number */
	size_t n; /* elements of y */
	const float *x, *w, *b;
	float *y, *saved;
};

#define SW_OP_ROW(kind, word, id, flags, functions)
#define SW_OP_EACH(kind, word, id, flags)                                                          \
	static sw_status word##_forward(const struct call *c)                                      \
	{                                                                                          \
		return c->net->ops->word##_forward(c->net->q, c->x, c->y, c->n);                   \
	}
#include "trainer/model/op_list.h"

static sw_status linear_forward(const struct call *c)
{
	const struct sw_op *op = c->op;

	return c->net->ops->linear_forward(
		c->net->q, c->x, c->w, c->b, c->y, sw_op_rows(&op->from, c->p->rows),
		sw_op_width(&op->from), sw_op_width(&op->to), op->act, c->saved);
}

static sw_status conv2d_forward(const struct call *c)
{
	const struct sw_conv conv = sw_op_conv(c->op, c->p->rows);

	if (c->op->pooled) /* the pooling's call makes it, too */
		return SW_OK;
	return c->net->ops->conv2d_forward(c->net->q, c->x, c->w, c->b, c->y, &conv, c->op->act,
					   sw_net_work(c->net));
}

/* The convolution in front of the pooling, and this. */
static sw_status conv_pooled(const struct sw_net_pass *p, size_t pool)
{
	const struct sw_net *net = p->net;
	const struct sw_op *op = &net->own->op[net->own->op[pool].mate];
	const float *w = sw_net_floats(net, net->at.weights);
	const struct sw_conv conv = sw_op_conv(op, p->rows);
	const struct sw_pooled m = sw_net_pooled(p, pool);

	return net->ops->conv2d_maxpool_forward(net->q, sw_net_value(p, op->in), w + op->w,
						op->b_n ? w + op->b : NULL, &m, &conv, op->act,
						sw_net_work(net));
}

static sw_status maxpool2d_forward(const struct call *c)
{
	const struct sw_window window = sw_op_window(c->op, c->p->rows);

	if (c->op->pooled)
		return conv_pooled(c->p, c->i);
	return c->net->ops->maxpool2d_forward(c->net->q, c->x, c->y, (int32_t *)(void *)c->saved,
					      &window);
}

static sw_status avgpool2d_forward(const struct call *c)
{
	const struct sw_window window = sw_op_window(c->op, c->p->rows);

	return c->net->ops->avgpool2d_forward(c->net->q, c->x, c->y, &window);
}

/* Mean and variance of all ranks' rows. */
static sw_status batchnorm_synced(const struct call *c, float *mean, float *var)
{
	const struct sw_net *net = c->net;
	const struct sw_net_pass *p = c->p;
	const size_t C = c->op->from.c, S = c->op->from.h * c->op->from.w;
	double *sums = sw_net_doubles(net);
	sw_status rc = net->ops->batchnorm_sums(net->q, c->x, sums, p->rows, C, S);

	if (rc == SW_OK)
		rc = sw_net_sums_now(net, sums, 2 * C, p->parts);
	if (rc != SW_OK)
		return rc;
	return net->ops->batchnorm_train_summed(net->q, c->x, sums, c->w, c->b, mean, var, c->y,
						c->saved, c->saved + (c->op->var - c->op->mean),
						p->all * S, p->rows, C, S, norm);
}

static sw_status batchnorm_forward(const struct call *c)
{
	const struct sw_net *net = c->net;
	const size_t C = c->op->from.c, S = c->op->from.h * c->op->from.w;
	float *mean = sw_net_floats(net, net->at.running) + c->op->mean;
	float *var = sw_net_floats(net, net->at.running) + c->op->var;

	if (!c->p->train)
		return net->ops->batchnorm_eval(net->q, c->x, c->w, c->b, mean, var, c->y,
						c->p->rows, C, S, norm);
	if (sw_net_synced(net))
		return batchnorm_synced(c, mean, var);
	return net->ops->batchnorm_train(net->q, c->x, c->w, c->b, mean, var, c->y, c->saved,
					 c->saved + (c->op->var - c->op->mean), c->p->rows, C, S,
					 norm);
}

static sw_status layernorm_forward(const struct call *c)
{
	const size_t R = sw_op_rows(&c->op->from, c->p->rows);

	return c->net->ops->layernorm_forward(c->net->q, c->x, c->w, c->b, c->y, c->saved,
					      c->saved ? c->saved + R : NULL, R,
					      sw_op_width(&c->op->from), norm);
}

static sw_status dropout_forward(const struct call *c)
{
	return sw_net_dropout(c->p, c->op, c->x, c->y);
}

static sw_status add_forward(const struct call *c)
{
	return c->net->ops->add(c->net->q, c->x, sw_net_value(c->p, c->op->in2), c->y, c->n);
}

static sw_status embedding_forward(const struct call *c)
{
	return c->net->ops->embedding_forward(c->net->q, c->w, (const int32_t *)(const void *)c->x,
					      c->y, c->p->rows * c->op->to.t, c->op->vocab,
					      c->op->to.d);
}

static sw_status position_forward(const struct call *c)
{
	return c->net->ops->position_forward(c->net->q, c->x, c->w, c->y, c->p->rows, c->op->to.t,
					     c->op->to.d);
}

static sw_status attention_forward(const struct call *c)
{
	const struct sw_attention attention = sw_op_attention(c->op, c->p->rows);

	return c->net->ops->attention_forward(c->net->q, c->x, c->p->length, c->saved, c->y,
					      &attention, sw_net_work(c->net));
}

static sw_status token_mean_forward(const struct call *c)
{
	return c->net->ops->token_mean_forward(c->net->q, c->x, c->p->length, c->y, c->p->rows,
					       c->op->from.t, c->op->from.d);
}

/* A flattened value is its input. */
#define none_forward NULL

static sw_status (*const forward_of[])(const struct call *) = {
#define SW_OP_ROW(kind, word, id, flags, functions) [SW_OP_##kind] = functions##_forward,
#define SW_OP_EACH(kind, word, id, flags)           [SW_OP_##kind] = word##_forward,
#include "trainer/model/op_list.h"
};

sw_status sw_net_forward(const struct sw_net_pass *p)
{
	struct sw_net *net = p->net;
	const float *w = sw_net_floats(net, net->at.weights);
	const struct sw_model *m = net->own;
	sw_status rc = SW_OK;

	for (size_t i = 0; rc == SW_OK && i < m->ops_n; i++) {
		const struct sw_op *op = &m->op[i];

		if (sw_op_passes(op, p->train))
			continue;
		const struct call c = {.p = p,
				       .net = net,
				       .op = op,
				       .i = i,
				       .n = p->rows * sw_shape_count(&op->to),
				       .x = sw_net_value(p, op->in),
				       .w = w + op->w,
				       .b = op->b_n ? w + op->b : NULL,
				       .y = sw_net_buffer(p, sw_net_plan(p)->value[i + 1]),
				       .saved = sw_net_buffer(p, sw_net_plan(p)->saved[i])};

		sw_beat(); /* on a CPU one operation may take seconds */
		rc = forward_of[op->kind](&c);
		if (rc == SW_UNSUPPORTED)
			net->lacks = sw_op_name(op->kind);
	}
	return rc;
}
