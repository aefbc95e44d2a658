/* kernels/cuda/cuda_memory.c — device memory, queues, and the way in and out. */
#include "base/fault.h"
#include "kernels/cuda/cuda.h"
#include <stdlib.h>
#include <string.h>

/* What NVIDIA advises for cublasSetWorkspace: 32 MiB on Hopper and later, 4 MiB before. */
static sw_status blas_space_bytes(size_t *out)
{
	int device, major;
	sw_status status = sw_cuda_status(cudaGetDevice(&device));

	if (status == SW_OK)
		status = sw_cuda_status(
			cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
	if (status == SW_OK)
		*out = (size_t)(major >= 9 ? 32 : 4) << 20;
	return status;
}

sw_status sw_cuda_memory(size_t *free_bytes, size_t *total_bytes)
{
	const sw_status status = sw_cuda_use();

	*free_bytes = 0;
	*total_bytes = 0;
	if (status != SW_OK)
		return status;
	return sw_cuda_status(cudaMemGetInfo(free_bytes, total_bytes));
}

/* cudaFree waits for the whole device, so for all other lanes; the pool's calls wait for one
 * stream, and the legacy default one is given nothing else: queues' streams do not wait for it. The
 * pool gives back to the system what is free at the next wait for any stream. */
static sw_status pool_alloc(void **out, size_t bytes)
{
	sw_status status = sw_cuda_status(cudaMallocAsync(out, bytes, cudaStreamLegacy));

	if (status != SW_OK)
		return status;
	status = sw_cuda_status(cudaStreamSynchronize(cudaStreamLegacy)); /* then all may use it */
	if (status != SW_OK)
		*out = NULL;
	return status;
}

sw_status sw_cuda_alloc(void **out, size_t bytes)
{
	const sw_status status = sw_cuda_use();

	*out = NULL;
	if (status != SW_OK || bytes == 0)
		return status;
	if (sw_fault_hit(SW_FAULT_MALLOC))
		return SW_NOMEM;
	/* Aligned to 256 bytes, both. */
	return sw_cuda_pools() ? pool_alloc(out, bytes) : sw_cuda_status(cudaMalloc(out, bytes));
}

void sw_cuda_free(void *p)
{
	/* Fails only where the context is lost, and the memory with it. */
	if (p && sw_cuda_use() == SW_OK)
		(void)sw_cuda_status(sw_cuda_pools() ? cudaFreeAsync(p, cudaStreamLegacy)
						     : cudaFree(p));
}

static sw_status blas_start(struct sw_queue *q)
{
	size_t bytes = 0;
	sw_status status = blas_space_bytes(&bytes);

	if (status == SW_OK)
		status = sw_cuda_alloc(&q->blas_space, bytes);
	if (status == SW_OK)
		status = sw_cublas_status(cublasCreate(&q->blas));
	if (status == SW_OK)
		status = sw_cublas_status(cublasSetStream(q->blas, q->stream));
	if (status == SW_OK) /* after SetStream, which goes back to the handle's own workspace */
		status = sw_cublas_status(cublasSetWorkspace(q->blas, q->blas_space, bytes));
	if (status == SW_OK) /* whole fp32, until sw_cuda_precision */
		status = sw_cublas_status(cublasSetMathMode(q->blas, CUBLAS_DEFAULT_MATH));
	if (status == SW_OK)
		status =
			sw_cublas_status(cublasSetAtomicsMode(q->blas, CUBLAS_ATOMICS_NOT_ALLOWED));
	return status;
}

static sw_status slots_start(struct sw_queue *q)
{
	sw_status status = sw_cuda_status(cudaHostAlloc(
		(void **)&q->slots, SW_CUDA_SLOT_N * SW_CUDA_SLOT_BYTES, cudaHostAllocDefault));

	for (size_t i = 0; i < SW_CUDA_SLOT_N && status == SW_OK; i++)
		status = sw_cuda_status(cudaEventCreateWithFlags(
			&q->slot_free[i], cudaEventDisableTiming | cudaEventBlockingSync));
	return status;
}

sw_status sw_cuda_queue_create(struct sw_queue **out)
{
	struct sw_queue *q;
	sw_status status = sw_cuda_use();

	*out = NULL;
	if (status != SW_OK)
		return status;
	q = sw_calloc(1, sizeof *q);
	if (!q)
		return SW_NOMEM;
	/* Does not wait for the default stream, which nothing here uses. */
	status = sw_cuda_status(cudaStreamCreateWithFlags(&q->stream, cudaStreamNonBlocking));
	if (status == SW_OK)
		status = blas_start(q);
	if (status == SW_OK)
		status = sw_cuda_alloc((void **)&q->partial,
				       SW_CUDA_PARTIAL_MAX * sizeof *q->partial);
	if (status == SW_OK)
		status = slots_start(q);
	if (status != SW_OK) {
		sw_cuda_queue_destroy(q);
		return status;
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
		for (size_t i = 0; i < SW_CUDA_SLOT_N; i++)
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
	const unsigned k = q->next_slot;
	unsigned char *slot = q->slots + k * SW_CUDA_SLOT_BYTES;
	/* An event that was never recorded counts as done. */
	sw_status status = sw_cuda_status(cudaEventSynchronize(q->slot_free[k]));

	if (status != SW_OK)
		return status;
	memcpy(slot, src, bytes);
	status = sw_cuda_status(
		cudaMemcpyAsync(dst, slot, bytes, cudaMemcpyHostToDevice, q->stream));
	if (status == SW_OK)
		status = sw_cuda_status(cudaEventRecord(q->slot_free[k], q->stream));
	q->next_slot = (k + 1) % SW_CUDA_SLOT_N;
	return status;
}

sw_status sw_cuda_upload(struct sw_queue *q, void *dst, const void *src, size_t bytes)
{
	sw_status status = sw_cuda_use();

	if (status == SW_OK && q->recording)
		return SW_INVALID;
	if (status != SW_OK || bytes == 0)
		return status;
	if (bytes <= SW_CUDA_SLOT_BYTES)
		return upload_small(q, dst, src, bytes);
	status =
		sw_cuda_status(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyHostToDevice, q->stream));
	if (status != SW_OK)
		return status;
	/* src may be pinned, or read by the device itself: only the end of the copy frees it. */
	return sw_cuda_status(cudaStreamSynchronize(q->stream));
}

sw_status sw_cuda_download(struct sw_queue *q, void *dst, const void *src, size_t bytes)
{
	sw_status status = sw_cuda_use();

	if (status == SW_OK && q->recording)
		return SW_INVALID;
	if (status == SW_OK && bytes)
		status = sw_cuda_status(
			cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToHost, q->stream));
	if (status != SW_OK)
		return status;
	return sw_cuda_status(cudaStreamSynchronize(q->stream));
}

sw_status sw_cuda_zero(struct sw_queue *q, void *dst, size_t bytes)
{
	const sw_status status = sw_cuda_use();

	if (status != SW_OK || bytes == 0)
		return status;
	return sw_cuda_status(cudaMemsetAsync(dst, 0, bytes, q->stream));
}

sw_status sw_cuda_sync(struct sw_queue *q)
{
	const sw_status status = sw_cuda_use();

	if (status != SW_OK || q->recording)
		return status != SW_OK ? status : SW_INVALID;
	return sw_cuda_status(cudaStreamSynchronize(q->stream));
}
