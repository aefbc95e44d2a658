/* tests/worker/test_lanes.c — trials in several threads at once, on shared data sets: the curves of
 * trials alone. Under the thread sanitizer: what they share is locked. */
#include "tests/run.h"
#include "tests/trainer/cache_get.h"
#include "trainer/train.h"
#include <pthread.h>
#include <stdatomic.h>

#define LANES  4
#define TRIALS 3
#define EPOCHS 3

struct curve {
	double loss[EPOCHS][2];
	size_t n;
};

struct lane {
	pthread_t thread;
	unsigned number;
	struct curve curve[TRIALS];
	sw_status status;
};

static struct sw_data_cache *cache;

static bool go_on(void *ctx)
{
	(void)ctx;
	return true;
}

static bool report(void *ctx, const struct sw_epoch *e)
{
	struct curve *c = ctx;

	c->loss[c->n][0] = e->train_loss;
	c->loss[c->n++][1] = e->val_loss;
	return true;
}

/* Trial i of a lane: another split each, so that the lanes share sets, and there are more of them
 * than are kept idle. */
static sw_status trial(struct sw_queue *q, unsigned number, unsigned i, struct curve *c)
{
	static const struct sw_trainer trainer = {
		.classes = true, .lr = 0.05, .momentum = 0.9, .batch_size = 16, .epochs = EPOCHS};
	const struct sw_train_hooks hooks = {.ctx = c, .go_on = go_on, .report = report};
	const struct sw_data_want want = {.classes = true,
					  .val_fraction = 0.2,
					  .split_seed = (number / 2 + i) % 6,
					  .scale = SW_SCALE_AUTO};
	cJSON *set = cJSON_Parse("{\"name\": \"wine\"}");
	cJSON *layers = cJSON_Parse("[{\"linear\": 16}, \"relu\", {\"dropout\": 0.1}, "
				    "{\"linear\": 3}]");
	const struct sw_data *data;
	enum sw_train_end end;
	struct sw_model model;
	sw_status status = sw_data_cache_hold(cache, q, set, want, &data, NULL);

	memset(c, 0, sizeof *c);
	if (status == SW_OK) {
		const struct sw_task task = sw_net_task(data, true);

		status = sw_model_compile(&model, layers, NULL, &task, NULL);
	}
	if (status == SW_OK)
		status = sw_train_run(&sw_ops_cpu, q, &model, data, &trainer, number, &hooks, &end,
				      NULL);
	sw_data_cache_release(cache, data);
	cJSON_Delete(set);
	cJSON_Delete(layers);
	return status;
}

static void *lane_main(void *arg)
{
	struct lane *l = arg;
	struct sw_queue *q = NULL;

	l->status = sw_ops_cpu.queue_create(&q);
	for (unsigned i = 0; i < TRIALS && l->status == SW_OK; i++)
		l->status = trial(q, l->number, i, &l->curve[i]);
	sw_ops_cpu.queue_destroy(q);
	return NULL;
}

static void setup(void)
{
	ck_assert_int_eq(sw_data_cache_create(&cache, &sw_ops_cpu), SW_OK);
}

static void teardown(void)
{
	sw_data_cache_destroy(cache);
	sw_ops_cpu_threads(1);
}

/* _i: cores that the CPU's entries share */
TEST_LOOP(lanes_at_once_have_the_curves_of_lanes_alone, 1, 3)
{
	static struct lane alone[LANES], together[LANES];

	sw_ops_cpu_threads((unsigned)_i);
	for (unsigned k = 0; k < LANES; k++) {
		alone[k].number = together[k].number = k;
		(void)lane_main(&alone[k]);
		ck_assert_int_eq(alone[k].status, SW_OK);
		ck_assert_uint_eq(alone[k].curve[TRIALS - 1].n, EPOCHS);
	}
	for (unsigned k = 0; k < LANES; k++)
		ck_assert_int_eq(pthread_create(&together[k].thread, NULL, lane_main, &together[k]),
				 0);
	for (unsigned k = 0; k < LANES; k++) {
		pthread_join(together[k].thread, NULL);
		ck_assert_int_eq(together[k].status, SW_OK);
		ck_assert_mem_eq(together[k].curve, alone[k].curve, sizeof alone[k].curve);
	}
}

/* A device of few bytes, some of which are to stay free, and whose answer takes its time. */
#define STAYS ((size_t)64 << 10)
static atomic_size_t left;
static atomic_uint broken_into;

static sw_status slow_memory(size_t *free_bytes, size_t *total_bytes)
{
	const size_t now = left;

	usleep(2000);
	*free_bytes = now > STAYS ? now - STAYS : 0;
	*total_bytes = SIZE_MAX / 2;
	return SW_OK;
}

static sw_status counted_alloc(void **out, size_t bytes)
{
	broken_into += atomic_fetch_sub(&left, bytes) < bytes + STAYS;
	return sw_ops_cpu.alloc(out, bytes);
}

struct taker {
	pthread_t thread;
	const struct sw_ops *ops;
	const struct sw_model *model;
	const struct sw_data *data;
	struct sw_net net;
	sw_status status;
};

static const struct sw_trainer whole_batch = {.classes = true, .lr = 0.05, .batch_size = 128};

static void *taker_main(void *arg)
{
	struct taker *t = arg;

	t->status = sw_net_create(&t->net, t->ops, NULL, t->model, &whole_batch, t->data, NULL, 1,
				  NULL);
	return NULL;
}

/* Each fits alone; together they go in parts, or say that nothing is left. */
TEST(lanes_that_take_memory_at_once_leave_what_is_to_stay_free)
{
	const struct sw_data_want want = {.classes = true, .val_fraction = 0.2};
	static struct taker takers[LANES];
	struct sw_ops ops = sw_ops_cpu;
	struct sw_layout at;
	cJSON *set = cJSON_Parse("{\"name\": \"wine\"}");
	cJSON *layers = cJSON_Parse("[{\"linear\": 300}, \"relu\", {\"linear\": 3}]");
	struct sw_model model;
	const struct sw_data *data;
	unsigned made = 0;

	ops.memory = slow_memory;
	ops.alloc = counted_alloc;
	ck_assert_int_eq(cache_get(cache, set, want, &data, NULL), SW_OK);
	const struct sw_task task = sw_net_task(data, true);

	ck_assert_int_eq(sw_model_compile(&model, layers, NULL, &task, NULL), SW_OK);
	ck_assert_int_eq(sw_layout_make(&at, &model, &whole_batch, data->train.rows, data->val.rows,
					&ops, NULL),
			 SW_OK);
	left = STAYS + at.bytes + at.bytes / 2;
	for (unsigned k = 0; k < LANES; k++) {
		takers[k] = (struct taker){.ops = &ops, .model = &model, .data = data};
		ck_assert_int_eq(pthread_create(&takers[k].thread, NULL, taker_main, &takers[k]),
				 0);
	}
	for (unsigned k = 0; k < LANES; k++) {
		pthread_join(takers[k].thread, NULL);
		made += takers[k].status == SW_OK;
		if (takers[k].status != SW_OK)
			ck_assert_int_eq(takers[k].status, SW_NOMEM);
		sw_net_destroy(&takers[k].net);
	}
	ck_assert_uint_ge(made, 1);
	ck_assert_uint_eq(broken_into, 0);
	cJSON_Delete(set);
	cJSON_Delete(layers);
}

RUN_TESTS(setup, teardown)
