/*
 * trainer/net/net.h — a model with its memory on a device: trained step by step, and evaluated.
 *
 *   sw_net_prove_sums       ranks on devices: known numbers go between them first
 *   sw_net_create           takes the memory and makes the first weights
 *   sw_net_set_upload       rank 0: a checkpoint's state
 *   sw_net_state_share      several ranks: all get rank 0's state
 *   for each epoch:
 *     net->epoch = e, sw_net_order, sw_net_metrics_zero
 *     sw_net_go, sw_net_train
 *                           until no row is left: rank 0 says whether the next batch is trained on
 *     sw_net_metrics, sw_net_bubble
 *     sw_net_running_share  all evaluate with rank 0's running statistics
 *     sw_net_metrics_zero, sw_net_eval_share, sw_net_eval_rows, sw_net_eval until no row is left
 *     sw_net_go             rank 0 may have stopped meanwhile
 *     sw_net_metrics, sw_net_macro_f1
 *     sw_net_best_take      rank 0: if the caller finds the epoch the best so far
 *     sw_net_set_download   rank 0, here or between two steps: what a checkpoint holds
 *     sw_net_go             rank 0 says whether they go on
 *   sw_net_destroy
 *
 * What always holds:
 * Order    All ranks make these calls in this order, but for those of rank 0 alone. Without a
 *          pipeline they may evaluate in different batches.
 * Memory   One arena in two pieces (trainer/model/layout.h), taken in create, given back in
 *          destroy. The first keeps weights, optimizer state, gradients, running statistics,
 *          metrics, the order and the feed; the second holds what a part goes through. step, seed
 *          and best are the host's. `data` is the same in all calls, and outlives the net: train
 *          and eval begin to fetch the next batch.
 * Parts    A step's rows go through the device in parts of at.micro rows. Gradients add up, and the
 *          optimizer steps once: the sums are those of the whole batch in another order.
 * Bits     The same seed, data and at.micro give the same weights, whether steps are calls or
 *          graphs.
 * Errors   SW_NOMEM when not even a row at a time fits; what the backend says; with ranks, what
 *          their comm says.
 * Threads  One queue, one thread.
 *
 * Several ranks (trainer->ranks), which have a comm: each has all weights and takes at.share rows
 * of a step, in rank order. The gradients are summed in this order while the backward pass goes on.
 * So the weights have the same bits on every rank: those of one net with micro_batch = at.share, if
 * at.micro is at.share on all ranks, and of ranks on devices there are no more than two (nccl.h).
 *
 * A pipeline (trainer->stages): the rows of one of trainer->ranks go through as many nets, each
 * with some of the model's operations (trainer/model/stages.h). Rank d * stages + s is stage s. Its
 * arena has its own operations' weights alone; rank 0 reads and sets those of all, and for a moment
 * they lie in the host memory of every rank. The bits are those of one net with the same parts.
 *
 * The exceptions:
 * Memory that is short   at.micro is halved until the arena fits trainer->memory and the device. If
 *          the backend says SW_NOMEM in a step's gradients, it is halved once more: a smaller
 *          second piece is taken, and the step begins again, from the metrics that were before it.
 *          (Running statistics of batch norms then take the rows that had gone through once more.)
 *          If other ranks have a part of the step's sum already, or the net is a pipeline's, it is
 *          an error. In an evaluation SW_NOMEM is the caller's: sw_net_shrink, sw_net_metrics_zero,
 *          and all rows again, in batches of the new at.eval_batch; in a pipeline it is the end.
 * Batch norms   take the statistics of a part; with trainer->sync_batchnorm those of all rows of
 *          the step: the sums go between the ranks in mid-pass, forward and backward. Then a rank's
 *          rows are one part, too little memory for it is SW_NOMEM, a rank without rows makes a
 *          pass of none, and the bits are not those of one net.
 * Clipping   In a pipeline the norm's sum has another order than in one net.
 * Graphs   If the backend has them, the step on a whole batch is made by calls once, then recorded,
 *          and given again as one call; so are at.steps of them in a row, if so many are left. The
 *          last, smaller batch of an epoch and evaluation are calls. A step whose recording fails
 *          is calls, and the next one tries again: SW_NET_GRAPH_TRIES times in a trial. With a comm
 *          all steps are calls, unless the ranks are on devices: then one step is a graph, its sums
 *          in it, on all ranks or on none.
 *          Recordings are void when the second piece is taken anew, or a graph says SW_NOMEM as it
 *          starts: then come calls once, and a new recording; with a comm the latter is an error.
 *          They hold the seed, the trainer's numbers and data's addresses: so a checkpoint is read,
 *          and sw_net_state_share called, before the first step.
 */
