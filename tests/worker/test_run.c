/* tests/worker/test_run.c — trials that pause, go on and begin again, as the daemon sees them. */
#include "tests/trainer/cache_get.h"
#include "tests/worker/trial_daemon.h"
#include <math.h>

static struct curve whole; /* of a trial that nothing interrupts */

/* --- what the daemon does --- */

/* The trial must end well, and be the last one. */
static void completed(void)
{
	told("COMPLETED", NULL);
	no_more();
}

static void whole_run(void)
{
	give(&(struct give){.trial = 7, .attempt = 1});
	steps(&whole, 1, EPOCHS);
	completed();
}

static void pauses(void)
{
	give(&(struct give){.trial = 7, .attempt = 1, .until = 2});
	take(&got, 1, NULL, "continue");
	take(&got, 2, "7-2.ckpt", "pause"); /* no tell: the slot asks for the next */
	give(&(struct give){
		.trial = 7, .attempt = 2, .resume_step = 2, .checkpoint = "7-2.ckpt", .until = 4});
	take(&got, 3, NULL, "continue");
	take(&got, 4, "7-4.ckpt", "continue"); /* promoted at once */
	take(&got, 5, NULL, "continue");
	completed();
}

static void every(void)
{
	give(&(struct give){.trial = 7, .attempt = 1, .every = 2});
	take(&got, 1, NULL, "continue");
	take(&got, 2, "7-2.ckpt", "continue");
	take(&got, 3, NULL, "continue");
	take(&got, 4, "7-4.ckpt", "continue");
	take(&got, 5, NULL, "continue");
	completed();
}

/* The record is the value of its third epoch, so that one and each better one is written. */
static void beats_the_record(void)
{
	double best = INFINITY;

	give(&(struct give){.trial = 7, .attempt = 1, .record = whole.val_loss[3]});
	for (uint64_t at = 1; at <= EPOCHS; at++) {
		const bool better = whole.val_loss[at] < best;
		char name[32];

		best = better ? whole.val_loss[at] : best;
		snprintf(name, sizeof name, "7-%d.ckpt", (int)at);
		take(&got, at, better && best <= whole.val_loss[3] ? name : NULL, "continue");
	}
	completed();
}

/* The daemon is away while the decision is waited for. */
static void hangs_up(void)
{
	uint64_t trial = 0;

	give(&(struct give){.trial = 7, .attempt = 1, .until = 2});
	take(&got, 1, NULL, "continue");
	take(&got, 2, "7-2.ckpt", NULL);
	hang_up();
	accept_one();
	answer(expect("worker.hello", "trial", &trial), "{\"ok\":true,\"run\":true}");
	take(&got, 2, "7-2.ckpt", "pause");
	give(&(struct give){.trial = 7, .attempt = 2, .resume_step = 2, .checkpoint = "7-2.ckpt"});
	steps(&got, 3, 5);
	completed();
}

static int gone;

/* A checkpoint is gone, or damaged. */
static void spoil(const char *name)
{
	char path[200];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	if (gone)
		unlink(path);
	else
		damage(name);
}

/* Its own checkpoint is damaged or gone: from scratch, only what is new is reported. */
static void own_unusable(void)
{
	give(&(struct give){.trial = 7, .attempt = 1, .until = 2});
	take(&got, 1, NULL, "continue");
	take(&got, 2, "7-2.ckpt", "pause");
	spoil("7-2.ckpt");
	give(&(struct give){
		.trial = 7, .attempt = 2, .resume_step = 2, .checkpoint = "7-2.ckpt", .until = 3});
	take(&got, 3, "7-3.ckpt", "stop");
	/* it was made again on the way, and can be used */
	give(&(struct give){.trial = 7, .attempt = 3, .resume_step = 2, .checkpoint = "7-2.ckpt"});
	steps(&got, 3, 5);
	completed();
}

/* All of its own are damaged, or the newest is gone. */
static void all_unusable(void)
{
	give(&(struct give){.trial = 7, .attempt = 1, .every = 1, .until = 3});
	take(&got, 1, "7-1.ckpt", "continue");
	take(&got, 2, "7-2.ckpt", "continue");
	take(&got, 3, "7-3.ckpt", "pause");
	spoil("7-3.ckpt");
	damage("7-2.ckpt");
	damage("7-1.ckpt");
	give(&(struct give){.trial = 7, .attempt = 2, .resume_step = 3, .checkpoint = "7-3.ckpt"});
	steps(&got, 4, 5);
	completed();
}

/* There is no room for it: the trial goes on without, and starts from scratch when it is
 * resumed. */
static void cannot_write(void)
{
	give(&(struct give){.trial = 7, .attempt = 1, .until = 2, .dir = "/dev/null/x"});
	take(&got, 1, NULL, "continue");
	take(&got, 2, NULL, "pause");
	give(&(struct give){.trial = 7, .attempt = 2, .resume_step = 2});
	steps(&got, 3, 5);
	completed();
}

