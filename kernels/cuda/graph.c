/* kernels/cuda/graph.c — calls recorded once by stream capture, and given again as one. The
 * capture is thread-local: what other threads allocate meanwhile is their own business. But for
 * what waits for the whole device within, or changes what is mapped for it: that spoils recordings
 * of other threads, whatever their mode, so it takes alone the lock that recordings share. */
#include "base/memory.h"
#include "kernels/cuda/cuda.h"
#include <pthread.h>
#include <stdlib.h>

struct sw_graph {
	cudaGraphExec_t exec;
};

static pthread_rwlock_t recordings = PTHREAD_RWLOCK_INITIALIZER;
static _Thread_local unsigned own; /* recordings of this thread */

/* A thread that records would wait for itself; CUDA tells it of its mistake. */
void sw_cuda_alone_begin(void)
{
	if (own == 0)
		pthread_rwlock_wrlock(&recordings);
}

void sw_cuda_alone_end(void)
{
	if (own == 0)
		pthread_rwlock_unlock(&recordings);
}

sw_status sw_cuda_graph_begin(struct sw_queue *q)
{
	sw_status rc = sw_cuda_use();

	if (q->recording)
		return SW_INVALID;
	if (rc != SW_OK)
		return rc;
	/* Before the recording begins and until it has ended: meanwhile no thread pins memory or
	 * makes a handle. */
	pthread_rwlock_rdlock(&recordings);
	rc = sw_cuda_status(cudaStreamBeginCapture(q->stream, cudaStreamCaptureModeThreadLocal));
	q->recording = rc == SW_OK;
	if (rc == SW_OK)
		own++;
	else
		pthread_rwlock_unlock(&recordings);
	return rc;
}

static sw_status recorded(cudaGraph_t graph, struct sw_graph **out)
{
	struct sw_graph *g = sw_calloc(1, sizeof *g);
	const sw_status rc = g ? sw_cuda_status(cudaGraphInstantiateWithFlags(&g->exec, graph, 0))
			       : SW_NOMEM;

	if (rc == SW_OK)
		*out = g;
	else
		free(g);
	(void)sw_cuda_status(cudaGraphDestroy(graph));
	return rc;
}

sw_status sw_cuda_graph_end(struct sw_queue *q, struct sw_graph **out)
{
	cudaGraph_t graph = NULL;
	sw_status rc = sw_cuda_use();

	*out = NULL;
	if (!q->recording)
		return SW_INVALID;
	/* First: whatever fails below, the queue takes calls again. */
	q->recording = 0;
	if (rc == SW_OK)
		rc = sw_cuda_status(cudaStreamEndCapture(q->stream, &graph));
	if (rc == SW_OK)
		rc = recorded(graph, out);
	own--;
	pthread_rwlock_unlock(&recordings);
	return rc;
}

sw_status sw_cuda_graph_run(struct sw_queue *q, struct sw_graph *g)
{
	const sw_status rc = sw_cuda_use();

	if (rc != SW_OK || q->recording)
		return rc != SW_OK ? rc : SW_INVALID;
	return sw_cuda_status(cudaGraphLaunch(g->exec, q->stream));
}

void sw_cuda_graph_free(struct sw_graph *g)
{
	if (g && sw_cuda_use() == SW_OK)
		(void)sw_cuda_status(cudaGraphExecDestroy(g->exec));
	free(g);
}
