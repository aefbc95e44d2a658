/* tests/trainer/net/test_gang_end.c — ranks end alike, whatever ends them, and begin from one
 * state: those that share each batch, and the stages of a pipeline. */
#include "tests/run.h"
#include "tests/trainer/net/gang.h"
#include "tests/walk.h"
#include <math.h>

/* 131 rows of 163 are trained on, and 32 validated */
#define EPOCH_STEPS 5
#define EPOCH_ASKS  (EPOCH_STEPS + 1)
#define PARTS       4 /* of a batch, by ranks or in a pipeline */

static const char numbers[] =
	"{\"format\": \"synthetic\", \"features\": 13, \"rows\": 163, \"classes\": 7}";
static const char layers[] = "[{\"dropout\": 0.1}, {\"linear\": 24}, \"relu\", {\"linear\": 16}, "
			     "\"relu\", {\"linear\": 7}]";
static const char normed[] = "[{\"linear\": 24}, \"batchnorm\", \"relu\", {\"linear\": 16}, "
			     "\"batchnorm\", {\"linear\": 7}]";

static void setup(void)
{
	gang_setup(numbers, true, 0);
	gang.layers = layers;
	gang.trainer = (struct sw_trainer){
		.classes = true, ADAM_OF(SW_ADAM, 0.01), .batch_size = 32, .epochs = 4};
}

static void run(unsigned stages, unsigned world)
{
	staged_run(stages, world, PARTS);
}

/* _i & 1: a pipeline */
static void run_either(int i)
{
	run(i & 1 ? 3 : 1, 3);
}

/* Before each step, and in the evaluation behind the fifth, after which they end. */
TEST_LOOP(ranks_that_are_stopped_end_before_the_same_step, 0, 4 * EPOCH_ASKS)
{
	const size_t asks = (size_t)_i / 2 + 1, left = asks % EPOCH_ASKS;

	gang.stop_after = asks;
	run_either(_i);
	all_ended(SW_TRAIN_DROPPED, asks / EPOCH_ASKS,
		  asks / EPOCH_ASKS * EPOCH_STEPS + (left < EPOCH_STEPS ? left : EPOCH_STEPS));
}

TEST_LOOP(ranks_whose_report_is_refused_end, 0, 2)
{
	gang.refuses = true;
	run_either(_i);
	all_ended(SW_TRAIN_DROPPED, 1, EPOCH_STEPS);
}

TEST_LOOP(ranks_that_diverge_end, 0, 2)
{
	gang.trainer.optimizer = SW_SGD;
	gang.trainer.lr = 1e30;
	gang.layers = "[{\"linear\": 24}, {\"linear\": 9}, {\"linear\": 7}]";
	run_either(_i);
	all_ended(SW_TRAIN_DIVERGED, 1, EPOCH_STEPS);
}

TEST_LOOP(ranks_without_a_better_loss_end_by_patience, 0, 2)
{
	gang.trainer.lr = 1e-30;
	gang.trainer.epochs = 40;
	gang.trainer.patience = 3;
	gang.keeps = true;
	run_either(_i);
	all_ended(SW_TRAIN_STALE, 4, (size_t)4 * EPOCH_STEPS);
	ck_assert(gang.rank[0].e[3].last);
	/* how long was waited is known to all ranks of another attempt */
	gang.from = 3;
	run_either(_i);
	all_ended(SW_TRAIN_STALE, 1, EPOCH_STEPS);
}

/* --- checkpoints --- */

/* Trials may pause on one number of slots and go on on another: as many ranks without stages have
 * the bits. */
static const struct {
	unsigned stages, world, plain;
	const char *layers;
} goers[] = {{1, 4, 1, layers},
	     {3, 3, 1, layers},
	     {3, 3, 1, normed},
	     {3, 6, 2, layers},
	     {3, 6, 2, normed}};

/* The best loss and the metric's best value are sums of doubles over the ranks, in another order:
 * their last bits may differ, and the checksum with them. All else has the bits. Zeroes both. */
static void files_are_alike(unsigned char *one, unsigned char *many, size_t n)
{
	static const size_t loss_at[] = {88, 128}; /* trainer/file/checkpoint_format.c */
	double a, b;

	for (size_t i = 0; i < 2; i++) {
		memcpy(&a, one + loss_at[i], sizeof a);
		memcpy(&b, many + loss_at[i], sizeof b);
		ck_assert(fabs(a - b) <= 1e-12 * fabs(a));
		memset(one + loss_at[i], 0, sizeof a);
		memset(many + loss_at[i], 0, sizeof b);
	}
	ck_assert_mem_eq(one, many, n - 16);
}

