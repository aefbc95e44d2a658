/* kernels/cuda/beside.c — a second stream of a queue, which a library of collectives is given, and
 * the host's waits, which may be for work that waits for another process. */
#include "kernels/cuda/cuda.h"
#include <time.h>

sw_status sw_cuda_event_make(cudaEvent_t *e)
{
	return sw_cuda_status(
		cudaEventCreateWithFlags(e, cudaEventDisableTiming | cudaEventBlockingSync));
}

/* Once; what is there already stays. */
static sw_status beside_start(struct sw_queue *q)
{
	sw_status rc = SW_OK;

	if (!q->forked)
		rc = sw_cuda_event_make(&q->forked);
	if (rc == SW_OK && !q->joined)
		rc = sw_cuda_event_make(&q->joined);
	if (rc == SW_OK && !q->beside)
		rc = sw_cuda_status(cudaStreamCreateWithFlags(&q->beside, cudaStreamNonBlocking));
	return rc;
}

void sw_cuda_beside_end(struct sw_queue *q)
{
	if (q->beside) {
		(void)sw_cuda_status(cudaStreamSynchronize(q->beside));
		(void)sw_cuda_status(cudaStreamDestroy(q->beside));
	}
	if (q->forked)
		(void)sw_cuda_status(cudaEventDestroy(q->forked));
	if (q->joined)
		(void)sw_cuda_status(cudaEventDestroy(q->joined));
}

sw_status sw_cuda_fork(struct sw_queue *q, void **stream)
{
	sw_status rc = sw_cuda_use();

	*stream = NULL;
	if (rc == SW_OK)
		rc = beside_start(q);
	/* One event for all forks: a wait that was given earlier keeps the record that it was given
	 * with. */
	if (rc == SW_OK)
		rc = sw_cuda_status(cudaEventRecord(q->forked, q->stream));
	if (rc == SW_OK) /* by which the second stream takes part in a recording of the first */
		rc = sw_cuda_status(cudaStreamWaitEvent(q->beside, q->forked, 0));
	if (rc == SW_OK)
		*stream = q->beside;
	return rc;
}

sw_status sw_cuda_join(struct sw_queue *q)
{
	sw_status rc = sw_cuda_use();

	if (rc != SW_OK || !q->beside)
		return rc;
	rc = sw_cuda_status(cudaEventRecord(q->joined, q->beside));
	if (rc == SW_OK)
		rc = sw_cuda_status(cudaStreamWaitEvent(q->stream, q->joined, 0));
	return rc;
}

/* --- waits --- */

void sw_cuda_watch(struct sw_queue *q, sw_status (*look)(void *ctx), void *ctx)
{
	q->look = look;
	q->look_ctx = ctx;
}

/* e NULL: all that q was given. */
static sw_status wait_looking(const struct sw_queue *q, cudaEvent_t e)
{
	/* CUDA's own wait cannot be told that the other process is gone: so it is asked again and
	 * again. */
	const struct timespec moment = {.tv_nsec = SW_OPS_LOOK_US * 1000L};

	for (;;) {
		const cudaError_t now = e ? cudaEventQuery(e) : cudaStreamQuery(q->stream);
		sw_status rc;

		if (now != cudaErrorNotReady)
			return sw_cuda_status(now);
		(void)cudaGetLastError(); /* no failure, but kept as one */
		rc = q->look(q->look_ctx);
		if (rc != SW_OK)
			return rc;
		(void)nanosleep(&moment, NULL);
	}
}

sw_status sw_cuda_wait(const struct sw_queue *q)
{
	return q->look ? wait_looking(q, NULL) : sw_cuda_status(cudaStreamSynchronize(q->stream));
}

sw_status sw_cuda_wait_event(const struct sw_queue *q, cudaEvent_t e)
{
	return q->look ? wait_looking(q, e) : sw_cuda_status(cudaEventSynchronize(e));
}
