/* tests/kernels/cuda_shim/shim_stream.c — streams and events of the stand-in. What a stream is
 * given waits in a list until somebody waits for the stream, or asks whether it is done: each
 * question finds one piece more of it done. */
#include "base/memory.h"
#include "tests/kernels/cuda_shim/shim.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EVENT_TIMES 8 /* whose clocks are kept */

struct sw_shim_event {
	cudaStream_t stream; /* of the last record */
	unsigned recorded, done;
	/* of the last times that it was done: a wait is for the one before it, though later ones
	 * may be done by then */
	struct sw_shim_clock clock[EVENT_TIMES];
	struct sw_shim_mark *marked; /* the last record is one of a graph; NULL: it is not */
};

static cudaStream_t streams;
/* What the host knows to be done comes before all that it gives from then on. */
static struct sw_shim_clock host;
static unsigned host_waits = 1;

static cudaError_t fault(enum sw_shim_call call)
{
	return sw_shim_fail((cudaError_t)sw_shim_fault(call));
}

static void host_knows(const struct sw_shim_clock *clock)
{
	sw_shim_clock_join(&host, clock);
	host_waits++;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
	(void)flags;
	if (sw_shim_enter(NULL) != cudaSuccess || fault(SW_SHIM_STREAM) != cudaSuccess)
		return cudaPeekAtLastError();
	*out = sw_calloc(1, sizeof **out);
	if (!*out)
		return sw_shim_fail(cudaErrorMemoryAllocation);
	(*out)->device = sw_shim_device;
	(*out)->end = &(*out)->first;
	(*out)->next = streams;
	streams = *out;
	sw_shim_line_open(&(*out)->line);
	sw_shim.live++;
	return cudaSuccess;
}

/* What the host knew when it gave op, if it has learnt anything since it gave the one before. */
static bool op_order(cudaStream_t s, struct sw_shim_op *op)
{
	if (s->host_waits == host_waits)
		return true;
	op->after = malloc(sizeof *op->after);
	if (!op->after)
		return false;
	*op->after = host;
	s->host_waits = host_waits;
	return true;
}

void sw_shim_op_free(struct sw_shim_op *op)
{
	free(op->after);
	free(op->arg);
	free(op);
}

cudaError_t sw_shim_queue(cudaStream_t s, bool (*run)(void *), void *arg)
{
	struct sw_shim_op *op = NULL;
	cudaError_t e = sw_shim_enter(s);

	if (e == cudaSuccess && sw_shim_spoiled(s)) /* as an H200 says it */
		e = sw_shim_fail(cudaErrorStreamCaptureInvalidated);
	if (e == cudaSuccess)
		op = calloc(1, sizeof *op);
	if (op) {
		op->run = run;
		op->arg = arg;
	}
	if (!op || (!s->graph && !op_order(s, op))) {
		free(op);
		free(arg);
		return e != cudaSuccess ? e : sw_shim_fail(cudaErrorMemoryAllocation);
	}
	if (s->graph) {
		sw_shim_record(s, op);
		return cudaSuccess;
	}
	*s->end = op;
	s->end = &op->next;
	return cudaSuccess;
}

/* The stream's next piece; false: it is not done yet. */
static bool stream_step(cudaStream_t s)
{
	struct sw_shim_op *op = s->first;

	if (op->after)
		sw_shim_clock_join(&s->line.clock, op->after);
	if (!op->begun && sw_shim.lose_at && --sw_shim.lose_at == 0)
		sw_shim.lost = true;
	op->begun = true;
	if (!sw_shim.lost && !sw_shim_op_run(&s->line, op))
		return false;
	s->first = op->next;
	if (!s->first)
		s->end = &s->first;
	sw_shim_op_free(op);
	return true;
}

/* Runs what the stream was given until the event has been reached so often; NULL: all. False: it
 * does not go so far yet. */