#ifndef SW_TRAINER_NET_NET_H
#define SW_TRAINER_NET_NET_H

#include "trainer/comm/comm.h"
#include "trainer/data/data.h"
#include "trainer/model/layout.h"
#include "trainer/model/model.h"
#include "trainer/model/stages.h"
#include "trainer/model/trainer.h"

#define SW_NET_GRAPH_TRIES 3

/* best.c: the best epoch so far by the metric of the sweep, for checkpoints alone: it is rank 0's,
 * not shared, and its weights are not put back into the net. */
struct sw_net_best {
	uint64_t epoch; /* 0: none */
	uint64_t step;  /* optimizer steps made then */
	double value;
	float *weights; /* the host's: [weights_n], then the running statistics [running_n] */
};

/* graph.c: recorded steps. The first two are by buffer of the feed. */
struct sw_net_graphs {
	struct sw_graph *whole[2]; /* one step; NULL: not recorded yet */
	bool made[2];              /* its calls were made, so that they can be recorded */
	struct sw_graph *many;     /* at.steps steps; NULL: not recorded yet */
	size_t at;                 /* which step of a graph of many is being recorded */
	unsigned misses; /* how often a step was not recorded, or its graph did not start */
	bool off;        /* it is not tried again */
	bool agreed;     /* of ranks on devices: all have the graphs that they need */
};

/* ranks.c: the ranks that train together, and where a pipeline's stages lie in the model. */
struct sw_net_ranks {
	struct sw_comm *comm; /* NULL: this one is alone. Borrowed */
	bool shared;          /* of the step at hand other ranks have something already */
	unsigned stages;      /* 1: no pipeline, all operations are this net's */
	unsigned stage;       /* this net's */
	struct sw_model *own; /* the stage's; NULL: no pipeline */
	/* floats of the whole model's in front of stage s, and those of all behind the last */
	size_t weights[SW_STAGES_MAX + 1], running[SW_STAGES_MAX + 1];
	double share[SW_STAGES_MAX]; /* of the model's work */
	int64_t waited_us;           /* for other stages, since sw_net_bubble set it to 0 */
};

struct sw_net {
	const struct sw_ops *ops;
	struct sw_queue *q;
	const struct sw_model *model;
	const struct sw_model *own; /* the one that this net works on: model, or a stage of it */
	const struct sw_trainer *trainer;
	struct sw_layout at;
	char *arena;          /* backend: [at.kept] */
	char *parts;          /* backend: [at.bytes - at.kept] */
	struct sw_feed *feed; /* of a data set that does not lie on the device; NULL: it does */
	struct sw_net_ranks ranks;
	struct sw_net_graphs graphs;
	struct sw_net_best best;
	uint64_t seed;
	uint64_t step;             /* optimizer steps made */
	uint64_t epoch;            /* that is trained now, for augmentation: the loop's to set */
	uint64_t steps_per_epoch;  /* for schedules; from create */
	double best_loss;          /* of the epochs so far, for patience: the loop's to set */
	uint64_t stale;            /* epochs since it was reached: the loop's, too */
	size_t order_n, order_cap; /* rows of the epoch's order, and at most */
	unsigned oom_events;       /* how often at.micro was halved because memory was short */
	bool no_counts;            /* the backend counts no classes: there is no F1 */
	const char *lacks; /* after SW_UNSUPPORTED: the operation that the backend has not */
};

/* The task that the data set sets a model; classes: to predict classes, else numbers. */
struct sw_task sw_net_task(const struct sw_data *data, bool classes);

/* By all ranks, after sw_comm_devices. SW_BUSY: a way between the GPUs carries nothing (known after
 * 20 s), or wrong numbers: the machine's fault, and the line says what helps. That, and any other
 * error, ends comm. Takes 1 MiB of the device meanwhile. */
SW_NODISCARD sw_status sw_net_prove_sums(const struct sw_ops *ops, struct sw_queue *q,
					 struct sw_comm *comm, unsigned stages);

