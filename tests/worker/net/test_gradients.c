/*
 * tests/worker/net/test_gradients.c — random networks: each tensor's gradient beside the slope of
 * the loss along it, and the same bits where no two buffers share a byte.
 *
 * The slope is (L(w + h d) - L(w - h d)) / 2 h, d the tensor's own gradient over its norm: it is
 * that norm. L is a sum in double of losses in float, good to 1e-7; h moves it by 1e-3, and the
 * curve of L over h is what the tolerance of 3% is for.
 */
#include "kernels/philox.h"
#include "tests/run.h"
#include "worker/net/net.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NETS  120
#define ROW_N 6

static struct sw_queue *queue;
static struct sw_data data;
static struct sw_model model;
static struct sw_net net;
static struct sw_trainer trainer;
static uint64_t drawn; /* numbers so far */
static char list[4096];

static uint32_t draw(uint32_t below)
{
	const uint64_t k = drawn++;

	return sw_philox_block((uint64_t)0x5eed, 77, 0, k / 4, 0).v[k % 4] % below;
}

static float unit(void)
{
	return 2.0f * sw_philox_unit(draw(UINT32_MAX)) - 1.0f;
}

/* --- a random list --- */

static void say(const char *text)
{
	ck_assert_uint_lt(strlen(list) + strlen(text) + 2, sizeof list);
	strcat(list, text);
}

static void layers(enum sw_shape_kind kind, uint32_t most, int depth);

/* One layer that any shape takes, or one of its kind; no shape changes but in residuals. */
static void layer(enum sw_shape_kind kind, int depth)
{
	static const char *const any[] = {"\"tanh\"",      "\"gelu\"", "\"sigmoid\"",
					  "\"layernorm\"", "\"relu\"", "{\"dropout\": 0.2}"};
	static const char *const own[][4] = {
		[SW_SHAPE_FLAT] = {"{\"linear\": 7}", "{\"linear\": 5}", "\"batchnorm\"",
				   "{\"linear\": {\"out\": 6, \"bias\": false}}"},
		[SW_SHAPE_IMAGE] =
			{"{\"conv2d\": {\"out\": 3, \"kernel\": 3, \"padding\": 1}}",
			 "{\"conv2d\": {\"out\": 2, \"kernel\": 1}}", "\"batchnorm\"",
			 "{\"avgpool2d\": {\"kernel\": 3, \"stride\": 1, \"padding\": 1}}"},
		[SW_SHAPE_TOKENS] = {"{\"linear\": 6}", "{\"attention\": 2}", "\"positional\"",
				     "{\"attention\": {\"heads\": 1, \"causal\": true}}"},
	};
	const uint32_t pick = draw(12);

	if (pick < 3 && depth < 3) {
		say("{\"residual\": [");
		layers(kind, 3, depth + 1);
		say("]}");
	} else if (pick < 8) {
		say(own[kind][draw(4)]);
	} else {
		say(any[draw(6)]);
	}
}

static void layers(enum sw_shape_kind kind, uint32_t most, int depth)
{
	const uint32_t n = 1 + draw(most);

	for (uint32_t i = 0; i < n; i++) {
		say(i ? ", " : "");
		layer(kind, depth);
	}
}

/* Lists that chance would not make. */
static const char *const fixed[] = {
	[0] = "[{\"linear\": 6}, \"flatten\", {\"residual\": [\"flatten\", \"tanh\"]}, "
	      "{\"linear\": 4}]",
	[3] = "[{\"linear\": 6}, {\"residual\": [{\"linear\": 6}, \"relu\"]}, {\"residual\": "
	      "[\"tanh\", "
	      "{\"residual\": [{\"linear\": 6}, \"relu\"]}]}, {\"linear\": 1}]",
};

