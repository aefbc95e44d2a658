/*
 * bench/lib/family.h — families of learning curves: what a configuration's loss is after each of 27
 * epochs, as it is seen, and what it is in truth at the end.
 *
 * Families
 *   corr      Hartmann-6, and a decay that is much the same for all: rungs agree
 *   cross     d = 5; the best configurations come down slowest: low rungs mislead. Rank correlation
 *             with epoch 27 within the best fifth: .74, .48, .63 at epochs 1, 3, 9
 *   hard      more so: .25, .16, .60
 *   and those of bench/lib/recorded.c
 * Noise    A part that all epochs of a trial share, and one of each epoch, both normal: a function
 *          of (seed, trial), so that policies that make the same trial see the same curve.
 */
#ifndef SW_BENCH_LIB_FAMILY_H
#define SW_BENCH_LIB_FAMILY_H

#include "sched/space/space.h"
#include <stddef.h>
#include <stdint.h>

#define BENCH_EPOCHS   27
#define BENCH_FAMILIES 8 /* at most */

struct bench_family {
	const char *name;
	struct sw_space *(*space)(void *ctx); /* a new one for each sweep, which takes it */
	/* curve[BENCH_EPOCHS]: what is observed after each; NaN: diverged. Returns the truth at the
	 * end. */
	double (*curve)(void *ctx, const struct sw_value *v, uint64_t seed, uint64_t trial,
			double *curve);
	void *ctx;
	void (*free_ctx)(void *ctx); /* NULL: it is not the family's */
};

/* Those of the list; NULL: all. 0, or -1 with a line on stderr where a table cannot be read; freed
 * by bench_families_close() after either. */
int bench_families_open(struct bench_family out[BENCH_FAMILIES], size_t *n, const char *list);
void bench_families_close(struct bench_family *family, size_t n);

/* --- bench/lib/recorded.c --- */

/* "digits", "breast_cancer", "diabetes", "boost"; NULL past the last. */
const char *bench_recorded_name(size_t i);
/* Reads the i-th table, which the family owns. 0, or -1 with a line on stderr. */
int bench_recorded_open(struct bench_family *out, size_t i);

#endif
