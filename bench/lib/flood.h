/*
 * bench/lib/flood.h — a hostile client: many lines in flight on many connections, answers read or
 * not; and connections that come and go.
 *
 * Each runs in the calling process until `until` (bench_now()), and then leaves without a word.
 * Bounded: at most 256 connections, and what is given in flight.
 */
#ifndef SW_BENCH_LIB_FLOOD_H
#define SW_BENCH_LIB_FLOOD_H

#include <stdbool.h>
#include <stddef.h>

#define BENCH_FLOOD_CONNS 256

struct bench_flood {
	const char *socket;
	const char *line; /* with its newline */
	size_t len;
	size_t conns;
	size_t window; /* lines in flight on each connection */
	size_t most;   /* lines in all; 0: no end */
	bool unread;   /* answers are never read */
};

/* Each answered line is followed by the next. 0, or -1 when the server is gone. */
int bench_flood(const struct bench_flood *f, double until);

/* Connects, sends `len` bytes of the line, be it whole or not, and closes, again and again. */
int bench_flood_churn(const struct bench_flood *f, double until);

#endif
