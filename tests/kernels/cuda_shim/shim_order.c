/* tests/kernels/cuda_shim/shim_order.c — which work comes before which, by vector clocks: each line
 * of work (a stream, a branch of a graph) counts its pieces, and knows of each other line how many
 * are sure to be done before its own next one. Events and the host's waits carry that knowledge.
 * (Fidge 1988, Mattern 1989; as race detectors of threads do it.) */
#include "tests/kernels/cuda_shim/shim.h"
#include <stdio.h>
#include <stdlib.h>

struct sw_shim_line *sw_shim_line_now;

static uint32_t pieces[SW_SHIM_LINES]; /* ever run; they go on when a line's number is used again */
static bool taken[SW_SHIM_LINES];

/* Of each launch: whose, and which of its pieces. */
static struct {
	uint32_t line, piece;
} * launches;
static size_t launches_cap;

void sw_shim_line_open(struct sw_shim_line *l)
{
	*l = (struct sw_shim_line){0};
	while (l->id < SW_SHIM_LINES && taken[l->id])
		l->id++;
	if (l->id == SW_SHIM_LINES) {
		fprintf(stderr, "cuda shim: more than %d streams\n", SW_SHIM_LINES);
		abort();
	}
	taken[l->id] = true;
}

void sw_shim_line_close(struct sw_shim_line *l)
{
	taken[l->id] = false;
}

void sw_shim_clock_join(struct sw_shim_clock *into, const struct sw_shim_clock *from)
{
	for (int i = 0; i < SW_SHIM_LINES; i++)
		if (into->at[i] < from->at[i])
			into->at[i] = from->at[i];
}

bool sw_shim_op_run(struct sw_shim_line *l, const struct sw_shim_op *op)
{
	struct sw_shim_line *was = sw_shim_line_now;
	bool done;

	l->clock.at[l->id] = ++pieces[l->id];
	sw_shim_line_now = l;
	done = op->run(op->arg);
	sw_shim_line_now = was;
	return done;
}

void sw_shim_launch_begin(void)
{
	const uint32_t n = ++sw_shim_thread.launch;

	if (n >= launches_cap) {
		launches_cap = n * (size_t)2 + 1024;
		launches = realloc(launches, launches_cap * sizeof *launches);
		if (!launches)
			abort();
	}
	launches[n].line = sw_shim_line_now->id;
	launches[n].piece = sw_shim_line_now->clock.at[sw_shim_line_now->id];
}

bool sw_shim_launch_before(uint32_t launch)
{
	return launch == 0 ||
	       launches[launch].piece <= sw_shim_line_now->clock.at[launches[launch].line];
}
