/* tests/worker/test_beat.c — all that may take long in a worker gives signs of life meanwhile. How
 * often each work beats is counted, not timed: here every beat is heard. */
#include "base/beat.h"
#include "tests/run.h"
#include "tests/worker/trial.h"
#include "trainer/data/shuffle.h"
#include <pthread.h>
#include <semaphore.h>

static const char layers[] = "[{\"linear\": 8}, \"relu\", \"layernorm\", {\"linear\": 3}]";
static const struct sw_trainer trainer = {.classes = true, .lr = 0.05, .batch_size = 32};
static const struct sw_checkpoint_id id = {.sweep = 1, .trial = 2, .epoch = 3};

static struct sw_model model;
static struct sw_net net;
static unsigned beats;

static void count(void *ctx)
{
	errno = EAGAIN; /* as a look at a socket leaves it */
	++*(unsigned *)ctx;
}

static void data_spec(const char *spec)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_data_source source;
	cJSON *json = cJSON_Parse(spec);

	sw_data_fini(&data);
	ck_assert_msg(sw_data_source_read(&source, json, &err) == SW_OK, "%s", err.msg);
	ck_assert_msg(sw_data_load(&data, &source,
				   (struct sw_data_want){.classes = true,
							 .val_fraction = 0.2,
							 .scale = SW_SCALE_AUTO},
				   &sw_ops_cpu, queue, &err) == SW_OK,
		      "%s", err.msg);
	cJSON_Delete(json);
}

static void rows_made(void)
{
	data_spec("{\"format\":\"synthetic\",\"features\":4,\"rows\":300}");
}

static void images_measured(void)
{
	data_spec("{\"format\":\"synthetic\",\"image\":[2,3,3],\"rows\":100}");
}

static void text_read_as_images(void)
{
	data_spec("{\"name\":\"wine\",\"image\":[1,1,13]}");
}

static void text_read(void)
{
	sw_data_fini(&data);
	data_load("wine", true);
}

static void file_of_ids_read(void)
{
	char path[128], spec[400];

	snprintf(path, sizeof path, "%s/ids", folder);
	file_write(path, "\1\0\2\0\3\0\1\0\2\0\3\0\1\0\2\0", 16);
	snprintf(spec, sizeof spec,
		 "{\"format\":\"tokens\",\"path\":\"%s\",\"length\":1,\"dtype\":\"uint16\"}", path);
	data_spec(spec);
}

static void rows_shuffled(void)
{
	static int32_t order[200000];

	sw_shuffle(order, 200000, 1, 2, 3);
}

static void net_made(void)
{
	ck_assert_int_eq(
		sw_net_create(&net, &sw_ops_cpu, queue, &model, &trainer, &data, NULL, 5, NULL),
		SW_OK);
}

static void step_made(void)
{
	int32_t order[32];

	for (int32_t i = 0; i < 32; i++)
		order[i] = i;
	ck_assert_int_eq(sw_net_order(&net, order, 32), SW_OK);
	ck_assert_int_eq(sw_net_train(&net, &data, 0, &(size_t){0}), SW_OK);
}

static void rows_evaluated(void)
{
	ck_assert_int_eq(sw_net_eval(&net, &data, 0, 16), SW_OK);
}

static void checkpoint_written(void)
{
	ck_assert_int_eq(sw_checkpoint_write(&net, &id, folder, NULL), SW_OK);
}

static void checkpoint_read(void)
{
	char path[128];

	snprintf(path, sizeof path, "%s/2-3.ckpt", folder);
	ck_assert_int_eq(sw_checkpoint_read(&net, &id, path, NULL), SW_OK);
}

/* In this order: a work may need what one before it left. least: what its loops over rows, columns,
 * blocks, tensors and operations come to, so that none of them may lose its beat. */
static const struct {
	const char *name;
	void (*work)(void);
	unsigned least;
} works[] = {
	{"rows made", rows_made, 314},
	{"images measured", images_measured, 266},
	{"text read as images", text_read_as_images, 302},
	{"file of ids read", file_of_ids_read, 6},
	{"text read", text_read, 12},
	{"rows shuffled", rows_shuffled, 3},
	{"net made", net_made, 4},
	{"step made", step_made, 3 + 3}, /* relu is done with the layer before it */
	{"rows evaluated", rows_evaluated, 3},
	{"checkpoint written", checkpoint_written, 14},
	{"checkpoint read", checkpoint_read, 10},
};

TEST(each_long_work_beats)
{
	for (size_t i = 0; i < ROWS(works); i++) {
		beats = 0;
		sw_beat_to(count, &beats, 0);
		works[i].work();
		sw_beat_to(NULL, NULL, 0);
		ck_assert_msg(beats >= works[i].least, "%s: %u beats, expected %u", works[i].name,
			      beats, works[i].least);
		if (works[i].work == text_read)
			model_make(&model, layers, true);
	}
	sw_net_destroy(&net);
}

TEST(beats_are_heard_at_most_every_so_often)
{
	beats = 0;
	sw_beat_to(count, &beats, INT64_C(3600) * 1000000);
	for (int i = 0; i < 100; i++)
		sw_beat();
	ck_assert_uint_eq(beats, 1);
	errno = ENOENT;
	sw_beat_to(count, &beats, 0);
	sw_beat();
	ck_assert_int_eq(errno, ENOENT); /* the work's own */
	sw_beat_to(NULL, NULL, 0);
	sw_beat();
	ck_assert_uint_eq(beats, 2);
}

static struct sw_data_cache *cache;
static sem_t reading, waits;
static unsigned read_beats;

/* The first beat is that before the cache is locked; the second, in the middle of the file, does
 * not end before the other lane has beaten. */
static void wait_for_the_other(void *ctx)
{
	(void)ctx;
	if (read_beats++ != 1)
		return;
	sem_post(&reading);
	sem_wait(&waits);
}

static void hold(const char *name)
{
	cJSON *json = cJSON_CreateObject();
	const struct sw_data *got;

	cJSON_AddStringToObject(json, "name", name);
	ck_assert_int_eq(
		sw_data_cache_hold(cache, queue, json,
				   (struct sw_data_want){.classes = true, .val_fraction = 0.2},
				   &got, NULL),
		SW_OK);
	sw_data_cache_release(cache, got);
	cJSON_Delete(json);
}

static void *lane_that_reads(void *arg)
{
	sw_beat_to(wait_for_the_other, NULL, 0);
	hold("digits");
	return arg;
}

/* The first beat of this lane comes before it waits, too. */
static void let_go(void *ctx)
{
	if (beats++ > 0)
		sem_post(ctx);
}

TEST(lane_that_waits_for_the_data_set_of_another_beats)
{
	pthread_t other;

	sem_init(&reading, 0, 0);
	sem_init(&waits, 0, 0);
	ck_assert_int_eq(sw_data_cache_create(&cache, &sw_ops_cpu), SW_OK);
	ck_assert_int_eq(pthread_create(&other, NULL, lane_that_reads, NULL), 0);
	sem_wait(&reading);
	beats = 0;
	sw_beat_to(let_go, &waits, 0);
	hold("wine");
	sw_beat_to(NULL, NULL, 0);
	pthread_join(other, NULL);
	sw_data_cache_destroy(cache);
}

RUN_TESTS(trial_setup, trial_teardown)
