/* trainer/net/internal.h — shared by the files of trainer/net/net.h. */
#ifndef SW_TRAINER_NET_INTERNAL_H
#define SW_TRAINER_NET_INTERNAL_H

#include "trainer/net/net.h"

/* Some rows on their way through the net. */
struct sw_net_pass {
	struct sw_net *net;
	bool train;
	size_t rows;
	size_t first;          /* the first row's place in its batch, for dropout */
	const void *x;         /* value 0: float or int32 */
	const int32_t *length; /* int32[rows], or NULL */
	float *grads;          /* float[weights_n]: where the parameters' gradients go */
	size_t all;            /* the step's rows, of all ranks */
	unsigned parts;        /* the last pass of a rank's rows: ranks that have any; else 0 */
	size_t copy;           /* of the buffers: that this pass has */
};

/* Of a step's rows, one rank's: [from, to), none for the last ranks of a small batch. */
struct sw_net_share {
	size_t from, to;
	unsigned parts; /* ranks that have any */
};

/* Rows and their places: index has their places in part. number has their numbers in the data set
 * if these are others; else it is NULL. */
struct sw_net_rows {
	struct sw_data_part part;
	const int32_t *index, *number;
	unsigned buffer; /* of the feed; 0 without one */
};

/* A rank's part of a step's rows, as it goes through the net in passes. */
struct sw_net_batch {
	struct sw_net *net;
	const struct sw_data *data;
	const struct sw_net_rows *from;
	const struct sw_net_share *mine;
	size_t rows; /* the step's */
};

static inline float *sw_net_floats(const struct sw_net *net, size_t offset)
{
	return (float *)(void *)(net->arena + offset);
}

/* The same in the second piece: a buffer, scratch memory. */
static inline float *sw_net_part(const struct sw_net *net, size_t offset)
{
	return (float *)(void *)(net->parts + offset);
}

static inline struct sw_step *sw_net_step(const struct sw_net *net)
{
	struct sw_head *head = (struct sw_head *)(void *)(net->arena + net->at.step);

	return &head->step[net->graphs.at];
}

/* The epoch's rows. */
static inline const int32_t *sw_net_order_at(const struct sw_net *net)
{
	return (const int32_t *)(const void *)(net->arena + net->at.order);
}

/* Whether batch norms take the rows of all ranks. */
static inline bool sw_net_synced(const struct sw_net *net)
{
	return net->ranks.comm && net->trainer->sync_batchnorm;
}

static inline struct sw_metrics *sw_net_sums(const struct sw_net *net)
{
	return (struct sw_metrics *)(void *)(net->arena + net->at.metrics);
}

static inline float *sw_net_work(const struct sw_net *net)
{
	return sw_net_part(net, net->at.work);
}

static inline double *sw_net_doubles(const struct sw_net *net)
{
	return (double *)(void *)sw_net_work(net);
}

static inline const struct sw_plan *sw_net_plan(const struct sw_net_pass *p)
{
	return p->train ? &p->net->own->train : &p->net->own->eval;
}

/* A buffer of the pass's plan; NULL for none. */
static inline float *sw_net_buffer(const struct sw_net_pass *p, uint16_t buffer)
{
	const struct sw_layout *at = &p->net->at;

	if (buffer == SW_NO_BUFFER)
		return NULL;
	return sw_net_part(p->net,
			   p->train ? at->train[buffer] + p->copy * at->stride : at->eval[buffer]);
}

static inline const float *sw_net_value(const struct sw_net_pass *p, size_t value)
{
	const uint16_t buffer = sw_net_plan(p)->value[value];

	/* the rows may lie in the data set, and be passed on from there */
	return buffer == SW_NO_BUFFER ? p->x : sw_net_buffer(p, buffer);
}

static inline bool sw_net_is_first(const struct sw_net *net)
{
	return net->ranks.stage == 0;
}

static inline bool sw_net_is_last(const struct sw_net *net)
{
	return net->ranks.stage + 1 == net->ranks.stages;
}

/* The output of a pooled convolution; pool: the pooling's number. */
static inline struct sw_pooled sw_net_pooled(const struct sw_net_pass *p, size_t pool)
{
	const struct sw_op *op = &p->net->own->op[pool];

	return (struct sw_pooled){
		.p = sw_op_window(op, p->rows),
		.full = sw_net_buffer(p, sw_net_plan(p)->value[op->in]),
		.y = sw_net_buffer(p, sw_net_plan(p)->value[pool + 1]),
		.argmax = (int32_t *)(void *)sw_net_buffer(p, sw_net_plan(p)->saved[pool])};
}

/* Dropout, of values or of their gradients: the mask is made anew each time. */
static inline sw_status sw_net_dropout(const struct sw_net_pass *p, const struct sw_op *op,
				       const float *x, float *y)
{
	const size_t count = sw_shape_count(&op->to);
	const struct sw_dropout d = {
		.seed = p->net->seed, .layer = op->layer, .first = p->first * count, .p = op->p};

	return p->net->ops->dropout(p->net->q, x, y, p->rows * count, d, sw_net_step(p->net));
}

/* --- memory.c, init.c, state.c: the arena, and how it is filled --- */

SW_NODISCARD sw_status sw_net_arena_take(struct sw_net *net, const struct sw_data *data,
					 struct sw_err *err);
/* init.c */
SW_NODISCARD sw_status sw_net_weights_init(struct sw_net *net);
/* state.c: of this net's own operations. */
SW_NODISCARD sw_status sw_net_own_upload(const struct sw_net *net, size_t set, const float *host);

/* --- device.c --- */

