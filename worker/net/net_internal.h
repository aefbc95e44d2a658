/* worker/net/net_internal.h — what the files of worker/net/net.h share. */
#ifndef SW_WORKER_NET_NET_INTERNAL_H
#define SW_WORKER_NET_NET_INTERNAL_H

#include "worker/net/net.h"

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

/* Where rows are: index is their places in part, number their numbers in the data set where these
 * are others, else NULL. */
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

	return &head->step[net->place];
}

/* The epoch's rows. */
static inline const int32_t *sw_net_order_at(const struct sw_net *net)
{
	return (const int32_t *)(const void *)(net->arena + net->at.order);
}

/* Whether batch norms take the rows of all ranks. */
static inline bool sw_net_synced(const struct sw_net *net)
{
	return net->comm && net->trainer->sync_batchnorm;
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

/* Rows of a product or a norm: the tokens' each have one. */
static inline size_t sw_net_row_n(const struct sw_shape *s, size_t rows)
{
	return s->kind == SW_SHAPE_TOKENS ? rows * s->t : rows;
}

static inline size_t sw_net_width(const struct sw_shape *s)
{
	return s->kind == SW_SHAPE_TOKENS ? s->d : sw_shape_count(s);
}

/* A buffer of the pass's plan, NULL for none; a value; what operation i saved. */
float *sw_net_buffer(const struct sw_net_pass *p, uint16_t buffer);
const float *sw_net_value(const struct sw_net_pass *p, size_t value);

/* What a pooled convolution writes; pool: the pooling's number (net_forward.c). */
struct sw_pooled sw_net_pooled(const struct sw_net_pass *p, size_t pool);
/* Dropout, of values or of their gradients: the mask is made anew each time (net_forward.c). */
SW_NODISCARD sw_status sw_net_dropout(const struct sw_net_pass *p, const struct sw_op *op,
				      const float *x, float *y);
/* All operations; *out: what the last wrote (net_forward.c). */
SW_NODISCARD sw_status sw_net_forward(const struct sw_net_pass *p);
/* From the loss's gradient, which lies in its buffer, to the parameters' (net_backward.c). */
SW_NODISCARD sw_status sw_net_backward(const struct sw_net_pass *p);
/* net_share.c. This rank's of a step's rows. */
struct sw_net_share sw_net_share_of(const struct sw_net *net, size_t rows);
/* Of the pass's gradients [from, *to) are final, which they were from *to on before: *to becomes
 * from, unless they wait for more of their bucket. Those of a later part are added to the first's;
 * with p->parts the ranks' sum begins. */
SW_NODISCARD sw_status sw_net_grads_final(const struct sw_net_pass *p, size_t from, size_t *to);
/* The sums end; a rank without rows has its part in them here. */
SW_NODISCARD sw_status sw_net_grads_sum(struct sw_net *net, const struct sw_net_share *mine);
/* sums: backend memory, double[n]; those of the first `parts` ranks for what the queue is given from
 * here on. By all ranks: of batch norms in each pass, also one without rows, and between the sums of
 * gradients, too. */
SW_NODISCARD sw_status sw_net_sums_now(const struct sw_net *net, double *sums, size_t n,
				       unsigned parts);
/* Whether all ranks say yes. */
SW_NODISCARD sw_status sw_net_all(const struct sw_net *net, bool mine, bool *all);
/* The weights' first values (net_init.c). */
SW_NODISCARD sw_status sw_net_weights_init(struct sw_net *net);

/* net_run.c: of part k, forward (without the loss), and backward: with the loss on the last stage, else
 * from the last value's gradient, which is in its buffer. */
struct sw_net_pass sw_net_pass_of(const struct sw_net_batch *b, size_t k);
SW_NODISCARD sw_status sw_net_part_forward(const struct sw_net_batch *b, size_t k);
SW_NODISCARD sw_status sw_net_part_backward(const struct sw_net_batch *b, size_t k);

/* net_pipeline.c: all parts of a batch, as this net's stage comes to them. */
SW_NODISCARD sw_status sw_net_parts(const struct sw_net_batch *b);
/* Value 0 of an evaluation, from the stage before; its last value, to the one behind. */
SW_NODISCARD sw_status sw_net_value_receive(const struct sw_net_pass *p);
SW_NODISCARD sw_status sw_net_value_send(const struct sw_net_pass *p);
/* norm2 of this stage's gradients becomes that of all stages'. */
SW_NODISCARD sw_status sw_net_norm_sum(struct sw_net *net, double *norm2);
/* Cuts the model; nothing without stages. Then, with memory: the same micro-batch on all ranks. */
SW_NODISCARD sw_status sw_net_stages_take(struct sw_net *net, struct sw_err *err);
SW_NODISCARD sw_status sw_net_stages_agree(struct sw_net *net, const struct sw_data *data);

static inline bool sw_net_is_first(const struct sw_net *net)
{
	return net->stages.mine == 0;
}

static inline bool sw_net_is_last(const struct sw_net *net)
{
	return net->stages.mine + 1 == net->stages.n;
}

/* net_state.c: of this net's own operations. */
SW_NODISCARD sw_status sw_net_own_upload(const struct sw_net *net, size_t set, const float *host);
SW_NODISCARD sw_status sw_net_own_running_upload(const struct sw_net *net, const float *host);

/* net_run.c: the gradients of rows that lie ready; by calls alone. */
SW_NODISCARD sw_status sw_net_gradient_of(struct sw_net *net, const struct sw_data *data,
					  const struct sw_net_rows *from, size_t rows);

/* net_step.c: forgets what was recorded, for it is no longer so. */
void sw_net_forget(struct sw_net *net);
/* Tells the queue how products are made, and where their scratch memory is. */
SW_NODISCARD sw_status sw_net_precision(const struct sw_net *net);
/* The same of the weights as they are: before a pass that reads what another has changed. */
SW_NODISCARD sw_status sw_net_weights_ready(const struct sw_net *net);

/* net_feed.c. Nothing of it does anything for a data set that lies on the device, but that take
 * says so. create: net->feed; destroy: when nothing of the queue's uses a stage any more. */
SW_NODISCARD sw_status sw_net_feed_create(struct sw_net *net, const struct sw_data *data);
void sw_net_feed_destroy(struct sw_net *net);
/* The coming epoch's order is copied, and what was fetched ahead will not be asked for. */
void sw_net_feed_order(struct sw_net *net, const int32_t *order, size_t rows);
/* Begins to fetch rows: of [first, first + rows) of the order this rank's share, or such rows of the
 * validation part; at most at.stage_rows. Waits for nothing but an earlier copy from the same memory. */
SW_NODISCARD sw_status sw_net_feed_fetch(struct sw_net *net, const struct sw_data *data, bool train,
					 size_t first, size_t rows);
/* Where such rows are for what the queue is given from here on: out->part's are the batch's alone
 * when they are staged, and then index must be 0, 1, ... */
SW_NODISCARD sw_status sw_net_feed_take(struct sw_net *net, const struct sw_data *data, bool train,
					size_t first, size_t rows, struct sw_net_rows *out);

#endif
