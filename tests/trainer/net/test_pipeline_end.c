/* tests/trainer/net/test_pipeline_end.c — the stages of a pipeline end alike, whatever ends them;
 * their checkpoints are those of one rank; memory that is short makes all parts smaller. */
#include "tests/run.h"
#include "tests/trainer/net/gang.h"

/* 131 rows of 163 are trained on, and 32 validated. */
#define EPOCH_STEPS 5

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
	gang.trainer = (struct sw_trainer){.classes = true,
					   ADAM_OF(SW_ADAM, 0.01),
					   .batch_size = 32,
					   .epochs = 4,
					   .stages = 3,
					   .microbatches = 4};
}

/* One rank with the parts of a pipeline. */
static struct rank alone(void)
{
	gang.trainer.micro_batch = gang.trainer.batch_size / gang.trainer.microbatches;
	gang_run(1);
	gang.trainer.micro_batch = 0;
	ck_assert_msg(gang.rank[0].rc == SW_OK, "%s", gang.rank[0].line);
	return gang.rank[0];
}

static void all_ended(enum sw_train_end end, size_t reports, size_t steps)
{
	for (unsigned r = 0; r < gang.world; r++) {
		ck_assert_msg(gang.rank[r].rc == SW_OK, "rank %u: %s", r, gang.rank[r].line);
		ck_assert_int_eq(gang.rank[r].end, end);
		ck_assert_uint_eq(gang.rank[r].steps, steps);
		ck_assert_uint_eq(gang.rank[r].reports, r == 0 ? reports : 0);
	}
}

/* Before each step, and in the evaluation behind the fifth, after which they end. */
TEST_LOOP(pipeline_that_is_stopped_ends_before_the_same_step, 0, 2 * (EPOCH_STEPS + 1))
{
	const size_t epoch = EPOCH_STEPS + 1, calls_n = (size_t)_i + 1, left = calls_n % epoch;

	gang.stop_after = calls_n;
	gang_run(3);
	all_ended(SW_TRAIN_DROPPED, calls_n / epoch,
		  calls_n / epoch * EPOCH_STEPS + (left < EPOCH_STEPS ? left : EPOCH_STEPS));
}

TEST(pipeline_whose_report_is_refused_ends)
{
	gang.refuses = true;
	gang_run(3);
	all_ended(SW_TRAIN_DROPPED, 1, EPOCH_STEPS);
}

TEST(pipeline_that_diverges_ends_on_all_ranks)
{
	gang.trainer.optimizer = SW_SGD;
	gang.trainer.lr = 1e30;
	gang.layers = "[{\"linear\": 24}, {\"linear\": 9}, {\"linear\": 7}]";
	gang_run(3);
	all_ended(SW_TRAIN_DIVERGED, 1, EPOCH_STEPS);
}

/* Trials may pause on one number of slots and go on on another. _i & 1: with statistics of norms;
 * _i & 2: two pipelines that share each batch, against two ranks. */
TEST_LOOP(pipeline_writes_the_checkpoint_of_one_rank_and_reads_it, 0, 4)
{
	const unsigned pipelines = _i & 2 ? 2 : 1, world = 3 * pipelines;
	char path[128];
	struct rank before;

	if (_i & 1)
		gang.layers = normed;
	gang.keeps = true;
	gang.trainer.stages = 1;
	gang.trainer.micro_batch = 32 / pipelines / 4;
	gang_run(pipelines);
	gang.trainer.micro_batch = 0;
	gang.trainer.stages = 3;
	before = gang.rank[0];
	ck_assert_uint_eq(before.reports, 4);
	snprintf(path, sizeof path, "%s/2-4.ckpt", folder);
	size_t n, again;
	unsigned char *one = file_read(path, &n), *many;

	/* on from what one wrote, to the same file */
	gang.from = 2;
	gang_run(world);
	all_ended(SW_TRAIN_DONE, 2, (size_t)2 * EPOCH_STEPS);
	ck_assert_uint_eq(gang.rank[0].whole[1], before.whole[3]);
	reports_are_of(&before, 2, 1e-12, true);
	many = file_read(path, &again);
	ck_assert_uint_eq(again, n);
	ck_assert_mem_eq(one, many, n);
	free(one);
	free(many);

	/* and on from what the pipeline wrote */
	gang.trainer.stages = 1;
	gang.trainer.micro_batch = 32 / pipelines / 4;
	gang.from = 3;
	gang_run(pipelines);
	ck_assert_uint_eq(gang.rank[0].whole[0], before.whole[3]);
}

TEST(pipeline_without_its_checkpoint_ends_with_the_line_of_rank_0)
{
	gang.from = 2;
	gang_run(3);
	all_failed(gang.rank[0].rc, "the checkpoint 2-2.ckpt cannot be read");
	ck_assert_int_ne(gang.rank[0].rc, SW_OK);
}

