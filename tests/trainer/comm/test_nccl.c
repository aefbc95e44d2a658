/* tests/trainer/comm/test_nccl.c — sums of several ranks' devices, and what they exchange beside
 * them, each a thread with a stand-in device and the stand-in for NCCL: by calls and recorded, and
 * every way to fail. */
#include "base/clock.h"
#include "tests/trainer/comm/nccl_ranks.h"
#include "trainer/comm/nccl.h"

enum { FIRST = 1000, DOUBLES = 3 };

#define UP_N (N - 7) /* floats that go up a cut; down go N */

static struct shape {
	unsigned world, stages;
} shape;

/* x: the rank's own numbers; w: all that came, in all steps; d: doubles. */
struct work {
	float *x, *g, *w, *from_up, *from_down;
	double *d;
};

static float number(unsigned rank, int i)
{
	return (float)(rank + 1) * 0.5f + (float)i;
}

/* Of which a float has not all digits. */
static double number_f64(unsigned rank, int i)
{
	return (double)(rank + 1) * 0x1p-40 + i;
}

static struct work work_new(unsigned rank)
{
	double live[DOUBLES];
	void *d;

	for (int i = 0; i < DOUBLES; i++)
		live[i] = number_f64(rank, i);
	ck_assert_int_eq(o->alloc(&d, sizeof live), SW_OK);
	ck_assert_int_eq(o->upload(q, d, live, sizeof live), SW_OK);
	return (struct work){floats(number(rank, 0)), zeros(), zeros(), zeros(), zeros(), d};
}

static void work_free(struct work *k)
{
	void *const all[] = {k->x, k->g, k->w, k->from_up, k->from_down, k->d};

	for (size_t i = 0; i < ROWS(all); i++)
		o->free(all[i]);
}

static bool has_up(unsigned rank)
{
	return rank % shape.stages > 0;
}

static bool has_down(unsigned rank)
{
	return rank % shape.stages + 1 < shape.stages;
}

/* Bucket i of the gradients, the later one first. */
static sw_status bucket_begin(const struct work *k, void *stream, int i)
{
	const size_t from = i == 0 ? FIRST : 0, n = i == 0 ? N - FIRST : FIRST;

	return sw_comm_sum_begin(comm, stream, k->g + from, n, shape.world / shape.stages);
}

/* As the end of a step: g is x, summed in two buckets, beside what crosses the cuts and doubles
 * that the work waits for; all is added to w. d is its own sum, so that the next step adds that
 * up. */
