/* tests/kernels/test_cuda_queue.c — what a queue does beside its kernels: graphs, precision,
 * transfers, and memory that does not wait for the device. */
#include "base/fault.h"
#include "kernels/cuda/linear.h"
#include "kernels/ops.h"
#include "tests/kernels/cuda_shim/shim.h"
#include "tests/run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

sw_ops_open_fn sw_ops_cuda_open;

static const struct sw_ops *o;
static struct sw_queue *q;

static void setup(void)
{
	ck_assert_int_eq(sw_ops_cuda_open(0, &o, NULL), SW_OK);
	ck_assert_int_eq(o->queue_create(&q), SW_OK);
}

static void teardown(void)
{
	o->queue_destroy(q);
	ck_assert_uint_eq(sw_shim.live, 0);
}

static float *floats(size_t n, float first)
{
	float *live = malloc(n * sizeof *live);
	void *p;

	for (size_t i = 0; i < n; i++)
		live[i] = first + (float)i;
	ck_assert_int_eq(o->alloc(&p, n * sizeof *live), SW_OK);
	ck_assert_int_eq(o->upload(q, p, live, n * sizeof *live), SW_OK);
	free(live);
	return p;
}

static float value(const float *p)
{
	float v;

	ck_assert_int_eq(o->download(q, &v, p, sizeof v), SW_OK);
	return v;
}

/* --- graphs --- */

