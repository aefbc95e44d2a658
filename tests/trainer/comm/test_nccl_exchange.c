/* tests/trainer/comm/test_nccl_exchange.c — what two ranks' devices exchange beside the sums of
 * their stages: by calls and recorded, and every way to fail. */
#include "tests/trainer/comm/nccl_ranks.h"
#include <string.h>

#define UP_N (N - 7) /* floats that go up a cut; down go N */

struct shape {
	unsigned world, stages;
};

static struct shape shape;

/* x: the rank's own numbers; w: all that came, in all steps. */
struct work {
	float *x, *g, *w, *from_up, *from_down;
};

static struct work work_new(unsigned rank)
{
	return (struct work){.x = floats((float)(rank + 1) * 0.5f),
			     .g = zeros(),
			     .w = zeros(),
			     .from_up = zeros(),
			     .from_down = zeros()};
}

static void work_free(struct work *k)
{
	o->free(k->x);
	o->free(k->g);
	o->free(k->w);
	o->free(k->from_up);
	o->free(k->from_down);
}

static bool has_up(unsigned rank)
{
	return rank % shape.stages > 0;
}

static bool has_down(unsigned rank)
{
	return rank % shape.stages + 1 < shape.stages;
}

/* As the end of a step: g, which is x, is summed beside what crosses the cuts. */
static sw_status step(const struct work *k)
{
	const unsigned rank = sw_comm_rank(comm);
	void *stream;
	sw_status rc = o->zero(q, k->g, N * sizeof *k->g);

	if (rc == SW_OK)
		rc = o->accumulate(q, k->x, k->g, N);
	if (rc == SW_OK)
		rc = o->fork(q, &stream);
	if (rc == SW_OK)
		rc = sw_comm_sum_begin(comm, stream, k->g, N, shape.world / shape.stages);
	if (rc == SW_OK && has_up(rank))
		rc = sw_comm_exchange(comm, stream, rank - 1, k->x, UP_N, k->from_up, N);
	if (rc == SW_OK && has_down(rank))
		rc = sw_comm_exchange(comm, stream, rank + 1, k->x, N, k->from_down, UP_N);
	if (rc == SW_OK)
		rc = sw_comm_sum_end(comm);
	if (rc == SW_OK)
		rc = o->join(q);
	if (rc == SW_OK)
		rc = o->accumulate(q, k->g, k->w, N);
	if (rc == SW_OK && has_up(rank))
		rc = o->accumulate(q, k->from_up, k->w, N);
	if (rc == SW_OK && has_down(rank))
		rc = o->accumulate(q, k->from_down, k->w, UP_N);
	return rc;
}

static float number(unsigned rank, int i)
{
	return (float)(rank + 1) * 0.5f + (float)i;
}

/* w after so many steps from zeros */
static void expect(const struct work *k, unsigned rank, int steps)
{
	float live[N];

	ck_assert_int_eq(o->download(q, live, k->w, sizeof live), SW_OK);
	for (int i = 0; i < N; i++) {
		float sum = 0;

		for (unsigned r = rank % shape.stages; r < shape.world; r += shape.stages)
			sum += number(r, i);
		if (has_up(rank))
			sum += number(rank - 1, i);
		if (has_down(rank) && i < UP_N)
			sum += number(rank + 1, i);
		ck_assert_float_eq(live[i], sum * (float)steps);
	}
}

static void open_devices(void)
{
	sw_comm_groups(comm, shape.stages);
	ck_assert_msg(sw_comm_devices(comm, &err) == SW_OK, "%s", err.msg);
}

static void by_calls_and_recorded(unsigned rank)
{
	struct work k = work_new(rank);
	struct sw_graph *graph = NULL;

	open_devices();
	ck_assert_int_eq(step(&k), SW_OK);
	expect(&k, rank, 1);
	ck_assert_int_eq(o->graph_begin(q), SW_OK);
	ck_assert_int_eq(step(&k), SW_OK);
	ck_assert_int_eq(o->graph_end(q, &graph), SW_OK);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(o->graph_run(q, graph), SW_OK);
	expect(&k, rank, 4);
	ck_assert_int_eq(step(&k), SW_OK);
	expect(&k, rank, 5);
	ck_assert_uint_eq(fake->sums, shape.world > shape.stages ? 5 : 0);
	ck_assert_uint_eq(fake->moves, 5 * 2 * ((unsigned)has_up(rank) + has_down(rank)));
	o->graph_free(graph);
	work_free(&k);
	ck_assert_int_eq(sw_comm_devices_end(comm), SW_OK);
	ck_assert_uint_eq(fake->ends, shape.stages == 1 || shape.stages == shape.world ? 1 : 2);
	ck_assert_uint_eq(fake->aborts, 0);
	ck_assert_int_eq(sw_comm_barrier(comm), SW_OK);
	rank_close();
}

static const struct shape shapes[] = {{2, 2}, {2, 1}, {3, 3}, {4, 2}, {4, 4}, {4, 1}};

TEST_ROWS(nccl_exchanges_and_sums_of_stages_by_calls_and_recorded, shapes)
{
	shape = shapes[_i];
	ranks_run(shape.world, by_calls_and_recorded);
	ck_assert_uint_eq(sw_shim.live, 0);
}

