/* kernels/cuda/transfer.c — rows that come while the queue works: a stream beside the queue's,
 * and for each of two buffers an event of its last copy and one of its last use. */
#include "kernels/cuda/cuda.h"

sw_status sw_cuda_pinned_alloc(void **out, size_t bytes)
{
	sw_status rc = sw_cuda_use();

	*out = NULL;
	if (rc != SW_OK || bytes == 0)
		return rc;
	sw_cuda_alone_begin();
	rc = sw_cuda_status(cudaHostAlloc(out, bytes, cudaHostAllocDefault));
	sw_cuda_alone_end();
	return rc;
}

void sw_cuda_pinned_free(void *p)
{
	if (!p || sw_cuda_use() != SW_OK)
		return;
	sw_cuda_alone_begin();
	(void)sw_cuda_status(cudaFreeHost(p));
	sw_cuda_alone_end();
}

/* Once; what is there already stays. */
static sw_status side_start(struct sw_queue *q)
{
	sw_status rc = SW_OK;

	for (int i = 0; i < 2 && rc == SW_OK; i++) {
		if (!q->arrived[i])
			rc = sw_cuda_event_make(&q->arrived[i]);
		if (rc == SW_OK && !q->used[i])
			rc = sw_cuda_event_make(&q->used[i]);
	}
	if (rc == SW_OK && !q->side)
		rc = sw_cuda_status(cudaStreamCreateWithFlags(&q->side, cudaStreamNonBlocking));
	return rc;
}

void sw_cuda_transfer_end(struct sw_queue *q)
{
	if (q->side) {
		(void)sw_cuda_status(cudaStreamSynchronize(q->side));
		(void)sw_cuda_status(cudaStreamDestroy(q->side));
	}
	for (int i = 0; i < 2; i++) {
		if (q->arrived[i])
			(void)sw_cuda_status(cudaEventDestroy(q->arrived[i]));
		if (q->used[i])
			(void)sw_cuda_status(cudaEventDestroy(q->used[i]));
	}
}

static sw_status side_begin(struct sw_queue *q, unsigned buffer)
{
	const sw_status rc = sw_cuda_use();

	if (rc != SW_OK)
		return rc;
	return buffer > 1 || q->recording ? SW_INVALID : side_start(q);
}

sw_status sw_cuda_transfer(struct sw_queue *q, unsigned buffer, void *dst, const void *src,
			   size_t bytes)
{
	sw_status rc = side_begin(q, buffer);

	if (rc != SW_OK || bytes == 0)
		return rc;
	/* an event that was never recorded is no wait */
	rc = sw_cuda_status(cudaStreamWaitEvent(q->side, q->used[buffer], 0));
	if (rc == SW_OK)
		rc = sw_cuda_status(
			cudaMemcpyAsync(dst, src, bytes, cudaMemcpyHostToDevice, q->side));
	if (rc == SW_OK)
		rc = sw_cuda_status(cudaEventRecord(q->arrived[buffer], q->side));
	return rc;
}

sw_status sw_cuda_transfer_wait(struct sw_queue *q, unsigned buffer)
{
	sw_status rc = side_begin(q, buffer);

	/* All that q was given up to here has read the other buffer: behind this it may be
	 * written. */
	if (rc == SW_OK)
		rc = sw_cuda_status(cudaEventRecord(q->used[1 - buffer], q->stream));
	if (rc == SW_OK)
		rc = sw_cuda_status(cudaStreamWaitEvent(q->stream, q->arrived[buffer], 0));
	return rc;
}

sw_status sw_cuda_transfer_read(struct sw_queue *q, unsigned buffer)
{
	const sw_status rc = side_begin(q, buffer);

	return rc == SW_OK ? sw_cuda_wait_event(q, q->arrived[buffer]) : rc;
}
