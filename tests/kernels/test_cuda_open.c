/* tests/kernels/test_cuda_open.c — the CUDA backend's host side on the stand-in device: the choice
 * of a GPU, memory, queues, the loss of the device. */
#include "kernels/cuda/cuda.h"
#include "tests/kernels/cuda_shim/shim.h"
#include "tests/run.h"
#include "tests/walk.h"
#include <pthread.h>
#include <stddef.h>

sw_ops_open_fn sw_ops_cuda_open;

static const struct sw_ops *opened(int device)
{
	const struct sw_ops *o = NULL;
	struct sw_err err = SW_ERR_INIT;

	ck_assert_msg(sw_ops_cuda_open(device, &o, &err) == SW_OK, "%s", err.msg);
	ck_assert_int_eq(o->version, SW_OPS_VERSION);
	return o;
}

static const struct {
	int driver, devices;
	cudaError_t count, set, probe;
	int device;
	sw_status status;
	const char *text;
} refusals[] = {
	{0, 0, cudaErrorInsufficientDriver, 0, 0, 0, SW_NOT_FOUND, "no NVIDIA driver"},
	{12040, 0, cudaErrorInsufficientDriver, 0, 0, 0, SW_NOT_FOUND, "knows CUDA 12.4"},
	{13000, 0, cudaErrorNoDevice, 0, 0, 0, SW_NOT_FOUND, "CUDA_VISIBLE_DEVICES"},
	{13000, 0, 0, 0, 0, 0, SW_NOT_FOUND, "CUDA_VISIBLE_DEVICES"},
	{13000, 2, cudaErrorIllegalAddress, 0, 0, 0, SW_DEVICE_LOST, "illegal memory"},
	{13000, 2, 0, 0, 0, 2, SW_NOT_FOUND, "there is no gpu:2: this process sees 2 GPUs"},
	{13000, 1, 0, 0, 0, 1, SW_NOT_FOUND, "sees 1 GPU"},
	{13000, 1, 0, 0, 0, -2, SW_NOT_FOUND, "there is no gpu:-2"},
	{13000, 1, 0, cudaErrorDevicesUnavailable, 0, 0, SW_BUSY, "held by another process"},
	{13000, 1, 0, cudaErrorMemoryAllocation, 0, 0, SW_NOMEM, "no memory left"},
	{13000, 1, 0, 0, cudaErrorNoKernelImageForDevice, 0, SW_NOT_FOUND,
	 "compute capability 9.0, for which this build holds no code: configure with "
	 "-DCMAKE_CUDA_ARCHITECTURES=90"},
	{13000, 1, 0, 0, cudaErrorIllegalAddress, 0, SW_DEVICE_LOST, "does not start"},
};

TEST_ROWS(open_refused_says_why_in_one_line_and_may_be_tried_again, refusals)
{
	const struct sw_shim good = sw_shim;
	const struct sw_ops *o;
	struct sw_err err = SW_ERR_INIT;

	sw_shim.driver_version = refusals[_i].driver;
	sw_shim.device_n = refusals[_i].devices;
	sw_shim.count_error = refusals[_i].count;
	sw_shim.set_error = refusals[_i].set;
	sw_shim.probe_error = refusals[_i].probe;
	ck_assert_int_eq(sw_ops_cuda_open(refusals[_i].device, &o, &err), refusals[_i].status);
	ck_assert_ptr_null(o);
	ck_assert_msg(strstr(err.msg, refusals[_i].text) != NULL, "\"%s\" lacks \"%s\"", err.msg,
		      refusals[_i].text);
	sw_shim = good;
	ck_assert_int_eq(cudaGetLastError(), cudaSuccess); /* nothing is left behind */
	(void)opened(1);
}

static const struct sw_ops *table;

static void *opener(void *device)
{
	void *p;

	ck_assert_int_eq(opened(0)->alloc(&p, 64), SW_OK);
	*(int *)device = sw_shim_device;
	opened(0)->free(p);
	return NULL;
}

static void *follower(void *device)
{
	void *p;

	ck_assert_int_eq(table->alloc(&p, 64), SW_OK);
	*(int *)device = sw_shim_device;
	table->free(p);
	return NULL;
}

