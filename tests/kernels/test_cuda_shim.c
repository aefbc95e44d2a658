/* tests/kernels/test_cuda_shim.c — the stand-in device sees what it is there to see. */
#undef SW_CUDA_BLAS_BYTES /* its own is small: what the product has is looked at here */
#include "kernels/cuda/cuda.h"
#include "tests/kernels/cuda_shim/shim.h"
#include "tests/kernels/cuda_shim/shim_kernels.h"
#include "tests/run.h"
#include <signal.h>
#include <string.h>

/* cuBLAS's choice of an algorithm, and so the bits of a product, may depend on it. */
_Static_assert(SW_CUDA_BLAS_BYTES == 33554432, "a queue's workspace of cuBLAS is 32 MiB");

static cudaStream_t stream;

static void setup(void)
{
	ck_assert_int_eq(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
}

static void teardown(void)
{
	(void)cudaStreamDestroy(stream);
}

/* How many of n threads saw the neighbour's number. */
static unsigned seen(enum sw_shim_order order, unsigned n, int barrier)
{
	float *out = NULL, live[1024];
	unsigned right = 0;

	sw_shim.order = order;
	ck_assert_int_eq(cudaMalloc((void **)&out, n * sizeof *out), cudaSuccess);
	sw_shim_neighbour(stream, out, n, barrier);
	ck_assert_int_eq(
		cudaMemcpyAsync(live, out, n * sizeof *out, cudaMemcpyDeviceToHost, stream),
		cudaSuccess);
	ck_assert_int_eq(cudaStreamSynchronize(stream), cudaSuccess);
	for (unsigned i = 0; i < n; i++)
		right += live[i] == (float)((i + 1) % n + 1);
	(void)cudaFree(out);
	return right;
}

TEST(shim_with_a_barrier_agrees_in_every_order)
{
	static const unsigned sizes[] = {1, 2, 31, 32, 33, 256, 1024};

	for (int order = 0; order < SW_SHIM_ORDER_N; order++)
		for (size_t i = 0; i < ROWS(sizes); i++)
			ck_assert_uint_eq(seen((enum sw_shim_order)order, sizes[i], 1), sizes[i]);
}

#ifdef SW_SHIM_WATCH
#define WATCHED true
#else
#define WATCHED false /* the address sanitizer's build: orders alone show a race */
#endif

START_TEST(shim_without_a_barrier_shows_the_race)
{
	ck_assert_uint_eq(seen(SW_SHIM_FORWARD, 64, 0), 1);   /* the last sees the first */
	ck_assert_uint_eq(seen(SW_SHIM_BACKWARD, 64, 0), 63); /* all but the first to run */
	/* With the watch, not to be reached. */
}
END_TEST

static float *device(unsigned n)
{
	float *p = NULL;

	ck_assert_int_eq(cudaMalloc((void **)&p, n * sizeof *p), cudaSuccess);
	ck_assert_int_eq(cudaMemsetAsync(p, 0, n * sizeof *p, stream), cudaSuccess);
	return p;
}

static void done(float *p)
{
	ck_assert_int_eq(cudaStreamSynchronize(stream), cudaSuccess);
	(void)cudaFree(p);
}

TEST(shim_lets_threads_use_what_is_theirs)
{
	float *p = device(96);

	for (int order = 0; order < SW_SHIM_ORDER_N; order++) {
		sw_shim.order = (enum sw_shim_order)order;
		sw_shim_access(stream, p, 3, 32, SW_SHIM_OWN);
		sw_shim_access(stream, p, 3, 32, SW_SHIM_ONE_READ);
		sw_shim_access(stream, p, 3, 32, SW_SHIM_COUNTED);
		sw_shim_access(stream, p, 1, 1, SW_SHIM_ONE_WRITTEN);
		sw_shim_access(stream, p, 1, 32, SW_SHIM_ONE_OF_BLOCK);
		sw_shim_warp(stream, p, 1);
		sw_shim_shared(stream, p, 64, 63);
	}
	done(p);
}

/* Each in every order: a race is one whichever thread comes first. */
START_TEST(shim_aborts_at_a_race)
{
	static const enum sw_shim_what races[] = {SW_SHIM_ONE_WRITTEN, SW_SHIM_ONE_OF_BLOCK,
						  SW_SHIM_READ_WRITTEN, SW_SHIM_WRITTEN_READ,
						  SW_SHIM_COUNTED_READ};
	float *p = device(128);

	sw_shim.order = (enum sw_shim_order)(_i % SW_SHIM_ORDER_N);
	sw_shim_access(stream, p, 2, 64, races[_i / SW_SHIM_ORDER_N]);
	done(p);
}
END_TEST

START_TEST(shim_aborts_when_a_shuffle_stands_for_a_barrier)
{
	float *p = device(32);

	sw_shim_warp(stream, p, 0);
	done(p);
}
END_TEST

START_TEST(shim_aborts_when_shared_memory_is_read_that_nobody_wrote)
{
	float *p = device(32);

	sw_shim_shared(stream, p, 32, 32); /* which the block before this one may have written */
	done(p);
}
END_TEST

START_TEST(shim_aborts_out_of_bounds)
{
	static const enum sw_shim_what outside[] = {SW_SHIM_READ_BEHIND, SW_SHIM_READ_BEFORE,
						    SW_SHIM_WRITE_BEHIND};
	float *p = device(64);

	sw_shim_access(stream, p, 1, 64, outside[_i]);
	done(p);
}
END_TEST

START_TEST(shim_aborts_at_an_access_that_is_not_aligned)
{
	float *p = device(64);

	sw_shim_access(stream, p, 1, 64, SW_SHIM_READ_ASKEW);
	done(p);
}
END_TEST

TEST(shim_lets_a_kernel_overlap_that_waits)
{
	float *p = device(64);

	sw_shim_wait(stream, p, 64, SW_SHIM_WAIT, 1);
	sw_shim_wait(stream, p, 64, SW_SHIM_WAIT, 0);
	sw_shim_wait(stream, p, 64, SW_SHIM_WAIT_LATE, 0);
	sw_shim_wait(stream, p, 64, SW_SHIM_WAIT_NEVER, 0);
	done(p);
}

/* Which uses nothing: that each thread waits is seen by the watch and without it. */
START_TEST(shim_aborts_when_a_kernel_that_overlaps_does_not_wait)
{
	float *p = device(64);

	sw_shim_wait(stream, p, 64, _i ? SW_SHIM_WAIT_BUT_ONE : SW_SHIM_WAIT_NEVER, 1);
	done(p);
}
END_TEST

START_TEST(shim_aborts_at_an_access_before_the_wait)
{
	float *p = device(64);

	sw_shim_wait(stream, p, 64, SW_SHIM_WAIT_LATE, 1);
	done(p);
}
END_TEST

/* --- several streams --- */

static cudaStream_t other;
static cudaEvent_t event;

/* A kernel that writes each of p's 64 floats. */
static void write_all(cudaStream_t s, float *p)
{
	sw_shim_access(s, p, 2, 32, SW_SHIM_OWN);
}

static void read_all(cudaStream_t s, const float *p)
{
	static float live[64];

	ck_assert_int_eq(cudaMemcpyAsync(live, p, sizeof live, cudaMemcpyDeviceToHost, s),
			 cudaSuccess);
}

static void clear_all(cudaStream_t s, float *p)
{
	ck_assert_int_eq(cudaMemsetAsync(p, 0, 64 * sizeof *p, s), cudaSuccess);
}

/* What s is given from here on comes after what the one before was given. */
static void follow(cudaStream_t s, cudaStream_t before)
{
	ck_assert_int_eq(cudaEventRecord(event, before), cudaSuccess);
	ck_assert_int_eq(cudaStreamWaitEvent(s, event, 0), cudaSuccess);
}

static void record_begin(void)
{
	ck_assert_int_eq(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
			 cudaSuccess);
}

static void record_end(unsigned runs)
{
	cudaGraph_t graph;

	ck_assert_int_eq(cudaStreamEndCapture(stream, &graph), cudaSuccess);
	while (runs-- > 0)
		ck_assert_int_eq(cudaGraphLaunch(graph, stream), cudaSuccess);
	ck_assert_int_eq(cudaStreamSynchronize(stream), cudaSuccess);
	ck_assert_int_eq(cudaGraphDestroy(graph), cudaSuccess);
}

static float *two_streams(void)
{
	float *p = device(64);

	ck_assert_int_eq(cudaStreamSynchronize(stream), cudaSuccess);
	ck_assert_int_eq(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
	ck_assert_int_eq(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
	return p;
}

static void two_streams_end(float *p)
{
	ck_assert_int_eq(cudaStreamSynchronize(other), cudaSuccess);
	(void)cudaStreamDestroy(other);
	(void)cudaEventDestroy(event);
	done(p);
}

TEST(shim_lets_streams_take_turns)
{
	float *p = two_streams();

	write_all(stream, p);
	follow(other, stream);
	clear_all(other, p);
	read_all(other, p);
	follow(stream, other);
	write_all(stream, p);
	ck_assert_int_eq(cudaStreamSynchronize(stream), cudaSuccess);
	write_all(other, p); /* the host has waited */
	ck_assert_int_eq(cudaEventRecord(event, other), cudaSuccess);
	ck_assert_int_eq(cudaEventSynchronize(event), cudaSuccess);
	write_all(stream, p);
	ck_assert_int_eq(cudaStreamQuery(stream), cudaErrorNotReady);
	while (cudaStreamQuery(stream) != cudaSuccess)
		;
	read_all(other, p);
	read_all(stream, p); /* two readers */
	ck_assert_int_eq(cudaStreamSynchronize(other), cudaSuccess);
	record_begin();
	for (int i = 0; i < 2; i++) {
		write_all(stream, p);
		follow(other, stream);
		clear_all(other, p);
		follow(stream, other);
	}
	read_all(stream, p);
	record_end(2);
	write_all(stream, p);
	two_streams_end(p);
}

/* _i % 5: what two streams do at a time; from 5 on recorded */
START_TEST(shim_aborts_at_a_race_of_two_streams)
{
	float *p = two_streams();

	if (_i >= 5)
		record_begin();
	follow(other, stream); /* which orders nothing of what comes */
	switch (_i % 5) {
	case 0:
		write_all(stream, p);
		write_all(other, p);
		break;
	case 1:
		clear_all(stream, p);
		write_all(other, p);
		break;
	case 2:
		read_all(stream, p);
		clear_all(other, p);
		break;
	case 3:
		write_all(stream, p);
		read_all(other, p);
		break;
	default:
		clear_all(other, p);
		clear_all(stream, p);
	}
	follow(stream, other); /* too late */
	if (_i >= 5)
		record_end(1);
	ck_assert_int_eq(cudaStreamSynchronize(stream), cudaSuccess);
	two_streams_end(p);
}
END_TEST

TEST(shim_refuses_a_recording_that_is_not_whole)
{
	float *p = two_streams();
	cudaGraph_t graph;

	record_begin();
	follow(other, stream);
	clear_all(other, p);
	ck_assert_int_eq(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureUnjoined);
	ck_assert_int_eq(cudaEventRecord(event, other), cudaSuccess);
	record_begin();
	ck_assert_int_eq(cudaStreamWaitEvent(stream, event, 0), cudaErrorStreamCaptureIsolation);
	ck_assert_int_eq(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
	record_begin();
	follow(other, stream);
	ck_assert_int_eq(cudaStreamEndCapture(other, &graph), cudaErrorStreamCaptureUnmatched);
	follow(stream, other);
	record_end(1);
	(void)cudaGetLastError();
	two_streams_end(p);
}

TEST(shim_shuffles_threads_by_its_seed)
{
	float *p = device(64), *next = device(2), first[64], out[64];
	unsigned moved = 0, came = 0;

	sw_shim.order = SW_SHIM_SHUFFLED;
	for (sw_shim.seed = 1; sw_shim.seed < 3; sw_shim.seed++) {
		ck_assert_int_eq(cudaMemsetAsync(next, 0, 8, stream), cudaSuccess);
		sw_shim_order(stream, p, (unsigned long long *)(void *)next, 64);
		ck_assert_int_eq(cudaMemcpyAsync(sw_shim.seed == 1 ? first : out, p, sizeof out,
						 cudaMemcpyDeviceToHost, stream),
				 cudaSuccess);
		ck_assert_int_eq(cudaStreamSynchronize(stream), cudaSuccess);
	}
	for (int t = 0; t < 64; t++) {
		for (int i = 0; i < 64; i++)
			came += out[i] == (float)t;
		moved += out[t] != first[t];
	}
	ck_assert_uint_eq(came, 64); /* each of them once */
	ck_assert_uint_gt(moved, 32);
	done(p);
	done(next);
}

TEST(shim_runs_nothing_before_it_is_waited_for)
{
	float *x = NULL, out = 1.0f;

	ck_assert_int_eq(cudaMalloc((void **)&x, sizeof *x), cudaSuccess);
	ck_assert_int_eq(cudaMemsetAsync(x, 0, sizeof *x, stream), cudaSuccess);
	ck_assert_int_eq(cudaMemcpyAsync(&out, x, sizeof *x, cudaMemcpyDeviceToHost, stream),
			 cudaSuccess);
	ck_assert(out == 1.0f);
	ck_assert_int_eq(cudaStreamSynchronize(stream), cudaSuccess);
	ck_assert(out == 0.0f);
	(void)cudaFree(x);
}

TEST(shim_refuses_an_empty_grid_and_host_pointers)
{
	float live[2] = {0};

	sw_shim_leave(stream, 0, 0, 0);
	ck_assert_int_eq(cudaGetLastError(), cudaErrorInvalidConfiguration);
	ck_assert_int_eq(
		cudaMemcpyAsync(live, live + 1, sizeof *live, cudaMemcpyHostToDevice, stream),
		cudaErrorInvalidValue);
}

TEST(shim_lets_a_block_go_on_when_some_have_ended)
{
	sw_shim_leave(stream, 64, 32, 0);
	ck_assert_int_eq(cudaStreamSynchronize(stream), cudaSuccess);
}

START_TEST(shim_aborts_when_a_lane_has_left_its_warp)
{
	sw_shim_leave(stream, 32, 31, 1);
	(void)cudaStreamSynchronize(stream);
}
END_TEST

START_TEST(shim_aborts_when_a_warp_waits_at_two_barriers)
{
	sw_shim_part(stream, 32, _i);
	(void)cudaStreamSynchronize(stream);
}
END_TEST

SUITE(tcase)
{
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test_raise_signal(tcase, shim_without_a_barrier_shows_the_race,
				    WATCHED ? SIGABRT : 0);
	if (WATCHED) {
		tcase_add_loop_test_raise_signal(tcase, shim_aborts_at_a_race, SIGABRT, 0,
						 5 * SW_SHIM_ORDER_N);
		tcase_add_loop_test_raise_signal(tcase, shim_aborts_at_a_race_of_two_streams,
						 SIGABRT, 0, 10);
		tcase_add_test_raise_signal(tcase, shim_aborts_when_a_shuffle_stands_for_a_barrier,
					    SIGABRT);
		tcase_add_test_raise_signal(
			tcase, shim_aborts_when_shared_memory_is_read_that_nobody_wrote, SIGABRT);
		tcase_add_loop_test_raise_signal(tcase, shim_aborts_out_of_bounds, SIGABRT, 0, 3);
		tcase_add_test_raise_signal(tcase, shim_aborts_at_an_access_before_the_wait,
					    SIGABRT);
		tcase_add_test_raise_signal(tcase, shim_aborts_at_an_access_that_is_not_aligned,
					    SIGABRT);
	} else { /* ends the process by itself, with its own status */
		tcase_add_loop_exit_test(tcase, shim_aborts_out_of_bounds, 1, 0, 3);
	}
	tcase_add_loop_test_raise_signal(
		tcase, shim_aborts_when_a_kernel_that_overlaps_does_not_wait, SIGABRT, 0, 2);
	tcase_add_test_raise_signal(tcase, shim_aborts_when_a_lane_has_left_its_warp, SIGABRT);
	tcase_add_loop_test_raise_signal(tcase, shim_aborts_when_a_warp_waits_at_two_barriers,
					 SIGABRT, 0, 2);
}
