/* tests/kernels/test_threads.c — several threads: each part once, and the bits of one thread. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/threads.h"
#include "tests/kernels/sums.h"
#include "tests/run.h"
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#define PARTS 1000

static void count_part(void *ctx, size_t part, size_t slot)
{
	unsigned *seen = ctx;

	ck_assert_uint_lt(slot, sw_cpu_threads());
	seen[part]++;
}

TEST(parallel_runs_each_part_once)
{
	static unsigned seen[PARTS];

	/* more threads, then fewer: helpers that are not wanted stay out */
	for (unsigned n = 1; n <= 5; n++)
		for (unsigned call = 0; call < 200; call++) {
			const size_t parts = call * 7 % PARTS;

			sw_cpu_threads_set(n == 4 ? 2 : n);
			memset(seen, 0, sizeof seen);
			sw_cpu_parallel(parts, count_part, seen);
			for (size_t i = 0; i < PARTS; i++)
				ck_assert_uint_eq(seen[i], i < parts);
		}
}

static void *other_caller(void *arg)
{
	unsigned *seen = arg;

	for (unsigned call = 0; call < 300; call++) {
		memset(seen, 0, PARTS * sizeof *seen);
		sw_cpu_parallel(PARTS, count_part, seen);
		for (size_t i = 0; i < PARTS; i++)
			if (seen[i] != 1)
				return seen;
	}
	return NULL;
}

TEST(parallel_of_two_callers_does_both)
{
	static unsigned mine[PARTS], theirs[PARTS];
	pthread_t thread;
	void *wrong;

	sw_cpu_threads_set(3);
	ck_assert_int_eq(pthread_create(&thread, NULL, other_caller, theirs), 0);
	ck_assert_ptr_null(other_caller(mine));
	ck_assert_int_eq(pthread_join(thread, &wrong), 0);
	ck_assert_ptr_null(wrong);
}

/* y, dx, dw, db of one call after another, in one piece of memory */
static float *conv_all(const struct sw_conv *c, size_t *n)
{
	const size_t x_n = c->B * c->C * c->H * c->W, w_n = c->O * c->C * c->kh * c->kw;
	const size_t y_n = c->B * c->O * sw_conv_out_h(c) * sw_conv_out_w(c);
	float *x = sums_noise(x_n, 1), *w = sums_noise(w_n, 2), *dy = sums_noise(y_n, 3);
	float *out, *work = sums_work(sw_ops_cpu.conv2d_workspace(c));

	*n = y_n + x_n + w_n + c->O;
	out = sums_noise(*n, 4);
	ck_assert_int_eq(sw_ops_cpu.conv2d_forward(NULL, x, w, NULL, out, c, SW_ACT_RELU, work),
			 SW_OK);
	ck_assert_int_eq(sw_ops_cpu.conv2d_backward(NULL, x, w, out, dy, out + y_n, out + y_n + x_n,
						    out + y_n + x_n + w_n, c, SW_ACT_RELU, work),
			 SW_OK);
	free(x);
	free(w);
	free(dy);
	free(work);
	return out;
}

static float *linear_all(size_t B, size_t I, size_t O, size_t *n)
{
	float *x = sums_noise(B * I, 1), *w = sums_noise(O * I, 2);
	float *dy = sums_noise(B * O, 3), *out;

	*n = B * O + B * I + O * I + O;
	out = sums_noise(*n, 4);
	ck_assert_int_eq(sw_ops_cpu.linear_forward(NULL, x, w, dy, out, B, I, O, SW_ACT_RELU, NULL),
			 SW_OK);
	ck_assert_int_eq(
		sw_ops_cpu.linear_backward(NULL, x, w, out, dy, out + B * O, out + B * O + B * I,
					   out + B * O + B * I + O * I, B, I, O, SW_ACT_RELU, NULL),
		SW_OK);
	free(x);
	free(w);
	free(dy);
	return out;
}

static const struct sw_conv convs[] = {
	{17, 3, 16, 15, 6, 5, 5, 1, 0},
	{9, 6, 14, 14, 16, 5, 5, 1, 0},
	{2, 4, 9, 9, 33, 3, 3, 1, 1},
	{4, 3, 9, 9, 5, 3, 3, 2, 1},
};
static const size_t linears[][3] = {{17, 300, 241}, {128, 128, 96}, {3, 700, 550}, {2, 9, 3}};

TEST_LOOP(results_have_the_same_bits_with_any_number_of_threads, 0,
	  (int)(ROWS(convs) + ROWS(linears)))
{
	float *want = NULL;

	/* so often that calls are both shared and done alone by each number of threads */
	for (unsigned call = 0; call < 160; call++) {
		const unsigned threads = 1 + call / 40;
		size_t n;
		float *got;

		sw_ops_cpu_threads(threads);
		got = (size_t)_i < ROWS(convs)
			      ? conv_all(&convs[_i], &n)
			      : linear_all(linears[(size_t)_i - ROWS(convs)][0],
					   linears[(size_t)_i - ROWS(convs)][1],
					   linears[(size_t)_i - ROWS(convs)][2], &n);
		if (!want) {
			want = got;
			continue;
		}
		ck_assert_msg(memcmp(want, got, n * sizeof *got) == 0, "with %u threads other bits",
			      threads);
		free(got);
	}
	free(want);
}

/* A helper that is held in a signal's handler: one that gets no time of a core. */
static sem_t held, freed;
static pthread_t helper;
static atomic_bool helped;

static void stay(int signo)
{
	(void)signo;
	sem_post(&held);
	while (sem_wait(&freed) != 0)
		;
}

/* The caller's part lasts until the helper has begun the other. */
static void meet_part(void *ctx, size_t part, size_t slot)
{
	(void)ctx, (void)part;
	if (slot == 0)
		while (!atomic_load(&helped))
			sched_yield();
	else
		helper = pthread_self();
	atomic_store(&helped, true);
}

static void helper_hold(void)
{
	ck_assert_int_eq(sem_init(&held, 0, 0), 0);
	ck_assert_int_eq(sem_init(&freed, 0, 0), 0);
	ck_assert_ptr_ne(signal(SIGUSR1, stay), SIG_ERR);
	sw_ops_cpu_threads(2);
	sw_cpu_parallel(2, meet_part, NULL);
	ck_assert_int_eq(pthread_kill(helper, SIGUSR1), 0);
	while (sem_wait(&held) != 0)
		;
}

TEST(a_call_does_not_wait_for_a_helper_that_has_taken_nothing)
{
	float *want, *got;
	size_t n;

	sw_ops_cpu_threads(1);
	want = conv_all(&convs[0], &n);
	helper_hold();
	got = conv_all(&convs[0], &n);
	ck_assert_mem_eq(want, got, n * sizeof *got);
	free(want);
	free(got);
}

RUN_TESTS(NULL, NULL)
