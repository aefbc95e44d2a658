#include "bench/lib/train_net.h"
#include "base/fault.h"
#include "kernels/philox.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct sw_ops *const ops = &sw_ops_cpu;

static float *floats(size_t n, float bound, uint64_t key)
{
	float *x = NULL;

	if (ops->alloc((void **)&x, n * sizeof *x) != SW_OK)
		abort();
	for (size_t i = 0; i < n; i++)
		x[i] = (2 * sw_philox_unit(sw_philox_block(key, 9, 0, 0, i).v[0]) - 1) * bound;
	return x;
}

static size_t aligned(size_t n)
{
	return (n + 15) / 16 * 16;
}

static struct train_layer *layer_add(struct train_net *net, enum train_kind kind, size_t in,
				     size_t out, size_t weights, size_t outputs)
{
	struct train_layer *l = &net->layer[net->layers_n++];

	*l = (struct train_layer){.kind = kind, .in = in, .out = out};
	l->w = net->weights_n;
	l->b = l->w + aligned(weights);
	net->weights_n = l->b + aligned(outputs);
	return l;
}

static void linear(struct train_net *net, size_t in, size_t out, enum sw_act act)
{
	layer_add(net, TRAIN_LINEAR, in, out, in * out, out)->act = act;
	net->flops += (net->layers_n == 1 ? 4.0 : 6.0) * (double)(in * out);
}

static void conv(struct train_net *net, struct sw_conv c)
{
	const size_t P = sw_conv_out_h(&c) * sw_conv_out_w(&c), K = c.C * c.kh * c.kw;
	struct train_layer *l = layer_add(net, TRAIN_CONV, c.C * c.H * c.W, c.O * P, c.O * K, c.O);

	l->conv = c;
	l->act = SW_ACT_RELU;
	net->flops += (net->layers_n == 1 ? 4.0 : 6.0) * (double)(c.O * P * K);
}

static void pool(struct train_net *net, struct sw_window p)
{
	const size_t P = sw_pool_out_h(&p) * sw_pool_out_w(&p);

	layer_add(net, TRAIN_POOL, p.C * p.H * p.W, p.C * P, 0, 0)->pool = p;
}

static void lenet(struct train_net *net)
{
	const size_t B = net->batch;

	conv(net, (struct sw_conv){B, 3, 32, 32, 6, 5, 5, 1, 0});
	pool(net, (struct sw_window){B, 6, 28, 28, 2, 2, 2, 0});
	conv(net, (struct sw_conv){B, 6, 14, 14, 16, 5, 5, 1, 0});
	pool(net, (struct sw_window){B, 16, 10, 10, 2, 2, 2, 0});
	linear(net, 400, 120, SW_ACT_RELU);
	linear(net, 120, 84, SW_ACT_RELU);
	linear(net, 84, 10, SW_ACT_NONE);
}

static void mlp(struct train_net *net)
{
	linear(net, 64, 64, SW_ACT_RELU);
	linear(net, 64, 32, SW_ACT_RELU);
	linear(net, 32, 10, SW_ACT_NONE);
}

static void buffers_make(struct train_net *net)
{
	size_t work = 0;

	net->features = net->layer[0].in;
	net->data = floats(TRAIN_ROWS * net->features, 1, 1);
	net->x = floats(net->batch * net->features, 1, 2);
	net->w = floats(net->weights_n, 0.08f, 3);
	net->g = floats(net->weights_n, 0, 4);
	net->v = floats(net->weights_n, 0, 5);
	net->labels = (int32_t *)(void *)floats(TRAIN_ROWS, 0, 6);
	net->order = (int32_t *)(void *)floats(TRAIN_ROWS, 0, 7);
	net->y = (int32_t *)(void *)floats(net->batch, 0, 8);
	for (size_t i = 0; i < TRAIN_ROWS; i++) {
		net->labels[i] = (int32_t)(i * 7 % 10);
		net->order[i] = (int32_t)(i * 37 % TRAIN_ROWS);
	}
	for (size_t i = 0; i < net->layers_n; i++) {
		struct train_layer *l = &net->layer[i];
		const size_t n = net->batch * l->out;

		l->y = floats(n, 0, 9);
		l->dy = floats(n, 0, 10);
		if (l->kind == TRAIN_POOL)
			l->argmax = (int32_t *)(void *)floats(n, 0, 11);
		if (l->kind == TRAIN_CONV && ops->conv2d_workspace(&l->conv) > work)
			work = ops->conv2d_workspace(&l->conv);
	}
	net->work = floats(work / sizeof(float), 0, 12);
}

sw_status train_net_make(struct train_net *net, const char *name, size_t batch)
{
	*net = (struct train_net){.batch = batch};
	if (batch == 0 || batch > TRAIN_ROWS)
		return SW_INVALID;
	if (strcmp(name, "lenet-cifar") == 0)
		lenet(net);
	else if (strcmp(name, "mlp") == 0)
		mlp(net);
	else
		return SW_NOT_FOUND;
	buffers_make(net);
	return SW_OK;
}

