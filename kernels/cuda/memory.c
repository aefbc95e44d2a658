/* kernels/cuda/memory.c — device memory, queues, and the way in and out. */
#include "base/memory.h"
#include "base/fault.h"
#include "kernels/cuda/cuda.h"
#include <stdlib.h>
#include <string.h>

sw_status sw_cuda_memory(size_t *free_bytes, size_t *total_bytes)
{
	const sw_status rc = sw_cuda_use();

	*free_bytes = 0;
	*total_bytes = 0;
	if (rc != SW_OK)
		return rc;
	return sw_cuda_status(cudaMemGetInfo(free_bytes, total_bytes));
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
	if (rc != SW_OK)
		*out = NULL;
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

/* What NVIDIA advises for cublasSetWorkspace: 32 MiB on Hopper and later, else 4 MiB, with which
 * Hopper does, too, when no more is left. */
sw_status sw_cuda_blas_space(struct sw_queue *q)
{
	size_t bytes = SW_CUDA_BLAS_BYTES;
	int device, major;
	sw_status rc;

	if (q->blas_space)
		return SW_OK;
	if (q->recording)
		return SW_UNSUPPORTED;
	rc = sw_cuda_status(cudaGetDevice(&device));
	if (rc == SW_OK)
		rc = sw_cuda_status(
			cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
	if (rc == SW_OK && major >= 9)
		bytes *= 8;
	if (rc == SW_OK)
		rc = sw_cuda_alloc(&q->blas_space, bytes);
	if (rc == SW_NOMEM && bytes > SW_CUDA_BLAS_BYTES) {
		bytes = SW_CUDA_BLAS_BYTES;
		rc = sw_cuda_alloc(&q->blas_space, bytes);
	}
	if (rc == SW_OK) /* after SetStream, which goes back to the handle's own workspace */
		rc = sw_cublas_status(cublasSetWorkspace(q->blas, q->blas_space, bytes));
	if (rc != SW_OK) {
		sw_cuda_free(q->blas_space);
		q->blas_space = NULL;
	}
	return rc;
}

/* The handle is made here, not at the first product: other lanes may be recording then, and to make
 * one may wait for the device, which is forbidden meanwhile. */
static sw_status blas_start(struct sw_queue *q)
{
	const cublasStatus_t made = cublasCreate(&q->blas);
	/* The device works: what cannot be initialised lacks memory. */
	sw_status rc = made == CUBLAS_STATUS_NOT_INITIALIZED ? SW_NOMEM : sw_cublas_status(made);

	if (rc == SW_OK)
		rc = sw_cublas_status(cublasSetStream(q->blas, q->stream));
	if (rc == SW_OK) /* whole fp32, until sw_cuda_precision */
		rc = sw_cublas_status(cublasSetMathMode(q->blas, CUBLAS_DEFAULT_MATH));
	if (rc == SW_OK)
		rc = sw_cublas_status(cublasSetAtomicsMode(q->blas, CUBLAS_ATOMICS_NOT_ALLOWED));
	return rc;
}

static sw_status slots_start(struct sw_queue *q)
{
	sw_status rc = sw_cuda_status(cudaHostAlloc(
		(void **)&q->slots, SW_CUDA_SLOT_N * SW_CUDA_SLOT_BYTES, cudaHostAllocDefault));

	for (size_t i = 0; i < SW_CUDA_SLOT_PARTS && rc == SW_OK; i++)
		rc = sw_cuda_status(cudaEventCreateWithFlags(
			&q->slot_free[i], cudaEventDisableTiming | cudaEventBlockingSync));
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
		rc = blas_start(q);
	if (rc == SW_OK)
		rc = sw_cuda_alloc((void **)&q->partial, SW_CUDA_PARTIAL_MAX * sizeof *q->partial);
	if (rc == SW_OK)
		rc = slots_start(q);
	if (rc != SW_OK) {
		sw_cuda_queue_destroy(q);
		return rc;
	}
	*out = q;
	return SW_OK;
}

/* Errors are not told here: they belong to a lost context, and the next call says so. */
void sw_cuda_queue_destroy(struct sw_queue *q)
{
	if (!q)
		return;
	if (sw_cuda_use() == SW_OK) {
		if (q->stream)
			(void)sw_cuda_status(cudaStreamSynchronize(q->stream));
		for (size_t i = 0; i < SW_CUDA_SLOT_PARTS; i++)
			if (q->slot_free[i])
				(void)sw_cuda_status(cudaEventDestroy(q->slot_free[i]));
		if (q->slots)
			(void)sw_cuda_status(cudaFreeHost(q->slots));
		if (q->blas)
			(void)sw_cublas_status(cublasDestroy(q->blas));
		sw_cuda_transfer_end(q);
		sw_cuda_free(q->partial);
		sw_cuda_free(q->blas_space);
		if (q->stream)
			(void)sw_cuda_status(cudaStreamDestroy(q->stream));
	}
	free(q);
}

/* Through a pinned slot: the host goes on at once, unless all slots are still being read. */
static sw_status upload_small(struct sw_queue *q, void *dst, const void *src, size_t bytes)
{
	const unsigned each = SW_CUDA_SLOT_N / SW_CUDA_SLOT_PARTS, k = q->next_slot;
	unsigned char *slot = q->slots + k * SW_CUDA_SLOT_BYTES;
	cudaEvent_t part_free = q->slot_free[k / each];
	sw_status rc = SW_OK;

	if (k % each == 0) /* an event that was never recorded counts as done */
		rc = sw_cuda_status(cudaEventSynchronize(part_free));
	if (rc != SW_OK)
		return rc;
	memcpy(slot, src, bytes);
	rc = sw_cuda_status(cudaMemcpyAsync(dst, slot, bytes, cudaMemcpyHostToDevice, q->stream));
	if (rc == SW_OK && k % each == each - 1)
		rc = sw_cuda_status(cudaEventRecord(part_free, q->stream));
	if (rc == SW_OK) /* else the slot is taken again */
		q->next_slot = (k + 1) % SW_CUDA_SLOT_N;
	return rc;
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
	rc = sw_cuda_status(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyHostToDevice, q->stream));
	if (rc != SW_OK)
		return rc;
	/* src may be pinned, or read by the device itself: only the end of the copy frees it. */
	return sw_cuda_status(cudaStreamSynchronize(q->stream));
}

sw_status sw_cuda_download(struct sw_queue *q, void *dst, const void *src, size_t bytes)
{
	sw_status rc = sw_cuda_use();

	if (rc == SW_OK && q->recording)
		return SW_INVALID;
	if (rc == SW_OK && bytes)
		rc = sw_cuda_status(
			cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToHost, q->stream));
	if (rc != SW_OK)
		return rc;
	return sw_cuda_status(cudaStreamSynchronize(q->stream));
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
	return sw_cuda_status(cudaStreamSynchronize(q->stream));
}
