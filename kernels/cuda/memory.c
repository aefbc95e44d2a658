/* kernels/cuda/memory.c — device memory, queues, and the way in and out. */
#include "base/memory.h"
#include "base/fault.h"
#include "base/gpu.h"
#include "kernels/cuda/blas.h"
#include "kernels/cuda/product.h"
#include <stdlib.h>
#include <string.h>

static size_t less(size_t a, size_t b)
{
	return a > b ? a - b : 0;
}

sw_status sw_cuda_memory(size_t *free_bytes, size_t *total_bytes)
{
	sw_status rc = sw_cuda_use();

	*free_bytes = 0;
	*total_bytes = 0;
	if (rc == SW_OK)
		rc = sw_cuda_status(cudaMemGetInfo(free_bytes, total_bytes));
	if (rc != SW_OK)
		return rc;
	const size_t stays = (size_t)sw_gpu_stays((int64_t)*total_bytes);

	/* of the free ones the context has taken its own already */
	*free_bytes = less(*free_bytes, stays);
	*total_bytes = less(*total_bytes, stays + (size_t)SW_GPU_CONTEXT_BYTES);
	if (*total_bytes < *free_bytes) /* it is smaller than estimated */
		*total_bytes = *free_bytes;
	return SW_OK;
}

/* cudaFree waits for the whole device, so for all other lanes; the pool's calls wait for one
 * stream, and the legacy default one is given nothing else: queues' streams do not wait for it, and
 * those that record do not mind. */
static sw_status pool_alloc(void **out, size_t bytes)
{
	sw_status rc = sw_cuda_status(cudaMallocAsync(out, bytes, cudaStreamLegacy));

	if (rc != SW_OK)
		return rc;
	rc = sw_cuda_status(cudaStreamSynchronize(cudaStreamLegacy)); /* then all may use it */
	if (rc != SW_OK) {
		(void)sw_cuda_status(cudaFreeAsync(*out, cudaStreamLegacy));
		*out = NULL;
	}
	return rc;
}

sw_status sw_cuda_alloc(void **out, size_t bytes)
{
	const sw_status rc = sw_cuda_use();

	*out = NULL;
	if (rc != SW_OK || bytes == 0)
		return rc;
	if (sw_fault_hit(SW_FAULT_MALLOC))
		return SW_NOMEM;
	/* Aligned to 256 bytes, both. */
	return sw_cuda_pools() ? pool_alloc(out, bytes) : sw_cuda_status(cudaMalloc(out, bytes));
}

void sw_cuda_free(void *p)
{
	/* Fails only where the context is lost, and the memory with it. */
	if (!p || sw_cuda_use() != SW_OK)
		return;
	if (!sw_cuda_pools()) {
		(void)sw_cuda_status(cudaFree(p));
		return;
	}
	/* The pool keeps what is free until somebody waits for a stream: the next trial, which asks
	 * how much there is, and other processes should not find it taken. */
	(void)sw_cuda_status(cudaFreeAsync(p, cudaStreamLegacy));
	(void)sw_cuda_status(cudaStreamSynchronize(cudaStreamLegacy));
}

static sw_status slots_start(struct sw_queue *q)
{
	void *slots;
	sw_status rc = sw_cuda_pinned_alloc(&slots, SW_CUDA_SLOT_N * SW_CUDA_SLOT_BYTES);

	q->slots = slots;
	for (size_t i = 0; i < SW_CUDA_SLOT_PARTS && rc == SW_OK; i++)
		rc = sw_cuda_event_make(&q->slot_free[i]);
	return rc;
}

sw_status sw_cuda_queue_create(struct sw_queue **out)
{
	struct sw_queue *q;
	sw_status rc = sw_cuda_use();

	*out = NULL;
	if (rc != SW_OK)
		return rc;
	q = sw_calloc(1, sizeof *q);
	if (!q)
		return SW_NOMEM;
	/* Does not wait for the default stream, which nothing here uses. */
	rc = sw_cuda_status(cudaStreamCreateWithFlags(&q->stream, cudaStreamNonBlocking));
	if (rc == SW_OK)
		rc = sw_cuda_alloc((void **)&q->partial, SW_CUDA_PARTIAL_BYTES);
	if (rc == SW_OK)
		rc = slots_start(q);
	if (rc != SW_OK) {
		sw_cuda_queue_destroy(q);
		return rc;
	}
	*out = q;
	return SW_OK;
}

static void handle_destroy(struct sw_queue *q)
{
	if (!q->blas)
		return;
	sw_cuda_alone_begin();
	(void)sw_cublas_status(q->lib->destroy(q->blas));
	sw_cuda_alone_end();
	q->blas = NULL;
}

