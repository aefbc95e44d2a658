/* tests/kernels/test_cuda_queue.c — what a queue does beside its kernels: graphs, precision,
 * transfers. On a GPU too; there nothing counts what a queue was given. */
#include "kernels/cuda/linear.h"
#include "tests/kernels/cuda_queue.h"
#include "tests/kernels/sums.h"
#include "tests/walk.h"
#include <math.h>
#include <pthread.h>
#include <time.h>

static void nodes_are(unsigned n)
{
#ifndef SW_TEST_GPU
	ck_assert_uint_eq(sw_shim.graph_nodes, n);
#endif
	(void)n;
}

/* --- graphs --- */

TEST(graph_runs_its_calls_with_what_memory_holds_then)
{
	float *x = floats(3, 1), *sum = floats(3, 0);
	struct sw_graph *g, *none;
	const float five[3] = {5, 5, 5};

	ck_assert_int_eq(o->graph_begin(q), SW_OK);
	ck_assert_int_eq(o->graph_begin(q), SW_INVALID);
	ck_assert_int_eq(o->accumulate(q, x, sum, 3), SW_OK);
	ck_assert_int_eq(o->graph_end(q, &g), SW_OK);
	nodes_are(1);
	ck_assert_float_eq(value(sum + 1), 1); /* recorded, not run */
	ck_assert_int_eq(o->graph_run(q, g), SW_OK);
	ck_assert_int_eq(o->graph_run(q, g), SW_OK);
	ck_assert_float_eq(value(sum + 1), 5);
	ck_assert_int_eq(o->upload(q, x, five, sizeof five), SW_OK);
	ck_assert_int_eq(o->graph_run(q, g), SW_OK);
	ck_assert_float_eq(value(sum + 1), 10);
	ck_assert_int_eq(o->graph_end(q, &none), SW_INVALID);
	ck_assert_ptr_null(none);
	ck_assert_int_eq(o->sync(q), SW_OK);
	o->graph_free(g);
	o->graph_free(NULL);
	ck_assert_int_eq(o->graph_begin(q), SW_OK);
	ck_assert_int_eq(o->graph_end(q, &g), SW_OK);
	ck_assert_int_eq(o->graph_run(q, g), SW_OK); /* of nothing */
	ck_assert_int_eq(o->sync(q), SW_OK);
	o->graph_free(g);
	o->free(x);
	o->free(sum);
}

TEST(graph_refuses_what_would_wait_and_stays_whole)
{
	float *x = floats(3, 1), *sum = floats(3, 0), live[3] = {0};
	struct sw_graph *g, *none;

	ck_assert_int_eq(o->graph_begin(q), SW_OK);
	ck_assert_int_eq(o->upload(q, x, live, sizeof live), SW_INVALID);
	ck_assert_int_eq(o->download(q, live, x, sizeof live), SW_INVALID);
	ck_assert_int_eq(o->sync(q), SW_INVALID);
	ck_assert_int_eq(o->transfer(q, 0, x, live, sizeof live), SW_INVALID);
	ck_assert_int_eq(o->transfer_wait(q, 0), SW_INVALID);
	ck_assert_int_eq(o->precision(q, SW_TF32, NULL, 0), SW_INVALID);
	ck_assert_int_eq(o->zero(q, x, sizeof live), SW_OK);
	ck_assert_int_eq(o->accumulate(q, x, sum, 3), SW_OK);
	ck_assert_int_eq(o->graph_end(q, &g), SW_OK);
	nodes_are(2);
	ck_assert_int_eq(o->graph_begin(q), SW_OK);
	ck_assert_int_eq(o->graph_run(q, g), SW_INVALID);
	ck_assert_int_eq(o->graph_end(q, &none), SW_OK);
	o->graph_free(none);
	ck_assert_int_eq(o->graph_run(q, g), SW_OK);
	ck_assert_float_eq(value(x), 0);
	o->graph_free(g);
	o->free(x);
	o->free(sum);
}

/* CUDA does not say whether the thread that records may allocate beside it: the stand-in and an
 * H200 refuse, and of a GPU both answers are right. The stream's memory is untouched by either. */
TEST(graph_of_a_thread_that_allocates_is_whole_or_none_and_the_queue_goes_on)
{
	float *x = floats(3, 1);
	struct sw_graph *g;
	void *more;
	sw_status allocated, zeroed, ended;

	ck_assert_int_eq(o->graph_begin(q), SW_OK);
	allocated = o->alloc(&more, 64);
	zeroed = o->zero(q, x, sizeof *x);
	ended = o->graph_end(q, &g);
#ifndef SW_TEST_GPU
	ck_assert_int_eq(allocated, SW_UNSUPPORTED);
#endif
	ck_assert(allocated == SW_OK || allocated == SW_UNSUPPORTED);
	ck_assert_int_eq(zeroed, allocated);
	ck_assert_int_eq(ended, allocated);
	ck_assert_int_eq(ended, g ? SW_OK : SW_UNSUPPORTED);
	ck_assert_float_eq(value(x), 1);
	o->graph_free(g);
	o->free(more);
	ck_assert_int_eq(o->zero(q, x, sizeof *x), SW_OK);
	ck_assert_float_eq(value(x), 0);
	o->free(x);
}