/* Widths of tokens are even, so that 2 heads divide them. */
static void list_make(enum sw_shape_kind kind)
{
	list[0] = '\0';
	say(kind == SW_SHAPE_TOKENS ? "[{\"embedding\": 6}, " : "[");
	layers(kind, 6, 0);
	say(kind == SW_SHAPE_TOKENS  ? ", \"mean_tokens\""
	    : kind == SW_SHAPE_IMAGE ? ", {\"maxpool2d\": 2}, \"flatten\""
				     : "");
	say(data.classes ? ", {\"linear\": 4}]" : ", {\"linear\": 1}]");
}

/* --- data --- */

static void *taken(size_t bytes)
{
	void *p = NULL;

	ck_assert_int_eq(sw_ops_cpu.alloc(&p, bytes), SW_OK);
	return p;
}

static void data_make(enum sw_shape_kind kind, bool classes)
{
	struct sw_data_part *part = &data.train;

	memset(&data, 0, sizeof data);
	data.ops = &sw_ops_cpu;
	data.input = kind == SW_SHAPE_FLAT    ? sw_shape_flat(5)
		     : kind == SW_SHAPE_IMAGE ? sw_shape_image(2, 5, 4)
					      : sw_shape_tokens(5, 0);
	data.features = sw_shape_count(&data.input);
	data.vocab = kind == SW_SHAPE_TOKENS ? 9 : 0;
	data.classes = classes ? 4 : 0;
	data.labels = 1;
	part->rows = ROW_N;
	part->label = taken(ROW_N * sizeof(int32_t));
	part->target = taken(ROW_N * sizeof(float));
	part->x = taken(ROW_N * data.features * sizeof(float));
	part->token = taken(ROW_N * data.features * sizeof(int32_t));
	part->length = kind == SW_SHAPE_TOKENS ? taken(ROW_N * sizeof(int32_t)) : NULL;
	for (size_t i = 0; i < ROW_N; i++) {
		part->label[i] = (int32_t)draw(4);
		part->target[i] = unit();
		if (part->length)
			part->length[i] = 1 + (int32_t)draw(5);
	}
	for (size_t i = 0; i < ROW_N * data.features; i++) {
		part->x[i] = unit();
		part->token[i] = (int32_t)draw(9);
	}
	data.val = data.train;
}

static void data_free(void)
{
	sw_ops_cpu.free(data.train.x);
	sw_ops_cpu.free(data.train.token);
	sw_ops_cpu.free(data.train.length);
	sw_ops_cpu.free(data.train.label);
	sw_ops_cpu.free(data.train.target);
}

/* --- the net --- */

static void order_set(void)
{
	int32_t order[ROW_N];

	for (int32_t i = 0; i < ROW_N; i++)
		order[i] = i;
	ck_assert_int_eq(sw_net_order(&net, order, ROW_N), SW_OK);
}

/* The mean loss of the batch, in training, and its gradient in the arena. */
static double loss(void)
{
	struct sw_metrics m;

	ck_assert_int_eq(sw_net_metrics_zero(&net), SW_OK);
	ck_assert_int_eq(sw_net_gradient(&net, &data, 0, ROW_N), SW_OK);
	ck_assert_int_eq(sw_net_metrics(&net, &m), SW_OK);
	return m.loss_sum / m.rows;
}

static float *arena_floats(size_t at)
{
	return (float *)(void *)(net.arena + at);
}

/* Moves n weights by h along g. */
static double moved(float *w, const float *start, const float *g, size_t n, double h)
{
	for (size_t i = 0; i < n; i++)
		w[i] = (float)((double)start[i] + h * (double)g[i]);
	const double out = loss();

	memcpy(w, start, n * sizeof *w);
	return out;
}

