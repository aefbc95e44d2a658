/* tests/trainer/net/test_cuda_gang.c — ranks on devices: each a thread with a stand-in device, sums
 * of gradients by the stand-in for NCCL beside the backward pass, and so what crosses a pipeline's
 * cuts, by calls and in graphs. The oracle is as many ranks without stages, or one, that take
 * batches in the same parts. */
#include "tests/trainer/comm/nccl_ranks.h"
#include "tests/trainer/net/cuda_train.h"
#include <math.h>
#include <signal.h>

#define WORLD_MOST   4
#define WEIGHTS_MOST 1000

/* 58 are trained on: two whole batches of 25, the least that a graph is recorded and run in, and 8
 * rows, so that the last ranks or parts have none; batches of 12 and of 4 leave 10 and 2. */
static const char few[] =
	"{\"format\": \"synthetic\", \"features\": 13, \"rows\": 72, \"classes\": 3}";

/* What a rank saw. */
static struct rank {
	sw_status rc;
	char line[320];
	double loss[EPOCHS][2];
	float set[EPOCHS][3][WEIGHTS_MOST];
	size_t reports, sets;
	float evaluated[WEIGHTS_MOST]; /* with batch norms: the weights of its last evaluation */
} ranks[WORLD_MOST];

static _Thread_local struct rank *own; /* of this thread */

/* A device works on while its host waits for another rank: the stand-in's does so at each beat. */
static void device_goes_on(void *ctx)
{
	sw_shim_go_on();
	if (baton_mine)
		baton_pass(ctx);
}

static bool rank_report(void *ctx, const struct sw_epoch *e)
{
	struct rank *me = ctx;
	const size_t n = me->reports++;

	me->loss[n][0] = e->train_loss;
	me->loss[n][1] = e->val_loss;
	me->sets = sw_net_sets(e->net);
	for (size_t i = 0; i < me->sets; i++)
		ck_assert_int_eq(sw_net_set_download(e->net, i, me->set[n][i]), SW_OK);
	return true;
}

static void rank_train(const struct sw_ops *ops, const struct sw_trainer *t, struct sw_comm *c,
		       struct rank *me)
{
	const struct sw_train_hooks hooks = {.ctx = me, .comm = c, .report = rank_report};
	struct sw_err why = SW_ERR_INIT;
	enum sw_train_end end;

	memset(me, 0, sizeof *me);
	own = me;
	ck_assert_uint_le(model.weights_n, WEIGHTS_MOST);
	sw_beat_to(device_goes_on, NULL, 200);
	me->rc = sw_train_run(ops, queue, &model, &data, t, 3, &hooks, &end, &why);
	sw_beat_to(NULL, NULL, 0);
	snprintf(me->line, sizeof me->line, "%s", why.msg);
	sw_comm_close(c);
}

/* Of the gang that runs: of each rank the table, or NULL. */
static const struct sw_ops *const *tables;
static struct sw_trainer trainer;
static unsigned graph_runs; /* of all its ranks, afterwards */

/* Of the machine between the GPUs: nothing comes; the nth sum of one rank is wrong. */
static struct {
	bool dead;
	unsigned rank, wrong_at;
} between;

static void rank_runs(unsigned rank)
{
	fake->dead = between.dead;
	fake->wrong_at = rank == between.rank ? between.wrong_at : 0;
	queue = q;
	load_on(cuda, rows);
	rank_train(tables && tables[rank] ? tables[rank] : cuda, &trainer, comm, &ranks[rank]);
	close_on(cuda);
}

/* Runs as many ranks to their ends; of each the table is what `of` says, or the CUDA one. */
static void gang_run(unsigned world, struct sw_trainer t, const struct sw_ops *const *of)
{
	const unsigned live = sw_shim.live;

	tables = of;
	trainer = t;
	trainer.ranks = world / (t.stages > 1 ? t.stages : 1);
	sw_shim.graph_runs = 0;
	ranks_run(world, rank_runs);
	graph_runs = sw_shim.graph_runs;
	ck_assert_uint_eq(sw_shim.live, live);
}

/* What ranks that share batches as the pipelines do, or one in place of ranks without stages, see
 * with the same parts. */
static struct rank *unstaged(unsigned world, struct sw_trainer t)
{
	static struct rank one;
	const unsigned sharers = t.stages > 1 ? world / (unsigned)t.stages : world;
	const uint64_t share = (t.batch_size + sharers - 1) / sharers;

