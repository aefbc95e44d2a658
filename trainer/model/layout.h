/*
 * trainer/model/layout.h — gives everything its place in a trial's arena.
 *
 * It has two pieces: what a step must not lose, and what a part of a batch goes through, which a
 * smaller micro-batch takes anew. Buffers that are needed at different times share their bytes: the
 * largest first, each at the lowest place that is free while it is needed. Training and evaluation
 * take turns with the same bytes. The size is a function of the model, the trainer and the rows
 * alone, and known before anything is allocated.
 * Cost     O(buffers^2).
 */
#ifndef SW_TRAINER_MODEL_LAYOUT_H
#define SW_TRAINER_MODEL_LAYOUT_H

#include "trainer/model/model.h"
#include "trainer/model/trainer.h"

/* Steps of one graph at most. */
#ifndef SW_LAYOUT_STEPS
#define SW_LAYOUT_STEPS 32
#endif

/* All that differs from step to step, for some steps in a row: sent to the device in one piece. */
struct sw_head {
	int32_t row[SW_LAYOUT_STEPS]; /* batches of the order in front of a step's */
	struct sw_step step[SW_LAYOUT_STEPS];
};

/* Byte offsets, each 64-byte aligned. */
struct sw_layout {
	size_t batch;      /* most rows of an optimizer step */
	size_t share;      /* of them, most rows of one rank */
	size_t micro;      /* most rows at once, at most share: steps add up over such parts */
	size_t eval_batch; /* most rows of an evaluation at once */
	size_t states_n;   /* float[weights_n] tensors of the optimizer: 0, 1 or 2 */
	size_t weights, grads, state[2];
	size_t running;    /* float[running_n]: batchnorm's statistics */
	size_t zero;       /* int32, 0 for good: the row that a copy is of */
	size_t metrics;    /* struct sw_metrics */
	size_t saved;      /* the same, as they were before the step */
	size_t step;       /* struct sw_head: what the steps of one launch bring with them */
	size_t order;      /* int32[train_rows]: the epoch's */
	size_t norm2;      /* double */
	size_t count;      /* int32: labels of a batch that count */
	size_t classes;    /* int64[3][outputs], for F1; of the loss cross_entropy */
	size_t feed[2];    /* buffers of the feed, which take turns; feed_rows 0: none */
	size_t feed_rows;  /* that one of them holds; eval_batch is at most as many */
	size_t feed_index; /* int32[batch], 0, 1, ...: the places of a batch's rows in one */
	size_t y;     /* int32[batch][labels]: of all of a step's rows, where they are several */
	size_t kept;  /* bytes of the first piece: all of the above, whatever micro is */
	size_t steps; /* in a graph at most, at least 1 */
	/* in the second piece: */
	size_t rows; /* int32[steps][batch]: those of a graph's steps, out of the order */
	size_t part; /* float[weights_n]: of micro-batches after the first, if there are several */
	size_t product; /* of products that a library makes: ops.h, precision() */
	size_t product_bytes;
	size_t copy;   /* of the weights, as products at another precision read them */
	size_t work;   /* scratch */
	size_t copies; /* of training's buffers: a pipeline's parts that are under way at once */
	size_t stride; /* bytes from one to the next */
	size_t train[SW_MODEL_MAX_BUFFERS]; /* of copy 0 */
	size_t eval[SW_MODEL_MAX_BUFFERS];
	size_t bytes;   /* both pieces */
	size_t library; /* beside them: what products_open takes */
};

/* m: with t->stages that of stage t->stage. ops: whose scratch memory is counted. SW_TOO_BIG when
 * the sizes do not fit an address. */
SW_NODISCARD sw_status sw_layout_make(struct sw_layout *out, const struct sw_model *m,
				      const struct sw_trainer *t, size_t train_rows,
				      size_t val_rows, const struct sw_ops *ops,
				      struct sw_err *err);

/* The same with the largest micro-batch of those that come of halving (rounded up) whose arena has
 * at most so many bytes; *halved: how often. SW_NOMEM: not even a row at a time has. */
SW_NODISCARD sw_status sw_layout_fit(struct sw_layout *out, const struct sw_model *m,
				     const struct sw_trainer *t, size_t train_rows, size_t val_rows,
				     const struct sw_ops *ops, size_t most, unsigned *halved,
				     struct sw_err *err);

/* Micro-batches that stage s has begun and not ended at most, of n in all: 1F1B, "PipeDream-Flush"
 * of Narayanan et al. 2021 (Memory-Efficient Pipeline-Parallel DNN Training), section 3. */
size_t sw_layout_copies(unsigned stages, unsigned s, size_t n);

/* Rows of one rank, where so many ranks share rows: the first ones have so many, the last fewer, or
 * none. */
size_t sw_layout_share(size_t rows, uint64_t ranks);

#endif
