/* tests/worker/net/test_cuda_pipeline.c — a model in stages on devices: what crosses a cut goes by
 * the stand-in for NCCL, by calls and in each stage's graph. The oracle is ranks without stages. */
#include "tests/worker/net/cuda_gang.h"

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
	int ends[WORLD_MOST];

	t.stages = 1;
	t.micro_batch = (share + shapes[i].parts - 1) / shapes[i].parts;
	if (world == 1) {
		rank_train(cuda, &t, NULL, out);
		return;
	}
	gang_run(world, t, NULL);
	gang_ends(world, ends);
	*out = ranks[0];
}

/* _i & 1: the optimizer, and clipping; _i / 2: the shape */
TEST_LOOP(pipeline_on_devices_has_the_bits_of_ranks_without_stages, 0, 2 * (int)ROWS(shapes))
{
	struct sw_trainer t = staged(_i & 1 ? adam : sgd, _i / 2);
	static struct rank one;
	int ends[WORLD_MOST];

	t.clip_norm = _i & 1 ? 0.5 : 0;
	unstaged(_i / 2, t, &one);
	gang_run(shapes[_i / 2].world, t, NULL);
	gang_ends(shapes[_i / 2].world, ends);
	gang_is(shapes[_i / 2].world, ends, &one);
	ck_assert_uint_gt(ranks[0].moves, 0);
	/* each stage has a graph for every whole batch but the first */
	ck_assert_uint_eq(ranks[0].graph_runs, EPOCHS * (data.train.rows / t.batch_size) - 1);
	ck_assert_uint_ne(data.train.rows % t.batch_size, 0);
}

TEST(pipeline_on_devices_has_graphs_on_all_stages_or_on_none)
{
	struct sw_ops calls = *cuda;
	const struct sw_ops *const tables[] = {NULL, &calls};
	const struct sw_trainer t = staged(sgd, 0);
	static struct rank one;
	int ends[WORLD_MOST];

	calls.graph_begin = no_graphs;
	unstaged(0, t, &one);
	gang_run(2, t, tables);
	gang_ends(2, ends);
	gang_is(2, ends, &one);
	ck_assert_uint_eq(ranks[0].graph_runs, 0);
}

/* In the first step, which is made by calls, and later: by calls, or in graphs. Of four ranks rank
 * 0 has one communicator with all, and one with rank 2. */
static const struct {
	int shape;
	size_t at;
	bool calls;
} kills[] = {{0, 2, false}, {0, 10, false}, {4, 2, false}, {4, 4, true},   {4, 7, true},
	     {4, 9, true},  {4, 11, true},  {4, 8, false}, {4, 10, false}, {4, 11, false}};

TEST_ROWS(pipeline_on_devices_ends_when_a_stage_is_killed, kills)
{
	const unsigned world = shapes[kills[_i].shape].world;
	struct sw_ops calls = *cuda;
	const struct sw_ops *const tables[WORLD_MOST] = {&calls, &calls, &calls, &calls};
	int ends[WORLD_MOST];
	char line[24];

	if (kills[_i].calls)
		calls.graph_begin = no_graphs;
	kill_at = kills[_i].at;
	ck_assert_int_eq(setenv("SWEEPD_COMM_SILENT_MS", "1000", 1), 0);
	gang_run(world, staged(sgd, kills[_i].shape), tables);
	gang_ends(world, ends);
	ck_assert(WIFSIGNALED(ends[1]));
	(void)snprintf(line, sizeof line, "rank 1 of %u ", world);
	for (unsigned r = 0; r < world; r += r == 0 ? 2 : 1) {
		ck_assert_msg(ends[r] == 0, "rank %u: %x", r, ends[r]);
		ck_assert_int_eq(ranks[r].rc, SW_PEER_LOST);
		ck_assert_msg(strncmp(ranks[r].line, line, strlen(line)) == 0, "rank %u: %s", r,
			      ranks[r].line);
		ck_assert_uint_eq(ranks[r].left, 0);
	}
}

#ifdef SW_SHIM_WATCH
/* A value that is sent before it is made; one that is read before it has come. */
TEST_LOOP(shim_aborts_at_a_stage_that_does_not_wait_for_a_value, 0, 2)
{
	struct sw_ops wrong = *cuda;
	const struct sw_ops *const tables[] = {_i ? NULL : &wrong, _i ? &wrong : NULL};
	int ends[2];

	ck_assert_int_eq(setenv("SWEEPD_COMM_SILENT_MS", "1000", 1), 0);
	if (_i)
		wrong.join = join_never;
	else
		wrong.fork = fork_late;
	gang_run(2, staged(sgd, 0), tables);
	gang_ends(2, ends);
	ck_assert(WIFSIGNALED(ends[_i]) && WTERMSIG(ends[_i]) == SIGABRT);
}
#endif

RUN_TESTS(gang_setup, gang_teardown)