static struct curve child;

/* A child goes on from its parent's weights, then from its own. */
static void clones(void)
{
	give(&(struct give){.trial = 7, .attempt = 1, .until = 2});
	take(&got, 1, NULL, "continue");
	take(&got, 2, "7-2.ckpt", "stop");
	give(&(struct give){.trial = 8,
			    .attempt = 1,
			    .resume_step = 2,
			    .parent = 7,
			    .checkpoint = "7-2.ckpt",
			    .every = 2,
			    .until = 4});
	take(&got, 3, NULL, "continue");
	take(&got, 4, "8-4.ckpt", "stop");
	give(&(struct give){
		.trial = 8, .attempt = 2, .resume_step = 4, .parent = 7, .checkpoint = "8-4.ckpt"});
	take(&got, 5, NULL, "continue");
	told("COMPLETED", NULL);
	give(&(struct give){.trial = 9,
			    .attempt = 1,
			    .resume_step = 2,
			    .parent = 7,
			    .lr = 0.02,
			    .checkpoint = "7-2.ckpt"});
	steps(&child, 3, 5);
	completed();
}

/* What began from another trial cannot be made again from a seed. */
static void parents_unusable(void)
{
	give(&(struct give){.trial = 7, .attempt = 1, .until = 2});
	take(&got, 1, NULL, "continue");
	take(&got, 2, "7-2.ckpt", "stop");
	give(&(struct give){.trial = 8,
			    .attempt = 1,
			    .resume_step = 2,
			    .parent = 7,
			    .checkpoint = "7-2.ckpt",
			    .until = 3});
	take(&got, 3, "8-3.ckpt", "stop");
	damage("7-2.ckpt");
	damage("8-3.ckpt");
	give(&(struct give){.trial = 8, .attempt = 2, .resume_step = 2, .checkpoint = "7-2.ckpt"});
	told("FAILED", "the checkpoint 7-2.ckpt is damaged: its checksum is wrong");
	give(&(struct give){
		.trial = 8, .attempt = 3, .resume_step = 3, .parent = 7, .checkpoint = "8-3.ckpt"});
	told("FAILED", "the checkpoint 8-3.ckpt is damaged: its checksum is wrong");
	give(&(struct give){.trial = 8, .attempt = 4, .resume_step = 2, .parent = 7});
	told("FAILED", "there is no checkpoint of step 2");
	no_more();
}

/* --- the worker's side --- */

/* The named set in the cache; returns its bytes. */
static size_t cached(struct sw_data_cache *cache, const char *name, bool classes)
{
	const struct sw_data_want want = {.classes = classes, .val_fraction = 0.2};
	cJSON *json = cJSON_CreateObject();
	const struct sw_data *set = NULL;

	cJSON_AddStringToObject(json, "name", name);
	ck_assert_int_eq(cache_get(cache, json, want, &set, NULL), SW_OK);
	cJSON_Delete(json);
	return set->bytes;
}

static void same(const struct curve *a, const struct curve *b, size_t from)
{
	const size_t n = (EPOCHS + 1 - from) * sizeof(double);

	ck_assert_mem_eq(a->train_loss + from, b->train_loss + from, n);
	ck_assert_mem_eq(a->val_loss + from, b->val_loss + from, n);
	ck_assert_mem_eq(a->val_accuracy + from, b->val_accuracy + from, n);
}

static const struct {
	void (*script)(void);
	const char *log;
} equal[] = {
	{pauses, "goes on after step 2 of trial 3/7\n"},
	{every, "started on cpu:0: 13-6-relu-dropout(0.2)-3, 105 parameters"},
	{hangs_up, "goes on after step 2 of trial 3/7\n"},
	{beats_the_record, "started on cpu:0"},
	{cannot_write, "no checkpoint of step 2: Not a directory\n"},
	{cannot_write, "there is no checkpoint of step 2: the trial starts from scratch\n"},
};

TEST_ROWS(run_with_pauses_has_the_curve_of_one_without, equal)
{
	play(whole_run);
	ck_assert_double_gt(whole.val_loss[1], whole.val_loss[EPOCHS]);
	play(equal[_i].script);
	same(&whole, &got, 1);
	logged(equal[_i].log);
}

TEST_LOOP(run_whose_checkpoint_is_unusable_starts_from_scratch, 0, 2)
{
	gone = _i;
	play(whole_run);
	play(own_unusable);
	same(&whole, &got, 1);
	logged(_i ? "the checkpoint 7-2.ckpt cannot be read: No such file or directory: the trial "
		    "starts from scratch\n"
		  : "the checkpoint 7-2.ckpt is damaged: its checksum is wrong: the trial starts "
		    "from scratch\n");
	logged("goes on after step 2 of trial 3/7\n");
}

