/*
 * bench/lib/boost.h — gradient boosting of small regression trees, for curves that cross: a slow
 * rate of learning is behind at first and ahead at the end, and a fast one overfits.
 *
 * Model    f += rate * tree, each tree fitted to the residuals by least squares; a tree sees a
 *          share of the rows (drawn without putting back) and, at each split, of the columns.
 * Value    Mean squared error on the rows held out, over the variance of their target.
 * Source   Friedman, "Stochastic gradient boosting" (2002).
 */
#ifndef SW_BENCH_LIB_BOOST_H
#define SW_BENCH_LIB_BOOST_H

#include "sched/space/space.h"
#include <stddef.h>
#include <stdint.h>

#define BENCH_BOOST_D 5 /* rate, depth, least rows of a leaf, share of rows, share of columns */

struct bench_boost; /* opaque: the data */

/* A CSV of numbers with a header line, the target last; a fifth of the rows is held out. NULL, with
 * a line on stderr, when it cannot be read. */
struct bench_boost *bench_boost_open(const char *path);
void bench_boost_close(struct bench_boost *b); /* NULL is allowed */

struct sw_space *bench_boost_space(void);

/* curve[steps]: the value after each step of `trees` trees. */
void bench_boost_curve(const struct bench_boost *b, const struct sw_value *v, uint64_t seed,
		       size_t steps, size_t trees, double *curve);

#endif
