/*
 * worker/net/net.h — a model with its memory on a device: forward, backward, step.
 *
 * Memory   One arena in two pieces (worker/model/layout.h), taken in create and given back in
 *          destroy.
 * Batches  A step's rows go through the device in parts of at.micro rows; gradients add up, and
 *          the optimizer steps once. But for batchnorm, whose statistics are a part's, the sums
 *          are those of the whole batch in another order.
 * Memory that is short   at.micro is halved until the arena fits trainer->memory and the device;
 *          where the backend says SW_NOMEM in a step's gradients it is halved once more, the
 *          second piece given back and a smaller one taken, and the step begun again, from the
 *          metrics that were before it. (Running statistics of
 *          batchnorm take what went through before once more.)
 * Ranks    With comm, each of trainer->ranks nets takes at.share rows of a step, in rank order, and
 *          the gradients are summed in this order while the backward pass goes on: the weights have
 *          the bits of one net with micro_batch = at.share, on every rank. Memory that is short
 *          before the sum begins is this rank's matter; after that it is an error.
 * Pipeline With trainer->stages the rows of one of trainer->ranks go through as many nets, each
 * with
 *          some of the model's operations (stages.h): rank d * stages + s is stage s. A net's arena
 *          has its own operations' weights alone; weights and state of all can be had on rank 0,
 *          and then for a moment lie in the host memory of every rank. The
 *          bits are those of one net with the same micro-batches, but where gradients are clipped:
 *          the norm's sum has another order. Memory that is short in a step is an error.
 * Batch norms of ranks   take the statistics of a rank's part, or with trainer->sync_batchnorm
 *                        those
 *          of all rows of the step: the sums go between the ranks in mid-pass, forward and
 *          backward. A rank's rows are then one part, and too little memory for it is SW_NOMEM; a
 *          rank without rows makes a pass of none.
 * Graphs   Where the backend has them, the step on a whole batch is recorded once it has been made
 *          once, and given again as one call: the same bits. So are at.steps of them in a row,
 *          where so many are left. The last, smaller batch of an epoch and evaluation are calls.
 *          A step whose recording fails is calls, and the next one tries again:
 *          SW_NET_GRAPH_TRIES times in a trial. With comm all steps are calls, but of ranks on
 *          devices: there one step is a graph, its sums in it, on all ranks or on none.
 * Errors   SW_NOMEM when not even a row at a time fits; what the backend says, or comm.
 * Threads  One queue, one thread.
 */
#ifndef SW_WORKER_NET_NET_H
#define SW_WORKER_NET_NET_H

#include "worker/comm/comm.h"
#include "worker/data/data.h"
#include "worker/model/layout.h"
#include "worker/model/model.h"
#include "worker/model/stages.h"
#include "worker/model/trainer.h"

#define SW_NET_GRAPH_TRIES 3

/* The best epoch so far, as who judges epochs said. */
struct sw_net_best {
	uint64_t epoch; /* 0: none */
	uint64_t step;  /* optimizer steps made then */
	double value;
	float *weights; /* the host's: [weights_n], then the running statistics [running_n] */
};

/* Where a pipeline's stages lie in the model; n 1: no pipeline, all is this net's. */
struct sw_net_stages {
	unsigned n, mine;
	struct sw_model *own; /* this stage's; NULL: no pipeline */
	/* floats of the whole model's in front of stage s, and those of all behind the last */
	size_t weights[SW_STAGES_MAX + 1], running[SW_STAGES_MAX + 1];
	double share[SW_STAGES_MAX]; /* of the model's work */
	int64_t waited_us;           /* for other stages, since who reads it set it to 0 */
};

struct sw_net {
	const struct sw_ops *ops;
	struct sw_queue *q;
	const struct sw_model *model;
	const struct sw_model *own; /* what this net works on: model, or a stage of it */
	struct sw_net_stages stages;
	const struct sw_trainer *trainer;
	struct sw_layout at;
	uint64_t seed;
	struct sw_comm *comm;     /* of the ranks; NULL: alone. Borrowed */
	uint64_t step;            /* optimizer steps made */
	uint64_t epoch;           /* that is trained now, for augmentation: the loop's to set */
	uint64_t steps_per_epoch; /* for schedules */
	/* for patience, of the epochs so far */
	double best_loss;
	uint64_t stale;      /* epochs since it was reached */
	unsigned oom_events; /* how often at.micro was halved for want of memory */
	bool no_counts;      /* the backend counts no classes: there is no F1 */
	const char *lacks;   /* the operation that the backend has not, after SW_UNSUPPORTED */
	char *arena;         /* backend: [at.kept] */
	char *parts;         /* backend: [at.bytes - at.kept] */
	struct sw_net_best best;
	size_t order_n, order_cap; /* rows of the epoch's order, and at most */
	struct sw_feed *feed; /* of a data set that does not lie on the device; NULL: it does */
	/* by staging buffer: */
	struct sw_graph *graph[2]; /* a whole step; NULL: not recorded yet */
	bool made[2];              /* its calls were made, so that they can be recorded */
	struct sw_graph *many;     /* at.steps whole steps; NULL: not recorded yet */
	size_t place;              /* of the step whose calls are made, in a graph of many */
	bool no_graphs;
	unsigned graph_misses; /* how often a step was not recorded, or its graph did not start */
	bool agreed;           /* of ranks on devices: all have the graphs that they need */
	bool shared;           /* of the step at hand other ranks have something already */
};

/* What the model is to do with the data. */
struct sw_task sw_net_task(const struct sw_data *data, bool classes);