/* Errors are not told here: they belong to a lost context, and the next call says so. */
void sw_cuda_queue_destroy(struct sw_queue *q)
{
	if (!q)
		return;
	if (sw_cuda_use() == SW_OK) {
		/* Before all else goes: its last work may read the slots and the partial sums. */
		if (q->stream)
			(void)sw_cuda_status(cudaStreamSynchronize(q->stream));
		for (size_t i = 0; i < SW_CUDA_SLOT_PARTS; i++)
			if (q->slot_free[i])
				(void)sw_cuda_status(cudaEventDestroy(q->slot_free[i]));
		sw_cuda_pinned_free(q->slots);
		handle_destroy(q);
		sw_cuda_transfer_end(q);
		sw_cuda_beside_end(q);
		sw_cuda_free(q->partial);
		if (q->stream)
			(void)sw_cuda_status(cudaStreamDestroy(q->stream));
	}
	free(q);
}

static sw_status handle_create(struct sw_queue *q)
{
	const cublasStatus_t made = q->lib->create(&q->blas);
	/* The device works: what cannot be initialised lacks memory. */
	sw_status rc = made == CUBLAS_STATUS_NOT_INITIALIZED ? SW_NOMEM : sw_cuda_blas_status(made);

	if (rc != SW_OK)
		q->blas = NULL;
	if (rc == SW_OK)
		rc = sw_cublas_status(q->lib->set_stream(q->blas, q->stream));
	if (rc == SW_OK)
		rc = sw_cublas_status(
			q->lib->set_atomics_mode(q->blas, CUBLAS_ATOMICS_NOT_ALLOWED));
	return rc;
}

sw_status sw_cuda_products_open(struct sw_queue *q, struct sw_err *err)
{
	sw_status rc = sw_cuda_use();

	if (rc != SW_OK || q->blas)
		return rc;
	if (q->recording)
		return SW_INVALID;
	sw_cuda_alone_begin();
	rc = sw_cublas_open(&q->lib, err);
	if (rc == SW_OK)
		rc = handle_create(q);
	sw_cuda_alone_end();
	if (rc != SW_OK)
		handle_destroy(q);
	return rc;
}

/* Through a pinned slot: the host goes on at once, unless all slots are still being read. */
static sw_status upload_small(struct sw_queue *q, void *dst, const void *src, size_t bytes)
{
	const unsigned each = SW_CUDA_SLOT_N / SW_CUDA_SLOT_PARTS, k = q->next_slot;
	unsigned char *slot = q->slots + k * SW_CUDA_SLOT_BYTES;
	cudaEvent_t part_free = q->slot_free[k / each];
	sw_status rc = SW_OK;

	if (k % each == 0) /* an event that was never recorded counts as done */
		rc = sw_cuda_wait_event(q, part_free);
	if (rc != SW_OK)
		return rc;
	memcpy(slot, src, bytes);
	rc = sw_cuda_status(cudaMemcpyAsync(dst, slot, bytes, cudaMemcpyHostToDevice, q->stream));
	/* Behind the last copy of the half: the stream does them in turn, so one event tells of
	 * all. */
	if (rc == SW_OK && k % each == each - 1)
		rc = sw_cuda_status(cudaEventRecord(part_free, q->stream));
	if (rc == SW_OK) /* else the slot is taken again */
		q->next_slot = (k + 1) % SW_CUDA_SLOT_N;
	return rc;
}

/* A copy from or to pageable memory waits within its call, where nobody looks. */
static sw_status wait_first(const struct sw_queue *q)
{
	return q->look ? sw_cuda_wait(q) : SW_OK;
}

sw_status sw_cuda_upload(struct sw_queue *q, void *dst, const void *src, size_t bytes)
{
	sw_status rc = sw_cuda_use();

	if (rc == SW_OK && q->recording)
		return SW_INVALID;
	if (rc != SW_OK || bytes == 0)
		return rc;
	if (bytes <= SW_CUDA_SLOT_BYTES)
		return upload_small(q, dst, src, bytes);
	rc = wait_first(q);
	if (rc == SW_OK)
		rc = sw_cuda_status(
			cudaMemcpyAsync(dst, src, bytes, cudaMemcpyHostToDevice, q->stream));
	if (rc != SW_OK)
		return rc;
	/* src may be pinned, or read by the device itself: only the end of the copy frees it. */
	return sw_cuda_wait(q);
}

sw_status sw_cuda_download(struct sw_queue *q, void *dst, const void *src, size_t bytes)
{
	sw_status rc = sw_cuda_use();

	if (rc == SW_OK && q->recording)
		return SW_INVALID;
	if (rc == SW_OK)
		rc = wait_first(q);
	if (rc == SW_OK && bytes)
		rc = sw_cuda_status(
			cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToHost, q->stream));
	if (rc != SW_OK)
		return rc;
	return sw_cuda_wait(q);
}

sw_status sw_cuda_zero(struct sw_queue *q, void *dst, size_t bytes)
{
	const sw_status rc = sw_cuda_use();

	if (rc != SW_OK || bytes == 0)
		return rc;
	return sw_cuda_status(cudaMemsetAsync(dst, 0, bytes, q->stream));
}

sw_status sw_cuda_sync(struct sw_queue *q)
{
	const sw_status rc = sw_cuda_use();

	if (rc != SW_OK || q->recording)
		return rc != SW_OK ? rc : SW_INVALID;
	return sw_cuda_wait(q);
}
