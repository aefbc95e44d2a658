/* tests/kernels/test_cuda_beside.c — the stream beside a queue's work: what comes before what, by
 * calls and recorded, and the host's waits for work that does not end. */
#include "tests/kernels/cuda_queue.h"
#include <cuda_runtime.h>
#include <signal.h>

enum { N = 300 };

/* What a library does on the stream: p is 0 afterwards. */
static void clear(void *stream, float *p)
{
	ck_assert_int_eq(cudaMemsetAsync(p, 0, N * sizeof *p, stream), cudaSuccess);
}

/* As the buckets of a step: sum is x, then 0 by the stream, then x again; twice. */
static void step(float *x, float *sum)
{
	void *stream;

	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(o->accumulate(q, x, sum, N), SW_OK);
		ck_assert_int_eq(o->fork(q, &stream), SW_OK);
		clear(stream, sum);
		ck_assert_int_eq(o->join(q), SW_OK);
		ck_assert_int_eq(o->accumulate(q, x, sum, N), SW_OK);
	}
}

TEST(beside_is_in_order_by_calls_and_recorded)
{
	float *x = floats(N, 1), *sum = floats(N, 0);
	struct sw_graph *g = NULL;
	void *stream, *again;

	ck_assert_int_eq(o->join(q), SW_OK); /* of nothing */
	ck_assert_int_eq(o->fork(q, &stream), SW_OK);
	ck_assert_int_eq(o->fork(q, &again), SW_OK);
	ck_assert_ptr_nonnull(stream);
	ck_assert_ptr_eq(stream, again);
	step(x, sum);
	ck_assert_float_eq(value(sum), 1);
	ck_assert_float_eq(value(sum + N - 1), N);
	ck_assert_int_eq(o->graph_begin(q), SW_OK);
	step(x, sum);
	ck_assert_int_eq(o->graph_end(q, &g), SW_OK);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(o->graph_run(q, g), SW_OK);
		ck_assert_int_eq(o->accumulate(q, x, sum, N), SW_OK);
	}
	ck_assert_float_eq(value(sum), 2);
	step(x, sum);
	ck_assert_float_eq(value(sum), 1);
	o->graph_free(g);
	o->free(x);
	o->free(sum);
}

TEST(cpu_has_no_stream_beside)
{
	int none;
	void *stream = &none;

	ck_assert_int_eq(sw_ops_cpu.fork(NULL, &stream), SW_OK);
	ck_assert_ptr_null(stream);
	ck_assert_int_eq(sw_ops_cpu.join(NULL), SW_OK);
	sw_ops_cpu.watch(NULL, NULL, NULL);
}

/* A stream that is recorded with the queue's and not waited for; and the queue goes on. */
TEST_LOOP(recording_without_a_join_is_none, 0, 2)
{
	float *x = floats(N, 1), *sum = floats(N, 0);
	struct sw_graph *g = NULL;
	void *stream;

	step(x, sum);
	ck_assert_int_eq(o->graph_begin(q), SW_OK);
	ck_assert_int_eq(o->fork(q, &stream), SW_OK);
	if (_i)
		ck_assert_int_eq(o->join(q), SW_OK); /* too early */
	clear(stream, sum);
	ck_assert_int_eq(o->graph_end(q, &g), SW_UNSUPPORTED);
	ck_assert_ptr_null(g);
	step(x, sum);
	ck_assert_float_eq(value(sum), 1);
	o->free(x);
	o->free(sum);
}

#ifdef SW_TEST_GPU
#define beside_teardown queue_teardown
#else
static bool held; /* work, by what another process does not do */

static void beside_teardown(void)
{
	held = false;
	queue_teardown();
}

/* --- waits for what another process holds up --- */

static unsigned looks;

static bool hold(void *arg)
{
	(void)arg;
	return !held;
}

static sw_status look(void *ctx)
{
	return ++looks < *(const unsigned *)ctx ? SW_OK : SW_DENIED;
}