TEST_ROWS(ranks_write_the_checkpoint_of_others_and_read_it, goers)
{
	const unsigned stages = goers[_i].stages, world = goers[_i].world, plain = goers[_i].plain;
	const struct rank *lead = &gang.rank[0];
	size_t n, again;
	char path[128];

	gang.layers = goers[_i].layers;
	gang.keeps = true;
	const struct rank before = unstaged(plain, 32 / plain / PARTS);

	ck_assert_uint_eq(before.reports, 4);
	snprintf(path, sizeof path, "%s/2-4.ckpt", folder);
	unsigned char *one = file_read(path, &n);

	/* on from what the others wrote, to the same file */
	gang.from = 2;
	run(stages, world);
	all_ended(SW_TRAIN_DONE, 2, (size_t)2 * EPOCH_STEPS);
	ck_assert_uint_eq(lead->whole[1], before.whole[3]);
	reports_are_of(&before, 2, 1e-12, true);
	if (stages == 1)
		steps_are_of(&before, (size_t)2 * EPOCH_STEPS);
	unsigned char *many = file_read(path, &again);

	ck_assert_uint_eq(again, n);
	files_are_alike(one, many, n);
	free(one);
	free(many);

	/* and on from what they wrote */
	gang.from = 3;
	(void)unstaged(plain, 32 / plain / PARTS);
	ck_assert_uint_eq(lead->whole[0], before.whole[3]);
	reports_are_of(&before, 3, 1e-12, true);
	gang.from = 4; /* all epochs are done */
	run(stages, world);
	all_ended(SW_TRAIN_DONE, 0, 0);
}

/* Whatever share of the validation rows a rank has, rank 0's statistics are those of the report,
 * and of the checkpoint. */
TEST(gang_is_evaluated_with_the_statistics_of_rank_0)
{
	const struct sw_checkpoint_id id = {.sweep = 1, .trial = 2, .epoch = 4};
	struct sw_metrics m;
	struct sw_model model;
	struct sw_net net;
	char path[128];

	gang.layers = normed;
	gang.keeps = true;
	run(1, 4);
	ranks_are_alike();
	model_make(&model, normed, true);
	ck_assert_int_eq(sw_net_create(&net, &sw_ops_cpu, queue, &model, &gang.trainer, &data, NULL,
				       9, NULL),
			 SW_OK);
	snprintf(path, sizeof path, "%s/2-4.ckpt", folder);
	ck_assert_int_eq(sw_checkpoint_read(&net, &id, path, NULL), SW_OK);
	ck_assert_int_eq(sw_net_metrics_zero(&net), SW_OK);
	ck_assert_int_eq(sw_net_eval(&net, &data, 0, data.val.rows), SW_OK);
	ck_assert_int_eq(sw_net_metrics(&net, &m), SW_OK);
	near(gang.rank[0].e[3].val_loss, m.loss_sum / m.rows, 1e-12, "val_loss", 3);
	sw_net_destroy(&net);
}

TEST_LOOP(ranks_without_their_checkpoint_end_with_the_line_of_rank_0, 0, 2)
{
	gang.from = 2;
	run_either(_i);
	all_failed(gang.rank[0].rc, "the checkpoint 2-2.ckpt cannot be read");
	ck_assert_int_ne(gang.rank[0].rc, SW_OK);
}

/* --- memory that is short from the beginning --- */

/* All stages take the parts of the one that has least memory. */
TEST(pipeline_that_is_short_of_memory_takes_smaller_parts)
{
	struct sw_model whole, own;
	struct sw_layout at;
	struct sw_trainer t = gang.trainer;
	size_t first[SW_STAGES_MAX + 1], weights, running;

	t.stages = 3;
	t.microbatches = PARTS;
	t.ranks = 1;
	model_make(&whole, layers, true);
	ck_assert_int_eq(sw_stages_cut(&whole, &t, first, NULL), SW_OK);
	sw_stages_model(&own, &whole, 0, first[1], &weights, &running);
	t.micro_batch = 2;
	ck_assert_int_eq(
		sw_layout_make(&at, &own, &t, data.train.rows, data.val.rows, &sw_ops_cpu, NULL),
		SW_OK);
	gang.trainer.memory = at.bytes;
	run(3, 3);
	all_ended(SW_TRAIN_DONE, 4, (size_t)4 * EPOCH_STEPS);
	ck_assert_uint_eq(gang.rank[0].micro, 2);
	ck_assert_uint_gt(gang.rank[0].oom_events, 0);
	const uint64_t is = gang.rank[0].whole[3];

	gang.trainer.memory = 0;
	ck_assert_uint_eq(unstaged(1, 2).whole[3], is);
}

