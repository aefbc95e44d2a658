/* tests/trainer/comm/test_nccl.c — sums of several ranks' devices, each a thread with a stand-in
 * device and the stand-in for NCCL: by calls and recorded, and every way to fail. */
#include "base/clock.h"
#include "tests/trainer/comm/nccl_ranks.h"
#include <string.h>

enum { FIRST = 1000 };

/* As the end of a step: g is x, summed in two buckets, the later one first, and added to w. */
static sw_status step(const float *x, float *g, float *w)
{
	void *stream;
	sw_status rc = o->zero(q, g, N * sizeof *g);

	for (int i = 0; i < 2 && rc == SW_OK; i++) {
		const size_t from = i == 0 ? FIRST : 0, n = i == 0 ? N - FIRST : FIRST;

		rc = o->accumulate(q, x + from, g + from, n);
		if (rc == SW_OK)
			rc = o->fork(q, &stream);
		if (rc == SW_OK)
			rc = sw_comm_sum_begin(comm, stream, g + from, n, sw_comm_world(comm));
	}
	if (rc == SW_OK)
		rc = sw_comm_sum_end(comm);
	if (rc == SW_OK)
		rc = o->join(q);
	return rc == SW_OK ? o->accumulate(q, g, w, N) : rc;
}

/* w after so many steps from zeros */
static void expect(float *w, unsigned world, int steps)
{
	float live[N];

	ck_assert_int_eq(o->download(q, live, w, sizeof live), SW_OK);
	for (int i = 0; i < N; i++) {
		float sum = 0;

		for (unsigned r = 0; r < world; r++)
			sum += (float)(r + 1) * 0.5f + (float)i;
		ck_assert_float_eq(live[i], sum * (float)steps);
	}
}

static void sum_by_calls_and_recorded(unsigned rank)
{
	float *x = floats((float)(rank + 1) * 0.5f), *g = zeros(), *w = zeros();
	struct sw_graph *graph = NULL;
	char text[200];

	sw_comm_describe(comm, text, sizeof text);
	ck_assert_str_eq(text, "");
	ck_assert_msg(sw_comm_devices(comm, &err) == SW_OK, "%s", err.msg);
	ck_assert_int_eq(sw_comm_devices(comm, &err), SW_OK);
	sw_comm_describe(comm, text, sizeof text);
	ck_assert_str_eq(text, sw_comm_world(comm) > 2
				       ? "NCCL 2.28.9, NCCL_ALGO=Tree, NCCL_NVLS_ENABLE=0, "
					 "NCCL_SOCKET_IFNAME=lo, NCCL_GRAPH_REGISTER=0"
				       : "NCCL 2.28.9, NCCL_ALGO=Tree, NCCL_SOCKET_IFNAME=lo, "
					 "NCCL_GRAPH_REGISTER=0");
	ck_assert_int_eq(step(x, g, w), SW_OK);
	expect(w, sw_comm_world(comm), 1);
	ck_assert_int_eq(o->graph_begin(q), SW_OK);
	ck_assert_int_eq(step(x, g, w), SW_OK);
	ck_assert_int_eq(o->graph_end(q, &graph), SW_OK);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(o->graph_run(q, graph), SW_OK);
	expect(w, sw_comm_world(comm), 4);
	ck_assert_int_eq(step(x, g, w), SW_OK);
	expect(w, sw_comm_world(comm), 5);
	ck_assert_uint_eq(fake->sums, 2 * 5);
	o->graph_free(graph);
	o->free(x);
	o->free(g);
	o->free(w);
	ck_assert_int_eq(sw_comm_devices_end(comm), SW_OK);
	sw_comm_describe(comm, text, sizeof text);
	ck_assert_str_eq(text, "");
	ck_assert_int_eq(sw_comm_barrier(comm), SW_OK);
	rank_close();
	ck_assert_uint_eq(fake->aborts, 0);
}