	t.micro_batch = t.stages > 1 ? (share + t.microbatches - 1) / t.microbatches : share;
	if (t.stages > 1 && sharers > 1) {
		t.stages = 1;
		gang_run(sharers, t, NULL);
		one = ranks[0];
	} else {
		t.stages = 1;
		rank_train(cuda, &t, NULL, &one);
	}
	ck_assert_msg(one.rc == SW_OK, "%s", one.line);
	ck_assert_uint_eq(one.reports, EPOCHS);
	return &one;
}

static void all_ended_well(unsigned world)
{
	for (unsigned r = 0; r < world; r++) {
		ck_assert_msg(ranks[r].rc == SW_OK, "rank %u: %s", r, ranks[r].line);
		ck_assert_uint_eq(ranks[r].reports, r == 0 ? EPOCHS : 0);
	}
}

/* Ranks, or stages, end well and see what others see without them. */
static void gang_is_unstaged(unsigned world, struct sw_trainer t, const struct sw_ops *const *of)
{
	const struct rank *one = unstaged(world, t);

	gang_run(world, t, of);
	all_ended_well(world);
	for (size_t e = 0; e < EPOCHS; e++) {
		for (size_t i = 0; i < one->sets; i++)
			for (size_t k = 0; k < model.weights_n;
			     k++) /* a zero may have another sign */
				ck_assert_msg(ranks[0].set[e][i][k] == one->set[e][i][k],
					      "epoch %zu, set %zu, %zu: %g, not %g", e, i, k,
					      (double)ranks[0].set[e][i][k],
					      (double)one->set[e][i][k]);
		for (int i = 0; i < 2; i++)
			ck_assert_double_eq_tol(ranks[0].loss[e][i], one->loss[e][i], 1e-12);
	}
	if (t.stages > 1)
		ck_assert_uint_gt(fakes[0].moves, 0);
	else
		ck_assert_uint_gt(fakes[0].sums, 0);
	for (unsigned r = 0; r < world && t.stages <= 1; r++)
		ck_assert_uint_eq(fakes[r].sums, fakes[0].sums);
}

static const struct shape {
	uint64_t batch, parts;
	unsigned stages, world;
} shapes[] = {{25, 0, 1, 2}, {4, 0, 1, 2},  {25, 0, 1, 3}, {4, 0, 1, 3},  {25, 4, 2, 2},
	      {25, 5, 3, 3}, {12, 1, 2, 2}, {12, 6, 3, 3}, {25, 3, 2, 4}, {4, 2, 2, 4}};

static struct sw_trainer shaped(struct sw_trainer t, const struct shape *s)
{
	t.batch_size = s->batch;
	t.stages = s->stages;
	t.microbatches = s->parts;
	return t;
}

/* A graph for every whole batch but the first, or but so many. */
static unsigned graphs_but(unsigned n, unsigned world, const struct sw_trainer *t)
{
	return world * ((unsigned)(EPOCHS * (data.train.rows / t->batch_size)) - n);
}

/* _i & 1: the optimizer, and clipping in a pipeline; _i / 2: the shape */
TEST_LOOP(gang_on_devices_has_the_bits_of_ranks_without_stages, 0, 2 * (int)ROWS(shapes))
{
	const struct shape *s = &shapes[_i / 2];
	struct sw_trainer t = shaped(_i & 1 ? adam : sgd, s);

	t.clip_norm = (s->stages > 1 ? _i & 1 : _i & 2) ? 0.5 : 0;
	gang_is_unstaged(s->world, t, NULL);
	ck_assert_uint_eq(graph_runs, graphs_but(1, s->world, &t));
	ck_assert_uint_ne(data.train.rows % t.batch_size, 0);
}

/* --- batch norms over the rows of all ranks --- */

/* No bias is right in front of a norm: its gradient would be 0 but for rounding, and Adam divides
 * it by its own size. */
static const char normed[] = "[{\"linear\": 20}, \"relu\", \"batchnorm\", {\"dropout\": 0.2}, "
			     "{\"linear\": 12}, \"tanh\", \"batchnorm\", {\"linear\": 3}]";
#define FIRST_NORM 2

