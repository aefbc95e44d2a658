/* tests/trainer/net/test_cuda_calls.c — a training in one lane in which the nth call of CUDA or
 * cuBLAS fails, for each kind of call and each n: it ends as kernels/cuda/status_cuda.h says or
 * goes on with the same bits, but where a fused product was refused, and a lane that trains beside
 * it, and the next trial of its own, see nothing. With data on the device, and with rows that are
 * streamed to it. */
#include "kernels/cuda/linear.h"
#include "tests/trainer/net/cuda_train.h"
#include <cublas_v2.h>
#include <pthread.h>

/* How the training goes on where it does: ROUNDED is with plain products, whose sums may have other
 * bits. */
enum on { SAME, ROUNDED, NEVER };

static const struct {
	enum sw_shim_call call;
	int error;
	sw_status status; /* SW_OK: it always goes on, perhaps in parts */
	enum on on;
} failures[] = {
	/* what transfers of rows call, too: TRANSFERS_N */
	{SW_SHIM_PIN, cudaErrorMemoryAllocation, SW_NOMEM, NEVER},
	{SW_SHIM_STREAM, cudaErrorMemoryAllocation, SW_NOMEM, NEVER},
	{SW_SHIM_EVENT, cudaErrorMemoryAllocation, SW_NOMEM, NEVER},
	{SW_SHIM_COPY, cudaErrorIllegalAddress, SW_DEVICE_LOST, SAME},
	{SW_SHIM_SYNC, cudaErrorIllegalAddress, SW_DEVICE_LOST, SAME},
	{SW_SHIM_MARK, cudaErrorIllegalAddress, SW_DEVICE_LOST, SAME},
	{SW_SHIM_EVENT_SYNC, cudaErrorIllegalAddress, SW_DEVICE_LOST, SAME},
	{SW_SHIM_EVENT_WAIT, cudaErrorInvalidResourceHandle, SW_DEVICE_LOST, NEVER},
	/* what they do not */
	{SW_SHIM_ALLOC, cudaErrorMemoryAllocation, SW_NOMEM, SAME},
	{SW_SHIM_HANDLE, CUBLAS_STATUS_NOT_INITIALIZED, SW_NOMEM, NEVER},
	{SW_SHIM_HANDLE, CUBLAS_STATUS_ALLOC_FAILED, SW_NOMEM, NEVER},
	{SW_SHIM_HANDLE, CUBLAS_STATUS_ARCH_MISMATCH, SW_UNSUPPORTED, NEVER},
	{SW_SHIM_HANDLE, CUBLAS_STATUS_INTERNAL_ERROR, SW_DEVICE_LOST, NEVER},
	{SW_SHIM_BLAS_SET, CUBLAS_STATUS_NOT_SUPPORTED, SW_UNSUPPORTED, SAME},
	{SW_SHIM_PRODUCT, CUBLAS_STATUS_ALLOC_FAILED, SW_OK, SAME},
	{SW_SHIM_PRODUCT, CUBLAS_STATUS_NOT_SUPPORTED, SW_UNSUPPORTED, ROUNDED},
	{SW_SHIM_PRODUCT, CUBLAS_STATUS_ARCH_MISMATCH, SW_UNSUPPORTED, ROUNDED},
	{SW_SHIM_PRODUCT, CUBLAS_STATUS_INVALID_VALUE, SW_INVALID, ROUNDED},
	{SW_SHIM_PRODUCT, CUBLAS_STATUS_EXECUTION_FAILED, SW_DEVICE_LOST, SAME},
	{SW_SHIM_LAUNCH, cudaErrorMemoryAllocation, SW_NOMEM, SAME},
	{SW_SHIM_LAUNCH, cudaErrorIllegalAddress, SW_DEVICE_LOST, SAME},
	{SW_SHIM_FILL, cudaErrorIllegalAddress, SW_DEVICE_LOST, SAME},
	{SW_SHIM_DEVICE, cudaErrorMemoryAllocation, SW_NOMEM, NEVER},
	{SW_SHIM_DEVICE, cudaErrorDevicesUnavailable, SW_DEVICE_LOST, NEVER},
	{SW_SHIM_MEMORY, cudaErrorInvalidValue, SW_OK, SAME},
	{SW_SHIM_MEMORY, cudaErrorIllegalAddress, SW_DEVICE_LOST, NEVER},
	{SW_SHIM_CAPTURE, cudaErrorStreamCaptureUnsupported, SW_OK, SAME},
	{SW_SHIM_CAPTURE_END, cudaErrorStreamCaptureInvalidated, SW_OK, SAME},
	{SW_SHIM_INSTANTIATE, cudaErrorMemoryAllocation, SW_OK, SAME},
	{SW_SHIM_GRAPH, cudaErrorMemoryAllocation, SW_OK, SAME},
	{SW_SHIM_GRAPH, cudaErrorIllegalAddress, SW_DEVICE_LOST, SAME},
};

static struct sw_trainer trainer; /* one epoch: steps by calls, recorded, and by graphs */
static struct curve whole;
static struct sw_queue *other;
static unsigned until_other; /* steps */

