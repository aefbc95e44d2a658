/*
 * worker/net.h — a model with its memory on a device: forward, backward, step.
 *
 * Memory   One arena, taken in create and given back in destroy.
 * Errors   SW_NOMEM when the arena does not fit the device; what the backend says.
 * Threads  One queue, one thread.
 */
#ifndef SW_WORKER_NET_H
#define SW_WORKER_NET_H

#include "worker/data.h"
#include "worker/model.h"
#include "worker/trainer.h"

struct sw_net {
	const struct sw_ops *ops;
	struct sw_queue *q;
	const struct sw_model *model;
	const struct sw_trainer *trainer;
	struct sw_layout at;
	uint64_t seed;
	uint64_t step; /* optimizer steps made */
	char *arena;
};

/* Weights as PyTorch makes them by default (kaiming_uniform with a = sqrt 5: U(-1/sqrt(in),
 * 1/sqrt(in)), biases the same), from seed. model and trainer are borrowed. */
SW_NODISCARD sw_status sw_net_create(struct sw_net *net, const struct sw_ops *ops,
				     struct sw_queue *q, const struct sw_model *model,
				     const struct sw_trainer *trainer, const struct sw_data *data,
				     uint64_t seed, struct sw_err *err);
void sw_net_destroy(struct sw_net *net); /* a zeroed one is allowed */

/* A net's state is some sets of float[model->weights_n]: set 0 the weights, then the optimizer's
 * (sgd: the velocity, with momentum only; adamw: both moments). host has the same gaps. */
size_t sw_net_sets(const struct sw_net *net);
SW_NODISCARD sw_status sw_net_set_download(const struct sw_net *net, size_t set,
					   float *host); /* waits */
SW_NODISCARD sw_status sw_net_set_upload(struct sw_net *net, size_t set, const float *host);

/* The order of the coming epoch: int32[data->train.rows]. */
SW_NODISCARD sw_status sw_net_order(struct sw_net *net, const int32_t *order, size_t rows);
/* One step on the rows order[first .. first + rows), rows <= at.batch. */
SW_NODISCARD sw_status sw_net_train(struct sw_net *net, const struct sw_data *data, size_t first,
				    size_t rows);
/* Sums metrics over the validation rows [first, first + rows), rows <= at.eval_batch. */
SW_NODISCARD sw_status sw_net_eval(struct sw_net *net, const struct sw_data *data, size_t first,
				   size_t rows);
SW_NODISCARD sw_status sw_net_metrics_zero(struct sw_net *net);
SW_NODISCARD sw_status sw_net_metrics(struct sw_net *net, struct sw_metrics *out); /* waits */

#endif