/* Tells the queue the precision of products, and gives it scratch memory for them. */
SW_NODISCARD sw_status sw_net_precision(const struct sw_net *net);
/* Lets the queue make its copy of the weights, at that precision: before the first pass after a
 * change of them. */
SW_NODISCARD sw_status sw_net_weights_ready(const struct sw_net *net);

/* --- sums.c: what is summed over the ranks that share a batch --- */

/* This rank's of a step's rows. */
struct sw_net_share sw_net_share_of(const struct sw_net *net, size_t rows);
/* The backward pass has made the gradients [from, *to); those from *to on were final before. If
 * they fill a bucket, *to becomes from: a later part's are added to the first part's, and in the
 * last part (p->parts) the ranks' sum of the bucket begins. */
SW_NODISCARD sw_status sw_net_grads_final(const struct sw_net_pass *p, size_t from, size_t *to);
/* All these sums end. A rank without rows of the step takes its part in them here. */
SW_NODISCARD sw_status sw_net_grads_sum(struct sw_net *net, const struct sw_net_share *mine);
/* sums: backend memory, double[n]: the sum of the first `parts` ranks for all that the queue is
 * given from here on. All ranks call it: for batch norms in each pass, also in one without rows,
 * and while sums of gradients have begun, too. */
SW_NODISCARD sw_status sw_net_sums_now(const struct sw_net *net, double *sums, size_t n,
				       unsigned parts);
/* Whether all ranks say yes. */
SW_NODISCARD sw_status sw_net_all(const struct sw_net *net, bool mine, bool *all);

/* --- ranks.c: the ranks of a pipeline --- */

/* Cuts the model; nothing without stages. Then, with memory: the same micro-batch on all ranks. */
SW_NODISCARD sw_status sw_net_stages_take(struct sw_net *net, struct sw_err *err);
SW_NODISCARD sw_status sw_net_stages_agree(struct sw_net *net, const struct sw_data *data);
/* out goes to a neighbour, in comes from it; in the queue's order. */
SW_NODISCARD sw_status sw_net_move(struct sw_net *net, bool behind, const float *out, size_t out_n,
				   float *in, size_t in_n);
/* Of the pass's rows. */
size_t sw_net_value_floats(const struct sw_net_pass *p, size_t value);
/* norm2 of this stage's gradients becomes that of all stages'. */
SW_NODISCARD sw_status sw_net_norm_sum(struct sw_net *net, double *norm2);

/* --- a pass: forward.c, backward.c --- */

/* All operations. */
SW_NODISCARD sw_status sw_net_forward(const struct sw_net_pass *p);
/* From the loss's gradient, which lies in its buffer, to the parameters'. */
SW_NODISCARD sw_status sw_net_backward(const struct sw_net_pass *p);

/* --- batch.c: the parts of a batch --- */

struct sw_images sw_net_images(const struct sw_net *net, const struct sw_data *data,
			       const struct sw_data_part *part, bool train);
/* Gathers the labels of all the step's rows, and counts them, if a row has several. */
SW_NODISCARD sw_status sw_net_labels(struct sw_net *net, const struct sw_data *data,
				     const struct sw_net_rows *from, size_t rows);
/* Of part k, forward (without the loss), and backward: with the loss on the last stage, else from
 * the last value's gradient, which is in its buffer. */
struct sw_net_pass sw_net_pass_of(const struct sw_net_batch *b, size_t k);
SW_NODISCARD sw_status sw_net_part_forward(const struct sw_net_batch *b, size_t k);
SW_NODISCARD sw_status sw_net_part_backward(const struct sw_net_batch *b, size_t k);

/* --- pipeline.c --- */

/* The gradients of rows that lie ready; by calls alone. */
SW_NODISCARD sw_status sw_net_gradient_of(struct sw_net *net, const struct sw_data *data,
					  const struct sw_net_rows *from, size_t rows);

/* --- graph.c --- */

/* n steps in a row, the first of them on these rows. */
struct sw_net_steps {
	const struct sw_data *data;
	const struct sw_net_rows *from;
	size_t n;
};
/* Records what `give` gives to the queue. SW_OK with *out NULL: it was not recorded, and nothing
 * was given. */
SW_NODISCARD sw_status sw_net_graph_record(struct sw_net *net, const struct sw_net_steps *steps,
					   sw_status (*give)(struct sw_net *,
							     const struct sw_net_steps *),
					   struct sw_graph **out);
/* A graph was not recorded, or did not start: after some times the trial goes on by calls. */
void sw_net_graph_missed(struct sw_net *net);
/* Forgets what was recorded, for it is no longer so. */
void sw_net_forget(struct sw_net *net);

/* --- feed.c --- */

/* For a data set that lies on the device these do nothing, but take says where its rows are.
 * destroy: once the queue's work has done with the feed's buffers. */
SW_NODISCARD sw_status sw_net_feed_create(struct sw_net *net, const struct sw_data *data);
void sw_net_feed_destroy(struct sw_net *net);
/* The coming epoch's order is copied, and what was fetched ahead will not be asked for. */
void sw_net_feed_order(struct sw_net *net, const int32_t *order, size_t rows);
/* Begins to fetch rows: of [first, first + rows) of the order this rank's share, or such rows of
 * the validation part; at most at.feed_rows. Waits for nothing but an earlier copy from the same
 * memory. */
SW_NODISCARD sw_status sw_net_feed_fetch(struct sw_net *net, const struct sw_data *data, bool train,
					 size_t first, size_t rows);
/* *out: where such rows are for all that the queue is given from here on. If the feed has them,
 * out->part holds the batch's alone, and index is 0, 1, ... */
SW_NODISCARD sw_status sw_net_feed_take(struct sw_net *net, const struct sw_data *data, bool train,
					size_t first, size_t rows, struct sw_net_rows *out);

#endif
