/* worker/net/net_backward.c — the plan's backward pass, step by step. */
#include "base/beat.h"
#include "worker/net/net_internal.h"

/* One operation's: its gradients, and what it reads beside them. */
struct grads {
	const struct sw_op *op;
	const float *x, *y, *saved, *other;
	float *dy, *dx;
};

static sw_status products(const struct sw_net_pass *p, const struct grads *g)
{
	const struct sw_net *net = p->net;
	const struct sw_op *op = g->op;
	const float *w = sw_net_floats(net, net->at.weights);
	float *dw = p->grads + op->w, *db = op->b_n ? p->grads + op->b : NULL;
	const struct sw_conv conv = sw_layout_conv(op, p->rows);

	if (op->pooled) {
		const struct sw_pooled m = sw_net_pooled(p, op->mate);

		return net->ops->conv2d_maxpool_backward(net->q, g->x, w + op->w, &m, g->other,
							 g->dy, g->dx, dw, db, &conv, op->act,
							 sw_net_work(net));
	}
	if (op->kind == SW_OP_CONV2D)
		return net->ops->conv2d_backward(net->q, g->x, w + op->w, g->y, g->dy, g->dx, dw,
						 db, &conv, op->act, sw_net_work(net));
	return net->ops->linear_backward(net->q, g->x, w + op->w, g->y, g->dy, g->dx, dw, db,
					 sw_net_row_n(&op->from, p->rows), sw_net_width(&op->from),
					 sw_net_width(&op->to), op->act, g->saved);
}

/* Of a batch norm with the statistics of all ranks' rows. */
static sw_status batchnorm_synced(const struct sw_net_pass *p, const struct grads *g)
{
	const struct sw_net *net = p->net;
	const struct sw_op *op = g->op;
	const float *gamma = sw_net_floats(net, net->at.weights) + op->w;
	const float *mean = g->saved, *rstd = g->saved + (op->var - op->mean);
	const size_t C = op->from.c, S = op->from.h * op->from.w;
	double *sums = sw_net_doubles(net);
	sw_status rc = net->ops->batchnorm_backward_sums(net->q, g->x, mean, rstd, g->dy, sums,
							 p->grads + op->w, p->grads + op->b,
							 p->rows, C, S);

	if (rc == SW_OK)
		rc = sw_net_sums_now(net, sums, 2 * C, p->parts);
	if (rc != SW_OK)
		return rc;
	return net->ops->batchnorm_backward_summed(net->q, g->x, gamma, mean, rstd, g->dy, sums,
						   g->dx, p->all * S, p->rows, C, S);
}

static sw_status norms(const struct sw_net_pass *p, const struct grads *g)
{
	const struct sw_net *net = p->net;
	const struct sw_op *op = g->op;
	const float *gamma = sw_net_floats(net, net->at.weights) + op->w;
	const size_t R = sw_net_row_n(&op->from, p->rows);

	if (op->kind == SW_OP_BATCHNORM && sw_net_synced(net))
		return batchnorm_synced(p, g);
	if (op->kind == SW_OP_BATCHNORM)
		return net->ops->batchnorm_backward(net->q, g->x, gamma, g->saved,
						    g->saved + (op->var - op->mean), g->dy, g->dx,
						    p->grads + op->w, p->grads + op->b, p->rows,
						    op->from.c, op->from.h * op->from.w);
	return net->ops->layernorm_backward(net->q, g->x, gamma, g->saved, g->saved + R, g->dy,
					    g->dx, p->grads + op->w, p->grads + op->b, R,
					    sw_net_width(&op->from));
}

static sw_status tokens(const struct sw_net_pass *p, const struct grads *g)
{
	const struct sw_net *net = p->net;
	const struct sw_op *op = g->op;
	float *dw = p->grads + op->w;
	const struct sw_attention attention = sw_layout_attention(op, p->rows);

	switch (op->kind) {
	case SW_OP_EMBEDDING:
		return net->ops->embedding_backward(net->q, (const int32_t *)(const void *)g->x,
						    g->dy, dw, p->rows * op->to.t, op->vocab,
						    op->to.d, sw_net_work(net));
	case SW_OP_POSITION:
		return net->ops->position_backward(net->q, g->dy, dw, p->rows, op->to.t, op->to.d);
	case SW_OP_ATTENTION:
		return net->ops->attention_backward(net->q, g->x, g->saved, g->dy, g->dx,
						    &attention, sw_net_work(net));
	default:
		return net->ops->token_mean_backward(net->q, g->dy, p->length, g->dx, p->rows,
						     op->from.t, op->from.d);
	}
}

