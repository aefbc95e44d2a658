/*
 * bench/lib/load.h — requests to sweepd: their texts, and many of them in flight.
 *
 * Lanes    A lane has one request in flight and makes its next one when the answer has come. sweepd
 *          answers a connection in the order of its requests, so lanes take turns.
 * Errors   0 or -1, with a line on stderr.
 */
#ifndef SW_BENCH_LIB_LOAD_H
#define SW_BENCH_LIB_LOAD_H

#include "bench/lib/client.h"

#define BENCH_LINE ((size_t)512)

/* The number behind the key ("\"trial\":") in a line; 0: there is none. */
double bench_number(const char *line, const char *key);
/* Submits the spec (JSON). The sweep's number; below 0: refused. */
long bench_submit(struct bench_client *c, const char *spec);

/* ---- many in flight ---- */

struct bench_load {
	/* The lane's next request; 0: it has no more. */
	size_t (*make)(void *ctx, size_t lane, char line[BENCH_LINE]);
	/* -1: that is no answer to it. */
	int (*take)(void *ctx, size_t lane, const char *line);
	void *ctx;
};

/* n requests at most by so many lanes. latency[n]: seconds from the write to the answer's line. */
int bench_load_run(struct bench_client *c, const struct bench_load *l, size_t n, size_t lanes,
		   double *latency);

/* A driven sweep: each lane asks for a trial, reports once, tells its end, and asks again. */
struct bench_driven {
	long sweep;
	size_t left; /* asks that may still be made */
	struct bench_driven_lane {
		int stage;
		long trial;
	} * lane; /* [lanes], zeroed: the caller's */
};

/* The load of it; d stays the caller's. */
struct bench_load bench_driven_load(struct bench_driven *d);

#endif
