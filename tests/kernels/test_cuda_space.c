/* tests/kernels/test_cuda_space.c — the memory of a device and of its queues: what is taken, lent
 * and given back without a wait, and a cuBLAS that is missing or short of memory. On the stand-in
 * alone, which counts it. */
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/linear.h"
#include "tests/kernels/cuda_queue.h"
#include <cublas_v2.h>

/* --- memory --- */

TEST(memory_is_given_back_without_a_wait_for_the_device)
{
	void *p;

	ck_assert_int_eq(o->alloc(&p, 1000), SW_OK);
	ck_assert_uint_eq((uintptr_t)p % SW_OPS_ALIGN, 0);
	o->free(p);
	ck_assert_uint_eq(sw_shim.frees, 0);
	ck_assert_int_eq(o->alloc(&p, sw_shim.memory_bytes), SW_NOMEM);
	ck_assert_ptr_null(p);
}

TEST(memory_given_back_is_free_for_all_at_once)
{
	size_t before, after, total;
	void *p;

	ck_assert_int_eq(o->memory(&before, &total), SW_OK);
	ck_assert_int_eq(o->alloc(&p, 1000), SW_OK);
	o->free(p);
	ck_assert_int_eq(o->memory(&after, &total), SW_OK);
	ck_assert_uint_eq(after, before); /* nobody has waited for anything since */
}

/* _i: GiB of the device. What CUDA takes while work runs is not for arenas, nor is the context. */
TEST_LOOP(memory_to_take_leaves_what_the_device_needs_for_itself, 1, 26)
{
	const size_t all = sw_shim.memory_bytes, mib = (size_t)1 << 20;
	const size_t stays = _i < 13 ? 256 * mib : ((size_t)_i << 30) / 50;
	size_t free_bytes, total;

	sw_shim.memory_bytes = (size_t)_i << 30;
	ck_assert_int_eq(o->memory(&free_bytes, &total), SW_OK);
	ck_assert_uint_eq(free_bytes, sw_shim.memory_bytes - stays - sw_shim.used_bytes);
	ck_assert_uint_eq(total, free_bytes); /* the stand-in's context has no bytes */
	sw_shim.used_bytes += 600 * mib;
	ck_assert_int_eq(o->memory(&free_bytes, &total), SW_OK);
	sw_shim.used_bytes -= 600 * mib;
	ck_assert_uint_eq(total, sw_shim.memory_bytes - stays - 512 * mib);
	sw_shim.memory_bytes = sw_shim.used_bytes + 100 * mib;
	ck_assert_int_eq(o->memory(&free_bytes, &total), SW_OK);
	ck_assert_uint_eq(free_bytes, 0);
	sw_shim.memory_bytes = all;
}

TEST(small_uploads_cost_an_event_a_half_of_the_slots)
{
	float *x = floats(3, 1);
	const unsigned before = sw_shim.events;

	for (int i = 0; i < 24; i++)
		ck_assert_int_eq(o->upload(q, x, &(float){(float)i}, sizeof *x), SW_OK);
	ck_assert_uint_eq(sw_shim.events - before, 6);
	ck_assert_float_eq(value(x), 23);
	o->free(x);
}

/* --- what cuBLAS has of a queue --- */

static sw_status product(float *x)
{
	return o->linear_forward(q, x, x, NULL, x + 2, 1, 1, 1, SW_ACT_NONE, NULL);
}

/* Memory for products, lent to q; to be freed. */
static void *lent(void)
{
	const size_t bytes = o->linear_products(SW_FP32, 1 << 10, 1 << 10, 1 << 10);
	void *work;

	sw_cuda_linear_force(2);
	ck_assert_uint_ne(bytes, 0);
	ck_assert_int_eq(o->alloc(&work, bytes), SW_OK);
	ck_assert_int_eq(o->products_open(q, NULL), SW_OK);
	ck_assert_int_eq(o->precision(q, SW_FP32, work, bytes), SW_OK);
	return work;
}

/* cuBLAS takes tens of MB for a handle: a lane whose nets need no product of it has none. */
TEST(queue_has_a_handle_only_for_nets_with_products)
{
	const unsigned before = sw_shim.blas.handles;
	float *x = floats(3, 2);
	struct sw_queue *other;
	void *work;

	ck_assert_int_eq(o->queue_create(&other), SW_OK);
	ck_assert_int_eq(product(x), SW_OK);
	ck_assert_uint_eq(sw_shim.blas.handles, before);
	work = lent();
	ck_assert_int_eq(o->products_open(q, NULL), SW_OK); /* again: the same one */
	ck_assert_uint_eq(sw_shim.blas.handles, before + 1);
	o->queue_destroy(other);
	ck_assert_uint_eq(sw_shim.blas.handles, before + 1);
	ck_assert_float_eq(value(x + 2), 4);
	o->free(work);
	o->free(x);
}

/* The bits of a product may depend on the size of cuBLAS's workspace: it is what was counted, or
 * there is no product. */
