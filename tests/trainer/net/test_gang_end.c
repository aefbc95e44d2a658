/* tests/trainer/net/test_gang_end.c — ranks end alike, whatever ends them, and begin from one
 * state. */
#include "tests/run.h"
#include "tests/trainer/net/gang.h"

/* 131 rows of 163 are trained on, and 32 validated */
#define EPOCH_STEPS 5
#define EPOCH_ASKS  (EPOCH_STEPS + 1)

static const char numbers[] =
	"{\"format\": \"synthetic\", \"features\": 13, \"rows\": 163, \"classes\": 7}";
static const char layers[] = "[{\"dropout\": 0.1}, {\"linear\": 24}, \"relu\", {\"linear\": 7}]";
static const char normed[] = "[{\"linear\": 24}, \"batchnorm\", \"relu\", {\"linear\": 7}]";

static void setup(void)
{
	gang_setup(numbers, true, 0);
	gang.layers = layers;
	gang.trainer = (struct sw_trainer){
		.classes = true, ADAM_OF(SW_ADAM, 0.01), .batch_size = 32, .epochs = 4};
}

/* One rank, whose parts of a batch are those of so many. */
static struct rank alone(unsigned world)
{
	gang.trainer.micro_batch = 32 / world;
	gang_run(1);
	gang.trainer.micro_batch = 0;
	ck_assert_msg(gang.rank[0].rc == SW_OK, "%s", gang.rank[0].line);
	return gang.rank[0];
}

TEST_LOOP(gang_that_is_stopped_ends_before_the_same_step, 0, 2 * EPOCH_ASKS)
{
	gang.stop_after = (size_t)_i + 1;
	gang_run(3);
	if (_i == 0)
		ck_assert_uint_eq(gang.rank[0].steps, 1);
	ranks_are_alike();
	const size_t left = gang.stop_after % EPOCH_ASKS;

	ck_assert_int_eq(gang.rank[0].end, SW_TRAIN_DROPPED);
	ck_assert_uint_eq(gang.rank[0].reports, gang.stop_after / EPOCH_ASKS);
	ck_assert_uint_eq(gang.rank[0].steps, gang.stop_after / EPOCH_ASKS * EPOCH_STEPS +
						      (left < EPOCH_STEPS ? left : EPOCH_STEPS));
}

TEST(gang_whose_report_is_refused_ends)
{
	gang.refuses = true;
	gang_run(4);
	ranks_are_alike();
	ck_assert_int_eq(gang.rank[0].end, SW_TRAIN_DROPPED);
	ck_assert_uint_eq(gang.rank[0].reports, 1);
	ck_assert_uint_eq(gang.rank[0].steps, EPOCH_STEPS);
}

TEST(gang_without_a_better_loss_ends_by_patience)
{
	gang.trainer.lr = 1e-30;
	gang.trainer.epochs = 40;
	gang.trainer.patience = 3;
	gang.keeps = true;
	gang_run(2);
	ranks_are_alike();
	ck_assert_int_eq(gang.rank[0].end, SW_TRAIN_STALE);
	ck_assert_uint_eq(gang.rank[0].reports, 4);
	ck_assert(gang.rank[0].e[3].last);
	/* how long was waited is known to all ranks of another attempt */
	gang.from = 3;
	gang_run(2);
	ranks_are_alike();
	ck_assert_int_eq(gang.rank[0].end, SW_TRAIN_STALE);
	ck_assert_uint_eq(gang.rank[0].reports, 1);
}

TEST(gang_that_diverges_ends_on_all_ranks)
{
	gang.trainer.optimizer = SW_SGD;
	gang.trainer.lr = 1e30;
	gang.layers = "[{\"linear\": 24}, {\"linear\": 7}]";
	gang_run(4);
	ranks_are_alike();
	ck_assert_int_eq(gang.rank[0].end, SW_TRAIN_DIVERGED);
	ck_assert_uint_eq(gang.rank[0].reports, 1);
}