/* All stages take the parts of the one that has least memory. */
TEST(pipeline_that_is_short_of_memory_takes_smaller_parts)
{
	struct sw_model whole, own;
	struct sw_layout at;
	struct sw_trainer t = gang.trainer;
	size_t first[SW_STAGES_MAX + 1], weights, running;
	struct rank one;

	t.ranks = 1;
	model_make(&whole, layers, true);
	ck_assert_int_eq(sw_stages_cut(&whole, &t, first, NULL), SW_OK);
	sw_stages_model(&own, &whole, 0, first[1], &weights, &running);
	t.micro_batch = 2;
	ck_assert_int_eq(
		sw_layout_make(&at, &own, &t, data.train.rows, data.val.rows, &sw_ops_cpu, NULL),
		SW_OK);
	gang.trainer.memory = at.bytes;
	gang_run(3);
	all_ended(SW_TRAIN_DONE, 4, (size_t)4 * EPOCH_STEPS);
	ck_assert_uint_eq(gang.rank[0].micro, 2);
	ck_assert_uint_gt(gang.rank[0].oom_events, 0);
	const uint64_t is = gang.rank[0].whole[3];

	gang.trainer.memory = 0;
	gang.trainer.microbatches = 16;
	one = alone();
	ck_assert_uint_eq(one.micro, 2);
	ck_assert_uint_eq(one.whole[3], is);
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
			for (unsigned r = 0; r < 4; r++)
				ck_assert_msg(gang.rank[r].rc == gang.rank[0].rc &&
						      (gang.rank[r].rc == SW_OK ||
						       gang.rank[r].rc == SW_NOMEM),
					      "%zu bytes: rank %u: %s", gang.trainer.memory, r,
					      gang.rank[r].line);
			halved += gang.rank[0].rc == SW_OK && gang.rank[0].oom_events > 0;
		}
	ck_assert_uint_gt(halved, 2);
}

TEST(pipeline_that_has_not_the_memory_of_a_row_ends)
{
	gang.trainer.memory = 1000;
	gang_run(3);
	for (unsigned r = 0; r < 3; r++)
		ck_assert_int_eq(gang.rank[r].rc, SW_NOMEM);
}

static _Thread_local unsigned calls;
static unsigned fail_from; /* numbers of calls, from 1 */
static unsigned spoiled;   /* the rank */
static sw_status fail_with;

static sw_status failing_forward(struct sw_queue *q, const float *x, const float *w, const float *b,
				 float *y, size_t B, size_t in, size_t out, enum sw_act act,
				 void *keep)
{
	if (++calls == fail_from)
		return fail_with;
	return sw_ops_cpu.linear_forward(q, x, w, b, y, B, in, out, act, keep);
}

static void spoil_forward(struct sw_ops *ops, unsigned rank)
{
	if (rank == spoiled)
		ops->linear_forward = failing_forward;
}

/* _i: the rank. Others may have values of the step already, so that smaller parts are no way
 * out. */
TEST_LOOP(pipeline_with_a_rank_that_fails_ends_with_its_error, 0, 3)
{
	spoiled = (unsigned)_i;
	fail_from = 7;
	gang.spoil = spoil_forward;
	fail_with = SW_UNSUPPORTED;
	gang_run(3);
	all_failed(SW_UNSUPPORTED, "linear is not supported on cpu");
	fail_with = SW_NOMEM;
	gang_run(3);
	all_failed(SW_NOMEM, "out of memory");
}

static _Thread_local unsigned moved; /* sets that went from the device */

static sw_status failing_download(struct sw_queue *q, void *to, const void *from, size_t n)
{
	return ++moved == fail_from ? SW_DEVICE_LOST : sw_ops_cpu.download(q, to, from, n);
}

static void spoil_moves(struct sw_ops *ops, unsigned rank)
{
	if (rank == spoiled)
		ops->download = failing_download;
}

/* Which rank it was is known to rank 0, whatever it was doing then. _i: the call */
TEST_LOOP(pipeline_whose_rank_loses_its_device_says_which, 1, 8)
{
	spoiled = 1;
	fail_from = (unsigned)_i;
	fail_with = SW_DEVICE_LOST;
	gang.keeps = true;
	gang.spoil = spoil_moves;
	gang_run(3);
	ck_assert_int_eq(gang.rank[1].rc, SW_DEVICE_LOST);
	ck_assert_int_ne(gang.rank[0].rc, SW_OK);
	ck_assert_msg(strncmp(gang.rank[0].line, "rank 1: ", 8) == 0, "%s", gang.rank[0].line);
}

#ifdef SW_FAULTS
/* Whichever rank it meets. Where a smaller arena makes it good, all go on; else all end. */
TEST(pipeline_with_a_rank_without_memory_fails_cleanly_at_each_call)
{
	unsigned failed = 0, fired = 1;

	gang.layers = normed;
	gang.trainer.epochs = 2;
	gang.keeps = true;
	for (unsigned nth = 1; fired > 0; nth++) {
		ck_assert_uint_lt(nth, 600);
		sw_fault_arm(SW_FAULT_MALLOC, nth, false);
		gang_run(3);
		fired = sw_fault_fired(SW_FAULT_MALLOC);
		sw_fault_arm(SW_FAULT_MALLOC, 0, false);
		for (unsigned r = 0; r < 3; r++)
			ck_assert_msg(gang.rank[r].rc == gang.rank[0].rc, "rank %u: %s", r,
				      gang.rank[r].line);
		ck_assert_msg(gang.rank[0].rc == SW_OK || gang.rank[0].rc == SW_NOMEM, "%s",
			      gang.rank[0].line);
		failed += gang.rank[0].rc != SW_OK;
	}
	ck_assert_uint_gt(failed, 5);
	ck_assert_int_eq(gang.rank[0].rc, SW_OK);
}
#endif

SUITE(tcase)
{
	tcase_add_checked_fixture(tcase, setup, gang_teardown);
	tcase_set_timeout(tcase, 60);
}
