#include "worker/net.h"
#include "base/fault.h"
#include "kernels/philox.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static float *floats(const struct sw_net *net, size_t offset)
{
	return (float *)(void *)(net->arena + offset);
}

static struct sw_metrics *metrics(const struct sw_net *net)
{
	return (struct sw_metrics *)(void *)(net->arena + net->at.metrics);
}

static struct sw_step *step_of(const struct sw_net *net)
{
	return (struct sw_step *)(void *)(net->arena + net->at.step);
}

/* n numbers of U(-bound, bound) */
static void uniform(float *out, size_t n, float bound, uint64_t seed, uint32_t layer,
		    uint64_t tensor)
{
	for (size_t i = 0; i < n; i += 4) {
		const struct sw_philox_words r =
			sw_philox_block(seed, SW_PHILOX_INIT, layer, tensor, i / 4);

		for (size_t k = 0; k < 4 && i + k < n; k++)
			out[i + k] = (2.0f * sw_philox_unit(r.v[k]) - 1.0f) * bound;
	}
}

static sw_status weights_init(struct sw_net *net)
{
	const struct sw_model *m = net->model;
	float *w = sw_calloc(m->weights_n, sizeof *w);
	sw_status status;

	if (!w)
		return SW_NOMEM;
	for (size_t i = 0; i < m->layers_n; i++) {
		const struct sw_layer *l = &m->layer[i];
		const float bound = 1.0f / sqrtf((float)l->in);

		if (l->kind != SW_LAYER_LINEAR)
			continue;
		uniform(w + l->w, l->in * l->out, bound, net->seed, (uint32_t)i, 0);
		uniform(w + l->b, l->out, bound, net->seed, (uint32_t)i, 1);
	}
	status =
		net->ops->upload(net->q, net->arena + net->at.weights, w, m->weights_n * sizeof *w);
	free(w);
	return status;
}

sw_status sw_net_create(struct sw_net *net, const struct sw_ops *ops, struct sw_queue *q,
			const struct sw_model *model, const struct sw_trainer *trainer,
			const struct sw_data *data, uint64_t seed, struct sw_err *err)
{
	size_t free_bytes, total;
	void *arena = NULL;
	sw_status status;

	*net = (struct sw_net){
		.ops = ops, .q = q, .model = model, .trainer = trainer, .seed = seed};
	status = sw_layout_make(&net->at, model, trainer, data->train.rows, data->val.rows, err);
	if (status != SW_OK)
		return status;
	/* the kernel lends memory that it does not have: ask before, not after */
	if (ops->memory(&free_bytes, &total) == SW_OK && net->at.bytes > free_bytes)
		return sw_err_set(err, SW_NOMEM, "the trial needs %zu bytes, %zu are free",
				  net->at.bytes, free_bytes);
	status = ops->alloc(&arena, net->at.bytes);
	net->arena = arena;
	if (status == SW_OK)
		/* gradients and state begin at zero, and the gaps between tensors stay so */
		status = ops->zero(q, net->arena, net->at.metrics);
	if (status == SW_OK)
		status = weights_init(net);
	if (status == SW_OK)
		return SW_OK;
	sw_net_destroy(net);
	return sw_err_set(err, status, "no arena of %zu bytes: %s", net->at.bytes,
			  sw_status_str(status));
}

void sw_net_destroy(struct sw_net *net)
{
	if (net->arena)
		net->ops->free(net->arena);
	net->arena = NULL;
}

size_t sw_net_sets(const struct sw_net *net)
{
	return 1 + net->at.states_n;
}

static char *set_at(const struct sw_net *net, size_t set)
{
	return net->arena + (set == 0 ? net->at.weights : net->at.state[set - 1]);
}

sw_status sw_net_set_download(const struct sw_net *net, size_t set, float *host)
{
	return net->ops->download(net->q, host, set_at(net, set),
				  net->model->weights_n * sizeof *host);
}