static bool stream_run(cudaStream_t s, const struct sw_shim_event *until, unsigned times)
{
	while (s->first && !(until && until->done >= times))
		if (!stream_step(s))
			return false;
	return true;
}

void sw_shim_go_on(void)
{
	for (cudaStream_t s = streams; s; s = s->next)
		(void)stream_run(s, NULL, 0);
}

/* For ever, as a host waits for work that waits for another process. */
static void stream_wait(cudaStream_t s, const struct sw_shim_event *until, unsigned times)
{
	const struct timespec moment = {.tv_nsec = 100000};

	while (!stream_run(s, until, times))
		nanosleep(&moment, NULL);
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
	if (sw_shim_enter_outside() != cudaSuccess || fault(SW_SHIM_SYNC) != cudaSuccess)
		return cudaPeekAtLastError();
	if (s) {
		stream_wait(s, NULL, 0);
		host_knows(&s->line.clock);
	}
	sw_shim.pool_bytes = 0;
	return sw_shim_enter(s);
}

cudaError_t cudaStreamQuery(cudaStream_t s)
{
	if (sw_shim_enter_outside() != cudaSuccess || fault(SW_SHIM_SYNC) != cudaSuccess)
		return cudaPeekAtLastError();
	sw_shim.questions++;
	if (s->first) {
		(void)stream_step(s);
		return sw_shim_fail(sw_shim.lost ? cudaErrorIllegalAddress : cudaErrorNotReady);
	}
	host_knows(&s->line.clock);
	return sw_shim_enter(s);
}

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
	cudaStream_t *at = &streams;

	stream_wait(s, NULL, 0);
	host_knows(&s->line.clock);
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	sw_shim_line_close(&s->line);
	sw_shim.live--;
	free(s);
	return sw_shim_enter(NULL);
}

/* --- events --- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
	(void)flags;
	if (sw_shim_enter(NULL) != cudaSuccess || fault(SW_SHIM_EVENT) != cudaSuccess)
		return cudaPeekAtLastError();
	*out = sw_calloc(1, sizeof **out);
	if (!*out)
		return sw_shim_fail(cudaErrorMemoryAllocation);
	sw_shim.live++;
	return cudaSuccess;
}

struct event_arg {
	cudaEvent_t event;
	unsigned times;
};

static bool event_done(void *arg)
{
	cudaEvent_t e = ((struct event_arg *)arg)->event;

	e->clock[e->done++ % EVENT_TIMES] = sw_shim_line_now->clock;
	return true;
}

/* What is known by the time that it was recorded so often, and done. */
static const struct sw_shim_clock *event_clock(const struct sw_shim_event *e, unsigned times)
{
	static const struct sw_shim_clock none;

	if (times == 0)
		return &none;
	if (e->done - times >= EVENT_TIMES) /* forgotten: the oldest that is not */
		times = e->done - EVENT_TIMES + 1;
	return &e->clock[(times - 1) % EVENT_TIMES];
}

cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
	struct event_arg *m;

	if (fault(SW_SHIM_MARK) != cudaSuccess)
		return cudaPeekAtLastError();
	if (sw_shim_spoiled(s))
		return sw_shim_fail(cudaErrorStreamCaptureInvalidated);
	sw_shim.events++;
	e->marked = s->graph ? sw_shim_graph_mark(s) : NULL;
	if (s->graph)
		return e->marked ? sw_shim_enter(s) : sw_shim_fail(cudaErrorMemoryAllocation);
	m = malloc(sizeof *m);
	if (!m)
		return sw_shim_fail(cudaErrorMemoryAllocation);
	m->event = e;
	e->stream = s;
	e->recorded++;
	return sw_shim_queue(s, event_done, m);
}

