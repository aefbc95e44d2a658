/* tests/kernels/cuda_shim/shim_graph.c — stream capture: what a stream is given while it records is
 * kept, with its arguments as they were, and run each time the graph is launched.
 *
 * A graph has a branch for each stream that took part: the first is that of the stream that began;
 * another joins when it waits for an event of the graph, and must be waited for in the end. A
 * branch runs when another waits for it, not before; each has a line of its own (shim_order.c). */
#include "base/fault.h"
#include "base/memory.h"
#include "tests/kernels/cuda_shim/shim.h"
#include <stdatomic.h>
#include <stdlib.h>

#define BRANCHES 4

struct branch {
	cudaStream_t stream; /* that records it */
	struct sw_shim_op *first, **end;
	struct sw_shim_op *next; /* of the run that is under way */
	struct sw_shim_line own;
	struct sw_shim_line *line; /* of this run: of the first branch, the stream's */
	bool open;                 /* has work that nobody waits for */
};

/* A point in a branch. */
struct sw_shim_mark {
	struct sw_shim_graph *graph;
	unsigned branch;
	unsigned run; /* the last that has reached it */
	struct sw_shim_clock clock;
};

/* A graph and what is made of it are one. */
struct sw_shim_graph {
	struct branch branch[BRANCHES];
	unsigned branches;
	unsigned nodes, refs, runs;
	unsigned disturbed; /* sw_shim_disturb()s when it began */
	bool spoiled;
};

static _Thread_local cudaStream_t recording;
static atomic_uint disturbances;
atomic_uint sw_shim_graphs;

void sw_shim_disturb(void)
{
	disturbances++;
}

/* What the runtime says of the nth call of a kind. */
static cudaError_t fault(enum sw_shim_call call)
{
	return sw_shim_fail((cudaError_t)sw_shim_fault(call));
}

static void branch_add(struct branch *b, struct sw_shim_op *op)
{
	*b->end = op;
	b->end = &op->next;
}

void sw_shim_record(cudaStream_t s, struct sw_shim_op *op)
{
	struct branch *b = &s->graph->branch[s->branch];

	branch_add(b, op);
	b->open = true;
	s->graph->nodes++;
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
	for (unsigned i = 0; i < g->branches; i++) {
		struct branch *b = &g->branch[i];

		while (b->first) {
			struct sw_shim_op *op = b->first;

			b->first = op->next;
			sw_shim_op_free(op);
		}
		sw_shim_line_close(&b->own);
	}
	free(g);
	sw_shim.live--;
	sw_shim_graphs--;
}

static void branch_open(struct sw_shim_graph *g, cudaStream_t s)
{
	struct branch *b = &g->branch[g->branches];

	b->stream = s;
	b->end = &b->first;
	sw_shim_line_open(&b->own);
	s->graph = g;
	s->branch = g->branches++;
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
	g->refs = 1;
	g->disturbed = disturbances;
	branch_open(g, s);
	recording = s;
	sw_shim.live++;
	sw_shim_graphs++;
	return cudaSuccess;
}

bool sw_shim_spoiled(cudaStream_t s)
{
	return s->graph && (s->graph->spoiled || s->graph->disturbed != disturbances);
}

/* What is wrong with all that was recorded. */
static cudaError_t capture_outcome(const struct sw_shim_graph *g)
{
	if (g->spoiled || g->disturbed != disturbances)
		return cudaErrorStreamCaptureInvalidated;
	for (unsigned i = 1; i < g->branches; i++)
		if (g->branch[i].open)
			return cudaErrorStreamCaptureUnjoined;
	return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *out)
{
	struct sw_shim_graph *g = s->graph;
	cudaError_t e = sw_shim_enter(s);

	*out = NULL;
	if (!g || s != recording)
		return sw_shim_fail(g ? cudaErrorStreamCaptureUnmatched : cudaErrorInvalidValue);
	for (unsigned i = 0; i < g->branches; i++)
		g->branch[i].stream->graph = NULL;
	recording = NULL;
	if (sw_shim.spoil) {
		sw_shim.spoil--;
		g->spoiled = true;
	}
	if (e == cudaSuccess)
		e = fault(SW_SHIM_CAPTURE_END);
	if (e == cudaSuccess)
		e = sw_shim_fail(capture_outcome(g));
	if (e != cudaSuccess) {
		graph_drop(g);
		return e;
	}
	sw_shim.graph_nodes = g->nodes;
	*out = g;
	return cudaSuccess;
}