TEST(graph_without_memory_fails_cleanly)
{
	float *x = floats(3, 1);

	WALK (SW_FAULT_MALLOC, 1) {
		struct sw_graph *g = NULL;
		sw_status status;

		walk_arm();
		status = o->graph_begin(q);
		if (status == SW_OK) {
			ck_assert_int_eq(o->zero(q, x, sizeof *x), SW_OK);
			status = o->graph_end(q, &g);
		}
		const unsigned fired = walk_disarm();
		ck_assert_int_eq(status, fired ? SW_NOMEM : SW_OK);
		ck_assert_int_eq(g != NULL, !fired);
		o->graph_free(g);
	}
	ck_assert_int_eq(o->sync(q), SW_OK); /* x was uploaded */
	o->free(x);
}

/* --- precision --- */

static float rounded(float v, enum sw_precision p)
{
	uint32_t bits;

	if (p == SW_FP32)
		return v;
	memcpy(&bits, &v, sizeof bits);
	if (p == SW_TF32) {
		bits &= ~UINT32_C(0x1fff); /* as the stand-in does it; a GPU may round */
	} else if (v != 0.0f && isfinite(v)) {
		const double unit = ldexp(1.0, ilogb((double)v) - 7);

		return (float)(nearbyint((double)v / unit) * unit);
	} else {
		return v;
	}
	memcpy(&v, &bits, sizeof v);
	return v;
}

/* Relative to a term: two operands, each of which is cut or rounded to 11 bits. */
#ifdef SW_TEST_GPU
#define TF32_UNIT 0x1p-9
#else
#define TF32_UNIT 0.0
#endif

enum { B = 5, I = 37, O = 9 };

static const float odd[] = {1.00390625f, 1.01171875f, -1.00390625f, 3.4e38f, 1e-30f, 0.0f};

/* _i: enum sw_precision. y = x w^T of operands that are rounded, summed as they are. */
TEST_LOOP(products_have_the_operands_of_their_precision, SW_FP32, SW_BF16 + 1)
{
	const enum sw_precision p = (enum sw_precision)_i;
	static float x[B * I], w[O * I], y[B * O];
	size_t bytes, whole;
	float *dx, *dw, *dy = floats(B * O, 0);
	void *work;

	for (int i = 0; i < B * I; i++)
		x[i] = i < 6 ? odd[i] : sinf((float)i) * 3;
	for (int i = 0; i < O * I; i++)
		w[i] = cosf((float)i);
	w[3] = 1e-8f; /* beside the largest number */
	dx = floats(B * I, 0);
	dw = floats(O * I, 0);
	ck_assert_int_eq(o->upload(q, dx, x, sizeof x), SW_OK);
	ck_assert_int_eq(o->upload(q, dw, w, sizeof w), SW_OK);
	sw_cuda_linear_force(2);
	bytes = o->linear_products(p, B, I, O);
	whole = o->linear_products(SW_FP32, B, I, O);
	ck_assert_int_eq(bytes != whole, p == SW_BF16);
	ck_assert_int_eq(o->alloc(&work, bytes), SW_OK);
	ck_assert_int_eq(o->products_open(q, NULL), SW_OK);
	ck_assert_int_eq(o->precision(q, p, work, bytes), SW_OK);
	ck_assert_int_eq(o->linear_forward(q, dx, dw, NULL, dy, B, I, O, SW_ACT_NONE, NULL), SW_OK);
	ck_assert_int_eq(o->download(q, y, dy, sizeof y), SW_OK);
	for (int b = 0; b < B; b++)
		for (int n = 0; n < O; n++) {
			struct sum sum = {0};
			double may = 0;

			for (int i = 0; i < I; i++) {
				const double term = (double)rounded(x[b * I + i], p) *
						    (double)rounded(w[n * I + i], p);

				sum_add(&sum, term);
				may += p == SW_TF32 ? TF32_UNIT * fabs(term) : 0;
			}
			may += SUM_C * sum_unit(&sum);
			ck_assert_msg((double)y[b * O + n] == sum.value ||
					      fabs(sum.value - (double)y[b * O + n]) <= may,
				      "%d %d: %g, not %g", b, n, (double)y[b * O + n], sum.value);
		}
	/* all three products have room, and none has less */
	ck_assert_int_eq(
		o->linear_backward(q, dx, dw, NULL, dy, dx, dw, NULL, B, I, O, SW_ACT_NONE, NULL),
		SW_OK);
	if (p == SW_BF16) {
		ck_assert_int_eq(o->precision(q, p, work, whole), SW_OK);
		ck_assert_int_eq(o->linear_forward(q, dx, dw, NULL, dy, B, I, O, SW_ACT_NONE, NULL),
				 SW_NOMEM);
	}
	ck_assert_int_eq(o->precision(q, p, work, 64), SW_NOMEM);
	ck_assert_int_eq(o->precision(q, p, NULL, 64), SW_INVALID);
	ck_assert_int_eq(o->precision(q, (enum sw_precision)7, NULL, 0), SW_UNSUPPORTED);
	ck_assert_int_eq(o->sync(q), SW_OK);
	sw_cuda_linear_force(0);
	o->free(work);
	o->free(dx);
	o->free(dw);
	o->free(dy);
}

