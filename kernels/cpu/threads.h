/*
 * kernels/cpu/threads.h — parts of one entry's work on several cores.
 *
 * Order    Parts write apart, and how many there are never depends on the number of threads where
 *          sums are at stake: so results do not either.
 * Threads  A pool for each of the threads that call at once (the ranks of a trial), made when it is
 *          first needed. One that calls while all pools are busy does its parts alone.
 */
#ifndef SW_KERNELS_CPU_THREADS_H
#define SW_KERNELS_CPU_THREADS_H

#include <stddef.h>

#define SW_CPU_THREADS_MAX 64 /* of a pool */
#define SW_CPU_CALLERS_MAX 64

/* slot: below sw_cpu_threads() and the number of parts; two parts that run at once have two */
typedef void sw_cpu_part(void *ctx, size_t part, size_t slot);

unsigned sw_cpu_threads(void);
void sw_cpu_threads_set(unsigned n);
void sw_cpu_callers_set(unsigned n); /* threads that are to have a pool; 1 at first */

/* The work to come is another: it is measured anew whether several threads are faster at it. */
void sw_cpu_parallel_begin(void);

/* Runs parts 0 .. parts - 1; back when all are done. */
void sw_cpu_parallel(size_t parts, sw_cpu_part *run, void *ctx);

#endif