static sw_status elements(const struct sw_net_pass *p, const struct grads *g)
{
	const struct sw_ops *ops = p->net->ops;
	struct sw_queue *q = p->net->q;
	const struct sw_op *op = g->op;
	const size_t n = p->rows * sw_shape_count(&op->to);
	const struct sw_window window = sw_layout_window(op, p->rows);

	switch (op->kind) {
	case SW_OP_RELU:
		return ops->relu_backward(q, g->y, g->dy, g->dx, n);
	case SW_OP_TANH:
		return ops->tanh_backward(q, g->y, g->dy, g->dx, n);
	case SW_OP_SIGMOID:
		return ops->sigmoid_backward(q, g->y, g->dy, g->dx, n);
	case SW_OP_GELU:
		return ops->gelu_backward(q, g->x, g->dy, g->dx, n);
	case SW_OP_DROPOUT:
		return sw_net_dropout(p, op, g->dy, g->dx);
	case SW_OP_MAXPOOL2D:
		return ops->maxpool2d_backward(q, g->dy, (const int32_t *)(const void *)g->saved,
					       g->dx, &window);
	case SW_OP_AVGPOOL2D:
		return ops->avgpool2d_backward(q, g->dy, g->dx, &window);
	default:
		return SW_INTERNAL;
	}
}

static sw_status op_backward(const struct sw_net_pass *p, const struct sw_back *step)
{
	const struct sw_model *m = p->net->own;
	const struct sw_op *op = &m->op[step->op];
	const struct grads g = {.op = op,
				.x = sw_net_value(p, op->in),
				.y = sw_net_value(p, (size_t)step->op + 1),
				.saved = sw_net_buffer(p, m->train.saved[step->op]),
				.other = sw_net_buffer(p, step->other),
				.dy = sw_net_buffer(p, step->dy),
				.dx = sw_net_buffer(p, step->dx)};

	switch (op->kind) {
	case SW_OP_LINEAR:
	case SW_OP_CONV2D:
		return products(p, &g);
	case SW_OP_BATCHNORM:
	case SW_OP_LAYERNORM:
		return norms(p, &g);
	case SW_OP_EMBEDDING:
	case SW_OP_POSITION:
	case SW_OP_ATTENTION:
	case SW_OP_TOKEN_MEAN:
		return tokens(p, &g);
	default:
		return elements(p, &g);
	}
}

/* dx = dy + other, or dy alone */
static sw_status sum(const struct sw_net_pass *p, const struct sw_back *step, size_t n)
{
	const struct sw_ops *ops = p->net->ops;
	const float *dy = sw_net_buffer(p, step->dy), *other = sw_net_buffer(p, step->other);
	float *dx = sw_net_buffer(p, step->dx);
	sw_status rc;

	if (other)
		return ops->add(p->net->q, dy, other, dx, n);
	rc = ops->zero(p->net->q, dx, n * sizeof *dx);
	return rc == SW_OK ? ops->accumulate(p->net->q, dy, dx, n) : rc;
}

sw_status sw_net_backward(const struct sw_net_pass *p)
{
	const struct sw_model *m = p->net->own;
	size_t final = m->weights_n; /* the gradients from here on are */
	sw_status rc = SW_OK;

	for (size_t k = 0; rc == SW_OK && k < m->back_n; k++) {
		const struct sw_back *step = &m->back[k];
		const size_t n = p->rows * sw_shape_count(sw_model_shape(m, step->value));

		sw_beat();
		if (step->kind == SW_BACK_OP) {
			rc = op_backward(p, step);
			if (rc == SW_OK && m->op[step->op].w_n)
				rc = sw_net_grads_final(p, m->op[step->op].w, &final);
		} else if (step->kind == SW_BACK_ADD) {
			rc = sum(p, step, n);
		} else {
			rc = p->net->ops->accumulate(p->net->q, sw_net_buffer(p, step->dy),
						     sw_net_buffer(p, step->dx), n);
		}
	}
	return rc;
}