sw_status sw_net_set_upload(struct sw_net *net, size_t set, const float *host)
{
	return net->ops->upload(net->q, set_at(net, set), host,
				net->model->weights_n * sizeof *host);
}

sw_status sw_net_order(struct sw_net *net, const int32_t *order, size_t rows)
{
	return net->ops->upload(net->q, net->arena + net->at.order, order, rows * sizeof *order);
}

sw_status sw_net_metrics_zero(struct sw_net *net)
{
	return net->ops->zero(net->q, metrics(net), sizeof(struct sw_metrics));
}

sw_status sw_net_metrics(struct sw_net *net, struct sw_metrics *out)
{
	return net->ops->download(net->q, out, metrics(net), sizeof *out);
}

/* x: float[rows][in] -> y: float[rows][out] by layer i; train false: dropout is the identity, which
 * needs no call when x == y. */
static sw_status layer_forward(struct sw_net *net, size_t i, const float *x, float *y, size_t rows,
			       bool train)
{
	const struct sw_layer *l = &net->model->layer[i];
	const float *w = floats(net, net->at.weights);

	switch (l->kind) {
	case SW_LAYER_LINEAR:
		return net->ops->linear_forward(net->q, x, w + l->w, w + l->b, y, rows, l->in,
						l->out, SW_ACT_NONE);
	case SW_LAYER_RELU:
		return net->ops->relu_forward(net->q, x, y, rows * l->out);
	case SW_LAYER_TANH:
		return net->ops->tanh_forward(net->q, x, y, rows * l->out);
	case SW_LAYER_DROPOUT:
		if (!train)
			return SW_OK;
		return net->ops->dropout(
			net->q, x, y, rows * l->out,
			(struct sw_dropout){.seed = net->seed, .layer = (uint32_t)i, .p = l->p},
			step_of(net));
	}
	return SW_INTERNAL;
}

/* g: the gradient of layer i's output, float[rows][out]; other: as large. The gradient of its input
 * is in *g afterwards (the two may have changed places). */
static sw_status layer_backward(struct sw_net *net, size_t i, bool first, float **g, float **other,
				size_t rows)
{
	const struct sw_layer *l = &net->model->layer[i];
	const float *x = floats(net, i ? net->at.act[i - 1] : net->at.x);
	const float *y = floats(net, net->at.act[i]);
	const float *w = floats(net, net->at.weights);
	float *grads = floats(net, net->at.grads), *dx = first ? NULL : *other;
	sw_status status;

	switch (l->kind) {
	case SW_LAYER_LINEAR:
		status = net->ops->linear_backward(net->q, x, w + l->w, y, *g, dx, grads + l->w,
						   grads + l->b, rows, l->in, l->out, SW_ACT_NONE,
						   0);
		*other = *g;
		*g = dx;
		return status;
	case SW_LAYER_RELU:
		return net->ops->relu_backward(net->q, y, *g, *g, rows * l->out);
	case SW_LAYER_TANH:
		return net->ops->tanh_backward(net->q, y, *g, *g, rows * l->out);
	case SW_LAYER_DROPOUT:
		return net->ops->dropout(
			net->q, *g, *g, rows * l->out,
			(struct sw_dropout){.seed = net->seed, .layer = (uint32_t)i, .p = l->p},
			step_of(net));
	}
	return SW_INTERNAL;
}

static sw_status optimizer_step(struct sw_net *net)
{
	const struct sw_trainer *t = net->trainer;
	float *w = floats(net, net->at.weights);
	const float *g = floats(net, net->at.grads);
	const size_t n = net->model->weights_n;

	net->step++;
	if (t->adamw)
		return net->ops->adam_step(net->q, w, g, floats(net, net->at.state[0]),
					   floats(net, net->at.state[1]), n,
					   (struct sw_adam){.beta1 = (float)t->beta1,
							    .beta2 = (float)t->beta2,
							    .eps = (float)t->eps,
							    .weight_decay = (float)t->weight_decay,
							    .decoupled = 1},
					   step_of(net), NULL);
	return net->ops->sgd_step(net->q, w, g,
				  net->at.states_n ? floats(net, net->at.state[0]) : NULL, n,
				  (struct sw_sgd){.momentum = (float)t->momentum,
						  .weight_decay = (float)t->weight_decay,
						  .nesterov = t->nesterov},
				  step_of(net), NULL);
}