/* An event of a recording is no point in time. */
static cudaError_t event_enter(cudaEvent_t e)
{
	if (sw_shim_enter_outside() != cudaSuccess || fault(SW_SHIM_EVENT_SYNC) != cudaSuccess)
		return cudaPeekAtLastError();
	return e->marked ? sw_shim_fail(cudaErrorCapturedEvent) : cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
	const cudaError_t entered = event_enter(e);

	if (entered != cudaSuccess)
		return entered;
	if (e->stream) {
		stream_wait(e->stream, e, e->recorded);
		host_knows(event_clock(e, e->recorded));
	}
	return sw_shim_enter(NULL);
}

cudaError_t cudaEventQuery(cudaEvent_t e)
{
	const cudaError_t entered = event_enter(e);

	if (entered != cudaSuccess)
		return entered;
	sw_shim.questions++;
	if (e->stream && e->done < e->recorded) {
		(void)stream_step(e->stream);
		return sw_shim_fail(sw_shim.lost ? cudaErrorIllegalAddress : cudaErrorNotReady);
	}
	host_knows(event_clock(e, e->recorded));
	return sw_shim_enter(NULL);
}

/* What the event waits for lies in another stream: that runs first, as far. */
static bool wait_run(void *arg)
{
	const struct event_arg *w = arg;

	if (!stream_run(w->event->stream, w->event, w->times))
		return false;
	sw_shim_clock_join(&sw_shim_line_now->clock, event_clock(w->event, w->times));
	return true;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags)
{
	struct event_arg *w;

	(void)flags;
	if (fault(SW_SHIM_EVENT_WAIT) != cudaSuccess)
		return cudaPeekAtLastError();
	if (s->graph || e->marked)
		return sw_shim_graph_wait(s, e->marked);
	if (!e->stream) /* never recorded: no wait */
		return sw_shim_enter(s);
	w = malloc(sizeof *w);
	if (!w)
		return sw_shim_fail(cudaErrorMemoryAllocation);
	*w = (struct event_arg){e, e->recorded};
	return sw_shim_queue(s, wait_run, w);
}

cudaError_t cudaEventDestroy(cudaEvent_t e)
{
	sw_shim.live--;
	free(e);
	return sw_shim_enter(NULL);
}

/* --- copies and fills --- */

struct copy {
	void *dst;
	const void *src; /* NULL: fill with value */
	size_t bytes;
	int value;
};

static bool copy_run(void *arg)
{
	const struct copy *c = arg;

	sw_shim_launch_begin();
	sw_shim_look_at(c->dst, c->bytes, true);
	if (c->src) {
		sw_shim_look_at(c->src, c->bytes, false);
		memcpy(c->dst, c->src, c->bytes);
	} else {
		memset(c->dst, c->value, c->bytes);
	}
	return true;
}

static cudaError_t copy_queue(struct copy c, cudaStream_t s)
{
	struct copy *arg = malloc(sizeof *arg);

	if (!arg)
		return sw_shim_fail(cudaErrorMemoryAllocation);
	*arg = c;
	return sw_shim_queue(s, copy_run, arg);
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
			    cudaStream_t s)
{
	const bool up = kind == cudaMemcpyHostToDevice;

	if (!sw_shim_on_device(up ? dst : src, bytes) || sw_shim_on_device(up ? src : dst, bytes))
		return sw_shim_fail(cudaErrorInvalidValue);
	if (fault(SW_SHIM_COPY) != cudaSuccess)
		return cudaPeekAtLastError();
	sw_shim.given.copies++;
	sw_shim.given.up_bytes += up ? bytes : 0;
	return copy_queue((struct copy){.dst = dst, .src = src, .bytes = bytes}, s);
}

cudaError_t cudaMemsetAsync(void *dst, int value, size_t bytes, cudaStream_t s)
{
	if (!sw_shim_on_device(dst, bytes))
		return sw_shim_fail(cudaErrorInvalidValue);
	if (fault(SW_SHIM_FILL) != cudaSuccess)
		return cudaPeekAtLastError();
	sw_shim.given.fills++;
	return copy_queue((struct copy){.dst = dst, .value = value, .bytes = bytes}, s);
}
