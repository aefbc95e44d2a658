/* tests/kernels/test_cuda_shim.c — the stand-in device sees what it is there to see. */
#include "tests/kernels/cuda_shim/shim.h"
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

void sw_shim_neighbour(cudaStream_t s, float *out, unsigned n, int barrier);
void sw_shim_leave(cudaStream_t s, unsigned n, unsigned stay, int warp);
void sw_shim_part(cudaStream_t s, unsigned n);

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
	float *out = NULL, host[1024];
	unsigned right = 0;

	sw_shim.order = order;
	ck_assert_int_eq(cudaMalloc((void **)&out, n * sizeof *out), cudaSuccess);
	sw_shim_neighbour(stream, out, n, barrier);
	ck_assert_int_eq(
		cudaMemcpyAsync(host, out, n * sizeof *out, cudaMemcpyDeviceToHost, stream),
		cudaSuccess);
	ck_assert_int_eq(cudaStreamSynchronize(stream), cudaSuccess);
	for (unsigned i = 0; i < n; i++)
		right += host[i] == (float)((i + 1) % n + 1);
	(void)cudaFree(out);
	return right;
}

START_TEST(shim_with_a_barrier_agrees_in_every_order)
{
	static const unsigned sizes[] = {1, 2, 31, 32, 33, 256, 1024};

	for (int order = 0; order < SW_SHIM_ORDER_N; order++)
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
			ck_assert_uint_eq(seen((enum sw_shim_order)order, sizes[i], 1), sizes[i]);
}
END_TEST

START_TEST(shim_without_a_barrier_shows_the_race)
{
	ck_assert_uint_eq(seen(SW_SHIM_FORWARD, 64, 0), 1);   /* the last sees the first */
	ck_assert_uint_eq(seen(SW_SHIM_BACKWARD, 64, 0), 63); /* all but the first to run */
}
END_TEST

START_TEST(shim_runs_nothing_before_it_is_waited_for)
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
END_TEST

START_TEST(shim_refuses_an_empty_grid_and_host_pointers)
{
	float host[2] = {0};

	sw_shim_leave(stream, 0, 0, 0);
	ck_assert_int_eq(cudaGetLastError(), cudaErrorInvalidConfiguration);
	ck_assert_int_eq(
		cudaMemcpyAsync(host, host + 1, sizeof *host, cudaMemcpyHostToDevice, stream),
		cudaErrorInvalidValue);
}
END_TEST

START_TEST(shim_lets_a_block_go_on_when_some_have_ended)
{
	sw_shim_leave(stream, 64, 32, 0);
	ck_assert_int_eq(cudaStreamSynchronize(stream), cudaSuccess);
}
END_TEST

START_TEST(shim_aborts_when_a_lane_has_left_its_warp)
{
	sw_shim_leave(stream, 32, 31, 1);
	(void)cudaStreamSynchronize(stream);
}
END_TEST

START_TEST(shim_aborts_when_a_warp_waits_at_two_barriers)
{
	sw_shim_part(stream, 32);
	(void)cudaStreamSynchronize(stream);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("kernels/cuda_shim");
	TCase *tc = tcase_create("shim");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, shim_with_a_barrier_agrees_in_every_order);
	tcase_add_test(tc, shim_without_a_barrier_shows_the_race);
	tcase_add_test(tc, shim_runs_nothing_before_it_is_waited_for);
	tcase_add_test(tc, shim_refuses_an_empty_grid_and_host_pointers);
	tcase_add_test(tc, shim_lets_a_block_go_on_when_some_have_ended);
	tcase_add_test_raise_signal(tc, shim_aborts_when_a_lane_has_left_its_warp, SIGABRT);
	tcase_add_test_raise_signal(tc, shim_aborts_when_a_warp_waits_at_two_barriers, SIGABRT);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
