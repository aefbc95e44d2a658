/* tests/trainer/net/test_cuda_pipeline.c — a model in stages on devices: what crosses a cut goes by
 * the stand-in for NCCL, by calls and in each stage's graph. The oracle is ranks without stages. */
#include "tests/trainer/net/cuda_gang.h"
#include <signal.h>

/* The last batch is smaller, with fewer parts than there are stages. */
static const struct {
	uint64_t batch, parts;
	unsigned stages, world;
} shapes[] = {{25, 4, 2, 2}, {25, 5, 3, 3}, {12, 1, 2, 2},
	      {12, 6, 3, 3}, {25, 3, 2, 4}, {4, 2, 2, 4}};

static struct sw_trainer staged(struct sw_trainer t, int i)
{
	t.batch_size = shapes[i].batch;
	t.stages = shapes[i].stages;
	t.microbatches = shapes[i].parts;
	return t;
}

/* What ranks that share batches as the pipelines do, with the same parts, but without stages,
 * see. */
static void unstaged(int i, struct sw_trainer t, struct rank *out)
{
	const unsigned world = shapes[i].world / shapes[i].stages;
	const uint64_t share = (t.batch_size + world - 1) / world;

	t.stages = 1;
	t.micro_batch = (share + shapes[i].parts - 1) / shapes[i].parts;
	if (world == 1) {
		rank_train(cuda, &t, NULL, out);
		return;
	}
	gang_run(world, t, NULL);
	*out = ranks[0];
}

/* _i & 1: the optimizer, and clipping; _i / 2: the shape */
TEST_LOOP(pipeline_on_devices_has_the_bits_of_ranks_without_stages, 0, 2 * (int)ROWS(shapes))
{
	struct sw_trainer t = staged(_i & 1 ? adam : sgd, _i / 2);
	static struct rank one;

	t.clip_norm = _i & 1 ? 0.5 : 0;
	unstaged(_i / 2, t, &one);
	gang_run(shapes[_i / 2].world, t, NULL);
	gang_is(shapes[_i / 2].world, &one);
	ck_assert_uint_gt(ranks[0].fake.moves, 0);
	/* each stage has a graph for every whole batch but the first */
	ck_assert_uint_eq(graph_runs,
			  shapes[_i / 2].world * (EPOCHS * (data.train.rows / t.batch_size) - 1));
	ck_assert_uint_ne(data.train.rows % t.batch_size, 0);
}

TEST(pipeline_on_devices_has_graphs_on_all_stages_or_on_none)
{
	struct sw_ops calls = *cuda;
	const struct sw_ops *const tables[] = {NULL, &calls};
	const struct sw_trainer t = staged(sgd, 0);
	static struct rank one;

	calls.graph_begin = no_graphs;
	unstaged(0, t, &one);
	gang_run(2, t, tables);
	gang_is(2, &one);
	ck_assert_uint_eq(graph_runs, 0);
}

/* In the first step, which is made by calls, and later: by calls, or in graphs. Of four ranks rank
 * 0 has one communicator with all, and one with rank 2. */
static const struct {
	int shape;
	unsigned from;
	bool calls;
} failures[] = {{0, 1, false}, {0, 5, false}, {4, 1, false}, {4, 4, true},
		{4, 7, true},  {4, 11, true}, {4, 2, false}, {4, 3, false}};

TEST_ROWS(pipeline_on_devices_ends_when_a_stage_fails, failures)
{
	struct sw_ops calls = *cuda, failing;
	const struct sw_ops *const tables[WORLD_MOST] = {&calls, &failing, &calls, &calls};

	if (failures[_i].calls)
		calls.graph_begin = no_graphs;
	failing = calls;
	failing.linear_forward = failing_forward;
	fail_from = failures[_i].from;
	gang_run(shapes[failures[_i].shape].world, staged(sgd, failures[_i].shape), tables);
	gang_failed(shapes[failures[_i].shape].world);
}

#ifdef SW_SHIM_WATCH
/* A value that is sent before it is made; one that is read before it has come. */
START_TEST(shim_aborts_at_a_stage_that_does_not_wait_for_a_value)
{
	struct sw_ops wrong = *cuda;
	const struct sw_ops *const tables[] = {_i ? NULL : &wrong, _i ? &wrong : NULL};

	if (_i)
		wrong.join = join_never;
	else
		wrong.fork = fork_late;
	gang_run(2, staged(sgd, 0), tables);
}
END_TEST
#endif

SUITE(tcase)
{
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
#ifdef SW_SHIM_WATCH
	tcase_add_loop_test_raise_signal(
		tcase, shim_aborts_at_a_stage_that_does_not_wait_for_a_value, SIGABRT, 0, 2);
#endif
}
