/* kernels/cuda/graph.c — calls recorded once by stream capture, and given again as one. The
 * capture is thread-local: what other threads allocate meanwhile is their own business. */
#include "base/memory.h"
#include "kernels/cuda/cuda.h"
#include <stdlib.h>

struct sw_graph {
	cudaGraphExec_t exec;
};

sw_status sw_cuda_graph_begin(struct sw_queue *q)
{
	sw_status rc = sw_cuda_use();

	if (q->recording)
		return SW_INVALID;
	if (rc == SW_OK)
		rc = sw_cuda_status(
			cudaStreamBeginCapture(q->stream, cudaStreamCaptureModeThreadLocal));
	q->recording = rc == SW_OK;
	return rc;
}

sw_status sw_cuda_graph_end(struct sw_queue *q, struct sw_graph **out)
{
	cudaGraph_t graph = NULL;
	struct sw_graph *g;
	sw_status rc = sw_cuda_use();

	*out = NULL;
	if (!q->recording)
		return SW_INVALID;
	q->recording = 0;
	if (rc == SW_OK)
		rc = sw_cuda_status(cudaStreamEndCapture(q->stream, &graph));
	if (rc != SW_OK)
		return rc;
	g = sw_calloc(1, sizeof *g);
	rc = g ? sw_cuda_status(cudaGraphInstantiateWithFlags(&g->exec, graph, 0)) : SW_NOMEM;
	if (rc == SW_OK) {
		*out = g;
		g = NULL;
	}
	free(g);
	(void)sw_cuda_status(cudaGraphDestroy(graph));
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
