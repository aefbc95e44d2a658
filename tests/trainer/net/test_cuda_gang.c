/* tests/trainer/net/test_cuda_gang.c — ranks on devices: each a thread with a stand-in device, sums
 * of gradients by the stand-in for NCCL beside the backward pass, by calls and in graphs. The
 * oracle is one rank that takes batches in as many parts. */
#include "tests/trainer/net/cuda_gang.h"
#include <math.h>
#include <signal.h>

/* All end well, and as one rank with parts does. */
static void gang_is_one(unsigned world, struct sw_trainer t, const struct sw_ops *const *tables)
{
	static struct rank one;

	gang_run(world, t, tables);
	t.micro_batch = (t.batch_size + world - 1) / world;
	rank_train(cuda, &t, NULL, &one);
	gang_is(world, &one);
	ck_assert_uint_gt(ranks[0].fake.sums, 0);
	for (unsigned r = 0; r < world; r++)
		ck_assert_uint_eq(ranks[r].fake.sums, ranks[0].fake.sums);
}

/* The last batch is smaller, and of those of 4 leaves the last rank without rows. */
static const struct {
	uint64_t batch;
	unsigned world;
} shapes[] = {{25, 2}, {4, 2}, {25, 3}, {4, 3}};

/* _i & 1: the optimizer; _i / 2: the shape */
TEST_LOOP(gang_on_devices_has_the_bits_of_one_rank, 0, 2 * (int)ROWS(shapes))
{
	struct sw_trainer t = _i & 1 ? adam : sgd;
	const unsigned world = shapes[_i / 2].world;

	t.batch_size = shapes[_i / 2].batch;
	t.clip_norm = _i & 2 ? 0.5 : 0;
	gang_is_one(world, t, NULL);
	/* every whole batch but the first */
	ck_assert_uint_eq(graph_runs, world * (EPOCHS * (data.train.rows / t.batch_size) - 1));
	ck_assert_uint_ne(data.train.rows % t.batch_size, 0);
}

/* --- batch norms over the rows of all ranks --- */

/* No bias is right in front of a norm: its gradient would be 0 but for rounding, and Adam divides
 * it by its own size. */
static const char normed[] = "[{\"linear\": 20}, \"relu\", \"batchnorm\", {\"dropout\": 0.2}, "
			     "{\"linear\": 12}, \"tanh\", \"batchnorm\", {\"linear\": 3}]";
#define FIRST_NORM 2

/* All weights, from those of the first batch norm. */
static sw_status noted_eval(struct sw_queue *q, const float *x, const float *gamma,
			    const float *beta, const float *running_mean, const float *running_var,
			    float *y, size_t B, size_t C, size_t S, struct sw_norm n)
{
	const sw_status rc = C == model.op[FIRST_NORM].from.c
				     ? cuda->download(q, own->evaluated,
						      gamma - model.op[FIRST_NORM].w,
						      model.weights_n * sizeof *own->evaluated)
				     : SW_OK;

	return rc != SW_OK ? rc
			   : cuda->batchnorm_eval(q, x, gamma, beta, running_mean, running_var, y,
						  B, C, S, n);
}

/* Sums in another order: rounding, and what Adam and the steps since have made of it. Without sync
 * a weight is 0.01 off at once. */
#define NEAR 1e-4

/* _i & 1: the optimizer; _i & 2: without graphs; _i / 4: two ranks, or three, of which the last has
 * no rows of the last batch */
TEST_LOOP(gang_on_devices_with_sync_is_one_rank_with_the_whole_batch, 0, 8)
{
	struct sw_ops noted = *cuda;
	const struct sw_ops *const tables[] = {&noted, &noted, &noted};
	struct sw_trainer t = _i & 1 ? adam : sgd;
	const unsigned world = 2 + (unsigned)_i / 4;
	static struct rank one;

	model_make(normed);
	noted.batchnorm_eval = noted_eval;
	if (_i & 2)
		noted.graph_begin = no_graphs;
	ck_assert_uint_le(data.train.rows % 25, 18);
	rank_train(&noted, &t, NULL, &one);
	ck_assert_msg(one.rc == SW_OK, "%s", one.line);
	t.sync_batchnorm = true;
	gang_run(world, t, tables);
	ck_assert_uint_eq(graph_runs,
			  _i & 2 ? 0 : world * (t.epochs * (data.train.rows / t.batch_size) - 1));
	for (unsigned r = 0; r < world; r++) {
		ck_assert_msg(ranks[r].rc == SW_OK, "rank %u: %s", r, ranks[r].line);
		ck_assert_mem_eq(ranks[r].evaluated, ranks[0].evaluated, sizeof ranks[r].evaluated);
		ck_assert_uint_eq(ranks[r].fake.sums, ranks[0].fake.sums);
	}
	for (size_t k = 0; k < model.weights_n; k++)
		ck_assert_double_eq_tol((double)ranks[0].evaluated[k], (double)one.evaluated[k],
					NEAR);
	for (size_t e = 0; e < t.epochs; e++)
		for (int i = 0; i < 2; i++)
			ck_assert_double_eq_tol(ranks[0].loss[e][i], one.loss[e][i], NEAR);
}