/* _i: the ranks */
TEST_LOOP(nccl_sums_by_calls_and_recorded, 1, 4)
{
	ck_assert_int_eq(setenv("NCCL_ALGO", "Tree", 1), 0); /* the user's word */
	ranks_run((unsigned)_i, sum_by_calls_and_recorded);
	ck_assert_uint_eq(sw_shim.live, 0);
	ck_assert_ptr_null(getenv("NCCL_SOCKET_IFNAME")); /* programs get this environment */
	ck_assert_str_eq(getenv("NCCL_ALGO"), "Tree");
}

/* --- doubles, which the work waits for while floats are summed --- */

enum { DOUBLES = 3 };

static sw_status step_now(float *g, double *d)
{
	void *stream;
	sw_status rc = o->fork(q, &stream);

	if (rc == SW_OK)
		rc = sw_comm_sum_begin(comm, stream, g, N, sw_comm_world(comm));
	if (rc == SW_OK)
		rc = sw_comm_sum_now(comm, stream, d, DOUBLES, sw_comm_world(comm));
	return rc == SW_OK ? o->join(q) : rc;
}

/* Each step adds up what the one before has left on all ranks alike. */
static void doubles_by_calls_and_recorded(unsigned rank)
{
	const unsigned world = sw_comm_world(comm);
	float *g = zeros();
	double live[DOUBLES];
	struct sw_graph *graph = NULL;
	void *d;

	for (unsigned i = 0; i < DOUBLES; i++)
		live[i] = 0.1 * (double)(rank + 1) + (double)i;
	ck_assert_int_eq(sw_comm_devices(comm, &err), SW_OK);
	ck_assert_int_eq(o->alloc(&d, sizeof live), SW_OK);
	ck_assert_int_eq(o->upload(q, d, live, sizeof live), SW_OK);
	ck_assert_int_eq(step_now(g, d), SW_OK);
	ck_assert_int_eq(o->graph_begin(q), SW_OK);
	ck_assert_int_eq(step_now(g, d), SW_OK);
	ck_assert_int_eq(o->graph_end(q, &graph), SW_OK);
	ck_assert_int_eq(o->graph_run(q, graph), SW_OK);
	ck_assert_int_eq(o->download(q, live, d, sizeof live), SW_OK);
	for (unsigned i = 0; i < DOUBLES; i++) {
		double sum = 0;

		for (unsigned r = 0; r < world; r++)
			sum += 0.1 * (double)(r + 1) + (double)i;
		ck_assert_double_eq_tol(live[i], sum * (double)world, 1e-14);
	}
	ck_assert_uint_eq(fake->sums, 2 * 2);
	o->graph_free(graph);
	o->free(d);
	o->free(g);
	ck_assert_int_eq(sw_comm_devices_end(comm), SW_OK);
	ck_assert_int_eq(sw_comm_barrier(comm), SW_OK);
	rank_close();
}

/* _i: the ranks */
TEST_LOOP(nccl_sums_doubles_that_the_work_waits_for, 1, 4)
{
	ranks_run((unsigned)_i, doubles_by_calls_and_recorded);
	ck_assert_uint_eq(sw_shim.live, 0);
}

/* --- faults --- */

static unsigned fail_at; /* of rank 0's calls */
static bool fired;

static void sum_that_may_fail(unsigned rank)
{
	float *x = floats(1), *g = zeros(), *w = zeros();
	sw_status rc;

	fake->idle_passes = true;
	fake->fail_at = rank == 0 ? fail_at : 0;
	rc = sw_comm_devices(comm, &err);
	if (rc == SW_OK)
		rc = step(x, g, w);
	if (rc == SW_OK)
		rc = o->sync(q);
	if (rc == SW_OK)
		rc = sw_comm_barrier(comm);
	if (rc != SW_OK) {
		ck_assert_int_eq(rc, SW_INTERNAL);
		ck_assert_msg(strncmp(sw_comm_why(comm), "nccl", 4) == 0 &&
				      strstr(sw_comm_why(comm), ": internal error") != NULL,
			      "%s", sw_comm_why(comm));
		ck_assert_int_eq(step(x, g, w), SW_INTERNAL);
		ck_assert_int_eq(sw_comm_look(comm), SW_INTERNAL);
	}
	rank_end();
	o->free(x);
	o->free(g);
	o->free(w);
	rank_close(); /* which calls, too */
	if (rank == 0)
		fired = fake->fired;
}