/* All weights, from those of the first batch norm. */
static sw_status noted_eval(struct sw_queue *on, const float *x, const float *gamma,
			    const float *beta, const float *running_mean, const float *running_var,
			    float *y, size_t B, size_t C, size_t S, struct sw_norm n)
{
	const sw_status rc = C == model.op[FIRST_NORM].from.c
				     ? cuda->download(on, own->evaluated,
						      gamma - model.op[FIRST_NORM].w,
						      model.weights_n * sizeof *own->evaluated)
				     : SW_OK;

	return rc != SW_OK ? rc
			   : cuda->batchnorm_eval(on, x, gamma, beta, running_mean, running_var, y,
						  B, C, S, n);
}

/* Sums in another order: rounding, and what Adam and the steps since have made of it. Without sync
 * a weight is 0.01 off at once. */
#define NEAR 1e-4

/* Each two of these: of three ranks the last has no rows of the last batch. */
static const struct {
	const struct sw_trainer *trainer;
	bool graphs;
	unsigned world;
} synced[] = {{&sgd, true, 2}, {&adam, false, 2}, {&adam, true, 3}, {&sgd, false, 3}};

TEST_ROWS(gang_on_devices_with_sync_is_one_rank_with_the_whole_batch, synced)
{
	struct sw_ops noted = *cuda;
	const struct sw_ops *const of[] = {&noted, &noted, &noted};
	struct sw_trainer t = *synced[_i].trainer;
	const unsigned world = synced[_i].world;
	static struct rank one;

	model_make(normed);
	noted.batchnorm_eval = noted_eval;
	if (!synced[_i].graphs)
		noted.graph_begin = no_graphs;
	ck_assert_uint_le(data.train.rows % 25, 18);
	rank_train(&noted, &t, NULL, &one);
	ck_assert_msg(one.rc == SW_OK, "%s", one.line);
	t.sync_batchnorm = true;
	gang_run(world, t, of);
	ck_assert_uint_eq(graph_runs, synced[_i].graphs ? graphs_but(1, world, &t) : 0);
	all_ended_well(world);
	for (unsigned r = 0; r < world; r++) {
		ck_assert_mem_eq(ranks[r].evaluated, ranks[0].evaluated, sizeof ranks[r].evaluated);
		ck_assert_uint_eq(fakes[r].sums, fakes[0].sums);
	}
	for (size_t k = 0; k < model.weights_n; k++)
		ck_assert_double_eq_tol((double)ranks[0].evaluated[k], (double)one.evaluated[k],
					NEAR);
	for (size_t e = 0; e < t.epochs; e++)
		for (int i = 0; i < 2; i++)
			ck_assert_double_eq_tol(ranks[0].loss[e][i], one.loss[e][i], NEAR);
}

/* --- graphs, and rows --- */

/* _i: which ranks, or in the last stages, have no graphs, by bits: then none has */
TEST_LOOP(gang_on_devices_has_graphs_on_all_ranks_or_on_none, 1, 5)
{
	struct sw_ops calls = *cuda;
	const bool staged = _i == 4;
	const struct sw_ops *const of[] = {_i & 1 ? &calls : NULL,
					   _i & 2 || staged ? &calls : NULL};

	calls.graph_begin = no_graphs;
	gang_is_unstaged(2, shaped(sgd, &shapes[staged ? 4 : 0]), of);
	ck_assert_uint_eq(graph_runs, 0);
}

static sw_status disturbed_begin(struct sw_queue *on)
{
	static _Thread_local unsigned times;
	const sw_status rc = cuda->graph_begin(on);

	if (times++ < 2)
		sw_shim_disturb();
	return rc;
}

static sw_status spoiled_end(struct sw_queue *on, struct sw_graph **out)
{
	static _Thread_local unsigned times;

	sw_shim.spoil = times++ < 2;
	return cuda->graph_end(on, out);
}

/* Rank 1's first two recordings fail: the others' graphs wait for its third. _i: they are spoiled
 * when all is recorded; before a call of NCCL is, which would be the end of the communicator */
TEST_LOOP(gang_on_devices_waits_for_the_last_graph, 0, 2)
{
	struct sw_ops spoiled = *cuda;
	const struct sw_ops *const of[] = {NULL, &spoiled};

	if (_i)
		spoiled.graph_begin = disturbed_begin;
	else
		spoiled.graph_end = spoiled_end;
	gang_is_unstaged(2, sgd, of);
	ck_assert_uint_eq(graph_runs, graphs_but(3, 2, &sgd));
}