/* From one rank's checkpoint, and one rank from the gang's: the bits of no interruption. */
TEST(gang_goes_on_from_a_checkpoint_bit_for_bit)
{
	struct rank one;

	gang.keeps = true;
	one = alone(4);
	gang.from = 2;
	gang_run(4);
	ranks_are_alike();
	steps_are_of(&one, (size_t)2 * EPOCH_STEPS);
	reports_are_of(&one, 2, 1e-12, true);
	gang.from = 3;
	(void)alone(4); /* on from what the gang kept */
	gang.world = 1;
	steps_are_of(&one, (size_t)3 * EPOCH_STEPS);
	reports_are_of(&one, 3, 1e-12, true);
	gang.from = 4; /* all epochs are done */
	gang_run(4);
	for (unsigned r = 0; r < 4; r++) {
		ck_assert_int_eq(gang.rank[r].rc, SW_OK);
		ck_assert_int_eq(gang.rank[r].end, SW_TRAIN_DONE);
		ck_assert_uint_eq(gang.rank[r].steps, 0);
	}
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
	gang_run(4);
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

TEST(gang_without_its_checkpoint_ends_with_the_line_of_rank_0)
{
	gang.from = 2;
	gang_run(3);
	all_failed(gang.rank[0].rc, "the checkpoint 2-2.ckpt cannot be read");
	ck_assert_int_ne(gang.rank[0].rc, SW_OK);
}

static _Thread_local unsigned calls;
static unsigned fail_from, fail_to; /* numbers of calls, from 1 */
static size_t fail_width;           /* of inputs of the layer that fails; 0: any */
static sw_status fail_with;

static sw_status failing_backward(struct sw_queue *q, const float *x, const float *w,
				  const float *y, float *dy, float *dx, float *dw, float *db,
				  size_t B, size_t in, size_t out, enum sw_act act,
				  const void *kept)
{
	if (!fail_width || in == fail_width) {
		calls++;
		if (calls >= fail_from && calls <= fail_to)
			return fail_with;
	}
	return sw_ops_cpu.linear_backward(q, x, w, y, dy, dx, dw, db, B, in, out, act, kept);
}

static void spoil_backward(struct sw_ops *ops, unsigned rank)
{
	if (rank == 1)
		ops->linear_backward = failing_backward;
}

TEST(gang_with_a_rank_that_fails_ends_with_its_error)
{
	fail_with = SW_UNSUPPORTED;
	fail_from = fail_to = 7;
	gang.spoil = spoil_backward;
	gang_run(3);
	all_failed(SW_UNSUPPORTED, "training failed on cpu: not supported");
}

/* Before the sum of the step begins a rank halves its part, and the others wait for it. */
TEST(gang_with_a_rank_short_of_memory_goes_on)
{
	struct rank one;

	fail_with = SW_NOMEM;
	fail_from = 7; /* in the fourth step, and when that begins again */
	fail_to = 8;
	one = alone(1);
	gang.spoil = spoil_backward;
	gang_run(2);
	ranks_are_alike();
	ck_assert_uint_eq(gang.rank[0].steps, one.steps);
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
	fail_with = SW_NOMEM;
	fail_width = 2000;
	fail_from = fail_to = 4; /* of two parts a step */
	gang.spoil = spoil_backward;
	gang_run(2);
	all_failed(SW_NOMEM, "out of memory");
	ck_assert_uint_eq(gang.rank[0].steps, 1);
	ck_assert_uint_eq(gang.rank[1].steps, 1);
}

static sw_status failing_counts(struct sw_queue *q, const float *z, const int32_t *label,
				int64_t *counts, size_t B, size_t C)
{
	if (++calls == 2)
		return SW_NOMEM;
	return sw_ops_cpu.class_counts(q, z, label, counts, B, C);
}

static void spoil_counts(struct sw_ops *ops, unsigned rank)
{
	if (rank == 1)
		ops->class_counts = failing_counts;
}

TEST(gang_with_a_rank_short_of_memory_in_evaluation_begins_it_again)
{
	const struct rank one = alone(2);

	gang.spoil = spoil_counts;
	gang_run(2);
	ranks_are_alike();
	reports_are_of(&one, 0, 1e-4, true);
}

#ifdef SW_FAULTS
/* Whichever rank it meets. Where a smaller arena makes it good, all go on; else all end. */
TEST(gang_with_a_rank_without_memory_fails_cleanly_at_each_call)
{
	unsigned failed = 0, fired = 1;

	gang.layers = normed;
	gang.trainer.epochs = 2;
	for (unsigned nth = 1; fired > 0; nth++) {
		ck_assert_uint_lt(nth, 300);
		sw_fault_arm(SW_FAULT_MALLOC, nth, false);
		gang_run(3);
		fired = sw_fault_fired(SW_FAULT_MALLOC);
		sw_fault_arm(SW_FAULT_MALLOC, 0, false);
		if (gang.rank[0].rc == SW_OK)
			ranks_are_alike();
		else
			all_failed(SW_NOMEM, "memory");
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