/* _i: which of the waits */
static sw_status wait_for(float *x, void *pinned, int which)
{
	static float big[64 << 10];

	switch (which) {
	case 0:
		return o->sync(q);
	case 1:
		return o->download(q, big, x, 4);
	case 2:
		return o->upload(q, x, big, sizeof big);
	case 3:
		(void)o->transfer_wait(q, 1);
		return o->transfer(q, 0, x, pinned, 4) == SW_OK ? o->transfer_read(q, 0) : SW_OK;
	default:
		for (unsigned i = 0; i < 9; i++) { /* as many as there are slots, and one */
			const sw_status rc = o->upload(q, x, big, 4);

			if (rc != SW_OK)
				return rc;
		}
		return SW_OK;
	}
}

START_TEST(waits_end_with_what_the_look_says)
{
	float *x = floats(64 << 10, 1);
	unsigned limit = 40;
	void *stream, *pinned;

	ck_assert_int_eq(o->pinned_alloc(&pinned, 64), SW_OK);
	ck_assert_int_eq(o->sync(q), SW_OK);
	o->watch(q, look, &limit);
	held = true;
	ck_assert_int_eq(o->fork(q, &stream), SW_OK);
	ck_assert_int_eq(sw_shim_queue(stream, hold, NULL), cudaSuccess);
	ck_assert_int_eq(o->join(q), SW_OK);
	ck_assert_int_eq(wait_for(x, pinned, _i), SW_DENIED);
	ck_assert_uint_eq(looks, limit);
	held = false;
	looks = 0;
	limit = 10000;
	ck_assert_int_eq(wait_for(x, pinned, _i), SW_OK);
	ck_assert_int_eq(o->sync(q), SW_OK);
	ck_assert_int_eq(cudaPeekAtLastError(), cudaSuccess); /* a question is no failure */
	o->watch(q, NULL, NULL);
	sw_shim.questions = 0;
	ck_assert_int_eq(wait_for(x, pinned, _i), SW_OK);
	ck_assert_uint_eq(sw_shim.questions, 0);
	ck_assert_int_eq(o->sync(q), SW_OK);
	o->pinned_free(pinned);
	o->free(x);
}
END_TEST

/* Each call of CUDA's fails in turn; then the same again does not. */
START_TEST(fork_and_join_fail_cleanly)
{
	static const enum sw_shim_call calls[] = {SW_SHIM_EVENT, SW_SHIM_STREAM, SW_SHIM_MARK,
						  SW_SHIM_EVENT_WAIT};
	const sw_status want = _i < 2 ? SW_NOMEM : SW_DEVICE_LOST;

	for (unsigned nth = 1, fired = 1; fired; nth++) {
		struct sw_queue *other;
		sw_status rc;
		void *stream;

		ck_assert_uint_lt(nth, 5);
		ck_assert_int_eq(o->queue_create(&other), SW_OK);
		sw_shim.failure =
			(struct sw_shim_failure){.call = calls[_i],
						 .nth = nth,
						 .error = _i < 2 ? cudaErrorMemoryAllocation
								 : cudaErrorInvalidResourceHandle};
		rc = o->fork(other, &stream);
		ck_assert_int_eq(stream != NULL, rc == SW_OK);
		if (rc == SW_OK)
			rc = o->join(other);
		fired = sw_shim.failure.fired;
		ck_assert_int_eq(rc, fired ? want : SW_OK);
		sw_shim.failure = (struct sw_shim_failure){0};
		ck_assert_int_eq(o->fork(other, &stream), SW_OK);
		ck_assert_int_eq(o->join(other), SW_OK);
		ck_assert_int_eq(o->sync(other), SW_OK);
		o->queue_destroy(other);
	}
}
END_TEST
#endif

SUITE(tcase)
{
#ifdef SW_TEST_GPU
	/* A process that forks after CUDA's start has children in which no call of it works. */
	setenv("CK_FORK", "no", 1);
	if (sw_ops_cuda_open(0, &o, NULL) != SW_OK) {
		puts("no GPU here: skipped");
		exit(77);
	}
#endif
	tcase_add_checked_fixture(tcase, queue_setup, beside_teardown);
#ifndef SW_TEST_GPU
	tcase_add_loop_test(tcase, waits_end_with_what_the_look_says, 0, 5);
	tcase_add_loop_test(tcase, fork_and_join_fail_cleanly, 0, 4);
#endif
}
