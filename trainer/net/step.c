/* trainer/net/step.c — an optimizer step: given as calls, and from the second on a whole batch
 * as one graph, alone or with those after it, where the backend has them.
 *
 * All that differs from step to step lies on the device: the epoch's order, and a struct sw_head,
 * uploaded before each launch, whose steps are as many as the graph's. So the calls of two steps
 * are the same, and so are their bits. */
#include "trainer/net/internal.h"

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
	const size_t n = net->own->weights_n;
	sw_status rc = SW_OK;

	if (t->clip_norm > 0)
		rc = ops->norm2(net->q, g, norm2_of(net), n);
	if (rc == SW_OK && t->clip_norm > 0 && net->ranks.stages > 1)
		rc = sw_net_norm_sum(net, norm2_of(net));
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

/* Sends the device the places, rates and numbers of the coming n steps. */
static sw_status head_upload(struct sw_net *net, size_t first, size_t n)
{
	const struct sw_trainer *t = net->trainer;
	struct sw_head head = {.row = {0}};

	for (size_t k = 0; k < n; k++) {
		const uint64_t made = net->step + k;

		/* In batches: a graph takes rows of at.batch numbers out of the order. */
		head.row[k] = (int32_t)(first / net->at.batch + k);
		head.step[k] = sw_step_make(made + 1, sw_trainer_lr(t, made, net->steps_per_epoch),
					    t->beta1, t->beta2);
		head.step[k].epoch = net->epoch;
	}
	return net->ops->upload(net->q, net->arena + net->at.step, &head,
				sizeof head.row + n * sizeof head.step[0]);
}

/* The coming n steps, whose rows are [first, first + rows) of the order, or the first batch of
 * them: ready for the queue to work on. */
static sw_status step_begin(struct sw_net *net, const struct sw_data *data, size_t first,
			    size_t rows, size_t n, struct sw_net_rows *from)
{
	sw_status rc;

	if (rows == 0 || rows > net->at.batch || first % net->at.batch != 0 ||
	    first > net->order_n || rows > net->order_n - first)
		return SW_INVALID;
	rc = sw_net_feed_take(net, data, true, first, rows, from);
	return rc == SW_OK ? head_upload(net, first, n) : rc;
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
	/* To begin again from, if memory is short in mid-step. */
	sw_status rc = metrics_copy(net, net->at.metrics, net->at.saved);

	if (rc == SW_OK)
		rc = sw_net_gradient_of(net, data, from, rows);
	/* other ranks may have had a part of the sum already: then it is the end for all */
	while (rc == SW_NOMEM && !net->ranks.shared) {
		rc = sw_net_shrink(net, data);
		if (rc != SW_OK) /* a device that was lost meanwhile is no want of memory */
			return rc;
		/* the rows that went through are counted once, when they do again */
		rc = metrics_copy(net, net->at.saved, net->at.metrics);
		if (rc == SW_OK)
			rc = sw_net_gradient_of(net, data, from, rows);
	}
	if (rc == SW_OK)
		rc = optimizer_step(net);
	/* A device loads code at its first use, which no recording may hold: so calls come
	 * first. */
	if (rc == SW_OK && rows == net->at.batch)
		net->graphs.made[from->buffer] = true;
	return rc;
}

/* The calls of steps in a row, each with its own rows and its own struct sw_step. The rows are
 * copied first, from a place in the order that differs from run to run to one that does not. */
static sw_status steps_give(struct sw_net *net, const struct sw_net_steps *s)
{
	const struct sw_head *head = (const void *)(net->arena + net->at.step);
	int32_t *rows = (int32_t *)(void *)(net->parts + net->at.rows);
	sw_status rc = net->ops->gather_i32(net->q, sw_net_order_at(net), head->row, rows, s->n,
					    net->at.batch);

	for (size_t k = 0; rc == SW_OK && k < s->n; k++) {
		struct sw_net_rows own = *s->from;

		/* With a feed index counts within its buffer, and number has the rows. */
		*(own.number ? &own.number : &own.index) = rows + k * net->at.batch;
		/* Which struct sw_step the calls below read: the addresses are fixed by the
		 * recording. */
		net->graphs.at = k;
		rc = sw_net_gradient_of(net, s->data, &own, net->at.batch);
		if (rc == SW_OK)
			rc = optimizer_step(net);
	}
	net->graphs.at = 0;
	return rc;
}

/* The steps whose heads are on the device, as one graph. *done stays false where it was not. */
static sw_status steps_run(struct sw_net *net, const struct sw_net_steps *s, bool *done)
{
	struct sw_graph **graph = s->n > 1 ? &net->graphs.many
					   : &net->graphs.whole[s->from->buffer];
	sw_status rc = *graph ? SW_OK : sw_net_graph_record(net, s, steps_give, graph);

	if (rc != SW_OK || !*graph)
		return rc;
	rc = net->ops->graph_run(net->q, *graph);
	*done = rc == SW_OK;
	if (rc != SW_NOMEM || net->ranks.comm) /* of which other ranks know nothing */
		return rc;
	/* a graph that does not start has done nothing */
	sw_net_forget(net);
	sw_net_graph_missed(net);
	return SW_OK;
}

/* Whether this rank's graph of a step may run: when all ranks have theirs. They ask one another
 * until each has all that it needs; then all know it. */
static sw_status ranks_agree(struct sw_net *net, const struct sw_net_steps *s, bool *graph)
{
	const unsigned buffer = s->from->buffer;
	struct sw_graph **mine = &net->graphs.whole[buffer];
	sw_status rc;

	*graph = true;
	if (net->graphs.agreed)
		return SW_OK; /* all ranks know, and need not ask */
	rc = sw_net_all(net, net->graphs.made[buffer] && !net->graphs.off, graph);
	if (rc != SW_OK || !*graph)
		return rc;
	if (!*mine)
		rc = sw_net_graph_record(net, s, steps_give, mine);
	if (rc == SW_OK)
		rc = sw_net_all(net, *mine != NULL, graph);
	if (rc == SW_OK && *graph)
		rc = sw_net_all(net, !net->feed || net->graphs.whole[1 - buffer],
				&net->graphs.agreed);
	return rc;
}

sw_status sw_net_train(struct sw_net *net, const struct sw_data *data, size_t first, size_t *next)
{
	size_t left = first < net->order_n ? net->order_n - first : 0;
	const size_t batch = net->at.batch, rows = left < batch ? left : batch;
	const bool graphs = !net->graphs.off && !net->ranks.comm;
	const bool many = graphs && net->graphs.made[0] && left >= net->at.steps * batch;
	struct sw_net_rows from;
	struct sw_net_steps steps = {data, &from, many ? net->at.steps : 1};
	bool done = false, graph;
	sw_status rc = step_begin(net, data, first, rows, steps.n, &from);

	graph = rc == SW_OK && graphs && rows == batch && net->graphs.made[from.buffer];
	/* a graph can hold the ranks' sums only if devices make them */
	if (rc == SW_OK && rows == batch && net->ranks.comm && sw_comm_on_devices(net->ranks.comm))
		rc = ranks_agree(net, &steps, &graph);
	if (rc == SW_OK && graph)
		rc = steps_run(net, &steps, &done);
	if (rc == SW_OK && !done) {
		steps.n = 1; /* the first of those on the device */
		rc = step_calls(net, data, &from, rows);
	}
	if (rc != SW_OK)
		return rc;
	net->step += steps.n;
	*next = first + (steps.n - 1) * batch + rows;
	left = net->order_n - *next;
	return sw_net_feed_fetch(net, data, true, *next, left < rows ? left : rows);
}
