/* tests/kernels/cuda_shim/shim_graph.c — stream capture: what a stream is given while it records is
 * kept, with its arguments as they were, and run each time the graph is launched. */
#include "base/fault.h"
#include "base/memory.h"
#include "tests/kernels/cuda_shim/shim.h"
#include <stdatomic.h>
#include <stdlib.h>

/* A graph and what is made of it are one. */
struct sw_shim_graph {
	struct sw_shim_op *first, **end;
	unsigned nodes, refs;
	unsigned disturbed; /* sw_shim_disturb()s when it began */
	bool spoiled;
};

static _Thread_local cudaStream_t recording;
static atomic_uint disturbances;

void sw_shim_disturb(void)
{
	disturbances++;
}

/* What the runtime says of the nth call of a kind. */
static cudaError_t fault(enum sw_shim_call call)
{
	return sw_shim_fail((cudaError_t)sw_shim_fault(call));
}

void sw_shim_record(struct sw_shim_graph *g, struct sw_shim_op *op)
{
	*g->end = op;
	g->end = &op->next;
	g->nodes++;
}

cudaError_t sw_shim_enter_outside(void)
{
	if (!recording)
		return sw_shim_enter(NULL);
	recording->graph->spoiled = true;
	return sw_shim_fail(cudaErrorStreamCaptureUnsupported);
}

static void graph_drop(struct sw_shim_graph *g)
{
	if (--g->refs > 0)
		return;
	while (g->first) {
		struct sw_shim_op *op = g->first;

		g->first = op->next;
		free(op->arg);
		free(op);
	}
	free(g);
	sw_shim.live--;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode)
{
	struct sw_shim_graph *g;
	cudaError_t e = sw_shim_enter(s);

	(void)mode;
	if (e == cudaSuccess)
		e = fault(SW_SHIM_CAPTURE);
	if (e != cudaSuccess)
		return e;
	if (recording)
		return sw_shim_fail(cudaErrorStreamCaptureUnsupported);
	g = sw_calloc(1, sizeof *g);
	if (!g)
		return sw_shim_fail(cudaErrorMemoryAllocation);
	g->end = &g->first;
	g->refs = 1;
	g->disturbed = disturbances;
	s->graph = g;
	recording = s;
	sw_shim.live++;
	return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *out)
{
	struct sw_shim_graph *g = s->graph;
	cudaError_t e = sw_shim_enter(s);

	*out = NULL;
	if (!g)
		return sw_shim_fail(cudaErrorInvalidValue);
	s->graph = NULL;
	recording = NULL;
	if (sw_shim.spoil) {
		sw_shim.spoil--;
		g->spoiled = true;
	}
	if (e == cudaSuccess)
		e = fault(SW_SHIM_CAPTURE_END);
	if (e == cudaSuccess && (g->spoiled || g->disturbed != disturbances))
		e = sw_shim_fail(cudaErrorStreamCaptureInvalidated);
	if (e != cudaSuccess) {
		graph_drop(g);
		return e;
	}
	sw_shim.graph_nodes = g->nodes;
	*out = g;
	return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *out, cudaGraph_t graph,
					  unsigned long long flags)
{
	(void)flags;
	if (sw_shim_enter_outside() != cudaSuccess)
		return cudaErrorIllegalAddress;
	if (fault(SW_SHIM_INSTANTIATE) != cudaSuccess)
		return cudaErrorMemoryAllocation;
	if (sw_fault_hit(SW_FAULT_MALLOC))
		return sw_shim_fail(cudaErrorMemoryAllocation);
	graph->refs++;
	*out = graph;
	return cudaSuccess;
}

struct run {
	struct sw_shim_graph *graph;
};

static void graph_run(void *arg)
{
	const struct run *r = arg;

	for (struct sw_shim_op *op = r->graph->first; op && !sw_shim.lost; op = op->next)
		op->run(op->arg);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t s)
{
	const cudaError_t e = fault(SW_SHIM_GRAPH);
	struct run *r;

	if (e != cudaSuccess)
		return e;
	r = malloc(sizeof *r);
	if (!r)
		return sw_shim_fail(cudaErrorMemoryAllocation);
	r->graph = graph;
	sw_shim.graph_runs++;
	return sw_shim_queue(s, graph_run, r);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	graph_drop(graph);
	return sw_shim_enter(NULL);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph)
{
	graph_drop(graph);
	return sw_shim_enter(NULL);
}