/* tolerance 0: the same bits */
static void like_epoch(const struct curve *a, double tolerance)
{
	ck_assert_uint_eq(a->n, 1);
	for (int i = 0; i < 2; i++)
		ck_assert_double_eq_tol(a->loss[0][i], whole.loss[0][i], tolerance + 1e-300);
}

static void same_epoch(const struct curve *a)
{
	like_epoch(a, 0);
}

static void other_trains(void)
{
	struct sw_queue *first = queue;
	struct curve beside;

	queue = other;
	ck_assert_int_eq(train(&beside, cuda, &trainer, NULL), SW_OK);
	same_epoch(&beside);
	queue = first;
}

/* The other lane trains from begin to end between two steps of the first. */
static bool between_steps(void *ctx)
{
	const struct sw_shim_failure armed = sw_shim.failure;

	(void)ctx;
	if (sw_shim.lost || until_other == 0 || --until_other > 0)
		return true;
	sw_shim.failure = (struct sw_shim_failure){.nth = 0};
	other_trains();
	sw_shim.failure = armed;
	return true;
}

/* A lane from its queue to its end. */
static sw_status lane_run(struct curve *c)
{
	const struct sw_train_hooks hooks = {.ctx = c, .go_on = between_steps, .report = report};
	struct sw_queue *shared = queue;
	struct sw_err err = SW_ERR_INIT;
	enum sw_train_end end;
	sw_status rc;

	memset(c, 0, sizeof *c);
	rc = cuda->queue_create(&queue);
	if (rc == SW_OK) {
		rc = sw_train_run(cuda, queue, &model, &data, &trainer, 3, &hooks, &end, &err);
		ck_assert_int_eq(*err.msg != '\0', rc != SW_OK);
	}
	cuda->queue_destroy(queue);
	queue = shared;
	if (!sw_shim.lost)
		ck_assert_int_eq(cudaGetLastError(), cudaSuccess); /* nothing is left behind */
	return rc;
}

struct lane {
	struct curve *c;
	const struct sw_data *data; /* of the thread that has loaded it */
	sw_status rc;
};

static void *lane_main(void *arg)
{
	struct lane *l = arg;

	data = *l->data;
	l->rc = lane_run(l->c);
	return NULL;
}

/* In a thread of its own, as lanes are: it has no device yet. */
static sw_status lane(struct curve *c)
{
	struct lane l = {.c = c, .data = &data};
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, lane_main, &l), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	return l.rc;
}

#define FAILURES_N  ((int)(sizeof failures / sizeof *failures))
#define TRANSFERS_N 8

static void stream_rows(void)
{
	close_on(cuda);
	device_bytes = 1;
	open_on(cuda);
	ck_assert(data.streamed);
}

/* _i: with data on the device, then with rows that are streamed. */
TEST_LOOP(nth_call_that_fails_ends_as_documented_and_harms_no_other_lane, 0,
	  FAILURES_N + TRANSFERS_N)
{
	const bool streamed = _i >= FAILURES_N;
	const int i = _i % FAILURES_N;
	unsigned live, ended = 0, fired = 1, nth;
	struct curve c;

	if (streamed)
		stream_rows();
	trainer = sgd;
	trainer.epochs = 1;
	sw_cuda_linear_force(2); /* cuBLAS, however small */
	ck_assert_int_eq(train(&whole, cuda, &trainer, NULL), SW_OK);
	live = sw_shim.live; /* a queue keeps what its first training made */
	ck_assert_int_eq(cuda->queue_create(&other), SW_OK);
	other_trains();
	for (nth = 1; fired; nth++) {
		const unsigned before = sw_shim.live;
		sw_status rc;

		ck_assert_uint_lt(nth, 2000);
		until_other = nth % 4 == 1 ? 1 + nth % 3 : 0;
		sw_shim.failure = (struct sw_shim_failure){
			.call = failures[i].call, .nth = nth, .error = failures[i].error};
		rc = lane(&c);
		fired = sw_shim.failure.fired;
		sw_shim.lost = false; /* as in a new process */
		sw_shim.failure.nth = 0;
		if (rc != SW_OK) {
			ck_assert_int_eq(rc, failures[i].status);
			ended++;
		} else if (c.oom_events == 0) {
			like_epoch(&c, failures[i].on == ROUNDED ? 1e-5 : 0);
		}
		ck_assert(!fired || failures[i].on != NEVER || rc != SW_OK);
		ck_assert_uint_eq(sw_shim.live, before);
	}
	/* there is such a call: streams wait for rows that come */
	ck_assert_int_eq(nth > 2, streamed || failures[i].call != SW_SHIM_EVENT_WAIT);
	ck_assert_int_eq(ended > 0, nth > 2 && failures[i].status != SW_OK);
	ck_assert_int_eq(lane(&c), SW_OK);
	same_epoch(&c);
	cuda->queue_destroy(other);
	ck_assert_uint_eq(sw_shim.live, live);
	sw_cuda_linear_force(0);
}

RUN_TESTS(setup, teardown)
