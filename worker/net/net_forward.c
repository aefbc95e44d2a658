/* worker/net/net_forward.c — the operations in their order. */
#include "base/beat.h"
#include "worker/net/net_internal.h"

static const struct sw_norm norm = {.eps = 1e-5f, .momentum = 0.1f};

float *sw_net_buffer(const struct sw_net_pass *p, uint16_t buffer)
{
	const struct sw_layout *at = &p->net->at;

	if (buffer == SW_NO_BUFFER)
		return NULL;
	return sw_net_part(p->net,
			   p->train ? at->train[buffer] + p->copy * at->stride : at->eval[buffer]);
}

static const struct sw_plan *plan(const struct sw_net_pass *p)
{
	return p->train ? &p->net->own->train : &p->net->own->eval;
}

const float *sw_net_value(const struct sw_net_pass *p, size_t value)
{
	const uint16_t buffer = plan(p)->value[value];

	/* the rows may lie in the data set, and be passed on from there */
	return buffer == SW_NO_BUFFER ? p->x : sw_net_buffer(p, buffer);
}

/* Mean and variance of all ranks' rows. */
static sw_status batchnorm_synced(const struct sw_net_pass *p, const struct sw_op *op,
				  const float *x, float *y, float *saved)
{
	const struct sw_net *net = p->net;
	const float *w = sw_net_floats(net, net->at.weights);
	float *running = sw_net_floats(net, net->at.running);
	const size_t C = op->from.c, S = op->from.h * op->from.w;
	double *sums = sw_net_doubles(net);
	sw_status rc = net->ops->batchnorm_sums(net->q, x, sums, p->rows, C, S);

	if (rc == SW_OK)
		rc = sw_net_sums_now(net, sums, 2 * C, p->parts);
	if (rc != SW_OK)
		return rc;
	return net->ops->batchnorm_train_summed(
		net->q, x, sums, w + op->w, w + op->b, running + op->mean, running + op->var, y,
		saved, saved + (op->var - op->mean), p->all * S, p->rows, C, S, norm);
}

static sw_status batchnorm(const struct sw_net_pass *p, const struct sw_op *op, const float *x,
			   float *y, float *saved)
{
	const struct sw_net *net = p->net;
	const float *w = sw_net_floats(net, net->at.weights);
	float *running = sw_net_floats(net, net->at.running);
	const size_t C = op->from.c, S = op->from.h * op->from.w;
	const size_t second = op->var - op->mean;

	if (!p->train)
		return net->ops->batchnorm_eval(net->q, x, w + op->w, w + op->b, running + op->mean,
						running + op->var, y, p->rows, C, S, norm);
	if (sw_net_synced(net))
		return batchnorm_synced(p, op, x, y, saved);
	return net->ops->batchnorm_train(net->q, x, w + op->w, w + op->b, running + op->mean,
					 running + op->var, y, saved, saved + second, p->rows, C, S,
					 norm);
}

static sw_status layernorm(const struct sw_net_pass *p, const struct sw_op *op, const float *x,
			   float *y, float *saved)
{
	const struct sw_net *net = p->net;
	const float *w = sw_net_floats(net, net->at.weights);
	const size_t R = sw_net_row_n(&op->from, p->rows);

	return net->ops->layernorm_forward(net->q, x, w + op->w, w + op->b, y, saved,
					   saved ? saved + R : NULL, R, sw_net_width(&op->from),
					   norm);
}

sw_status sw_net_dropout(const struct sw_net_pass *p, const struct sw_op *op, const float *x,
			 float *y)
{
	const size_t count = sw_shape_count(&op->to);
	const struct sw_dropout d = {
		.seed = p->net->seed, .layer = op->layer, .first = p->first * count, .p = op->p};

	return p->net->ops->dropout(p->net->q, x, y, p->rows * count, d, sw_net_step(p->net));
}

struct sw_pooled sw_net_pooled(const struct sw_net_pass *p, size_t pool)
{
	const struct sw_op *op = &p->net->own->op[pool];

	return (struct sw_pooled){
		.p = sw_layout_window(op, p->rows),
		.full = sw_net_buffer(p, plan(p)->value[op->in]),
		.y = sw_net_buffer(p, plan(p)->value[pool + 1]),
		.argmax = (int32_t *)(void *)sw_net_buffer(p, plan(p)->saved[pool])};
}

