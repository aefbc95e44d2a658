/* bench/lib/stats.h — medians and ranks. Infinite values are values: the worst. NaN is absent. */
#ifndef SW_BENCH_LIB_STATS_H
#define SW_BENCH_LIB_STATS_H

#include "bench/lib/table.h"
#include <stddef.h>

/* One of n values, the k-th permille of them; sorts them. */
double bench_quantile(double *v, size_t n, unsigned permille);
/* Between the two nearest of n values, in any order; n at most 1024. */
double bench_stat_quantile(const double *v, size_t n, double p);

/* rank[i]: 1 for the smallest of v[n], ties share their mean; NaN where v is NaN. */
void bench_stat_ranks(const double *v, size_t n, double *rank);

void bench_stat_quartiles(const double *v, size_t n, double q[3]);

/* The cell "median [q1, q3]", three digits. */
void bench_stat_cell(struct bench_table *t, size_t column, const double q[3]);

#endif
