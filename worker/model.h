/*
 * worker/model.h — a layer list, compiled: shapes checked, every tensor's place known.
 *
 * The list: {"linear": N}, "relu", "tanh", {"dropout": P}; N and P are numbers or the names of
 * parameters.
 * Pure     Nothing is allocated here; worker/net.h allocates what a layout says, at once.
 * Errors   Pointers start at the list ("/2/linear").
 * Cost     O(layers).
 */
#ifndef SW_WORKER_MODEL_H
#define SW_WORKER_MODEL_H

#include "base/status.h"
#include "worker/trainer.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_MODEL_MAX_LAYERS 64
#define SW_MODEL_MAX_WIDTH  1000000

enum sw_layer_kind { SW_LAYER_LINEAR, SW_LAYER_RELU, SW_LAYER_TANH, SW_LAYER_DROPOUT };

struct sw_layer {
	enum sw_layer_kind kind;
	size_t in, out; /* widths */
	float p;        /* dropout */
	size_t w, b;    /* linear: first elements of float[out][in] and float[out] in the weights */
	bool in_place;  /* writes over its input: only after a linear, which needs no output */
};

struct sw_model {
	struct sw_layer layer[SW_MODEL_MAX_LAYERS];
	size_t layers_n;
	size_t features, outputs;
	size_t widest;     /* of the features and all layers */
	size_t parameters; /* that are trained */
	size_t weights_n;  /* floats with the gaps that keep tensors 64-byte aligned */
	char summary[128]; /* "64-128-relu-10" */
};

/* outputs: the width that the last layer must have; classes: how the message explains it. */
SW_NODISCARD sw_status sw_model_compile(struct sw_model *out, const cJSON *layers,
					const cJSON *params, size_t features, size_t outputs,
					bool classes, struct sw_err *err);

/* Where everything lies in a trial's one arena: byte offsets, each 64-byte aligned. */
struct sw_layout {
	size_t batch, eval_batch; /* most rows at once */
	size_t states_n;          /* float[weights_n] tensors of the optimizer: 0, 1 or 2 */
	size_t weights, grads, state[2];
	size_t metrics;                  /* struct sw_metrics */
	size_t step;                     /* struct sw_step */
	size_t order;                    /* int32[train_rows] */
	size_t x;                        /* float[batch][features] */
	size_t y;                        /* int32[batch] or float[batch] */
	size_t act[SW_MODEL_MAX_LAYERS]; /* outputs of the layers: float[batch][out] */
	size_t grad[2];                  /* float[batch][widest] */
	size_t eval[2];                  /* float[eval_batch][widest], over x and what follows it */
	size_t bytes;                    /* the arena */
};

/* SW_TOO_BIG when the sizes do not fit an address. */
SW_NODISCARD sw_status sw_layout_make(struct sw_layout *out, const struct sw_model *m,
				      const struct sw_trainer *t, size_t train_rows,
				      size_t val_rows, struct sw_err *err);

#endif
