/* worker/net/net_step.c — an optimizer step: given as calls, and from the second on a whole batch
 * as one graph, where the backend has them.
 *
 * All that differs from step to step is brought to the device by one upload before: struct sw_step
 * and the rows' places. So the calls of two steps are the same, and so are their bits. */
#include "worker/net/net_internal.h"
#include <string.h>

static double *norm2_of(const struct sw_net *net)
{
	return (double *)(void *)(net->arena + net->at.norm2);
}

static sw_status optimizer_step(struct sw_net *net)
{
	const struct sw_trainer *t = net->trainer;
	const struct sw_ops *ops = net->ops;
	float *w = sw_net_floats(net, net->at.weights);
	const float *g = sw_net_floats(net, net->at.grads);
	const size_t n = net->model->weights_n;
	sw_status rc = SW_OK;

	if (t->clip_norm > 0)
		rc = ops->norm2(net->q, g, norm2_of(net), n);
	if (rc != SW_OK)
		return rc;
	if (t->optimizer != SW_SGD)
		return ops->adam_step(net->q, w, g, sw_net_floats(net, net->at.state[0]),
				      sw_net_floats(net, net->at.state[1]), n,
				      (struct sw_adam){.beta1 = (float)t->beta1,
						       .beta2 = (float)t->beta2,
						       .eps = (float)t->eps,
						       .weight_decay = (float)t->weight_decay,
						       .decoupled = t->optimizer == SW_ADAMW,
						       .max_norm = (float)t->clip_norm},
				      sw_net_step(net), norm2_of(net));
	return ops->sgd_step(net->q, w, g,
			     net->at.states_n ? sw_net_floats(net, net->at.state[0]) : NULL, n,
			     (struct sw_sgd){.momentum = (float)t->momentum,
					     .weight_decay = (float)t->weight_decay,
					     .nesterov = t->nesterov,
					     .max_norm = (float)t->clip_norm},
			     sw_net_step(net), norm2_of(net));
}

void sw_net_forget(struct sw_net *net)
{
	(void)net->ops->sync(net->q); /* a failure is told by the next call */
	for (int i = 0; i < 2; i++) {
		if (net->graph[i])
			net->ops->graph_free(net->graph[i]);
		net->graph[i] = NULL;
		net->made[i] = false;
	}
}

sw_status sw_net_precision(const struct sw_net *net)
{
	void *work = net->at.product_bytes ? net->arena + net->at.product : NULL;

	return net->ops->precision(net->q, net->trainer->precision, work, net->at.product_bytes);
}

/* What the coming step needs to know, on its way to the device. */
static sw_status head_upload(struct sw_net *net, const struct sw_net_rows *from, size_t first,
			     size_t rows)
{
	const struct sw_trainer *t = net->trainer;
	struct sw_step *step = net->head;
	int32_t *index = (int32_t *)(void *)(step + 1), *number = index + net->at.batch;
	size_t bytes = sizeof *step + rows * sizeof *index;

	*step = sw_step_make(net->step + 1, sw_trainer_lr(t, net->step, net->steps_per_epoch),
			     t->beta1, t->beta2);
	step->epoch = net->epoch;
	memcpy(from->number ? number : index, net->order + first, rows * sizeof *index);
	for (size_t i = 0; from->number && i < rows; i++)
		index[i] = (int32_t)i; /* they are staged in their order */
	if (from->number)
		bytes = (size_t)((char *)(number + rows) - (char *)step);
	return net->ops->upload(net->q, net->arena + net->at.step, step, bytes);
}

/* Rows [first, first + rows) of the order, ready for the queue to work on. */
static sw_status step_begin(struct sw_net *net, const struct sw_data *data, size_t first,
			    size_t rows, struct sw_net_rows *from)
{
	sw_status rc;

	if (rows > net->at.batch || first > net->order_n || rows > net->order_n - first)
		return SW_INVALID;
	rc = sw_net_feed_take(net, data, true, first, rows, from);
	return rc == SW_OK ? head_upload(net, from, first, rows) : rc;
}