/* comm: of trainer->ranks times trainer->stages ranks, which call this together if there are
 * stages; NULL: this one is alone. model, trainer and comm are borrowed. SW_INVALID: the model
 * cannot be cut into so many stages.
 * The first weights are PyTorch's defaults, from seed: linear and conv2d kaiming_uniform with a =
 * sqrt 5 (U(-1/sqrt(fan in), 1/sqrt(fan in)), biases the same); attention's first product
 * xavier_uniform and its biases 0; norms 1 and 0; embeddings and positions N(0, 1). */
SW_NODISCARD sw_status sw_net_create(struct sw_net *net, const struct sw_ops *ops,
				     struct sw_queue *q, const struct sw_model *model,
				     const struct sw_trainer *trainer, const struct sw_data *data,
				     struct sw_comm *comm, uint64_t seed, struct sw_err *err);
void sw_net_destroy(struct sw_net *net); /* a zeroed one is allowed */

/* A net's state is some sets of float[model->weights_n]: set 0 the weights, then the optimizer's
 * (sgd: the velocity, with momentum only; adam, adamw: both moments). host has the same gaps. Of a
 * pipeline the two are rank 0's to call, for the whole model, while the others are in sw_net_go or
 * sw_net_state_share. */
size_t sw_net_sets(const struct sw_net *net);
/* Beside these, batchnorm's running statistics: float[model->running_n], with gaps too. */
#define SW_NET_RUNNING 3
SW_NODISCARD sw_status sw_net_set_download(const struct sw_net *net, size_t set,
					   float *host); /* waits */
SW_NODISCARD sw_status sw_net_set_upload(struct sw_net *net, size_t set, const float *host);

/* Rank 0's word, to all: *on of the others becomes what it is there. Nothing without comm. */
SW_NODISCARD sw_status sw_net_go(struct sw_net *net, bool *on);

/* Rank 0's running statistics become all ranks', or those of its pipeline's stages; and all of its
 * state, with *epoch, a number that goes with it. All ranks call these. Nothing without comm.
 * SW_NOMEM; what the backend or comm says. */
SW_NODISCARD sw_status sw_net_running_share(struct sw_net *net);
SW_NODISCARD sw_status sw_net_state_share(struct sw_net *net, uint64_t *epoch);

/* The net as it is now becomes the best so far: the caller has compared. Of a pipeline rank 0 calls
 * it, while the others are in sw_net_go. SW_NOMEM, or what the backend or comm says: none is known
 * then. Cost: a download of the weights. */
SW_NODISCARD sw_status sw_net_best_take(struct sw_net *net, uint64_t epoch, double value);

/* The order of the coming epoch: int32[rows], at most data->train.rows, else SW_INVALID; copied. */
SW_NODISCARD sw_status sw_net_order(struct sw_net *net, const int32_t *order, size_t rows);
/* Steps on the order's rows from first on, a multiple of at.batch: one, on at.batch rows or those
 * that are left, or as many as a graph holds. *next: the first row that had none.
 * SW_INVALID: first is no such multiple, or no row is left. */
SW_NODISCARD sw_status sw_net_train(struct sw_net *net, const struct sw_data *data, size_t first,
				    size_t *next);
/* The part of us that ranks of a pipeline, all together, have waited for each other since the last
 * call. On devices, where the host does not see it, what it would be by counted work. NaN: no
 * pipeline. All ranks call it. */
SW_NODISCARD sw_status sw_net_bubble(struct sw_net *net, int64_t us, double *out);
/* The number of this rank, or of its pipeline, among those that share each batch. */
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
/* Halves the micro-batch of a net that has its arena, and gives back the memory that this saves: a
 * step does so itself. eval_batch may be smaller then. SW_NOMEM: it is 1, or
 * trainer->sync_batchnorm is set, or there is not even memory for less; then the net can only be
 * destroyed. */
SW_NODISCARD sw_status sw_net_shrink(struct sw_net *net, const struct sw_data *data);
/* The output of the last evaluation: float[its rows][outputs]; backend memory. */
const float *sw_net_output(const struct sw_net *net);
SW_NODISCARD sw_status sw_net_metrics_zero(struct sw_net *net);
/* Of all ranks together, as are the classes' counts: all call these two. The last stages alone have
 * some. */
SW_NODISCARD sw_status sw_net_metrics(struct sw_net *net, struct sw_metrics *out); /* waits */
/* The mean of the classes' F1 over the rows evaluated; classes that no row has and none was taken
 * for are left out. NaN if the backend counts no classes (no_counts). Waits. */
SW_NODISCARD sw_status sw_net_macro_f1(struct sw_net *net, double *out);

#endif
