#include "bench/lib/stats.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_quantile(double *v, size_t n, unsigned permille)
{
	assert(n > 0 && permille <= 1000);
	qsort(v, n, sizeof *v, compare);
	return v[(n - 1) * permille / 1000];
}

double bench_stat_quantile(const double *v, size_t n, double p)
{
	double sorted[1024];

	assert(n >= 1 && n <= 1024);
	memcpy(sorted, v, n * sizeof *v);
	qsort(sorted, n, sizeof *sorted, compare);
	const double at = p * (double)(n - 1);
	const size_t i = (size_t)at;
	if (i + 1 >= n || at <= (double)i)
		return sorted[i];
	if (isinf(sorted[i + 1]))
		return sorted[i + 1];
	return sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]);
}

void bench_stat_ranks(const double *v, size_t n, double *rank)
{
	for (size_t i = 0; i < n; i++) {
		double below = 0, same = 0;

		for (size_t k = 0; k < n; k++) {
			below += v[k] < v[i] ? 1 : 0;
			same += v[k] == v[i] ? 1 : 0;
		}
		rank[i] = isnan(v[i]) ? (double)NAN : below + (same + 1) / 2;
	}
}

void bench_stat_quartiles(const double *v, size_t n, double q[3])
{
	for (int k = 0; k < 3; k++)
		q[k] = bench_stat_quantile(v, n, 0.25 * (k + 1));
}

void bench_stat_cell(struct bench_table *t, size_t column, const double q[3])
{
	bench_table_cells(t, column, "%.3g [%.2g, %.2g]", q[1], q[0], q[2]);
}