/* Returns whether the slope could be measured. */
static bool tensor_check(size_t at, size_t n, const float *all)
{
	float *w = arena_floats(net.at.weights) + at, *start = malloc(n * sizeof *w);
	const float *g = all + at;
	double norm = 0, h, slope = 0;
	bool off = true;

	for (size_t i = 0; i < n; i++)
		norm += (double)g[i] * (double)g[i];
	norm = sqrt(norm);
	memcpy(start, w, n * sizeof *w);
	/* a kink (relu, the maximum of a window) may lie between: not between both of two steps */
	for (double change = 1e-3; norm > 0.02 && off && change > 5e-5; change /= 4) {
		h = change / norm;
		slope = (moved(w, start, g, n, h / norm) - moved(w, start, g, n, -h / norm)) / 2 /
			h;
		off = fabs(slope - norm) > 0.03 * norm;
	}
	ck_assert_msg(norm <= 0.02 || !off,
		      "%s: the tensor at %zu has a gradient of %g, a slope of %g", list, at, norm,
		      slope);
	free(start);
	return norm > 0.02;
}

static size_t slopes_check(void)
{
	const size_t bytes = model.weights_n * sizeof(float);
	float *g = malloc(bytes);
	size_t measured = 0;

	(void)loss();
	memcpy(g, arena_floats(net.at.grads), bytes);
	for (size_t i = 0; i < model.ops_n; i++) {
		const struct sw_op *op = &model.op[i];

		measured += op->w_n && tensor_check(op->w, op->w_n, g);
		measured += op->b_n && tensor_check(op->b, op->b_n, g);
	}
	free(g);
	return measured;
}

/* The gradient again with every buffer in a place of its own. */
static void apart_check(void)
{
	const size_t bytes = model.weights_n * sizeof(float);
	float *g = malloc(bytes);
	void *parts = NULL;
	size_t end = net.at.bytes - net.at.kept;

	(void)loss();
	memcpy(g, arena_floats(net.at.grads), bytes);
	for (size_t i = 0; i < model.train.buffers_n; i++) {
		const struct sw_buffer *b = &model.train.buffer[i];

		net.at.train[i] = end;
		end += (4 * (b->row * ROW_N + b->fixed) + 63) / 64 * 64;
	}
	parts = taken(end);
	memset(parts, 0xff, end); /* what is read before it is written is NaN */
	sw_ops_cpu.free(net.parts);
	net.parts = parts;
	(void)loss();
	ck_assert_msg(memcmp(g, arena_floats(net.at.grads), bytes) == 0, "%s", list);
	free(g);
}

/* _i % 3: the kind of rows; _i % 2: classes or numbers */
START_TEST(gradient_of_a_random_net_is_the_slope_of_its_loss)
{
	const enum sw_shape_kind kind = (enum sw_shape_kind)(_i % 3);
	struct sw_err err = SW_ERR_INIT;
	cJSON *json;

	drawn = (uint64_t)_i * 100000;
	data_make(kind, _i % 2 == 0);
	if ((size_t)_i < ROWS(fixed) && fixed[_i])
		strcpy(list, fixed[_i]);
	else
		list_make(kind);
	json = cJSON_Parse(list);
	const struct sw_task task = sw_net_task(&data, data.classes > 0);

	ck_assert_msg(sw_model_compile(&model, json, NULL, &task, &err) == SW_OK, "%s: %s at %s",
		      list, err.msg, err.ptr);
	cJSON_Delete(json);
	trainer = (struct sw_trainer){.classes = data.classes > 0,
				      .lr = 0.1,
				      .label_smoothing = _i % 4 ? 0 : 0.1,
				      .batch_size = ROW_N,
				      .epochs = 1};
	ck_assert_int_eq(sw_net_create(&net, &sw_ops_cpu, queue, &model, &trainer, &data, NULL,
				       (uint64_t)_i, &err),
			 SW_OK);
	order_set();
	ck_assert_msg(slopes_check() > 0, "%s: no slope was steep enough", list);
	apart_check();
	sw_net_destroy(&net);
	data_free();
}
END_TEST

static void setup(void)
{
	ck_assert_int_eq(sw_ops_cpu.queue_create(&queue), SW_OK);
	sw_ops_cpu_threads(1);
}

static void teardown(void)
{
	sw_ops_cpu.queue_destroy(queue);
}

SUITE(tcase)
{
	tcase_set_timeout(tcase, 300);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, gradient_of_a_random_net_is_the_slope_of_its_loss, 0, NETS);
}
