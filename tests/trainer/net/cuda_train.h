/* tests/trainer/net/cuda_train.h — whole trainings on the CUDA table, on the stand-in device. */
#ifndef SW_TESTS_WORKER_NET_CUDA_TRAIN_H
#define SW_TESTS_WORKER_NET_CUDA_TRAIN_H

#include "tests/run.h"
#include "tests/trainer/adam.h"
#include "trainer/train.h"
#ifndef SW_TEST_GPU
#include "tests/kernels/cuda_shim/shim.h"
#endif

#define EPOCHS 2 /* the first records graphs; the second begins with them */

sw_ops_open_fn sw_ops_cuda_open;

static const struct sw_ops *cuda;
static _Thread_local struct sw_queue *queue;
static _Thread_local struct sw_data data;
static struct sw_model model;

static const char layers[] = "[{\"linear\": 20}, \"relu\", {\"dropout\": 0.2}, {\"linear\": 12}, "
			     "\"tanh\", {\"linear\": 3}]";

static const struct sw_trainer sgd = {
	.classes = true, .lr = 0.05, .momentum = 0.9, .batch_size = 25, .epochs = EPOCHS};
static const struct sw_trainer adam = {.classes = true,
				       .schedule = SW_SCHEDULE_COSINE,
				       ADAM_OF(SW_ADAM, 0.01),
				       .batch_size = 25,
				       .epochs = EPOCHS};

static const char wine[] = "{\"name\": \"wine\"}";
static const char *rows = wine; /* what is trained on */

static size_t device_bytes; /* of the next load_on */

static inline void load_on(const struct sw_ops *ops, const char *set)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_data_source source;
	cJSON *json = cJSON_Parse(set);

	ck_assert_msg(sw_data_source_read(&source, json, &err) == SW_OK, "%s", err.msg);
	ck_assert_msg(sw_data_load(&data, &source,
				   (struct sw_data_want){.classes = true,
							 .val_fraction = 0.2,
							 .split_seed = 7,
							 .device_bytes = device_bytes,
							 .scale = set == wine ? SW_SCALE_AUTO
									      : SW_SCALE_NONE},
				   ops, queue, &err) == SW_OK,
		      "%s", err.msg);
	cJSON_Delete(json);
}

static inline void model_make(const char *text)
{
	struct sw_err err = SW_ERR_INIT;
	cJSON *json = cJSON_Parse(text);
	const struct sw_task task = sw_net_task(&data, true);

	ck_assert_msg(sw_model_compile(&model, json, NULL, &task, &err) == SW_OK, "%s", err.msg);
	cJSON_Delete(json);
}

static inline void open_on(const struct sw_ops *ops)
{
	ck_assert_int_eq(ops->queue_create(&queue), SW_OK);
	load_on(ops, rows);
	model_make(layers);
}

static inline void close_on(const struct sw_ops *ops)
{
	sw_data_fini(&data);
	ops->queue_destroy(queue);
}

static inline void setup(void)
{
	struct sw_err err = SW_ERR_INIT;

	sw_ops_cpu_threads(1);
	ck_assert_msg(sw_ops_cuda_open(0, &cuda, &err) == SW_OK, "%s", err.msg);
	open_on(cuda);
}

static inline void teardown(void)
{
	close_on(cuda);
#ifndef SW_TEST_GPU
	ck_assert_uint_eq(sw_shim.live, 0);
#endif
}

struct curve {
	double loss[EPOCHS][2]; /* of training, of validation */
	size_t n, micro, steps; /* steps: of a graph */
	size_t used;            /* of the device, at the end of the last epoch */
	unsigned oom_events, graph_misses;
};

static unsigned asks; /* how often go_on() says yes; 0: always */

static inline bool go_on(void *ctx)
{
	(void)ctx;
	return asks == 0 || --asks > 0;
}

static inline bool report(void *ctx, const struct sw_epoch *e)
{
	struct curve *c = ctx;

	c->loss[c->n][0] = e->train_loss;
	c->loss[c->n++][1] = e->val_loss;
	c->micro = e->net->at.micro;
	c->steps = e->net->at.steps;
	c->oom_events = e->net->oom_events;
	c->graph_misses = e->net->graphs.misses;
#ifndef SW_TEST_GPU
	c->used = sw_shim.used_bytes;
#endif
	return true;
}

static inline sw_status train(struct curve *c, const struct sw_ops *ops, const struct sw_trainer *t,
			      struct sw_err *err)
{
	const struct sw_train_hooks hooks = {.ctx = c, .go_on = go_on, .report = report};
	enum sw_train_end end;

	memset(c, 0, sizeof *c);
	return sw_train_run(ops, queue, &model, &data, t, 3, &hooks, &end, err);
}

/* A table's graph_begin(): then its calls are made one by one. */
static inline sw_status no_graphs(struct sw_queue *on)
{
	(void)on;
	return SW_UNSUPPORTED;
}

static inline void same_bits(const struct curve *a, const struct curve *b)
{
	ck_assert_uint_eq(a->n, EPOCHS);
	ck_assert_mem_eq(a->loss, b->loss, sizeof a->loss);
}

#endif