/* Rows that do not fit the device: two buffers by turns. */
TEST(gang_on_devices_whose_rows_are_staged_has_the_same_bits)
{
	sw_data_fini(&data);
	device_bytes = 1000;
	load_on(cuda, rows);
	ck_assert(data.streamed);
	gang_is_unstaged(2, adam, NULL);
	device_bytes = 0;
	ck_assert_uint_gt(graph_runs, 0);
}

/* --- a rank that fails --- */

static unsigned fail_from; /* the nth product of rank 1 fails */

static sw_status failing_forward(struct sw_queue *on, const float *x, const float *w,
				 const float *b, float *y, size_t B, size_t in, size_t out,
				 enum sw_act act, void *kept)
{
	static _Thread_local unsigned calls;

	return ++calls == fail_from ? SW_UNSUPPORTED
				    : cuda->linear_forward(on, x, w, b, y, B, in, out, act, kept);
}

/* In the first step, which is made by calls, and later: by calls, or in graphs; in an evaluation.
 * Of four ranks rank 0 has one communicator with all, and one with rank 2. */
static const struct {
	size_t shape;
	unsigned from;
	bool calls;
} failures[] = {{0, 2, false}, {0, 10, false}, {4, 1, false}, {4, 5, false}, {8, 1, false},
		{8, 4, true},  {8, 7, true},   {8, 11, true}, {8, 2, false}, {8, 3, false}};

TEST_ROWS(gang_on_devices_ends_when_a_rank_fails, failures)
{
	const struct shape *s = &shapes[failures[_i].shape];
	struct sw_ops calls = *cuda, failing;
	const struct sw_ops *const of[WORLD_MOST] = {&calls, &failing, &calls, &calls};

	if (failures[_i].calls)
		calls.graph_begin = no_graphs;
	failing = calls;
	failing.linear_forward = failing_forward;
	fail_from = failures[_i].from;
	gang_run(s->world, shaped(sgd, s), of);
	for (unsigned r = 0; r < s->world; r++) {
		ck_assert_int_eq(ranks[r].rc, SW_UNSUPPORTED);
		ck_assert_msg(strncmp(ranks[r].line, "rank 1: ", r == 1 ? 0 : 8) == 0,
			      "rank %u: %s", r, ranks[r].line);
	}
}

/* --- a machine whose GPUs do not reach each other --- */

#define HELP ": set NCCL_P2P_DISABLE=1 for sweepd, or switch PCIe's ACS off"
#define WAIT "GPUs wait for each other's first sum" HELP
#define AT_7 "number 7 of GPUs' first sum is "

/* Of four ranks in two pipelines the first sum is of floats, of a rank's own stage: 1000 (r + 1) +
 * 7 of ranks 1 and 3; the second is of all ranks' doubles. */
static const struct {
	size_t shape;
	unsigned rank, wrong_at; /* 0: nothing comes */
	const char *line;
} machines[] = {
	{0, 0, 0, WAIT},
	{8, 0, 0, WAIT},
	{4, 0, 0, WAIT},
	{0, 0, 1, AT_7 "3014.5, not 3014" HELP},
	{0, 1, 1, "rank 1: " AT_7 "3014.5, not 3014" HELP},
	{8, 1, 1, "rank 1: " AT_7 "6014.5, not 6014" HELP},
	{8, 3, 2, "rank 3: " AT_7 "10029, not 10028" HELP},
};

TEST_ROWS(gang_on_devices_whose_sums_are_not_sums_trains_on_none, machines)
{
	const struct shape *s = &shapes[machines[_i].shape];

	between.dead = machines[_i].wrong_at == 0;
	between.rank = machines[_i].rank;
	between.wrong_at = machines[_i].wrong_at;
	atomic_store(&flies, between.dead); /* 20 s */
	gang_run(s->world, shaped(sgd, s), NULL);
	for (unsigned r = 0; r < s->world; r++) {
		const char *line = ranks[r].line;

		ck_assert_int_eq(ranks[r].rc, SW_BUSY);
		if (between.dead && strncmp(line, "rank ", 5) == 0) /* whose time is over first */
			line += strlen("rank 1: ");
		ck_assert_str_eq(line, machines[_i].line);
		ck_assert_uint_eq(ranks[r].reports + ranks[r].sets, 0);
		ck_assert_uint_gt(fakes[r].aborts, 0);
	}
}