/* --- events of a recording --- */

static bool mark_run(void *arg)
{
	struct sw_shim_mark *m = arg;

	m->run = m->graph->runs;
	m->clock = sw_shim_line_now->clock;
	return true;
}

struct sw_shim_mark *sw_shim_graph_mark(cudaStream_t s)
{
	struct sw_shim_op *op = calloc(1, sizeof *op);
	struct sw_shim_mark *m = calloc(1, sizeof *m);

	if (!op || !m) {
		free(op);
		free(m);
		return NULL;
	}
	m->graph = s->graph;
	m->branch = s->branch;
	*op = (struct sw_shim_op){.run = mark_run, .arg = m};
	branch_add(&s->graph->branch[s->branch], op);
	return m;
}

/* Until the branch is at its end, or at that mark. */
static bool branch_run(struct branch *b, const struct sw_shim_mark *until)
{
	while (b->next && !sw_shim.lost && !(until && until->run == until->graph->runs)) {
		if (!sw_shim_op_run(b->line, b->next))
			return false;
		b->next = b->next->next;
	}
	return true;
}

struct wait {
	const struct sw_shim_mark *mark;
};

static bool wait_run(void *arg)
{
	const struct sw_shim_mark *m = ((const struct wait *)arg)->mark;

	if (!branch_run(&m->graph->branch[m->branch], m))
		return false;
	sw_shim_clock_join(&sw_shim_line_now->clock, &m->clock);
	return true;
}

/* Whether the mark is the last of its branch. */
static bool mark_is_last(const struct sw_shim_mark *m)
{
	const struct branch *b = &m->graph->branch[m->branch];
	const struct sw_shim_op *op = b->first;

	while (op->arg != m)
		op = op->next;
	return !op->next;
}

cudaError_t sw_shim_graph_wait(cudaStream_t s, struct sw_shim_mark *m)
{
	struct sw_shim_graph *g = recording ? recording->graph : NULL;
	struct sw_shim_op *op;
	struct wait *w;

	/* what is recorded knows only what is recorded with it */
	if (!m || !g || m->graph != g || (s->graph && s->graph != g)) {
		if (s->graph)
			s->graph->spoiled = true;
		return sw_shim_fail(s->graph ? cudaErrorStreamCaptureIsolation
					     : cudaErrorCapturedEvent);
	}
	if (!s->graph && g->branches == BRANCHES)
		abort();
	op = calloc(1, sizeof *op);
	w = malloc(sizeof *w);
	if (!op || !w) {
		free(op);
		free(w);
		return sw_shim_fail(cudaErrorMemoryAllocation);
	}
	if (!s->graph)
		branch_open(g, s);
	g->branch[s->branch].open = true; /* until it is waited for, as all its work */
	if (mark_is_last(m))
		g->branch[m->branch].open = false;
	w->mark = m;
	*op = (struct sw_shim_op){.run = wait_run, .arg = w};
	branch_add(&g->branch[s->branch], op);
	return cudaSuccess;
}

/* --- graphs --- */

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
	bool begun;
};

static bool graph_run(void *arg)
{
	struct run *r = arg;
	struct sw_shim_graph *g = r->graph;

	for (unsigned i = 0; !r->begun && i < g->branches; i++) {
		struct branch *b = &g->branch[i];

		b->next = b->first;
		b->line = i == 0 ? sw_shim_line_now : &b->own;
		sw_shim_clock_join(&b->own.clock, &sw_shim_line_now->clock);
	}
	g->runs += !r->begun;
	r->begun = true;
	return branch_run(&g->branch[0], NULL);
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
	*r = (struct run){.graph = graph};
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
