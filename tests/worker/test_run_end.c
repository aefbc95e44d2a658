/* tests/worker/test_run_end.c — the state that a trial ends in, and the cause that the daemon is
 * told. */
#include "tests/worker/trial_daemon.h"

/* --- what the daemon does --- */

/* So small a rate does not move the loss: the epoch after the first is not better. */
static void loses_patience(void)
{
	for (unsigned patience = 1; patience <= 2; patience++) {
		give(&(struct give){.trial = 7, .attempt = 1, .lr = 1e-30, .patience = patience});
		steps(&got, 1, patience + 1);
		told("COMPLETED", patience == 1 ? "patience: val_loss not lower for 1 epoch"
						: "patience: val_loss not lower for 2 epochs");
	}
	no_more();
}

/* Lost before it could tell: what its checkpoint knows of waiting is the same end, no epoch more. A
 * copy of it is another trial, which may get better. */
static void is_lost_without_patience(void)
{
	give(&(struct give){.trial = 7, .attempt = 1, .lr = 1e-30, .patience = 1, .every = 1});
	take(&got, 1, "7-1.ckpt", "continue");
	take(&got, 2, "7-2.ckpt", "continue");
	told("COMPLETED", "patience: ");
	give(&(struct give){.trial = 7,
			    .attempt = 2,
			    .lr = 1e-30,
			    .patience = 1,
			    .resume_step = 2,
			    .checkpoint = "7-2.ckpt"});
	told("COMPLETED", "patience: val_loss not lower for 1 epoch");
	give(&(struct give){.trial = 8,
			    .attempt = 1,
			    .parent = 7,
			    .patience = 1,
			    .resume_step = 2,
			    .until = 3,
			    .checkpoint = "7-2.ckpt"});
	take(&got, 3, "8-3.ckpt", "stop");
	no_more();
}

/* The daemon has another end for it: nothing is told, and nothing said of patience. */
static void is_stopped_before_patience(void)
{
	give(&(struct give){.trial = 7, .attempt = 1, .lr = 1e-30, .patience = 1});
	take(&got, 1, NULL, "continue");
	take(&got, 2, NULL, "stop");
	no_more();
}

static void diverges(void)
{
	cJSON *m;

	give(&(struct give){.trial = 7, .attempt = 1, .every = 1, .lr = 1e6});
	answer(expect_message("worker.report", &m), "{\"decision\":\"continue\"}");
	if (cJSON_GetObjectItem(cJSON_GetObjectItem(m, "params"), "checkpoint"))
		problem("checkpoint", "of what is no number");
	cJSON_Delete(m);
	told("INFEASIBLE", "diverged");
	no_more();
}

/* What the trial's own parameters make impossible says nothing against the others; what is wrong in
 * each of them has failed. */
static const struct {
	struct give give;
	const char *state, *cause;
} impossible[] = {
	{{.set = "{\"format\":\"synthetic\",\"tokens\":9,\"rows\":40,\"vocab\":50}",
	  .drawn = ",\"heads\":3,\"width\":8",
	  .model = "{\"preset\":\"transformer-encoder\",\"outputs\":10,\"heads\":\"heads\","
		   "\"width\":\"width\"}"},
	 "INFEASIBLE",
	 "3 heads do not divide the width 8"},
	{{.set = "{\"format\":\"synthetic\",\"image\":[1,6,6],\"rows\":40}",
	  .drawn = ",\"net\":{\"kernel\":5}",
	  .model = "[{\"conv2d\":{\"out\":4,\"kernel\":\"net.kernel\"}},{\"maxpool2d\":3},"
		   "\"flatten\","
		   "{\"linear\":10}]"},
	 "INFEASIBLE",
	 "a window of 3 x 3 does not fit an image of 4 x 2 x 2"},
	{{.drawn = ",\"width\":4", .model = "[{\"linear\":\"width\"}]"},
	 "INFEASIBLE",
	 "the last layer is 4 wide, but the data has 3 classes"},
	{{.lr = -1}, "INFEASIBLE", "/parameters/lr: \"lr\" must be a number, above 0"},
	{{.drawn = ",\"width\":4", .model = "[{\"linear\":4}]"},
	 "FAILED",
	 "the last layer is 4 wide, but the data has 3 classes"},
	{{.set = "{\"name\":\"none\"}"}, "FAILED", "/trainer/dataset"},
};

static void draws_the_impossible(void)
{
	for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++) {
		struct give g = impossible[i].give;

		g.trial = i + 1;
		g.attempt = 1;
		give(&g);
		told(impossible[i].state, impossible[i].cause);
	}
	give(&(struct give){.trial = 7, .attempt = 1, .until = 1}); /* the worker goes on */
	take(&got, 1, "7-1.ckpt", "stop");
	no_more();
}

/* What fits no device says something of the trial; what others have taken does not. */
static const struct {
	size_t free_bytes, total_bytes;
	const char *state, *cause;
} short_of[] = {
	{50000, 100000, "INFEASIBLE", "oom"},
	{50000, (size_t)1 << 30, "FAILED", "no memory now: a row at a time needs "},
	/* enough for the arena, but a step finds none */
	{(size_t)1 << 29, (size_t)1 << 30, "FAILED", "no memory now: training failed on cpu"},
};

static int shortage;

static void lacks_memory(void)
{
	give(&(struct give){
		.trial = 7, .attempt = 1, .model = "[{\"linear\":1000},{\"linear\":3}]"});
	told(short_of[shortage].state, short_of[shortage].cause);
	no_more();
}

/* --- the worker's side --- */

TEST(run_without_a_better_loss_ends_with_patience_as_its_cause)
{
	play(loses_patience);
	logged("ended after epoch 2: patience: val_loss not lower for 1 epoch\n");
	logged("ended after epoch 3: patience: val_loss not lower for 2 epochs\n");
	play(is_stopped_before_patience);
	ck_assert_msg(strstr(d.logs, "patience") == NULL, "%s", d.logs);
}

TEST(run_that_is_lost_at_the_end_of_patience_ends_there)
{
	play(is_lost_without_patience);
}

TEST(run_that_its_parameters_make_impossible_is_infeasible)
{
	play(draws_the_impossible);
}

static sw_status short_memory(size_t *free_bytes, size_t *total_bytes)
{
	*free_bytes = short_of[shortage].free_bytes;
	*total_bytes = short_of[shortage].total_bytes;
	return SW_OK;
}

static sw_status no_backward(struct sw_queue *q, const float *x, const float *w, const float *y,
			     float *dy, float *dx, float *dw, float *db, size_t B, size_t in,
			     size_t out, enum sw_act act, const void *kept)
{
	(void)q, (void)x, (void)w, (void)y, (void)dy, (void)dx, (void)dw, (void)db;
	(void)B, (void)in, (void)out, (void)act, (void)kept;
	return SW_NOMEM;
}

TEST_LOOP(run_that_others_leave_no_memory_has_failed_and_is_not_infeasible, 0, 3)
{
	struct sw_ops ops = sw_ops_cpu;
	struct sw_runner runner = {.ops = &ops, .q = queue, .device = "cpu:0"};

	shortage = _i;
	ops.memory = short_memory;
	ops.linear_backward = no_backward;
	ck_assert_int_eq(sw_data_cache_create(&runner.cache, &ops), SW_OK);
	play_as(&runner, lacks_memory);
	sw_data_cache_destroy(runner.cache);
}

TEST(run_that_diverges_leaves_no_checkpoint)
{
	play(diverges);
	ck_assert_uint_eq(names_in(folder, NULL), 0);
}

RUN_TESTS(trial_setup, trial_teardown)