/* Half the rows may need more: more parts have more buffers. Then a rank comes out below all
 * others, and they follow. */
TEST(pipeline_whose_parts_need_more_when_they_are_smaller_agrees_all_the_same)
{
	unsigned halved = 0;

	gang.layers = "[{\"linear\": 24}, \"batchnorm\", \"relu\", {\"linear\": 24}, "
		      "\"batchnorm\", \"relu\", {\"linear\": 24}, \"batchnorm\", \"relu\", "
		      "{\"linear\": 400}, \"batchnorm\", \"relu\", {\"linear\": 7}]";
	gang.trainer.stages = 4;
	gang.trainer.epochs = 1;
	for (gang.trainer.microbatches = 1; gang.trainer.microbatches < 3;
	     gang.trainer.microbatches++)
		for (gang.trainer.memory = 40000; gang.trainer.memory < 360000;
		     gang.trainer.memory += 12288) {
			gang_run(4);
			if (gang.rank[0].rc == SW_OK)
				all_ended(SW_TRAIN_DONE, 1, EPOCH_STEPS);
			else
				all_failed(SW_NOMEM, "");
			halved += gang.rank[0].rc == SW_OK && gang.rank[0].oom_events > 0;
		}
	ck_assert_uint_gt(halved, 2);
}

TEST(pipeline_that_has_not_the_memory_of_a_row_ends)
{
	gang.trainer.memory = 1000;
	run(3, 3);
	all_failed(SW_NOMEM, "");
}

/* --- a rank whose calls fail --- */

enum called { FORWARD, BACKWARD, COUNTS, DOWNLOAD };

static struct failure {
	unsigned rank;
	enum called called;
	unsigned from, to; /* numbers of its calls, from 1 */
	sw_status with;
	size_t width; /* of inputs of the layer that fails; 0: any */
} failure;

static bool fails(enum called called, size_t in)
{
	static _Thread_local unsigned calls;

	if (called != failure.called || (failure.width && in != failure.width))
		return false;
	calls++;
	return calls >= failure.from && calls <= failure.to;
}

static sw_status failing_forward(struct sw_queue *q, const float *x, const float *w, const float *b,
				 float *y, size_t B, size_t in, size_t out, enum sw_act act,
				 void *keep)
{
	return fails(FORWARD, in) ? failure.with
				  : sw_ops_cpu.linear_forward(q, x, w, b, y, B, in, out, act, keep);
}

static sw_status failing_backward(struct sw_queue *q, const float *x, const float *w,
				  const float *y, float *dy, float *dx, float *dw, float *db,
				  size_t B, size_t in, size_t out, enum sw_act act,
				  const void *kept)
{
	return fails(BACKWARD, in) ? failure.with
				   : sw_ops_cpu.linear_backward(q, x, w, y, dy, dx, dw, db, B, in,
								out, act, kept);
}

static sw_status failing_counts(struct sw_queue *q, const float *z, const int32_t *label,
				int64_t *counts, size_t B, size_t C)
{
	return fails(COUNTS, 0) ? failure.with : sw_ops_cpu.class_counts(q, z, label, counts, B, C);
}

static sw_status failing_download(struct sw_queue *q, void *to, const void *from, size_t n)
{
	return fails(DOWNLOAD, 0) ? failure.with : sw_ops_cpu.download(q, to, from, n);
}

static void spoil(struct sw_ops *ops, unsigned rank)
{
	if (rank != failure.rank)
		return;
	ops->linear_forward = failing_forward;
	ops->linear_backward = failing_backward;
	ops->class_counts = failing_counts;
	ops->download = failing_download;
}

/* In a pipeline others may have values of the step already, so that smaller parts are no way
 * out. */
static const struct {
	unsigned stages;
	struct failure f;
	const char *words;
} ends[] = {
	{1, {1, BACKWARD, 7, 7, SW_UNSUPPORTED, 0}, "training failed on cpu: not supported"},
	{3, {0, FORWARD, 7, 7, SW_UNSUPPORTED, 0}, "linear is not supported on cpu"},
	{3, {1, FORWARD, 7, 7, SW_UNSUPPORTED, 0}, "linear is not supported on cpu"},
	{3, {2, FORWARD, 7, 7, SW_UNSUPPORTED, 0}, "linear is not supported on cpu"},
	{3, {0, FORWARD, 7, 7, SW_NOMEM, 0}, "out of memory"},
	{3, {1, FORWARD, 7, 7, SW_NOMEM, 0}, "out of memory"},
	{3, {2, FORWARD, 7, 7, SW_NOMEM, 0}, "out of memory"},
};