/* The convolution in front of the pooling, and this. */
static sw_status conv_pooled(const struct sw_net_pass *p, size_t pool)
{
	const struct sw_net *net = p->net;
	const struct sw_op *op = &net->own->op[net->own->op[pool].mate];
	const float *w = sw_net_floats(net, net->at.weights);
	const struct sw_conv conv = sw_layout_conv(op, p->rows);
	const struct sw_pooled m = sw_net_pooled(p, pool);

	return net->ops->conv2d_maxpool_forward(net->q, sw_net_value(p, op->in), w + op->w,
						op->b_n ? w + op->b : NULL, &m, &conv, op->act,
						sw_net_work(net));
}

/* Those that have no parameters. */
static sw_status plain(const struct sw_net_pass *p, const struct sw_op *op, const float *x,
		       float *y, float *saved)
{
	const struct sw_ops *ops = p->net->ops;
	struct sw_queue *q = p->net->q;
	const size_t n = p->rows * sw_shape_count(&op->to);
	const struct sw_window window = sw_layout_window(op, p->rows);

	switch (op->kind) {
	case SW_OP_RELU:
		return ops->relu_forward(q, x, y, n);
	case SW_OP_TANH:
		return ops->tanh_forward(q, x, y, n);
	case SW_OP_SIGMOID:
		return ops->sigmoid_forward(q, x, y, n);
	case SW_OP_GELU:
		return ops->gelu_forward(q, x, y, n);
	case SW_OP_DROPOUT:
		return sw_net_dropout(p, op, x, y);
	case SW_OP_MAXPOOL2D:
		return ops->maxpool2d_forward(q, x, y, (int32_t *)(void *)saved, &window);
	case SW_OP_AVGPOOL2D:
		return ops->avgpool2d_forward(q, x, y, &window);
	case SW_OP_ADD:
		return ops->add(q, x, sw_net_value(p, op->in2), y, n);
	case SW_OP_TOKEN_MEAN:
		return ops->token_mean_forward(q, x, p->length, y, p->rows, op->from.t, op->from.d);
	default:
		return SW_INTERNAL;
	}
}

static sw_status op_forward(const struct sw_net_pass *p, size_t i)
{
	const struct sw_net *net = p->net;
	const struct sw_op *op = &net->own->op[i];
	const float *x = sw_net_value(p, op->in), *w = sw_net_floats(net, net->at.weights);
	const float *b = op->b_n ? w + op->b : NULL;
	float *y = sw_net_buffer(p, plan(p)->value[i + 1]);
	float *saved = sw_net_buffer(p, plan(p)->saved[i]);
	const struct sw_conv conv = sw_layout_conv(op, p->rows);
	const struct sw_attention attention = sw_layout_attention(op, p->rows);

	if (op->pooled)
		return op->kind == SW_OP_CONV2D ? SW_OK : conv_pooled(p, i);
	switch (op->kind) {
	case SW_OP_LINEAR:
		return net->ops->linear_forward(
			net->q, x, w + op->w, b, y, sw_net_row_n(&op->from, p->rows),
			sw_net_width(&op->from), sw_net_width(&op->to), op->act, saved);
	case SW_OP_CONV2D:
		return net->ops->conv2d_forward(net->q, x, w + op->w, b, y, &conv, op->act,
						sw_net_work(net));
	case SW_OP_BATCHNORM:
		return batchnorm(p, op, x, y, saved);
	case SW_OP_LAYERNORM:
		return layernorm(p, op, x, y, saved);
	case SW_OP_EMBEDDING:
		return net->ops->embedding_forward(net->q, w + op->w,
						   (const int32_t *)(const void *)x, y,
						   p->rows * op->to.t, op->vocab, op->to.d);
	case SW_OP_POSITION:
		return net->ops->position_forward(net->q, x, w + op->w, y, p->rows, op->to.t,
						  op->to.d);
	case SW_OP_ATTENTION:
		return net->ops->attention_forward(net->q, x, p->length, saved, y, &attention,
						   sw_net_work(net));
	default:
		return plain(p, op, x, y, saved);
	}
}

sw_status sw_net_forward(const struct sw_net_pass *p)
{
	const struct sw_model *m = p->net->own;
	sw_status rc = SW_OK;

	for (size_t i = 0; rc == SW_OK && i < m->ops_n; i++) {
		const struct sw_op *op = &m->op[i];

		if (op->kind == SW_OP_FLATTEN || op->fused ||
		    (op->kind == SW_OP_DROPOUT && !p->train))
			continue;
		sw_beat(); /* on a CPU one operation may take seconds */
		rc = op_forward(p, i);
		if (rc == SW_UNSUPPORTED)
			p->net->lacks = sw_model_op_name(op->kind);
	}
	return rc;
}