static _Thread_local bool records;

static sw_status noted_begin(struct sw_queue *on)
{
	records = true;
	return cuda->graph_begin(on);
}

static sw_status spoiled_fork(struct sw_queue *on, void **stream)
{
	const sw_status rc = cuda->fork(on, stream);

	if (records)
		sw_shim_disturb();
	return rc;
}

/* Of a sum, or what crosses a cut: the communicator has ended, the GPU is well. */
TEST_LOOP(gang_on_devices_whose_recording_is_spoiled_loses_no_device, 0, 2)
{
	struct sw_ops spoiled = *cuda;
	const struct sw_ops *const of[] = {NULL, &spoiled};

	spoiled.graph_begin = noted_begin;
	spoiled.fork = spoiled_fork;
	gang_run(2, shaped(sgd, &shapes[_i ? 4 : 0]), of);
	for (unsigned r = 0; r < 2; r++) {
		ck_assert_int_eq(ranks[r].rc, SW_BUSY);
		ck_assert_msg(strncmp(ranks[r].line, "rank 1: in a recording, nccl", 28) == 0, "%s",
			      ranks[r].line);
	}
}

#ifdef SW_SHIM_WATCH
/* --- a wait that is left out --- */

static unsigned left_out; /* of the calls the one that is not made; 0: all but the first */
static _Thread_local unsigned times;

static bool makes(void)
{
	times++;
	return left_out ? times != left_out : times == 1;
}

static sw_status fork_but_once(struct sw_queue *on, void **stream)
{
	static _Thread_local void *known;
	const sw_status rc = makes() ? cuda->fork(on, &known) : SW_OK;

	*stream = known;
	return rc;
}

static sw_status join_but_once(struct sw_queue *on)
{
	return makes() ? cuda->join(on) : SW_OK;
}

static sw_status join_never(struct sw_queue *on)
{
	(void)on;
	return SW_OK;
}

/* Before all others there is a fork, and a join, of the sum that proves the way between devices. A
 * step of two batch norms with sync has five forks and five joins, of which the last are of the
 * gradients' sum; the others are of the norms' sums, forward and backward. The first fork makes the
 * stream. Of a stage: a value that is sent before it is made, one that is read before it has
 * come. */
static const struct {
	const char *layers;
	size_t shape;
	unsigned world, rank;
	bool fork;
	unsigned left_out;
} unsynced[] = {
	{normed, 0, 1, 0, false, 2}, {normed, 0, 1, 0, false, 3}, {normed, 0, 1, 0, false, 4},
	{normed, 0, 1, 0, false, 5}, {normed, 0, 1, 0, true, 3},  {normed, 0, 1, 0, true, 4},
	{normed, 0, 1, 0, true, 5},  {layers, 0, 1, 0, true, 0},  {layers, 0, 1, 0, false, 0},
	{layers, 4, 2, 0, true, 0},  {layers, 4, 2, 1, false, 0},
};

START_TEST(shim_aborts_at_a_net_that_does_not_wait)
{
	struct sw_ops wrong = *cuda;
	const struct sw_ops *of[2] = {NULL};
	struct sw_trainer t = shaped(sgd, &shapes[unsynced[_i].shape]);

	model_make(unsynced[_i].layers);
	t.sync_batchnorm = unsynced[_i].layers == normed;
	left_out = unsynced[_i].left_out;
	if (unsynced[_i].fork)
		wrong.fork = fork_but_once;
	else
		wrong.join = left_out ? join_but_once : join_never;
	of[unsynced[_i].rank] = &wrong;
	gang_run(unsynced[_i].world, t, of);
}
END_TEST
#endif

static void setup_few(void)
{
	rows = few;
	setup();
}

SUITE(tcase)
{
	tcase_add_checked_fixture(tcase, setup_few, teardown);
	tcase_set_timeout(tcase, 60);
#ifdef SW_SHIM_WATCH
	tcase_add_loop_test_raise_signal(tcase, shim_aborts_at_a_net_that_does_not_wait, SIGABRT, 0,
					 (int)ROWS(unsynced));
#endif
}