/* comm: the ranks, trainer->ranks times trainer->stages, which call this together where there are
 * stages; NULL: one alone. Weights as PyTorch makes them by default, from seed: linear and conv2d
 * kaiming_uniform with a = sqrt 5 (U(-1/sqrt(fan in), 1/sqrt(fan in)), biases the same);
 * attention's first product xavier_uniform and its biases 0; norms 1 and 0; embeddings and
 * positions N(0, 1). model, trainer and comm are borrowed. SW_INVALID: the model has not so many
 * stages. */
SW_NODISCARD sw_status sw_net_create(struct sw_net *net, const struct sw_ops *ops,
				     struct sw_queue *q, const struct sw_model *model,
				     const struct sw_trainer *trainer, const struct sw_data *data,
				     struct sw_comm *comm, uint64_t seed, struct sw_err *err);
void sw_net_destroy(struct sw_net *net); /* a zeroed one is allowed */

/* A net's state is some sets of float[model->weights_n]: set 0 the weights, then the optimizer's
 * (sgd: the velocity, with momentum only; adam, adamw: both moments). host has the same gaps. Of a
 * pipeline these four are rank 0's to call, for the whole model, while the others are in sw_net_go
 * or sw_net_state_share. */
size_t sw_net_sets(const struct sw_net *net);
SW_NODISCARD sw_status sw_net_set_download(const struct sw_net *net, size_t set,
					   float *host); /* waits */
SW_NODISCARD sw_status sw_net_set_upload(struct sw_net *net, size_t set, const float *host);
/* And batchnorm's running statistics: float[model->running_n], with gaps too. */
SW_NODISCARD sw_status sw_net_running_download(const struct sw_net *net, float *host);
SW_NODISCARD sw_status sw_net_running_upload(struct sw_net *net, const float *host);

/* Rank 0's word, to all: *on of the others becomes what it is there. Nothing without comm. */
SW_NODISCARD sw_status sw_net_go(struct sw_net *net, bool *on);

/* Rank 0's running statistics become all ranks', or those of its pipeline's stages; and all of its
 * state, with *epoch, a number that goes with it. Nothing without comm. SW_NOMEM; what the backend
 * or comm says. */
SW_NODISCARD sw_status sw_net_running_share(struct sw_net *net);
SW_NODISCARD sw_status sw_net_state_share(struct sw_net *net, uint64_t *epoch);

/* The net as it is now is the best so far. SW_NOMEM, or what the backend says: none is known then.
 * Cost: a download of the weights. */
SW_NODISCARD sw_status sw_net_best_take(struct sw_net *net, uint64_t epoch, double value);

/* The order of the coming epoch: int32[rows], at most data->train.rows; copied to the device. */
SW_NODISCARD sw_status sw_net_order(struct sw_net *net, const int32_t *order, size_t rows);
/* Steps on the order's rows from first on, a multiple of at.batch: one, on at.batch rows or those
 * that are left, or as many as a graph holds. *next: the first row that had none. */
SW_NODISCARD sw_status sw_net_train(struct sw_net *net, const struct sw_data *data, size_t first,
				    size_t *next);
/* The gradients of the rows order[first .. first + rows), rows <= at.batch, left in the arena at
 * at.grads; no step. */
SW_NODISCARD sw_status sw_net_gradient(struct sw_net *net, const struct sw_data *data, size_t first,
				       size_t rows);
/* The part of us that ranks of a pipeline, all together, have waited for each other since the last
 * call. On devices, where the host does not see it, what it would be by counted work. NaN: no
 * pipeline. All ranks call it. */
SW_NODISCARD sw_status sw_net_bubble(struct sw_net *net, int64_t us, double *out);
/* Which of the ranks that share each batch this one's pipeline is. */
unsigned sw_net_data_rank(const struct sw_net *net);
/* The validation rows that this rank evaluates: [*first, *end), perhaps none. */
void sw_net_eval_share(const struct sw_net *net, const struct sw_data *data, size_t *first,
		       size_t *end);
/* Rows of an evaluation at once that suit all stages. All ranks of a pipeline call it. */
SW_NODISCARD sw_status sw_net_eval_rows(const struct sw_net *net, size_t *rows);

/* Sums metrics over the validation rows [first, first + rows), rows <= at.eval_batch. After
 * SW_NOMEM some of these may have been counted. */
SW_NODISCARD sw_status sw_net_eval(struct sw_net *net, const struct sw_data *data, size_t first,
				   size_t rows);
/* Halves the micro-batch of a net that has its arena, and gives back what that needs no more: a
 * step does so itself. eval_batch may be smaller then.
 * SW_NOMEM: it is 1, or not even for that there is memory; then the net can only be destroyed. */
SW_NODISCARD sw_status sw_net_shrink(struct sw_net *net, const struct sw_data *data);
/* What the last evaluation's last operation wrote: float[its rows][outputs]; backend memory. */
const float *sw_net_output(const struct sw_net *net);
SW_NODISCARD sw_status sw_net_metrics_zero(struct sw_net *net);
/* Of all ranks together, as are the classes' counts; the last stages alone have some. */
SW_NODISCARD sw_status sw_net_metrics(struct sw_net *net, struct sw_metrics *out); /* waits */
/* The mean of the classes' F1 over the rows evaluated; classes that no row has and none was taken
 * for are left out. NaN where there is none (no_counts). Waits. */
SW_NODISCARD sw_status sw_net_macro_f1(struct sw_net *net, double *out);

#endif