sw_status sw_net_gradient(struct sw_net *net, const struct sw_data *data, size_t first, size_t rows)
{
	struct sw_net_rows from;
	const sw_status rc = step_begin(net, data, first, rows, &from);

	return rc == SW_OK ? sw_net_gradient_of(net, data, &from, rows) : rc;
}

/* The metrics, from one place of the arena to another: a row of int32, which copies all bits. */
static sw_status metrics_copy(const struct sw_net *net, size_t from, size_t to)
{
	return net->ops->gather_i32(net->q, (const int32_t *)(const void *)(net->arena + from),
				    (const int32_t *)(const void *)(net->arena + net->at.zero),
				    (int32_t *)(void *)(net->arena + to), 1,
				    sizeof(struct sw_metrics) / sizeof(int32_t));
}

static sw_status step_calls(struct sw_net *net, const struct sw_data *data,
			    const struct sw_net_rows *from, size_t rows)
{
	sw_status rc = metrics_copy(net, net->at.metrics, net->at.saved);

	if (rc == SW_OK)
		rc = sw_net_gradient_of(net, data, from, rows);
	while (rc == SW_NOMEM && sw_net_shrink(net, data) == SW_OK) {
		/* the rows that went through are counted once, when they do again */
		rc = metrics_copy(net, net->at.saved, net->at.metrics);
		if (rc == SW_OK)
			rc = sw_net_gradient_of(net, data, from, rows);
	}
	if (rc == SW_OK)
		rc = optimizer_step(net);
	if (rc == SW_OK && rows == net->at.batch)
		net->made[from->buffer] = true;
	return rc;
}

/* SW_OK with *out NULL: the backend cannot; nothing was given to the queue. */
static sw_status step_record(struct sw_net *net, const struct sw_data *data,
			     const struct sw_net_rows *from, struct sw_graph **out)
{
	const struct sw_ops *ops = net->ops;
	sw_status rc = ops->graph_begin(net->q), ended;

	*out = NULL;
	if (rc == SW_OK) {
		rc = sw_net_gradient_of(net, data, from, net->at.batch);
		if (rc == SW_OK)
			rc = optimizer_step(net);
		ended = ops->graph_end(net->q, out);
		if (rc == SW_OK)
			rc = ended;
		if (rc != SW_OK && *out) {
			ops->graph_free(*out);
			*out = NULL;
		}
	}
	net->no_graphs = rc != SW_OK;
	return rc == SW_DEVICE_LOST ? rc : SW_OK;
}

static sw_status step(struct sw_net *net, const struct sw_data *data,
		      const struct sw_net_rows *from, size_t rows)
{
	struct sw_graph **graph = &net->graph[from->buffer];
	sw_status rc = SW_OK;

	if (rows != net->at.batch || !net->made[from->buffer] || net->no_graphs)
		return step_calls(net, data, from, rows);
	if (!*graph)
		rc = step_record(net, data, from, graph);
	if (rc == SW_OK && *graph)
		rc = net->ops->graph_run(net->q, *graph);
	else if (rc == SW_OK)
		return step_calls(net, data, from, rows);
	if (rc != SW_NOMEM)
		return rc;
	/* a graph that does not start has done nothing */
	sw_net_forget(net);
	net->no_graphs = true;
	return step_calls(net, data, from, rows);
}

sw_status sw_net_train(struct sw_net *net, const struct sw_data *data, size_t first, size_t rows)
{
	struct sw_net_rows from;
	sw_status rc = step_begin(net, data, first, rows, &from);

	const size_t next = first + rows;

	if (rc == SW_OK)
		rc = step(net, data, &from, rows);
	net->step += rc == SW_OK;
	if (rc != SW_OK)
		return rc;
	return sw_net_feed_fetch(net, data, true, next,
				 net->order_n - next < rows ? net->order_n - next : rows);
}
