/*
 * trainer/model/model.h — a layer list, compiled: shapes checked, every tensor's place known.
 *
 * The list (trainer/spec/layers.h) becomes a straight line of operations. Each reads one value or
 * two and writes a new one: value 0 is the batch, value i + 1 what operation i writes.
 *
 *   {"residual": [A, B]}   A, B, (projection,) ADD     ADD reads B's value and A's input
 *   {"attention": ...}     LINEAR D -> 3D, ATTENTION, LINEAR D -> D
 *
 * A plan says which values lie in which buffer and how long each is needed: training holds what
 * the backward pass reads, evaluation nothing. Buffers are as many elements a row of the batch, so
 * that one plan serves every batch size; trainer/model/layout.h gives them places.
 *
 * Numbers  Random streams are keyed by the layer's number: its place in the list, those inside
 *          residuals counted on their way.
 * Pure     Nothing is allocated here but a preset's list, freed before return.
 * Errors   Pointers start at the list ("/2/linear").
 * Cost     O(layers).
 */
#ifndef SW_TRAINER_MODEL_MODEL_H
#define SW_TRAINER_MODEL_MODEL_H

#include "base/status.h"
#include "trainer/model/op.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_MODEL_MAX_OPS     512
#define SW_MODEL_MAX_BUFFERS (5 * SW_MODEL_MAX_OPS + 8)
#define SW_MODEL_MAX_WIDTH   1000000

/* n consecutive uses of memory: from the first time that it is written to the last that it is
 * read. */
struct sw_buffer {
	size_t row;   /* elements of four bytes for each row of the batch */
	size_t fixed; /* more of them, whatever the batch */
	uint16_t from, to;
};

#define SW_NO_BUFFER ((uint16_t)0xffff)

/* Of training or of evaluation. */
struct sw_plan {
	struct sw_buffer buffer[SW_MODEL_MAX_BUFFERS];
	size_t buffers_n;
	uint16_t value[SW_MODEL_MAX_OPS + 1]; /* the buffer of each value */
	/* statistics, argmax, probabilities, a linear layer's `kept`; or SW_NO_BUFFER */
	uint16_t saved[SW_MODEL_MAX_OPS];
	uint16_t length, index; /* tokens of a row that count; rows to gather */
};

enum sw_back_kind {
	SW_BACK_OP,         /* of operation op: dy -> dx (SW_NO_BUFFER: not wanted) */
	SW_BACK_ACCUMULATE, /* dx += dy */
	SW_BACK_ADD,        /* dx = dy + other */
};

struct sw_back {
	enum sw_back_kind kind;
	uint16_t op;
	uint16_t dy, dx, other; /* buffers; other of a pooled convolution: the pooling's dy */
	uint16_t value;         /* whose gradient: its size */
};

/* The task that a data set sets a model. */
struct sw_task {
	struct sw_shape input;
	size_t vocab;   /* TOKENS */
	size_t outputs; /* the width that the last layer must have */
	size_t labels;  /* a row's: 1, or a token's each */
	bool classes;   /* else numbers */
	bool gathered;  /* evaluation too takes its rows through gather_image */
	bool received;  /* value 0 is another model's last: its gradient is wanted */
};

struct sw_model {
	struct sw_task task;
	struct sw_op op[SW_MODEL_MAX_OPS];
	size_t ops_n;
	size_t parameters; /* that are trained */
	size_t weights_n;  /* floats with the gaps that keep tensors 64-byte aligned */
	size_t running_n;  /* the same of running statistics */
	struct sw_plan train, eval;
	struct sw_back back[3 * SW_MODEL_MAX_OPS];
	size_t back_n;
	uint16_t loss_grad;  /* the buffer of the last value's gradient, which the loss writes */
	uint16_t input_grad; /* of value 0's, where that is received; else SW_NO_BUFFER */
	char summary[128];   /* "64-128-relu-10" */
	const char *label;   /* of its weights (trainer/file/label.h), or NULL; borrowed */
};

SW_NODISCARD sw_status sw_model_compile(struct sw_model *out, const cJSON *model,
					const cJSON *params, const struct sw_task *task,
					struct sw_err *err);

/* Operations of a row's training step: two for each multiply-add of its linear and conv2d layers,
 * forward and for both gradients, of which the first layer's input has none. */
double sw_model_flops(const struct sw_model *m);
/* Of them operation i's. */
double sw_model_op_flops(const struct sw_model *m, size_t i);
/* The part of them that is large enough for TF32 with so many rows, by what is known of an H100. */
double sw_model_tf32_share(const struct sw_model *m, const struct sw_ops *ops, size_t rows);

/* The value's shape and elements a row. */
const struct sw_shape *sw_model_shape(const struct sw_model *m, size_t value);

#endif