/* _i: which ranks have no graphs, by bits: then none has */
TEST_LOOP(gang_on_devices_has_graphs_on_all_ranks_or_on_none, 1, 4)
{
	struct sw_ops calls = *cuda;
	const struct sw_ops *const tables[] = {_i & 1 ? &calls : NULL, _i & 2 ? &calls : NULL};

	calls.graph_begin = no_graphs;
	gang_is_one(2, sgd, tables);
	ck_assert_uint_eq(graph_runs, 0);
}

static sw_status disturbed_begin(struct sw_queue *q)
{
	static _Thread_local unsigned times;
	const sw_status rc = cuda->graph_begin(q);

	if (times++ < 2)
		sw_shim_disturb();
	return rc;
}

static sw_status spoiled_end(struct sw_queue *q, struct sw_graph **out)
{
	static _Thread_local unsigned times;

	sw_shim.spoil = times++ < 2;
	return cuda->graph_end(q, out);
}

/* Rank 1's first two recordings fail: the others' graphs wait for its third. _i: they are spoiled
 * when all is recorded; before a call of NCCL is, which would be the end of the communicator */
TEST_LOOP(gang_on_devices_waits_for_the_last_graph, 0, 2)
{
	struct sw_ops spoiled = *cuda;
	const struct sw_ops *const tables[] = {NULL, &spoiled};

	if (_i)
		spoiled.graph_begin = disturbed_begin;
	else
		spoiled.graph_end = spoiled_end;
	gang_is_one(2, sgd, tables);
	ck_assert_uint_eq(graph_runs, 2 * (EPOCHS * (data.train.rows / sgd.batch_size) - 3));
}

/* Rows that do not fit the device: two buffers by turns. */
TEST(gang_on_devices_whose_rows_are_staged_has_the_same_bits)
{
	sw_data_fini(&data);
	device_bytes = 1000;
	load_on(cuda, wine);
	ck_assert(data.streamed);
	gang_is_one(2, adam, NULL);
	device_bytes = 0;
	ck_assert_uint_gt(graph_runs, 0);
}

/* _i: in the first step, in an evaluation */
TEST_LOOP(gang_on_devices_ends_when_a_rank_fails, 0, 2)
{
	static const unsigned from[] = {2, 10};
	struct sw_ops failing = *cuda;
	const struct sw_ops *const tables[] = {NULL, &failing};

	failing.linear_forward = failing_forward;
	fail_from = from[_i];
	gang_run(2, sgd, tables);
	gang_failed(2);
}

#ifdef SW_SHIM_WATCH
static unsigned left_out; /* of the calls the one that is not made */
static _Thread_local unsigned times;

static sw_status fork_but_once(struct sw_queue *q, void **stream)
{
	static _Thread_local void *known;
	sw_status rc = SW_OK;

	if (++times != left_out)
		rc = cuda->fork(q, &known);
	*stream = known;
	return rc;
}

static sw_status join_but_once(struct sw_queue *q)
{
	return ++times == left_out ? SW_OK : cuda->join(q);
}

/* A step has five forks and five joins, of which the last are of the gradients' sum; the others are
 * of the two norms' sums, forward and backward. The first fork makes the stream. */
static const struct {
	bool fork;
	unsigned nth;
} unsynced[] = {{false, 1}, {false, 2}, {false, 3}, {false, 4}, {true, 2}, {true, 3}, {true, 4}};

START_TEST(shim_aborts_at_a_batch_norm_that_does_not_wait_for_sums)
{
	struct sw_ops wrong = *cuda;
	const struct sw_ops *const tables[] = {&wrong};
	struct sw_trainer t = sgd;

	model_make(normed);
	t.sync_batchnorm = true;
	left_out = unsynced[_i].nth;
	if (unsynced[_i].fork)
		wrong.fork = fork_but_once;
	else
		wrong.join = join_but_once;
	gang_run(1, t, tables);
}
END_TEST

/* _i: the fork is forgotten, the join */
START_TEST(shim_aborts_at_a_net_that_does_not_wait_for_sums)
{
	struct sw_ops wrong = *cuda;
	const struct sw_ops *const tables[] = {&wrong};

	if (_i)
		wrong.join = join_never;
	else
		wrong.fork = fork_late;
	gang_run(1, sgd, tables);
}
END_TEST
#endif

SUITE(tcase)
{
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
#ifdef SW_SHIM_WATCH
	tcase_add_loop_test_raise_signal(tcase,
					 shim_aborts_at_a_batch_norm_that_does_not_wait_for_sums,
					 SIGABRT, 0, (int)ROWS(unsynced));
	tcase_add_loop_test_raise_signal(tcase, shim_aborts_at_a_net_that_does_not_wait_for_sums,
					 SIGABRT, 0, 2);
#endif
}
