/* trainer/net/create.c — a net's beginning and end. */
#include "trainer/net/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct sw_task sw_net_task(const struct sw_data *data, bool classes)
{
	return (struct sw_task){.input = data->input,
				.vocab = data->vocab,
				.outputs = classes ? data->classes : 1,
				.labels = data->labels,
				.classes = classes,
				.gathered = data->input.kind == SW_SHAPE_IMAGE};
}

static sw_status told(sw_status rc, const char *what, struct sw_err *err)
{
	return rc == SW_OK ? SW_OK : sw_err_set(err, rc, "%s: %s", what, sw_status_str(rc));
}

static sw_status precision_take(const struct sw_net *net, struct sw_err *err)
{
	const sw_status rc = sw_net_precision(net);

	if (rc == SW_OK)
		return SW_OK;
	return sw_err_at(err, rc, "/trainer/precision", "precision \"%s\" is not %s on %s",
			 sw_trainer_precision_name(net->trainer->precision),
			 rc == SW_UNSUPPORTED ? "supported" : "to be had", net->ops->name);
}

sw_status sw_net_create(struct sw_net *net, const struct sw_ops *ops, struct sw_queue *q,
			const struct sw_model *model, const struct sw_trainer *trainer,
			const struct sw_data *data, struct sw_comm *comm, uint64_t seed,
			struct sw_err *err)
{
	sw_status rc;

	memset(net, 0, sizeof *net);
	net->ops = ops;
	net->q = q;
	net->model = net->own = model;
	net->trainer = trainer;
	net->ranks.comm = comm;
	net->seed = seed;
	net->best_loss = (double)INFINITY;
	net->order_cap = data->train.rows;
	/* In this order: the stage says what memory is needed, the ranks agree on it, and then the
	 * queue is told where it lies. */
	rc = sw_net_stages_take(net, err);
	if (rc == SW_OK)
		rc = sw_net_arena_take(net, data, err);
	if (rc == SW_OK)
		rc = told(sw_net_weights_init(net), "no first weights", err);
	if (rc == SW_OK)
		rc = sw_net_stages_agree(net, data);
	if (rc == SW_OK)
		rc = precision_take(net, err);
	if (rc == SW_OK)
		rc = told(sw_net_feed_create(net, data), "no memory for the rows of batches", err);
	if (rc != SW_OK) {
		sw_net_destroy(net);
		return rc;
	}
	net->steps_per_epoch = (data->train.rows + net->at.batch - 1) / net->at.batch;
	return SW_OK;
}

void sw_net_destroy(struct sw_net *net)
{
	if (net->arena) {
		sw_net_forget(net); /* waits for what is under way */
		sw_net_feed_destroy(net);
		/* The queue lives on, and must not keep scratch memory of this arena. */
		(void)net->ops->precision(net->q, SW_FP32, NULL, 0);
		net->ops->free(net->parts);
		net->ops->free(net->arena);
	}
	free(net->best.weights);
	free(net->ranks.own);
	net->best = (struct sw_net_best){0};
	net->ranks.own = NULL;
	net->arena = net->parts = NULL;
}

sw_status sw_net_order(struct sw_net *net, const int32_t *order, size_t rows)
{
	if (rows > net->order_cap)
		return SW_INVALID;
	net->order_n = rows;
	net->graphs.agreed = false; /* an evaluation may have forgotten graphs */
	sw_net_feed_order(net, order, rows);
	return net->ops->upload(net->q, net->arena + net->at.order, order, rows * sizeof *order);
}
