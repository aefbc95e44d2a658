/*
 * bench/lib/jobs.h — many independent runs on a few processes.
 *
 * Each process takes the next index until none is left, and writes its result into memory that all
 * share. Order and number of processes change no result.
 */
#ifndef SW_BENCH_LIB_JOBS_H
#define SW_BENCH_LIB_JOBS_H

#include <stddef.h>

#define BENCH_MAX_JOBS 64

/* Calls run(ctx, i, result i) for each i < n; results: n * size bytes, zeroed, to be given to
 * bench_jobs_free(). what: a word for the line of progress on a terminal. jobs: 1 to
 * BENCH_MAX_JOBS. NULL, with a line on stderr, when a process died. */
void *bench_jobs_run(size_t n, size_t size, size_t jobs,
		     void (*run)(void *ctx, size_t i, void *result), void *ctx, const char *what);
void bench_jobs_free(void *results); /* NULL is allowed */

#endif