TEST(cpu_has_whole_products_alone)
{
	ck_assert_int_eq(sw_ops_cpu.precision(NULL, SW_FP32, NULL, 0), SW_OK);
	ck_assert_int_eq(sw_ops_cpu.precision(NULL, SW_TF32, NULL, 0), SW_UNSUPPORTED);
	ck_assert_int_eq(sw_ops_cpu.precision(NULL, SW_BF16, NULL, 0), SW_UNSUPPORTED);
	ck_assert_uint_eq(sw_ops_cpu.linear_products(SW_BF16, 1 << 20, 1 << 10, 1 << 10), 0);
	ck_assert_int_eq(sw_ops_cpu.graph_begin(NULL), SW_UNSUPPORTED);
}

/* --- transfers --- */

/* Eleven batches through two buffers, each fetched while the one before is summed up. */
TEST(transfers_by_turns_neither_overtake_nor_are_overtaken)
{
	enum { N = 64, BATCHES = 11 };
	float *buffer[2] = {floats(N, 0), floats(N, 0)}, *sum = floats(N, 0);
	void *pinned[2];
	double want = 0;

	ck_assert_int_eq(o->sync(q), SW_OK); /* nothing of q's may still write there */
	for (int k = 0; k < 2; k++)
		ck_assert_int_eq(o->pinned_alloc(&pinned[k], N * sizeof(float)), SW_OK);
	for (unsigned t = 0; t <= BATCHES; t++) {
		const unsigned k = t % 2;

		if (t > 0) {
			ck_assert_int_eq(o->transfer_wait(q, 1 - k), SW_OK);
			ck_assert_int_eq(o->accumulate(q, buffer[1 - k], sum, N), SW_OK);
		}
		if (t == BATCHES)
			break;
		ck_assert_int_eq(o->transfer_read(q, k), SW_OK);
		for (int i = 0; i < N; i++)
			((float *)pinned[k])[i] = (float)(t + 1);
		/* in two pieces */
		ck_assert_int_eq(o->transfer(q, k, buffer[k], pinned[k], 64), SW_OK);
		ck_assert_int_eq(o->transfer(q, k, buffer[k] + 16, (float *)pinned[k] + 16,
					     (N - 16) * sizeof(float)),
				 SW_OK);
		want += t + 1;
	}
	ck_assert_double_eq((double)value(sum), want);
	ck_assert_double_eq((double)value(sum + N - 1), want + N - 1);
	ck_assert_int_eq(o->transfer(q, 2, sum, pinned[0], 4), SW_INVALID);
	ck_assert_int_eq(o->transfer_wait(q, 2), SW_INVALID);
	for (int k = 0; k < 2; k++) {
		o->pinned_free(pinned[k]);
		o->free(buffer[k]);
	}
	o->free(sum);
	o->pinned_free(NULL);
}

/* --- recordings and other threads --- */

static void *pins(void *arg)
{
	void *p;

	(void)arg;
	ck_assert_int_eq(o->pinned_alloc(&p, 64), SW_OK);
	o->pinned_free(p);
	return NULL;
}

static void *opens(void *arg)
{
	struct sw_queue *other;

	(void)arg;
	ck_assert_int_eq(o->queue_create(&other), SW_OK);
	ck_assert_int_eq(o->products_open(other, NULL), SW_OK);
	o->queue_destroy(other);
	return NULL;
}

/* Pinning memory, and making and ending handles, spoil what other threads record: they wait. */
TEST_LOOP(recording_is_not_spoiled_by_another_thread, 0, 2)
{
	const struct timespec moment = {.tv_nsec = 50000000};
	float *x = floats(3, 1), *sum = floats(3, 0);
	struct sw_graph *g;
	pthread_t thread;

	ck_assert_int_eq(o->sync(q), SW_OK);
	ck_assert_int_eq(o->graph_begin(q), SW_OK);
	ck_assert_int_eq(o->accumulate(q, x, sum, 3), SW_OK);
	ck_assert_int_eq(pthread_create(&thread, NULL, _i ? opens : pins, NULL), 0);
	nanosleep(&moment, NULL); /* long enough to spoil it */
	ck_assert_int_eq(o->graph_end(q, &g), SW_OK);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(o->graph_run(q, g), SW_OK);
	ck_assert_float_eq(value(sum), 1);
	o->graph_free(g);
	o->free(x);
	o->free(sum);
}

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
	tcase_add_checked_fixture(tcase, queue_setup, queue_teardown);
}