/* Micro-batches: one only sends, then both, then one only receives; and nothing at all. */
static void one_way(unsigned rank)
{
	struct work k = work_new(rank);
	float live[N];
	void *stream;

	open_devices();
	ck_assert_int_eq(o->fork(q, &stream), SW_OK);
	ck_assert_int_eq(sw_comm_exchange(comm, stream, 1 - rank, NULL, 0, NULL, 0), SW_OK);
	for (int i = 0; i < 3; i++) {
		const bool send = rank == 0 ? i < 2 : i > 0, receive = rank == 0 ? i > 0 : i < 2;

		ck_assert_int_eq(sw_comm_exchange(comm, stream, 1 - rank, k.x + i, send ? 9 : 0,
						  k.from_up + 9 * i, receive ? 9 : 0),
				 SW_OK);
	}
	ck_assert_int_eq(o->join(q), SW_OK);
	ck_assert_int_eq(o->download(q, live, k.from_up, sizeof live), SW_OK);
	for (int i = 0; i < N; i++) {
		const bool came = rank == 0 ? i >= 9 && i < 27 : i < 18;

		ck_assert_float_eq(live[i], came ? number(1 - rank, i / 9 + i % 9) : 0);
	}
	ck_assert_uint_eq(fake->given, 3);
	ck_assert_uint_eq(fake->moves, 4);
	work_free(&k);
	ck_assert_int_eq(sw_comm_devices_end(comm), SW_OK);
	ck_assert_int_eq(sw_comm_barrier(comm), SW_OK);
	rank_close();
}

TEST(nccl_exchange_may_have_one_direction_or_none)
{
	shape = (struct shape){2, 2};
	ranks_run(2, one_way);
}

/* --- faults --- */

static unsigned fail_rank, fail_at; /* that of its calls */
static bool fired;

static void may_fail(unsigned rank)
{
	struct work k = work_new(rank);
	sw_status rc;

	sw_comm_groups(comm, shape.stages);
	rc = sw_comm_barrier(comm); /* all have come now */
	fake->idle_passes = true;
	fake->fail_at = rank == fail_rank ? fail_at : 0;
	if (rc == SW_OK)
		rc = sw_comm_devices(comm, &err);
	if (rc == SW_OK)
		rc = step(&k);
	if (rc == SW_OK)
		rc = o->sync(q);
	if (rc == SW_OK)
		rc = sw_comm_barrier(comm);
	if (rc != SW_OK) {
		ck_assert_int_eq(rc, SW_INTERNAL);
		ck_assert_msg(strstr(sw_comm_why(comm), "nccl") != NULL &&
				      strstr(sw_comm_why(comm), ": internal error") != NULL,
			      "%s", sw_comm_why(comm));
		ck_assert_uint_eq(sw_comm_blamed(comm), fail_rank);
		ck_assert_int_eq(step(&k), SW_INTERNAL);
		ck_assert_int_eq(sw_comm_exchange(comm, NULL, rank ^ 1, k.x, 1, k.g, 1),
				 SW_INTERNAL);
		ck_assert_int_eq(sw_comm_look(comm), SW_INTERNAL);
	}
	rank_end();
	work_free(&k);
	rank_close(); /* which calls, too */
	if (rank == fail_rank)
		fired = fake->fired;
}

/* _i: the rank at fault; rank 1 draws an id, too */
TEST_LOOP(nccl_of_stages_fails_cleanly_at_each_call, 0, 2)
{
	shape = (struct shape){4, 2};
	fail_rank = (unsigned)_i;
	for (fail_at = 1, fired = true; fired; fail_at++) {
		ck_assert_uint_lt(fail_at, 100);
		ranks_run(4, may_fail);
		ck_assert_uint_eq(sw_shim.live, 0);
	}
	ck_assert_uint_gt(fail_at, 20);
}

static void peer_gives_up(unsigned rank)
{
	struct work k = work_new(rank);

	open_devices();
	ck_assert_int_eq(step(&k), SW_OK);
	ck_assert_int_eq(o->sync(q), SW_OK);
	const sw_status rc = sw_comm_barrier(comm);

	ck_assert(rc == SW_OK || rank != 3); /* the others may learn of it here */
	if (rank == 3)
		sw_comm_give_up(comm, SW_NOMEM, "no memory");
	(void)step(&k); /* it may be known already */
	ck_assert_int_eq(sw_comm_barrier(comm), SW_NOMEM);
	ck_assert_int_eq(o->sync(q), SW_NOMEM);
	ck_assert_str_eq(sw_comm_why(comm), "rank 3: no memory");
	rank_end();
	work_free(&k);
	rank_close();
	ck_assert_uint_eq(fake->aborts, 2);
	ck_assert_uint_eq(fake->ends, 0);
}

TEST(nccl_whose_peer_gives_up_aborts_both_communicators)
{
	shape = (struct shape){4, 2};
	ranks_run(4, peer_gives_up);
	ck_assert_uint_eq(sw_shim.live, 0);
}

RUN_TESTS(NULL, NULL)