#define REST                                                                                       \
	"the checkpoint 7-2.ckpt is damaged: its checksum is wrong\n"                              \
	"the checkpoint 7-1.ckpt is damaged: its checksum is wrong: the trial starts from "        \
	"scratch\n"

TEST_LOOP(run_whose_checkpoints_are_all_unusable_has_a_line_for_each, 0, 2)
{
	gone = _i;
	play(whole_run);
	play(all_unusable);
	same(&whole, &got, 1);
	logged(_i ? "the checkpoint 7-3.ckpt cannot be read: No such file or directory\n" REST
		  : "the checkpoint 7-3.ckpt is damaged: its checksum is wrong\n" REST);
}

TEST(run_from_a_parents_checkpoint_is_the_parents_curve)
{
	play(whole_run);
	play(clones);
	same(&whole, &got, 1);
	/* with another learning rate it is not, but begins where the parent was */
	ck_assert(child.val_loss[3] != whole.val_loss[3]);
	ck_assert_double_lt(fabs(child.val_loss[3] - whole.val_loss[3]),
			    fabs(whole.val_loss[1] - whole.val_loss[3]));
}

TEST(run_whose_parents_checkpoint_is_unusable_fails)
{
	play(parents_unusable);
}

/* What the cap counts is all that the worker has: sets of earlier trials go where they are over
 * it. */
TEST_LOOP(run_under_a_cap_keeps_of_earlier_data_what_fits, 0, 2)
{
	struct sw_runner runner = {.ops = &sw_ops_cpu, .q = queue, .device = "cpu:0"};
	size_t both;

	ck_assert_int_eq(sw_data_cache_create(&runner.cache, &sw_ops_cpu), SW_OK);
	both = cached(runner.cache, "wine", true) + cached(runner.cache, "diabetes", false);
	ck_assert_uint_eq(sw_data_cache_loads(runner.cache), 2);
	/* the trial has its own split of wine: a third set, which with its arena takes less than
	 * diabetes does */
	runner.memory = _i ? both : 100 * both;
	play_as(&runner, whole_run);
	ck_assert_uint_eq(sw_data_cache_loads(runner.cache), 3);
	(void)cached(runner.cache, "diabetes", false);
	ck_assert_uint_eq(sw_data_cache_loads(runner.cache), _i ? 4 : 3);
	sw_data_cache_destroy(runner.cache);
}

static size_t left; /* bytes that are free on the device */

static sw_status memory_left(size_t *free_bytes, size_t *total_bytes)
{
	*free_bytes = left;
	*total_bytes = SIZE_MAX / 2;
	return SW_OK;
}

/* Without a cap a set that nobody uses stays, until it takes the room of a trial's whole batches.
 * _i: is there too little? */
TEST_LOOP(run_that_lacks_room_drops_earlier_data_and_keeps_its_own, 0, 2)
{
	struct sw_ops ops = sw_ops_cpu;
	struct sw_runner runner = {.ops = &ops, .q = queue, .device = "cpu:0"};

	ops.memory = memory_left;
	ck_assert_int_eq(sw_data_cache_create(&runner.cache, &ops), SW_OK);
	left = SIZE_MAX / 2;
	play_as(&runner, whole_run);
	(void)cached(runner.cache, "diabetes", false);
	ck_assert_uint_eq(sw_data_cache_loads(runner.cache), 2);
	left = _i ? 6000 : SIZE_MAX / 2; /* for its batch in parts */
	play_as(&runner, whole_run);
	ck_assert_uint_eq(sw_data_cache_loads(runner.cache), 2);
	left = SIZE_MAX / 2;
	(void)cached(runner.cache, "diabetes", false);
	ck_assert_uint_eq(sw_data_cache_loads(runner.cache), _i ? 3 : 2);
	sw_data_cache_destroy(runner.cache);
}

static sw_status graph_without_memory(struct sw_queue *q)
{
	(void)q;
	return SW_NOMEM;
}

TEST(run_that_has_no_graphs_says_so)
{
	struct sw_ops ops = sw_ops_cpu;
	struct sw_runner runner = {.ops = &ops, .q = queue, .device = "cpu:0"};

	play(whole_run);
	ck_assert(isnan(whole.graph_misses[1]));
	got = whole;
	ops.graph_begin = graph_without_memory;
	ck_assert_int_eq(sw_data_cache_create(&runner.cache, &ops), SW_OK);
	play_as(&runner, whole_run);
	sw_data_cache_destroy(runner.cache);
	same(&got, &whole, 1);
	for (int i = 1; i <= EPOCHS; i++)
		ck_assert_double_eq(whole.graph_misses[i], 3);
	logged("a step could not be made a graph (tries that failed: 3): the trial goes on "
	       "without, which takes longer\n");
	ck_assert_ptr_null(strstr(strstr(d.logs, "made a graph") + 1, "made a graph"));
}

RUN_TESTS(trial_setup, trial_teardown)