TEST_ROWS(ranks_of_which_one_fails_end_with_its_error, ends)
{
	failure = ends[_i].f;
	gang.spoil = spoil;
	run(ends[_i].stages, 3);
	all_failed(failure.with, ends[_i].words);
}

/* Which rank it was is known to rank 0, whatever it was doing then. _i: the call */
TEST_LOOP(pipeline_whose_rank_loses_its_device_says_which, 1, 8)
{
	failure = (struct failure){1, DOWNLOAD, (unsigned)_i, (unsigned)_i, SW_DEVICE_LOST, 0};
	gang.keeps = true;
	gang.spoil = spoil;
	run(3, 3);
	ck_assert_int_eq(gang.rank[1].rc, SW_DEVICE_LOST);
	ck_assert_int_ne(gang.rank[0].rc, SW_OK);
	ck_assert_msg(strncmp(gang.rank[0].line, "rank 1: ", 8) == 0, "%s", gang.rank[0].line);
}

/* Before the sum of the step begins a rank halves its part, and the others wait for it: in the
 * fourth step, and when that begins again. In evaluation it begins that again. */
static const struct failure passes[] = {{1, BACKWARD, 10, 11, SW_NOMEM, 0},
					{1, COUNTS, 2, 2, SW_NOMEM, 0}};

TEST_ROWS(gang_with_a_rank_short_of_memory_goes_on, passes)
{
	const struct rank one = unstaged(1, 32);

	failure = passes[_i];
	gang.spoil = spoil;
	run(1, 2);
	all_ended(SW_TRAIN_DONE, 4, one.steps);
	reports_are_of(&one, 0, 1e-4, true);
}

/* After that others may have its part already. The first layer's inputs are 2000. */
TEST(gang_with_a_rank_short_of_memory_in_the_sum_ends)
{
	gang_teardown();
	gang_setup("{\"format\": \"synthetic\", \"features\": 2000, \"rows\": 40, \"classes\": 7}",
		   true, 0);
	gang.layers = "[{\"linear\": 600}, {\"linear\": 1800}, {\"linear\": 7}]";
	gang.trainer = (struct sw_trainer){
		.classes = true, .lr = 0.01, .batch_size = 16, .micro_batch = 4, .epochs = 1};
	failure = (struct failure){1, BACKWARD, 4, 4, SW_NOMEM, 2000}; /* of two parts a step */
	gang.spoil = spoil;
	run(1, 2);
	all_failed(SW_NOMEM, "out of memory");
	ck_assert_uint_eq(gang.rank[0].steps, 1);
	ck_assert_uint_eq(gang.rank[1].steps, 1);
}

#ifdef SW_FAULTS
/* Whichever rank it meets. Where a smaller arena makes it good, all go on; else all end. */
TEST_LOOP(ranks_of_which_one_has_no_memory_fail_cleanly_at_each_call, 0, 2)
{
	unsigned failed = 0;

	gang.layers = normed;
	gang.trainer.epochs = 2;
	gang.keeps = true;
	WALK (SW_FAULT_MALLOC, 5) {
		walk_arm();
		run_either(_i);
		(void)walk_disarm();
		if (gang.rank[0].rc != SW_OK)
			all_failed(SW_NOMEM, "memory");
		else /* a checkpoint without memory is a report that is refused */
			all_ended(gang.rank[0].end, gang.rank[0].reports, gang.rank[0].steps);
		failed += gang.rank[0].rc != SW_OK;
	}
	ck_assert_uint_gt(failed, 5);
	ck_assert_int_eq(gang.rank[0].rc, SW_OK);
}
#endif

TEST(gang_of_another_number_of_ranks_than_its_trainer_says_is_refused)
{
	const struct sw_train_hooks hooks = {.go_on = gang_go_on, .report = gang_report};
	struct sw_train_hooks both = hooks;
	struct sw_err err = SW_ERR_INIT;
	struct sw_comm *comm;
	enum sw_train_end end;
	struct sw_model m;

	model_make(&m, layers, true);
	gang.trainer.ranks = 2;
	ck_assert_int_eq(
		sw_train_run(&sw_ops_cpu, queue, &m, &data, &gang.trainer, 3, &hooks, &end, NULL),
		SW_INVALID);
	ck_assert_int_eq(sw_comm_meet(&comm, 1, false, NULL), SW_OK);
	both.comm = comm;
	ck_assert_int_eq(
		sw_train_run(&sw_ops_cpu, queue, &m, &data, &gang.trainer, 3, &both, &end, &err),
		SW_INVALID);
	ck_assert_str_eq(sw_comm_why(comm), err.msg);
	sw_comm_close(comm);
}

RUN_TESTS(setup, gang_teardown)