/* A thread has the device that it opened last; one that has opened none has the process's first. */
TEST(open_of_a_second_device_is_the_threads_own)
{
	const struct sw_ops *o = opened(1);
	pthread_t thread;
	char text[32];
	int device;

	table = o;
	ck_assert_ptr_eq(opened(1), o);
	ck_assert_int_eq(pthread_create(&thread, NULL, opener, &device), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(device, 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, follower, &device), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(device, 1);
	o->describe(text, sizeof text);
	ck_assert_int_eq(strncmp(text, "Shim, 1.0 GiB, ", 15), 0);
	ck_assert_uint_eq(strlen(text), sizeof text - 1);
}

/* Where code waits for the kernel before it, and a recording can say so. */
TEST_LOOP(kernels_overlap_where_driver_and_code_know_how, 0, 4)
{
	static const struct {
		int ptx, driver;
		bool overlap;
	} cases[] = {{90, 13000, true}, {120, 12030, true}, {80, 13000, false}, {90, 12020, false}};
	float x[4] = {1, -1, 2, -2}, *p = NULL;
	const struct sw_ops *o;
	struct sw_queue *q;

	sw_shim.ptx_version = cases[_i].ptx;
	sw_shim.driver_version = cases[_i].driver;
	o = opened(0);
	ck_assert_int_eq(o->queue_create(&q), SW_OK);
	ck_assert_int_eq(o->alloc((void **)&p, sizeof x), SW_OK);
	ck_assert_int_eq(o->upload(q, p, x, sizeof x), SW_OK);
	ck_assert_int_eq(o->relu_forward(q, p, p, 4), SW_OK);
	ck_assert_int_eq(o->download(q, x, p, sizeof x), SW_OK);
	ck_assert_float_eq(x[2] + x[3], 2.0f);
	ck_assert_uint_eq(sw_shim.given.kernels, 1);
	ck_assert_uint_eq(sw_shim.given.overlaps, cases[_i].overlap);
	o->free(p);
	o->queue_destroy(q);
}

TEST(no_entry_is_missing)
{
	const struct sw_ops *o = opened(0);
	void (*entry[(sizeof *o - offsetof(struct sw_ops, describe)) / sizeof(void (*)(void))])(
		void);

	memcpy(entry, &o->describe, sizeof entry);
	for (size_t i = 0; i < ROWS(entry); i++)
		ck_assert_msg(entry[i] != NULL, "entry %zu is NULL", i);
}

TEST(upload_leaves_its_source_free_when_it_returns)
{
	/* Small ones pass through the slots more often than there are slots. */
	static const size_t sizes[] = {0,      1, 4096, SW_CUDA_SLOT_BYTES, SW_CUDA_SLOT_BYTES + 1,
				       1000003};
	const struct sw_ops *o = opened(0);
	const int rounds = 3 * SW_CUDA_SLOT_N + 1;
	struct sw_queue *q;

	ck_assert_int_eq(o->queue_create(&q), SW_OK);
	for (size_t i = 0; i < ROWS(sizes); i++) {
		const size_t n = sizes[i];
		unsigned char *live = malloc(n + 1), *dev[25];
		size_t wrong = 0;

		ck_assert_int_le(rounds, (int)ROWS(dev));
		for (int r = 0; r < rounds; r++) {
			ck_assert_int_eq(o->alloc((void **)&dev[r], n), SW_OK);
			memset(live, r + 1, n);
			ck_assert_int_eq(o->upload(q, dev[r], live, n), SW_OK);
			memset(live, 0xee, n);
		}
		for (int r = 0; r < rounds; r++) {
			ck_assert_int_eq(o->download(q, live, dev[r], n), SW_OK);
			for (size_t k = 0; k < n; k++)
				wrong += live[k] != r + 1;
			ck_assert_msg(wrong == 0, "upload %d of %zu bytes: %zu are wrong", r, n,
				      wrong);
			o->free(dev[r]);
		}
		free(live);
	}
	o->queue_destroy(q);
	ck_assert_uint_eq(sw_shim.live, 0);
}

/* To count bytes no device is needed, and none is used; with one they are as many. */
TEST(table_without_a_device_counts_bytes_alone)
{
	const size_t rows[] = {1, 64, 5000};
	const struct sw_ops *o = NULL;
	const int devices = sw_shim.device_n;
	size_t bytes[3];
	struct sw_queue *q;

	sw_shim.device_n = 0;
	ck_assert_int_eq(sw_ops_cuda_open(SW_OPS_NO_DEVICE, &o, NULL), SW_OK);
	ck_assert_uint_eq(o->linear_products(SW_FP32, 1, 1, 1), 0);
	ck_assert_uint_ge(o->linear_products(SW_FP32, 4096, 4096, 4096), SW_CUDA_BLAS_BYTES);
	ck_assert_uint_gt(o->products_open_bytes, 0);
	for (int i = 0; i < 3; i++) {
		bytes[i] = o->embedding_workspace(rows[i], 50, 8);
		ck_assert_uint_ge(bytes[i], rows[i] * 20); /* its sort: tokens and places twice */
	}
	ck_assert_int_eq(o->queue_create(&q), SW_INVALID);
	ck_assert_uint_eq(sw_shim.live, 0);
	sw_shim.device_n = devices;
	o = opened(0);
	for (int i = 0; i < 3; i++)
		ck_assert_uint_eq(o->embedding_workspace(rows[i], 50, 8), bytes[i]);
}

TEST(alloc_over_the_memory_is_refused_and_harms_nothing)
{
	const struct sw_ops *o = opened(0);
	const size_t stays = (size_t)256 << 20;
	size_t before, after, total;
	struct sw_queue *q;
	float *x, y = 2.0f;
	void *p;

	sw_shim.memory_bytes = stays + ((size_t)40 << 20);
	ck_assert_int_eq(o->queue_create(&q), SW_OK);
	ck_assert_int_eq(o->alloc((void **)&x, sizeof *x), SW_OK);
	ck_assert_int_eq(o->memory(&before, &total), SW_OK);
	ck_assert_uint_eq(total, before); /* no room for the context that a larger device has */
	ck_assert_int_eq(o->alloc(&p, before + stays + 1), SW_NOMEM);
	ck_assert_ptr_null(p);
	ck_assert_int_eq(o->memory(&after, &total), SW_OK);
	ck_assert_uint_eq(before, after);
	/* A launch asks for the thread's last error: it must not find that of the allocation. */
	ck_assert_int_eq(o->zero(q, x, sizeof *x), SW_OK);
	ck_assert_int_eq(o->relu_forward(q, x, x, 1), SW_OK);
	ck_assert_int_eq(o->download(q, &y, x, sizeof y), SW_OK);
	ck_assert(y == 0.0f);
	ck_assert_int_eq(o->alloc(&p, before), SW_OK);
	o->free(p);
	o->free(x);
	o->queue_destroy(q);
	ck_assert_uint_eq(sw_shim.live, 0);
}

TEST(queue_without_memory_fails_cleanly_at_each_call)
{
	const struct sw_ops *o = opened(0);

	WALK (SW_FAULT_MALLOC, 1) {
		struct sw_queue *q;
		sw_status status;

		walk_arm();
		status = o->queue_create(&q);
		const unsigned fired = walk_disarm();
		ck_assert_int_eq(status, fired ? SW_NOMEM : SW_OK);
		ck_assert_int_eq(q == NULL, fired != 0);
		o->queue_destroy(q);
		ck_assert_uint_eq(sw_shim.live, 0);
		ck_assert_uint_eq(sw_shim.used_bytes, 0);
		ck_assert_int_eq(cudaGetLastError(), cudaSuccess);
	}
}

/* The device breaks at the nth piece of work: from some call on all fail, and stay failed. */
TEST_LOOP(device_lost_is_told_by_every_later_call, 1, 5)
{
	const struct sw_ops *o = opened(0);
	struct sw_queue *q, *other;
	float *x, y[8] = {0};
	void *p;

	ck_assert_int_eq(o->queue_create(&q), SW_OK);
	ck_assert_int_eq(o->alloc((void **)&x, sizeof y), SW_OK);
	sw_shim.lose_at = (unsigned)_i;
	ck_assert_int_eq(o->upload(q, x, y, sizeof y), SW_OK); /* a mark comes later */
	ck_assert_int_eq(o->relu_forward(q, x, x, 8), SW_OK);
	ck_assert_int_eq(o->linear_forward(q, x, x + 1, NULL, x + 2, 1, 1, 1, SW_ACT_NONE, NULL),
			 SW_OK);
	ck_assert_int_eq(o->download(q, y, x, sizeof y), SW_DEVICE_LOST);
	ck_assert_int_eq(o->upload(q, x, y, sizeof y), SW_DEVICE_LOST);
	ck_assert_int_eq(o->zero(q, x, sizeof y), SW_DEVICE_LOST);
	ck_assert_int_eq(o->sync(q), SW_DEVICE_LOST);
	ck_assert_int_eq(o->relu_forward(q, x, x, 8), SW_DEVICE_LOST);
	ck_assert_int_eq(o->linear_forward(q, x, x + 1, NULL, x + 2, 1, 1, 1, SW_ACT_NONE, NULL),
			 SW_DEVICE_LOST);
	ck_assert_int_eq(o->alloc(&p, 8), SW_DEVICE_LOST);
	ck_assert_int_eq(o->queue_create(&other), SW_DEVICE_LOST);
	ck_assert_ptr_null(p);
	ck_assert_ptr_null(other);
	o->free(x);
	o->queue_destroy(q);
	ck_assert_uint_eq(sw_shim.live, 0);
}

static void *other_thread(void *arg)
{
	const struct sw_ops *o = arg;
	struct sw_queue *q;
	float *x, y = 1.0f;

	ck_assert_int_eq(o->queue_create(&q), SW_OK);
	ck_assert_int_eq(o->alloc((void **)&x, sizeof *x), SW_OK);
	ck_assert_int_eq(o->upload(q, x, &y, sizeof y), SW_OK);
	ck_assert_int_eq(o->tanh_forward(q, x, x, 1), SW_OK);
	ck_assert_int_eq(o->download(q, &y, x, sizeof y), SW_OK);
	ck_assert(y < 0.8f && y > 0.7f);
	o->free(x);
	return q;
}

/* CUDA's choice of a device is a thread's own: a queue of gpu:1 works in a thread that never chose,
 * and one made there works here. */
TEST(queue_works_in_a_thread_that_did_not_open)
{
	const struct sw_ops *o = opened(1);
	pthread_t thread;
	void *q;

	ck_assert_int_eq(pthread_create(&thread, NULL, other_thread, (void *)(size_t)o), 0);
	ck_assert_int_eq(pthread_join(thread, &q), 0);
	ck_assert_int_eq(o->sync(q), SW_OK);
	o->queue_destroy(q);
	ck_assert_uint_eq(sw_shim.live, 0);
}

/* Cards before Ampere have neither, and cuBLAS does not say so before the first product. */
TEST_LOOP(precisions_of_an_older_card_are_whole_ones, 7, 9)
{
	const struct sw_ops *o;
	struct sw_queue *q;

	sw_shim.major = _i;
	o = opened(0);
	ck_assert_int_eq(o->queue_create(&q), SW_OK);
	ck_assert_int_eq(o->precision(q, SW_BF16, NULL, 0), _i < 8 ? SW_UNSUPPORTED : SW_OK);
	ck_assert_int_eq(o->precision(q, SW_TF32, NULL, 0), _i < 8 ? SW_UNSUPPORTED : SW_OK);
	ck_assert_int_eq(o->precision(q, SW_FP32, NULL, 0), SW_OK);
	o->queue_destroy(q);
}

TEST(connections_that_the_user_chose_stay)
{
	setenv("CUDA_DEVICE_MAX_CONNECTIONS", "4", 1);
	opened(0);
	ck_assert_str_eq(getenv("CUDA_DEVICE_MAX_CONNECTIONS"), "4");
}

TEST(memory_of_a_device_without_pools_is_the_devices)
{
	const struct sw_ops *o;
	void *p;

	sw_shim.no_pools = true;
	o = opened(0);
	ck_assert_int_eq(o->alloc(&p, 1000), SW_OK);
	o->free(p);
	ck_assert_uint_eq(sw_shim.frees, 1);
}

RUN_TESTS(NULL, NULL)