/* The loss of z = the last layer's output, and the gradient of its mean into g. */
static sw_status loss(struct sw_net *net, const float *z, float *g, size_t rows)
{
	const size_t width = net->model->outputs;
	const float scale = 1.0f / (float)rows;
	void *y = net->arena + net->at.y;
	sw_status status;

	if (net->trainer->classes) {
		status = net->ops->cross_entropy_forward(net->q, z, y, g, metrics(net), rows, width,
							 0.0f);
		if (status != SW_OK)
			return status;
		return net->ops->cross_entropy_backward(net->q, g, y, g, scale, NULL, rows, width,
							0.0f);
	}
	status = net->ops->mse_forward(net->q, z, y, metrics(net), rows, width);
	if (status != SW_OK)
		return status;
	return net->ops->mse_backward(net->q, z, y, g, scale, rows, width);
}

sw_status sw_net_train(struct sw_net *net, const struct sw_data *data, size_t first, size_t rows)
{
	const struct sw_model *m = net->model;
	const int32_t *order = (const int32_t *)(void *)(net->arena + net->at.order) + first;
	float *x = floats(net, net->at.x), *g = floats(net, net->at.grad[0]);
	float *other = floats(net, net->at.grad[1]);
	size_t first_linear = 0;
	sw_status status;

	const struct sw_step step = sw_step_make(net->step + 1, net->trainer->lr,
						 net->trainer->beta1, net->trainer->beta2);

	status = net->ops->upload(net->q, step_of(net), &step, sizeof step);
	if (status == SW_OK)
		status = net->ops->gather(net->q, data->train.x, order, x, rows, m->features);
	if (status == SW_OK && net->trainer->classes)
		status = net->ops->gather_i32(net->q, data->train.label, order,
					      (int32_t *)(void *)(net->arena + net->at.y), rows, 1);
	else if (status == SW_OK)
		status = net->ops->gather(net->q, data->train.target, order, floats(net, net->at.y),
					  rows, 1);
	for (size_t i = 0; status == SW_OK && i < m->layers_n; i++) {
		float *y = floats(net, net->at.act[i]);

		status = layer_forward(net, i, x, y, rows, true);
		x = y;
	}
	if (status == SW_OK)
		status = loss(net, x, g, rows);
	while (m->layer[first_linear].kind != SW_LAYER_LINEAR)
		first_linear++;
	/* before the first linear layer nothing is left to learn */
	for (size_t i = m->layers_n; status == SW_OK && i-- > first_linear;)
		status = layer_backward(net, i, i == first_linear, &g, &other, rows);
	return status == SW_OK ? optimizer_step(net) : status;
}

sw_status sw_net_eval(struct sw_net *net, const struct sw_data *data, size_t first, size_t rows)
{
	const struct sw_model *m = net->model;
	const float *x = data->val.x + first * m->features;
	size_t turn = 0;
	sw_status status = SW_OK;

	for (size_t i = 0; status == SW_OK && i < m->layers_n; i++) {
		float *y = floats(net, net->at.eval[turn]);

		if (m->layer[i].kind == SW_LAYER_DROPOUT)
			continue;
		status = layer_forward(net, i, x, y, rows, false);
		x = y;
		turn = 1 - turn;
	}
	if (status != SW_OK)
		return status;
	if (net->trainer->classes)
		return net->ops->cross_entropy_forward(net->q, x, data->val.label + first, NULL,
						       metrics(net), rows, m->outputs, 0.0f);
	return net->ops->mse_forward(net->q, x, data->val.target + first, metrics(net), rows,
				     m->outputs);
}