static sw_status step(const struct work *k)
{
	const unsigned rank = sw_comm_rank(comm);
	void *stream = NULL;
	sw_status rc = o->zero(q, k->g, N * sizeof *k->g);

	if (rc == SW_OK)
		rc = o->accumulate(q, k->x, k->g, N);
	for (int i = 0; i < 2 && rc == SW_OK; i++) {
		rc = o->fork(q, &stream);
		if (rc == SW_OK)
			rc = bucket_begin(k, stream, i);
	}
	if (rc == SW_OK && has_up(rank))
		rc = sw_comm_exchange(comm, stream, rank - 1, k->x, UP_N, k->from_up, N);
	if (rc == SW_OK && has_down(rank))
		rc = sw_comm_exchange(comm, stream, rank + 1, k->x, N, k->from_down, UP_N);
	if (rc == SW_OK)
		rc = sw_comm_sum_now(comm, stream, k->d, DOUBLES, shape.world);
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

/* w and d after so many steps. */
static void expect(const struct work *k, unsigned rank, int steps)
{
	double want = 0, f64[DOUBLES];
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
	ck_assert_int_eq(o->download(q, f64, k->d, sizeof f64), SW_OK);
	for (int i = 0; i < DOUBLES; i++, want = 0) {
		for (unsigned r = 0; r < shape.world; r++)
			want += number_f64(r, i);
		for (int n = 1; n < steps; n++)
			want *= shape.world;
		ck_assert_double_eq(f64[i], want);
	}
}

static void open_devices(void)
{
	sw_comm_groups(comm, shape.stages);
	ck_assert_msg(sw_comm_devices(comm, &rank_err) == SW_OK, "%s", rank_err.msg);
}

static void described_as(const char *want)
{
	char text[200];

	sw_comm_describe(comm, text, sizeof text);
	ck_assert_str_eq(text, want);
}

static unsigned comms(void)
{
	return shape.stages == 1 || shape.stages == shape.world ? 1 : 2;
}

static void by_calls_and_recorded(unsigned rank)
{
	struct work k = work_new(rank);
	struct sw_graph *graph = NULL;

	described_as("");
	open_devices();
	ck_assert_int_eq(sw_comm_devices(comm, &rank_err), SW_OK);
	described_as(shape.world > 2 ? "NCCL 2.28.9, NCCL_ALGO=Tree, NCCL_NVLS_ENABLE=0, "
				       "NCCL_SOCKET_IFNAME=lo, NCCL_GRAPH_REGISTER=0, "
				       "NCCL_NET=Socket, NCCL_NET_PLUGIN=none"
				     : "NCCL 2.28.9, NCCL_ALGO=Tree, NCCL_SOCKET_IFNAME=lo, "
				       "NCCL_GRAPH_REGISTER=0, NCCL_NET=Socket, "
				       "NCCL_NET_PLUGIN=none");
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
	/* a stage of one rank has its sums already */
	ck_assert_uint_eq(fake->sums, shape.stages > 1 && shape.world == shape.stages ? 5 : 5 * 3);
	ck_assert_uint_eq(fake->moves, 5 * 2 * ((unsigned)has_up(rank) + has_down(rank)));
	o->graph_free(graph);
	work_free(&k);
	ck_assert_int_eq(sw_comm_devices_end(comm), SW_OK);
	described_as("");
	ck_assert_uint_eq(fake->ends, comms());
	ck_assert_uint_eq(fake->aborts, 0);
	ck_assert_int_eq(sw_comm_barrier(comm), SW_OK);
	rank_close();
}

static const struct shape shapes[] = {{1, 1}, {2, 1}, {3, 1}, {2, 2},
				      {3, 3}, {4, 2}, {4, 4}, {4, 1}};

static void shape_run(struct shape of, rank_fn *run)
{
	shape = of;
	ranks_run(of.world, run);
	ck_assert_uint_eq(sw_shim.live, 0);
}

TEST_ROWS(nccl_sums_and_exchanges_by_calls_and_recorded, shapes)
{
	ck_assert_int_eq(setenv("NCCL_ALGO", "Tree", 1), 0); /* the user's word */
	shape_run(shapes[_i], by_calls_and_recorded);
	ck_assert_ptr_null(getenv("NCCL_SOCKET_IFNAME")); /* programs get this environment */
	ck_assert_str_eq(getenv("NCCL_ALGO"), "Tree");
}

/* A network that a plugin has is named by both: a user who sets one has chosen. */
TEST_LOOP(nccl_leaves_the_network_to_who_names_it, 0, 2)
{
	static const char *const names[] = {"NCCL_NET", "NCCL_NET_PLUGIN"};
	unsigned set;

	ck_assert_int_eq(setenv(names[_i], "ofi", 1), 0);
	set = sw_nccl_set(2);
	ck_assert_str_eq(getenv(names[_i]), "ofi");
	ck_assert_ptr_null(getenv(names[1 - _i]));
	sw_nccl_unset(set);
	ck_assert_str_eq(getenv(names[_i]), "ofi");
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
	shape_run((struct shape){2, 2}, one_way);
}

/* --- faults --- */

static unsigned guilty, fail_at; /* a rank, and that of its calls */
static bool fired;

static void may_fail(unsigned rank)
{
	struct work k = work_new(rank);
	const char *why;
	sw_status rc;

	sw_comm_groups(comm, shape.stages);
	rc = sw_comm_barrier(comm); /* all have come now */
	fake->idle_passes = true;
	fake->fail_at = rank == guilty ? fail_at : 0;
	if (rc == SW_OK)
		rc = sw_comm_devices(comm, &rank_err);
	if (rc == SW_OK)
		rc = step(&k);
	if (rc == SW_OK)
		rc = o->sync(q);
	if (rc == SW_OK)
		rc = sw_comm_barrier(comm);
	ck_assert(rc != SW_OK || !fake->fired);
	if (rc != SW_OK) {
		why = sw_comm_why(comm) + (guilty ? strlen("rank 1: ") : 0);
		ck_assert_int_eq(rc, SW_INTERNAL);
		ck_assert_msg(strncmp(why, "nccl", 4) == 0 && strstr(why, ": internal error"), "%s",
			      sw_comm_why(comm));
		ck_assert_uint_eq(sw_comm_blamed(comm), guilty);
		ck_assert_int_eq(step(&k), SW_INTERNAL);
		ck_assert_int_eq(sw_comm_exchange(comm, NULL, rank ^ 1, k.x, 1, k.g, 1),
				 SW_INTERNAL);
		ck_assert_int_eq(sw_comm_look(comm), SW_INTERNAL);
	}
	rank_end();
	work_free(&k);
	rank_close(); /* which calls, too */
	ck_assert(!fake->in_group);
	ck_assert_uint_eq(fake->begun, fake->ends + fake->aborts);
	if (rank == guilty)
		fired = fake->fired;
}

/* least: as many calls are made */
static const struct {
	struct shape shape;
	unsigned guilty, least;
} faults[] = {{{2, 1}, 0, 10}, {{4, 2}, 0, 20}, {{4, 2}, 1, 20}}; /* rank 1 draws an id, too */

TEST_ROWS(nccl_fails_cleanly_at_each_call, faults)
{
	guilty = faults[_i].guilty;
	for (fail_at = 1, fired = true; fired; fail_at++) {
		ck_assert_uint_lt(fail_at, 100);
		shape_run(faults[_i].shape, may_fail);
	}
	ck_assert_uint_gt(fail_at, faults[_i].least);
}

static void never_done(unsigned rank)
{
	(void)rank;
	fake->stuck = true;
	ck_assert_int_eq(sw_comm_devices(comm, &rank_err), SW_PEER_LOST);
	ck_assert_ptr_nonnull(strstr(sw_comm_why(comm), "NCCL does not get done"));
	rank_close();
}

TEST(nccl_that_does_not_get_done_is_given_up)
{
	atomic_store(&flies, true);
	ranks_run(2, never_done);
}

static void is_too_old(unsigned rank)
{
	fake->version = rank == 1 ? 22105 : 22203;
	ck_assert_int_eq(sw_comm_devices(comm, &rank_err), SW_UNSUPPORTED);
	ck_assert_str_eq(rank_err.msg, "rank 1: several GPUs in one trial need NCCL 2.22 or later; "
				       "libnccl.so.2 is of NCCL 2.21.5");
	rank_close();
}

TEST(nccl_that_is_too_old_is_refused)
{
	ranks_run(2, is_too_old);
}

static unsigned slow_ms;

/* A rank has an error of its own in a step; how long the end of its communicators takes is not the
 * others' matter. */
static void gives_up(unsigned rank)
{
	const bool slow = slow_ms && rank == guilty;
	struct work k = work_new(rank);
	char line[32];

	open_devices();
	ck_assert_int_eq(step(&k), SW_OK);
	ck_assert_int_eq(o->sync(q), SW_OK);
	const sw_status rc = sw_comm_barrier(comm); /* all have their sums, too */

	ck_assert(rc == SW_OK || rank != guilty); /* the others may learn of it here */
	if (rank == guilty) {
		fake->abort_ms = slow_ms;
		sw_comm_give_up(comm, SW_NOMEM, "no memory");
	}
	(void)step(&k); /* it may be known already */
	ck_assert_int_eq(sw_comm_barrier(comm), SW_NOMEM);
	ck_assert_int_eq(o->sync(q), SW_NOMEM);
	(void)snprintf(line, sizeof line, "rank %u: no memory", guilty);
	ck_assert_str_eq(sw_comm_why(comm), line);
	rank_end();
	work_free(&k);
	ck_assert_int_eq(sw_comm_devices_end(comm), slow ? SW_DEVICE_LOST : SW_OK);
	rank_close();
	ck_assert_uint_eq(fake->aborts, slow ? 0 : comms());
	ck_assert_uint_eq(fake->ends, 0);
}

/* slow_ms: an hour, as far as anybody can wait */
static const struct {
	struct shape shape;
	unsigned guilty, slow_ms;
} ends[] = {{{2, 1}, 1, 0}, {{2, 1}, 1, 3600000}, {{4, 2}, 3, 0}};

TEST_ROWS(nccl_whose_peer_gives_up_aborts_and_a_slow_end_holds_up_no_other, ends)
{
	guilty = ends[_i].guilty;
	slow_ms = ends[_i].slow_ms;
	atomic_store(&flies, true);
	shape_run(ends[_i].shape, gives_up);
}

/* A rank that has given all may close before one that still works on it. */
static void waits_long(unsigned rank)
{
	struct work k = work_new(rank);
	float live[N];

	open_devices();
	ck_assert_int_eq(step(&k), SW_OK);
	for (int i = 0; rank == 0 && i < 5000; i++) /* each a look, of 100 us */
		ck_assert_int_eq(o->zero(q, k.x, sizeof *k.x), SW_OK);
	if (rank == 0)
		ck_assert_int_eq(o->download(q, live, k.w, sizeof live), SW_OK);
	else
		ck_assert_int_eq(o->sync(q), SW_OK);
	work_free(&k);
	rank_close();
}

TEST(nccl_whose_peer_has_closed_goes_on)
{
	shape_run((struct shape){2, 1}, waits_long);
}

SUITE(tcase)
{
	tcase_set_timeout(tcase, 60);
}