void train_net_free(struct train_net *net)
{
	for (size_t i = 0; i < net->layers_n; i++) {
		ops->free(net->layer[i].y);
		ops->free(net->layer[i].dy);
		ops->free(net->layer[i].argmax);
	}
	ops->free(net->data);
	ops->free(net->x);
	ops->free(net->w);
	ops->free(net->g);
	ops->free(net->v);
	ops->free(net->labels);
	ops->free(net->order);
	ops->free(net->y);
	ops->free(net->work);
}

static sw_status layer_forward(struct train_net *net, struct train_layer *l, const float *x)
{
	const float *w = net->w + l->w, *b = net->w + l->b;

	switch (l->kind) {
	case TRAIN_CONV:
		return ops->conv2d_forward(NULL, x, w, b, l->y, &l->conv, l->act, net->work);
	case TRAIN_POOL:
		return ops->maxpool2d_forward(NULL, x, l->y, l->argmax, &l->pool);
	default:
		return ops->linear_forward(NULL, x, w, b, l->y, net->batch, l->in, l->out, l->act);
	}
}

static sw_status layer_backward(struct train_net *net, struct train_layer *l, const float *x,
				float *dx)
{
	const float *w = net->w + l->w;
	float *dw = net->g + l->w, *db = net->g + l->b;

	switch (l->kind) {
	case TRAIN_CONV:
		return ops->conv2d_backward(NULL, x, w, l->y, l->dy, dx, dw, db, &l->conv, l->act,
					    0, net->work);
	case TRAIN_POOL:
		return ops->maxpool2d_backward(NULL, l->dy, l->argmax, dx, &l->pool);
	default:
		return ops->linear_backward(NULL, x, w, l->y, l->dy, dx, dw, db, net->batch, l->in,
					    l->out, l->act, 0);
	}
}

static double now(const struct train_times *times)
{
	struct timespec t;

	if (!times)
		return 0;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Adds the time since *at to *to, when somebody asks for it. */
static void lap(const struct train_times *times, double *to, double *at)
{
	if (times) {
		const double t = now(times);

		*to += t - *at;
		*at = t;
	}
}

static sw_status forward(struct train_net *net, struct train_times *times, double *at)
{
	sw_status status = SW_OK;

	for (size_t i = 0; i < net->layers_n && status == SW_OK; i++) {
		status = layer_forward(net, &net->layer[i], i ? net->layer[i - 1].y : net->x);
		if (times)
			lap(times, &times->forward[i], at);
	}
	return status;
}

static sw_status backward(struct train_net *net, struct train_times *times, double *at)
{
	sw_status status = SW_OK;

	for (size_t i = net->layers_n; i-- > 0 && status == SW_OK;) {
		status = layer_backward(net, &net->layer[i], i ? net->layer[i - 1].y : net->x,
					i ? net->layer[i - 1].dy : NULL);
		if (times)
			lap(times, &times->backward[i], at);
	}
	return status;
}

void train_net_step(struct train_net *net, struct train_times *times)
{
	struct train_times none = {0};
	struct train_times *t = times ? times : &none;
	struct train_layer *last = &net->layer[net->layers_n - 1];
	const struct sw_step step = sw_step_make(net->step.step + 1, 1e-3, 0, 0);
	const struct sw_sgd sgd = {.momentum = 0.9f};
	double at = now(times);
	sw_status status = ops->upload(NULL, &net->step, &step, sizeof step);

	if (net->turn + net->batch > TRAIN_ROWS)
		net->turn = 0;
	if (status == SW_OK)
		status = ops->gather(NULL, net->data, net->order + net->turn, net->x, net->batch,
				     net->features);
	if (status == SW_OK)
		status = ops->gather_i32(NULL, net->labels, net->order + net->turn, net->y,
					 net->batch, 1);
	net->turn += net->batch;
	lap(times, &t->gather, &at);
	if (status == SW_OK)
		status = forward(net, times, &at);
	if (status == SW_OK)
		status = ops->cross_entropy_forward(NULL, last->y, net->y, last->dy, &net->metrics,
						    net->batch, last->out, 0.0f);
	if (status == SW_OK)
		status = ops->cross_entropy_backward(NULL, last->dy, net->y, last->dy,
						     1.0f / (float)net->batch, NULL, net->batch,
						     last->out, 0.0f);
	lap(times, &t->loss, &at);
	if (status == SW_OK)
		status = backward(net, times, &at);
	if (status == SW_OK)
		status = ops->sgd_step(NULL, net->w, net->g, net->v, net->weights_n, sgd,
				       &net->step, NULL);
	lap(times, &t->optimizer, &at);
	assert(status == SW_OK && !isnan(net->metrics.loss_sum));
}

void train_net_profile(struct train_net *net, size_t steps)
{
	static const char *const kinds[] = {"conv", "pool", "linear"};
	const double k = 1e6 / (double)(steps * net->batch);
	struct train_times t = {0};

	for (size_t i = 0; i < steps; i++)
		train_net_step(net, &t);
	printf("  us a sample: gather %.3f", t.gather * k);
	for (size_t i = 0; i < net->layers_n; i++)
		printf(", %s %.3f + %.3f", kinds[net->layer[i].kind], t.forward[i] * k,
		       t.backward[i] * k);
	printf(", loss %.3f, optimizer %.3f\n", t.loss * k, t.optimizer * k);
}