START_TEST(graph_runs_its_calls_with_what_memory_holds_then)
{
	float *x = floats(3, 1), *sum = floats(3, 0);
	struct sw_graph *g, *none;
	const float five[3] = {5, 5, 5};

	ck_assert_int_eq(o->graph_begin(q), SW_OK);
	ck_assert_int_eq(o->graph_begin(q), SW_INVALID);
	ck_assert_int_eq(o->accumulate(q, x, sum, 3), SW_OK);
	ck_assert_int_eq(o->graph_end(q, &g), SW_OK);
	ck_assert_uint_eq(sw_shim.graph_nodes, 1);
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
END_TEST

START_TEST(graph_refuses_what_would_wait_and_stays_whole)
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
	ck_assert_uint_eq(sw_shim.graph_nodes, 2);
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
END_TEST

START_TEST(graph_of_a_thread_that_allocates_is_none_and_the_queue_goes_on)
{
	float *x = floats(3, 1);
	struct sw_graph *g;
	void *more;

	ck_assert_int_eq(o->graph_begin(q), SW_OK);
	ck_assert_int_eq(o->alloc(&more, 64), SW_UNSUPPORTED);
	ck_assert_int_eq(o->zero(q, x, sizeof *x), SW_OK);
	ck_assert_int_eq(o->graph_end(q, &g), SW_UNSUPPORTED);
	ck_assert_ptr_null(g);
	ck_assert_float_eq(value(x), 1);
	ck_assert_int_eq(o->zero(q, x, sizeof *x), SW_OK);
	ck_assert_float_eq(value(x), 0);
	o->free(x);
}
END_TEST

#ifdef SW_FAULTS
START_TEST(graph_without_memory_fails_cleanly)
{
	float *x = floats(3, 1);
	unsigned fired = 1;

	for (unsigned nth = 1; fired; nth++) {
		struct sw_graph *g = NULL;
		sw_status status;

		ck_assert_uint_lt(nth, 10);
		sw_fault_arm(SW_FAULT_MALLOC, nth, false);
		status = o->graph_begin(q);
		if (status == SW_OK) {
			ck_assert_int_eq(o->zero(q, x, sizeof *x), SW_OK);
			status = o->graph_end(q, &g);
		}
		fired = sw_fault_fired(SW_FAULT_MALLOC);
		sw_fault_arm(SW_FAULT_MALLOC, 0, false);
		ck_assert_int_eq(status, fired ? SW_NOMEM : SW_OK);
		ck_assert_int_eq(g != NULL, !fired);
		o->graph_free(g);
	}
	ck_assert_int_eq(o->sync(q), SW_OK); /* x was uploaded */
	o->free(x);
}
END_TEST
#endif

/* --- precision --- */

static float rounded(float v, enum sw_precision p)
{
	uint32_t bits;

	if (p == SW_FP32)
		return v;
	memcpy(&bits, &v, sizeof bits);
	if (p == SW_TF32) {
		bits &= ~UINT32_C(0x1fff); /* as the stand-in does it */
	} else if (v != 0.0f && isfinite(v)) {
		const double unit = ldexp(1.0, ilogb((double)v) - 7);

		return (float)(nearbyint((double)v / unit) * unit);
	} else {
		return v;
	}
	memcpy(&v, &bits, sizeof v);
	return v;
}

enum { B = 5, I = 37, O = 9 };

static const float odd[] = {1.00390625f, 1.01171875f, -1.00390625f, 3.4e38f, 1e-30f, 0.0f};

/* _i: enum sw_precision. y = x w^T of operands that are rounded, summed as they are. */
START_TEST(products_have_the_operands_of_their_precision)
{
	const enum sw_precision p = (enum sw_precision)_i;
	static float x[B * I], w[O * I], y[B * O];
	const size_t bytes = o->product_workspace(p, B, I, O);
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
	ck_assert_int_eq(o->alloc(&work, bytes), SW_OK);
	ck_assert_int_eq(bytes != 0, p == SW_BF16);
	sw_cuda_linear_force(2);
	ck_assert_int_eq(o->precision(q, p, work, bytes), SW_OK);
	ck_assert_int_eq(o->linear_forward(q, dx, dw, NULL, dy, B, I, O, SW_ACT_NONE), SW_OK);
	ck_assert_int_eq(o->download(q, y, dy, sizeof y), SW_OK);
	for (int b = 0; b < B; b++)
		for (int n = 0; n < O; n++) {
			double sum = 0;

			for (int i = 0; i < I; i++)
				sum += (double)rounded(x[b * I + i], p) *
				       (double)rounded(w[n * I + i], p);
			ck_assert_msg((double)y[b * O + n] == sum ||
					      fabs(sum - (double)y[b * O + n]) <=
						      1e-6 * (1 + fabs(sum)),
				      "%d %d: %g, not %g", b, n, (double)y[b * O + n], sum);
		}
	/* all three products have room, and none has less */
	ck_assert_int_eq(
		o->linear_backward(q, dx, dw, NULL, dy, dx, dw, NULL, B, I, O, SW_ACT_NONE, 0),
		SW_OK);
	if (bytes) {
		ck_assert_int_eq(o->precision(q, p, work, 64), SW_OK);
		ck_assert_int_eq(o->linear_forward(q, dx, dw, NULL, dy, B, I, O, SW_ACT_NONE),
				 SW_NOMEM);
		ck_assert_int_eq(o->precision(q, p, NULL, 64), SW_INVALID);
	}
	ck_assert_int_eq(o->precision(q, (enum sw_precision)7, NULL, 0), SW_UNSUPPORTED);
	ck_assert_int_eq(o->sync(q), SW_OK);
	sw_cuda_linear_force(0);
	o->free(work);
	o->free(dx);
	o->free(dw);
	o->free(dy);
}
END_TEST

START_TEST(cpu_has_whole_products_alone)
{
	ck_assert_int_eq(sw_ops_cpu.precision(NULL, SW_FP32, NULL, 0), SW_OK);
	ck_assert_int_eq(sw_ops_cpu.precision(NULL, SW_TF32, NULL, 0), SW_UNSUPPORTED);
	ck_assert_int_eq(sw_ops_cpu.precision(NULL, SW_BF16, NULL, 0), SW_UNSUPPORTED);
	ck_assert_uint_eq(sw_ops_cpu.product_workspace(SW_BF16, 8, 8, 8), 0);
	ck_assert_int_eq(sw_ops_cpu.graph_begin(NULL), SW_UNSUPPORTED);
}
END_TEST

/* --- transfers --- */

/* Eleven batches through two buffers, each fetched while the one before is summed up. */
START_TEST(transfers_by_turns_neither_overtake_nor_are_overtaken)
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
END_TEST

/* --- memory --- */

START_TEST(memory_is_given_back_without_a_wait_for_the_device)
{
	void *p;

	ck_assert_int_eq(o->alloc(&p, 1000), SW_OK);
	ck_assert_uint_eq((uintptr_t)p % SW_OPS_ALIGN, 0);
	o->free(p);
	ck_assert_uint_eq(sw_shim.frees, 0);
	ck_assert_int_eq(o->alloc(&p, sw_shim.memory_bytes), SW_NOMEM);
	ck_assert_ptr_null(p);
}
END_TEST

START_TEST(memory_given_back_is_free_for_all_at_once)
{
	size_t before, after, total;
	void *p;

	ck_assert_int_eq(o->memory(&before, &total), SW_OK);
	ck_assert_int_eq(o->alloc(&p, 1000), SW_OK);
	o->free(p);
	ck_assert_int_eq(o->memory(&after, &total), SW_OK);
	ck_assert_uint_eq(after, before); /* nobody has waited for anything since */
}
END_TEST

START_TEST(small_uploads_cost_an_event_a_half_of_the_slots)
{
	float *x = floats(3, 1);
	const unsigned before = sw_shim.events;

	for (int i = 0; i < 24; i++)
		ck_assert_int_eq(o->upload(q, x, &(float){(float)i}, sizeof *x), SW_OK);
	ck_assert_uint_eq(sw_shim.events - before, 6);
	ck_assert_float_eq(value(x), 23);
	o->free(x);
}
END_TEST

/* --- what cuBLAS has of a queue --- */

static sw_status product(float *x)
{
	return o->linear_forward(q, x, x, NULL, x + 2, 1, 1, 1, SW_ACT_NONE);
}

START_TEST(blas_workspace_is_made_at_the_first_product_of_cublas)
{
	float *x = floats(3, 2);
	const size_t used = sw_shim.used_bytes;
	struct sw_graph *g;

	sw_cuda_linear_force(1);
	ck_assert_int_eq(product(x), SW_OK);
	ck_assert_uint_eq(sw_shim.used_bytes, used);
	sw_cuda_linear_force(2);
	ck_assert_int_eq(o->graph_begin(q), SW_OK);
	ck_assert_int_eq(product(x), SW_UNSUPPORTED); /* for it would allocate */
	ck_assert_int_eq(o->graph_end(q, &g), SW_OK);
	o->graph_free(g);
	ck_assert_uint_eq(sw_shim.used_bytes, used);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(product(x), SW_OK);
	ck_assert_uint_eq(sw_shim.used_bytes, used + ((size_t)32 << 20));
	ck_assert_float_eq(value(x + 2), 4);
	o->free(x);
}
END_TEST

START_TEST(blas_workspace_is_smaller_where_no_more_is_left)
{
	float *x = floats(3, 2);
	const size_t all = sw_shim.memory_bytes;

	sw_cuda_linear_force(2);
	sw_shim.memory_bytes = sw_shim.used_bytes + ((size_t)2 << 20);
	ck_assert_int_eq(product(x), SW_NOMEM);
	sw_shim.memory_bytes = sw_shim.used_bytes + ((size_t)5 << 20);
	ck_assert_int_eq(product(x), SW_OK);
	ck_assert_float_eq(value(x + 2), 4);
	sw_shim.memory_bytes = all;
	o->free(x);
}
END_TEST

START_TEST(product_that_cannot_be_recorded_is_no_loss_of_the_device)
{
	float *x = floats(3, 2);
	struct sw_graph *g;

	sw_cuda_linear_force(2);
	ck_assert_int_eq(product(x), SW_OK);
	sw_shim.blas_unrecorded = true;
	ck_assert_int_eq(o->graph_begin(q), SW_OK);
	ck_assert_int_eq(product(x), SW_UNSUPPORTED);
	ck_assert_int_eq(o->graph_end(q, &g), SW_OK);
	o->graph_free(g);
	ck_assert_int_eq(product(x), SW_OK);
	ck_assert_float_eq(value(x + 2), 4);
	o->free(x);
}
END_TEST

START_TEST(queue_for_which_cublas_has_no_memory_is_no_loss_of_the_device)
{
	struct sw_queue *other;

	sw_shim.blas_starved = true;
	ck_assert_int_eq(o->queue_create(&other), SW_NOMEM);
	ck_assert_ptr_null(other);
	sw_shim.blas_starved = false;
	ck_assert_int_eq(o->queue_create(&other), SW_OK);
	o->queue_destroy(other);
}
END_TEST

START_TEST(streams_get_all_connections_of_the_driver)
{
	ck_assert_str_eq(getenv("CUDA_DEVICE_MAX_CONNECTIONS"), "32");
}
END_TEST

SUITE(tcase)
{
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, graph_runs_its_calls_with_what_memory_holds_then);
	tcase_add_test(tcase, graph_refuses_what_would_wait_and_stays_whole);
	tcase_add_test(tcase, graph_of_a_thread_that_allocates_is_none_and_the_queue_goes_on);
#ifdef SW_FAULTS
	tcase_add_test(tcase, graph_without_memory_fails_cleanly);
#endif
	tcase_add_loop_test(tcase, products_have_the_operands_of_their_precision, SW_FP32,
			    SW_BF16 + 1);
	tcase_add_test(tcase, cpu_has_whole_products_alone);
	tcase_add_test(tcase, transfers_by_turns_neither_overtake_nor_are_overtaken);
	tcase_add_test(tcase, memory_is_given_back_without_a_wait_for_the_device);
	tcase_add_test(tcase, memory_given_back_is_free_for_all_at_once);
	tcase_add_test(tcase, small_uploads_cost_an_event_a_half_of_the_slots);
	tcase_add_test(tcase, blas_workspace_is_made_at_the_first_product_of_cublas);
	tcase_add_test(tcase, blas_workspace_is_smaller_where_no_more_is_left);
	tcase_add_test(tcase, product_that_cannot_be_recorded_is_no_loss_of_the_device);
	tcase_add_test(tcase, queue_for_which_cublas_has_no_memory_is_no_loss_of_the_device);
	tcase_add_test(tcase, streams_get_all_connections_of_the_driver);
}