TEST(product_has_the_one_workspace_or_none)
{
	const size_t bytes = o->linear_products(SW_FP32, 1 << 10, 1 << 10, 1 << 10);
	const size_t all = sw_shim.memory_bytes;
	float *x = floats(3, 2);
	size_t used;
	void *work;

	sw_cuda_linear_force(2);
	ck_assert_int_eq(product(x), SW_NOMEM);
	ck_assert_int_eq(o->products_open(q, NULL), SW_OK);
	ck_assert_int_eq(product(x), SW_NOMEM);
	ck_assert_int_eq(o->alloc(&work, bytes), SW_OK);
	ck_assert_int_eq(o->precision(q, SW_FP32, work, bytes / 2), SW_NOMEM);
	ck_assert_int_eq(product(x), SW_NOMEM);
	ck_assert_int_eq(o->precision(q, SW_FP32, work, bytes), SW_OK);
	used = sw_shim.used_bytes;
	sw_shim.memory_bytes = used; /* nothing is left, and nothing is taken */
	ck_assert_int_eq(product(x), SW_OK);
	ck_assert_uint_eq(sw_shim.blas.workspace_bytes, SW_CUDA_BLAS_BYTES);
	ck_assert_uint_eq(sw_shim.used_bytes, used);
	ck_assert_float_eq(value(x + 2), 4);
	sw_shim.memory_bytes = all;
	ck_assert_int_eq(o->precision(q, SW_FP32, NULL, 0), SW_OK);
	ck_assert_int_eq(product(x), SW_NOMEM);
	o->free(work);
	o->free(x);
}

/* What is lent at the most rows is enough for fewer. */
TEST(products_of_fewer_rows_need_no_more_memory)
{
	for (int p = SW_FP32; p <= SW_BF16; p++) {
		size_t linear = 0, conv = 0;

		for (size_t rows = 1; rows < 2000; rows = rows * 3 / 2 + 1) {
			const struct sw_conv c = {.B = rows,
						  .C = 32,
						  .H = 16,
						  .W = 16,
						  .O = 40,
						  .kh = 3,
						  .kw = 3,
						  .stride = 1,
						  .pad = 1};
			const size_t l = o->linear_products((enum sw_precision)p, rows, 300, 70);
			const size_t k = o->conv2d_products((enum sw_precision)p, &c);

			ck_assert_uint_ge(l, linear);
			ck_assert_uint_ge(k, conv);
			linear = l;
			conv = k;
		}
		ck_assert_uint_gt(linear, 0);
		ck_assert_uint_gt(conv, 0);
	}
}

/* Without cuBLAS all works that needs no product of it; what does says what is missing. */
TEST(queue_without_the_library_has_small_products_and_says_what_is_missing)
{
	struct sw_err err = SW_ERR_INIT, none = SW_ERR_INIT;
	float *x = floats(3, 2);

	sw_shim.blas.missing = true;
	ck_assert_int_eq(o->precision(q, SW_TF32, NULL, 0), SW_OK);
	ck_assert_int_eq(product(x), SW_OK);
	ck_assert_float_eq(value(x + 2), 4);
	ck_assert_int_eq(o->products_open(q, &err), SW_UNSUPPORTED);
	ck_assert_str_eq(err.msg, "layers of this size need cuBLAS, which does not load: "
				  "libcublas.so.13: cannot open shared object file");
	sw_shim.blas.missing = false;
	sw_shim.blas.lacks = "cublasGemmEx";
	ck_assert_int_eq(o->products_open(q, &none), SW_UNSUPPORTED);
	ck_assert_str_eq(none.msg, "libcublas.so.13 has no cublasGemmEx");
	sw_shim.blas.lacks = NULL;
	o->free(lent());
	o->free(x);
}

TEST(product_that_cannot_be_recorded_is_no_loss_of_the_device)
{
	float *x = floats(3, 2);
	void *work = lent();
	struct sw_graph *g;

	ck_assert_int_eq(product(x), SW_OK);
	sw_shim.blas.unrecorded = true;
	ck_assert_int_eq(o->graph_begin(q), SW_OK);
	ck_assert_int_eq(product(x), SW_UNSUPPORTED);
	ck_assert_int_eq(o->graph_end(q, &g), SW_OK);
	o->graph_free(g);
	ck_assert_int_eq(product(x), SW_OK);
	ck_assert_float_eq(value(x + 2), 4);
	o->free(work);
	o->free(x);
}

TEST(queue_for_which_cublas_has_no_memory_is_no_loss_of_the_device)
{
	sw_shim.blas.starved = true;
	ck_assert_int_eq(o->products_open(q, NULL), SW_NOMEM);
	sw_shim.blas.starved = false;
	o->free(lent());
}

/* As cuBLAS says it where it could not load a kernel. */
TEST(product_that_fails_inside_beside_little_memory_is_no_loss_of_the_device)
{
	const size_t all = sw_shim.memory_bytes;
	float *x = floats(3, 2);
	void *work = lent();

	for (int k = 0; k < 2; k++) {
		sw_shim.memory_bytes = k ? all : sw_shim.used_bytes + ((size_t)63 << 20);
		sw_shim.failure = (struct sw_shim_failure){
			.call = SW_SHIM_PRODUCT, .nth = 1, .error = CUBLAS_STATUS_INTERNAL_ERROR};
		ck_assert_int_eq(product(x), k ? SW_DEVICE_LOST : SW_NOMEM);
	}
	ck_assert_int_eq(product(x), SW_OK);
	ck_assert_float_eq(value(x + 2), 4);
	o->free(work);
	o->free(x);
}

TEST(streams_get_all_connections_of_the_driver)
{
	ck_assert_str_eq(getenv("CUDA_DEVICE_MAX_CONNECTIONS"), "32");
}

RUN_TESTS(queue_setup, queue_teardown)
