/* bench/lib/stats.h — medians and ranks. Infinite values are values: the worst. NaN is absent. */
#ifndef SW_BENCH_LIB_STATS_H
#define SW_BENCH_LIB_STATS_H

#include <stddef.h>

/* Between the two nearest of n values, in any order; n at most 1024. */
double bench_stat_quantile(const double *v, size_t n, double p);

/* rank[i]: 1 for the smallest of v[n], ties share their mean; NaN where v is NaN. */
void bench_stat_ranks(const double *v, size_t n, double *rank);

/* "median [q1, q3]", three digits; out[48]. */
void bench_stat_text(const double quartiles[3], char out[48]);

#endif