TEST(nccl_fails_cleanly_at_each_call)
{
	for (fail_at = 1, fired = true; fired; fail_at++) {
		ck_assert_uint_lt(fail_at, 60);
		ranks_run(2, sum_that_may_fail);
		ck_assert_uint_eq(sw_shim.live, 0);
	}
	ck_assert_uint_gt(fail_at, 10);
}

/* Time that flies: limits of a minute are over in a second. */
static atomic_bool flies;

int64_t __real_sw_clock_mono_us(void);
int64_t __wrap_sw_clock_mono_us(void);

int64_t __wrap_sw_clock_mono_us(void)
{
	return __real_sw_clock_mono_us() * (atomic_load(&flies) ? 64 : 1);
}

static void never_done(unsigned rank)
{
	(void)rank;
	fake->stuck = true;
	ck_assert_int_eq(sw_comm_devices(comm, &err), SW_PEER_LOST);
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
	ck_assert_int_eq(sw_comm_devices(comm, &err), SW_UNSUPPORTED);
	ck_assert_str_eq(err.msg, "rank 1: several GPUs in one trial need NCCL 2.22 or later; "
				  "libnccl.so.2 is of NCCL 2.21.5");
	rank_close();
}

TEST(nccl_that_is_too_old_is_refused)
{
	ranks_run(2, is_too_old);
}

static unsigned slow_ms;

/* Rank 1 has an error of its own in a step; how long the end of its communicator takes is not the
 * other's matter. */
static void ends_slowly(unsigned rank)
{
	float *x = floats(1), *g = zeros(), *w = zeros();

	ck_assert_int_eq(sw_comm_devices(comm, &err), SW_OK);
	ck_assert_int_eq(step(x, g, w), SW_OK);
	ck_assert_int_eq(o->sync(q), SW_OK);
	const sw_status rc = sw_comm_barrier(comm); /* rank 0 has its sum, too */

	if (rank == 1) {
		ck_assert_int_eq(rc, SW_OK);
		fake->abort_ms = slow_ms;
		sw_comm_give_up(comm, SW_NOMEM, "no memory");
		ck_assert_int_eq(sw_comm_devices_end(comm), slow_ms ? SW_DEVICE_LOST : SW_OK);
	} else {
		(void)step(x, g, w);
		ck_assert_int_ne(sw_comm_barrier(comm), SW_OK);
		ck_assert_str_eq(sw_comm_why(comm), "rank 1: no memory");
		rank_end();
		ck_assert_int_eq(sw_comm_devices_end(comm), SW_OK);
	}
	o->free(x);
	o->free(g);
	o->free(w);
	rank_close();
}

/* _i: as it should; never, as far as anybody can wait */
TEST_LOOP(nccl_whose_end_is_slow_holds_up_no_other_rank, 0, 2)
{
	slow_ms = _i ? 3600000 : 0;
	atomic_store(&flies, true);
	ranks_run(2, ends_slowly);
}

/* A rank that has given all may close before one that still works on it. */
static void waits_long(unsigned rank)
{
	float *x = floats(1), *g = zeros(), *w = zeros();
	float live[N];

	ck_assert_int_eq(sw_comm_devices(comm, &err), SW_OK);
	ck_assert_int_eq(step(x, g, w), SW_OK);
	for (int i = 0; rank == 0 && i < 5000; i++) /* each a look, of 100 us */
		ck_assert_int_eq(o->zero(q, x, sizeof *x), SW_OK);
	if (rank == 0)
		ck_assert_int_eq(o->download(q, live, w, sizeof live), SW_OK);
	else
		ck_assert_int_eq(o->sync(q), SW_OK);
	o->free(x);
	o->free(g);
	o->free(w);
	rank_close();
}

TEST(nccl_whose_peer_has_closed_goes_on)
{
	ranks_run(2, waits_long);
}

SUITE(tcase)
{
	tcase_set_timeout(tcase, 60);
}
