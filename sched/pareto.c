/* The front, by sorting first: in the order of the first metric, ties by the next, no row can
 * dominate one before it. So each row is held against the front so far, and what joined stays. */
#include "sched/pareto.h"
#include "base/fault.h"
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN 0.1

struct row {
	const double *y;
	size_t m, i;
};

bool sw_pareto_dominates(const double *a, const double *b, size_t m)
{
	bool better = false;

	for (size_t k = 0; k < m; k++) {
		if (a[k] > b[k])
			return false;
		better = better || a[k] < b[k];
	}
	return better;
}

static int by_metrics(const void *va, const void *vb)
{
	const struct row *const a = va, *const b = vb;

	for (size_t k = 0; k < a->m; k++)
		if (a->y[k] != b->y[k])
			return a->y[k] < b->y[k] ? -1 : 1;
	return (a->i > b->i) - (a->i < b->i);
}

/* Two metrics: the second of a row must be below all before it, and the last of the front has the
 * lowest so far. One metric: the same, where only equals can stay. */
static bool joins_plain(const struct row *last, const struct row *r)
{
	return r->y[r->m - 1] < last->y[r->m - 1] || !sw_pareto_dominates(last->y, r->y, r->m);
}

/* The latest first: neighbours in the order are the likeliest to dominate. */
static bool joins(const struct row *rows, const size_t *front, size_t n, const struct row *r)
{
	for (size_t i = n; i-- > 0;)
		if (sw_pareto_dominates(rows[front[i]].y, r->y, r->m))
			return false;
	return true;
}

sw_status sw_pareto_front(const double *y, size_t n, size_t m, size_t *index, size_t *n_front)
{
	size_t found = 0;

	assert(m >= 1 && m <= SW_METRICS_MAX);
	*n_front = 0;
	if (n == 0)
		return SW_OK;
	struct row *const rows = sw_malloc(n * sizeof *rows);

	if (rows == NULL)
		return SW_NOMEM;
	for (size_t i = 0; i < n; i++)
		rows[i] = (struct row){y + i * m, m, i};
	qsort(rows, n, sizeof *rows, by_metrics);
	for (size_t i = 0; i < n; i++) {
		const bool in = found == 0 ||
				(m <= 2 ? joins_plain(&rows[index[found - 1]], &rows[i])
					: joins(rows, index, found, &rows[i]));

		if (in)
			index[found++] = i;
	}
	for (size_t i = 0; i < found; i++)
		index[i] = rows[index[i]].i;
	free(rows);
	*n_front = found;
	return SW_OK;
}

void sw_pareto_reference(const double *y, size_t n, size_t m, double *reference)
{
	assert(n >= 1);
	for (size_t k = 0; k < m; k++) {
		double lo = y[k], hi = y[k];

		for (size_t i = 1; i < n; i++) {
			lo = fmin(lo, y[i * m + k]);
			hi = fmax(hi, y[i * m + k]);
		}
		/* Each term by itself: hi - lo may overflow. */
		double beyond = MARGIN * hi - MARGIN * lo;

		if (!(beyond > 0))
			beyond = hi != 0 ? MARGIN * fabs(hi) : 1;
		reference[k] = fmin(hi + beyond, DBL_MAX);
	}
}
