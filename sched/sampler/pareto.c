/* The front, by sorting first: in the order of the first metric, ties by the next, no row can
 * dominate one before it. So each row is held against the front so far, and what joined stays. */
#include "sched/sampler/pareto.h"
#include "base/memory.h"
#include "sched/num/stair.h"
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

/* a, b: double[m]. */
static bool dominates(const double *a, const double *b, size_t m)
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
	/* qsort() is not stable: without the place, equal rows would come in another order on
	 * another libc. */
	return (a->i > b->i) - (a->i < b->i);
}

static bool same(const struct row *a, const struct row *b)
{
	for (size_t k = 0; k < a->m; k++)
		if (a->y[k] != b->y[k])
			return false;
	return true;
}

struct front {
	const struct row *rows; /* sorted */
	size_t *index, n;       /* places in rows of those that joined */
	struct sw_stair stair;  /* three metrics */
};

/* True if a row that differs from all before it joins. Up to two metrics its last must be below all
 * before, and the last that joined has the lowest. Of three an outline of the other two knows
 * (turned, since it covers towards 0). Of more the latest are asked first: neighbours in the order
 * are the likeliest to dominate. */
static bool joins(struct front *f, const struct row *r)
{
	if (f->n == 0 && r->m != 3)
		return true;
	if (r->m <= 2)
		return r->y[r->m - 1] < f->rows[f->index[f->n - 1]].y[r->m - 1];
	if (r->m == 3) {
		const bool out = sw_stair_cover(&f->stair, -r->y[1], -r->y[2]) == NULL;

		sw_stair_add(&f->stair, -r->y[1], -r->y[2]);
		return out;
	}
	for (size_t i = f->n; i-- > 0;)
		if (dominates(f->rows[f->index[i]].y, r->y, r->m))
			return false;
	return true;
}

sw_status sw_pareto_front(const double *y, size_t n, size_t m, size_t *index, size_t *n_front)
{
	struct front f = {.index = index};
	bool in = false;

	assert(m >= 1 && m <= SW_METRICS_MAX);
	*n_front = 0;
	if (n == 0)
		return SW_OK;
	struct row *const rows = sw_malloc(n * sizeof *rows);

	f.stair.step = m == 3 ? sw_malloc(n * sizeof *f.stair.step) : NULL;
	if (rows == NULL || (m == 3 && f.stair.step == NULL)) {
		free(rows);
		free(f.stair.step);
		return SW_NOMEM;
	}
	for (size_t i = 0; i < n; i++)
		rows[i] = (struct row){y + i * m, m, i};
	qsort(rows, n, sizeof *rows, by_metrics);
	f.rows = rows;
	for (size_t i = 0; i < n; i++) {
		/* Equals follow one another, and share what becomes of the first. */
		if (i == 0 || !same(&rows[i], &rows[i - 1]))
			in = joins(&f, &rows[i]);
		if (in)
			index[f.n++] = i;
	}
	/* Places in the sorted rows become places in y only now: joins() compared by the former. */
	for (size_t i = 0; i < f.n; i++)
		index[i] = rows[index[i]].i;
	free(rows);
	free(f.stair.step);
	*n_front = f.n;
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

		/* All values are equal: a share of their size keeps the boxes from having no volume
		 * at all. */
		if (!(beyond > 0))
			beyond = hi != 0 ? MARGIN * fabs(hi) : 1;
		reference[k] = fmin(hi + beyond, DBL_MAX);
	}
}
