/*
 * bench/lib/train_net.h — two nets as calls of the backend's entries, for bench/train: lenet-cifar
 * (the net of Ray's CIFAR tutorial, l1 120, l2 84) and mlp (64-64-32-10).
 */
#ifndef SW_BENCH_TRAIN_NET_H
#define SW_BENCH_TRAIN_NET_H

#include "kernels/ops.h"
#include <stdbool.h>

#define TRAIN_LAYERS 8
#define TRAIN_ROWS   512 /* of the data set */

enum train_kind { TRAIN_CONV, TRAIN_POOL, TRAIN_LINEAR };

struct train_layer {
	enum train_kind kind;
	struct sw_conv conv;
	struct sw_window pool;
	size_t in, out; /* floats of a row */
	enum sw_act act;
	size_t w, b; /* first elements in the parameters */
	float *y, *dy;
	int32_t *argmax;
};

struct train_net {
	struct train_layer layer[TRAIN_LAYERS];
	size_t layers_n, batch, weights_n, features;
	double flops; /* of a sample's training step, in products */
	float *data, *x, *w, *g, *v;
	int32_t *labels, *order, *y;
	struct sw_metrics metrics;
	struct sw_step step;
	void *work;
	size_t turn;
};

/* Times of a step's parts, in seconds, added up. */
struct train_times {
	double gather, loss, optimizer, forward[TRAIN_LAYERS], backward[TRAIN_LAYERS];
};

SW_NODISCARD sw_status train_net_make(struct train_net *net, const char *name, size_t batch);
void train_net_free(struct train_net *net);
void train_net_step(struct train_net *net, struct train_times *times);
/* Prints the parts of `steps` steps, microseconds a sample each. */
void train_net_profile(struct train_net *net, size_t steps);

#endif
