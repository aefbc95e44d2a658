/* trainer/net/backward.c — the plan's backward pass, step by step: of each kind in op_list.h the
 * function that calls its kernel. */
#include "base/beat.h"
#include "trainer/net/internal.h"

/* One operation of a pass. */
struct call {
	const struct sw_net_pass *p;
	const struct sw_net *net;
	const struct sw_op *op;
	size_t n; /* elements of y */
	const float *x, *y, *w, *saved, *other;
	float *dy, *dx, *dw, *db;
};

#define SW_OP_ROW(kind, word, id, flags, functions)
#define SW_OP_EACH(kind, word, id, flags)                                                          \
	static sw_status word##_backward(const struct call *c)                                     \
	{                                                                                          \
		const float *kept = (flags)&SW_OP_KEEPS_X ? c->x : c->y;                           \
                                                                                                   \
		return c->net->ops->word##_backward(c->net->q, kept, c->dy, c->dx, c->n);          \
	}
#include "trainer/model/op_list.h"

static sw_status linear_backward(const struct call *c)
{
	const struct sw_op *op = c->op;

	return c->net->ops->linear_backward(c->net->q, c->x, c->w, c->y, c->dy, c->dx, c->dw, c->db,
					    sw_op_rows(&op->from, c->p->rows),
					    sw_op_width(&op->from), sw_op_width(&op->to), op->act,
					    c->saved);
}

static sw_status conv2d_backward(const struct call *c)
{
	const struct sw_op *op = c->op;
	const struct sw_conv conv = sw_op_conv(op, c->p->rows);
	void *work = sw_net_work(c->net);

	if (op->pooled) {
		const struct sw_pooled m = sw_net_pooled(c->p, op->mate);

		return c->net->ops->conv2d_maxpool_backward(c->net->q, c->x, c->w, &m, c->other,
							    c->dy, c->dx, c->dw, c->db, &conv,
							    op->act, work);
	}
	return c->net->ops->conv2d_backward(c->net->q, c->x, c->w, c->y, c->dy, c->dx, c->dw, c->db,
					    &conv, op->act, work);
}

static sw_status maxpool2d_backward(const struct call *c)
{
	const struct sw_window window = sw_op_window(c->op, c->p->rows);

	return c->net->ops->maxpool2d_backward(
		c->net->q, c->dy, (const int32_t *)(const void *)c->saved, c->dx, &window);
}

static sw_status avgpool2d_backward(const struct call *c)
{
	const struct sw_window window = sw_op_window(c->op, c->p->rows);

	return c->net->ops->avgpool2d_backward(c->net->q, c->dy, c->dx, &window);
}

/* Of a batch norm with the statistics of all ranks' rows. */
static sw_status batchnorm_synced(const struct call *c, const float *mean, const float *rstd)
{
	const struct sw_net *net = c->net;
	const struct sw_net_pass *p = c->p;
	const size_t C = c->op->from.c, S = c->op->from.h * c->op->from.w;
	double *sums = sw_net_doubles(net);
	sw_status rc = net->ops->batchnorm_backward_sums(net->q, c->x, mean, rstd, c->dy, sums,
							 c->dw, c->db, p->rows, C, S);

	if (rc == SW_OK)
		rc = sw_net_sums_now(net, sums, 2 * C, p->parts);
	if (rc != SW_OK)
		return rc;
	return net->ops->batchnorm_backward_summed(net->q, c->x, c->w, mean, rstd, c->dy, sums,
						   c->dx, p->all * S, p->rows, C, S);
}

static sw_status batchnorm_backward(const struct call *c)
{
	const float *mean = c->saved, *rstd = c->saved + (c->op->var - c->op->mean);

	if (sw_net_synced(c->net))
		return batchnorm_synced(c, mean, rstd);
	return c->net->ops->batchnorm_backward(c->net->q, c->x, c->w, mean, rstd, c->dy, c->dx,
					       c->dw, c->db, c->p->rows, c->op->from.c,
					       c->op->from.h * c->op->from.w);
}

static sw_status layernorm_backward(const struct call *c)
{
	const size_t R = sw_op_rows(&c->op->from, c->p->rows);

	return c->net->ops->layernorm_backward(c->net->q, c->x, c->w, c->saved, c->saved + R, c->dy,
					       c->dx, c->dw, c->db, R, sw_op_width(&c->op->from));
}

static sw_status dropout_backward(const struct call *c)
{
	return sw_net_dropout(c->p, c->op, c->dy, c->dx);
}

static sw_status embedding_backward(const struct call *c)
{
	return c->net->ops->embedding_backward(c->net->q, (const int32_t *)(const void *)c->x,
					       c->dy, c->dw, c->p->rows * c->op->to.t, c->op->vocab,
					       c->op->to.d, sw_net_work(c->net));
}

static sw_status position_backward(const struct call *c)
{
	return c->net->ops->position_backward(c->net->q, c->dy, c->dw, c->p->rows, c->op->to.t,
					      c->op->to.d);
}

static sw_status attention_backward(const struct call *c)
{
	const struct sw_attention attention = sw_op_attention(c->op, c->p->rows);

	return c->net->ops->attention_backward(c->net->q, c->x, c->saved, c->dy, c->dx, &attention,
					       sw_net_work(c->net));
}

static sw_status token_mean_backward(const struct call *c)
{
	return c->net->ops->token_mean_backward(c->net->q, c->dy, c->p->length, c->dx, c->p->rows,
						c->op->from.t, c->op->from.d);
}

/* The plan hands on the gradients of these without a call of theirs (trainer/model/back.c). */
#define none_backward NULL
#define add_backward  NULL

static sw_status (*const backward_of[])(const struct call *) = {
#define SW_OP_ROW(kind, word, id, flags, functions) [SW_OP_##kind] = functions##_backward,
#define SW_OP_EACH(kind, word, id, flags)           [SW_OP_##kind] = word##_backward,
#include "trainer/model/op_list.h"
};

static sw_status op_backward(const struct sw_net_pass *p, const struct sw_back *step)
{
	const struct sw_net *net = p->net;
	const struct sw_model *m = net->own;
	const struct sw_op *op = &m->op[step->op];
	const struct call c = {.p = p,
			       .net = net,
			       .op = op,
			       .n = p->rows * sw_shape_count(&op->to),
			       .x = sw_net_value(p, op->in),
			       .y = sw_net_value(p, (size_t)step->op + 1),
			       .w = sw_net_floats(net, net->at.weights) + op->w,
			       .saved = sw_net_buffer(p, m->train.saved[step->op]),
			       .other = sw_net_buffer(p, step->other),
			       .dy = sw_net_buffer(p, step->dy),
			       .dx = sw_net_buffer(p, step->dx),
			       .dw = p->grads + op->w,
			       .db = op->b_n ? p->grads + op->b : NULL};

	return backward_of[op->kind](&c);
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
	/* The table has no copy from one place of a device to another. */
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
