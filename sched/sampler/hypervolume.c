/*
 * Hypervolume by exclusive volumes (While, Bradstreet, Barone 2012). Rows from the worst of one
 * metric on: what row k adds to those after it is the slab between its value of that metric and the
 * reference, times the area (of one metric fewer) that k covers and none of the later ones does:
 *
 *     V(rows) = sum over k of (ref - k.last) (box(k) - V'(later rows, each made as bad as k))
 *
 * Two and three metrics are swept in order instead: of three, each row adds the area of the outline
 * of the other two so far, times the way to the next. Coordinates are kept as distances to the
 * reference, so that larger is better here; the metric that is sliced next is the first of a row,
 * and the rows of the next level leave it out.
 */
#include "base/memory.h"
#include "sched/num/order.h"
#include "sched/num/stair.h"
#include "sched/sampler/pareto.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct volume {
	double *level[SW_METRICS_MAX + 1]; /* [m]: the rows [n][m] of that level */
	struct sw_stair_step *stair;       /* [n] */
	size_t work;
	bool over;
};

static void spend(struct volume *v, size_t steps)
{
	v->work += steps;
	v->over = v->over || v->work > SW_HYPERVOLUME_WORK;
}

/* Bits of n, 1 at least: what sorting costs each of so many. */
static size_t log2_of(size_t n)
{
	return 64 - (size_t)__builtin_clzll(n | 1);
}

/* From the widest row on, each adds what stands out above those before it. */
static double area(struct volume *v, double *rows, size_t n)
{
	double sum = 0, top = 0;

	spend(v, n * log2_of(n));
	/* By the first of a row; equals cost nothing. */
	qsort(rows, n, 2 * sizeof *rows, sw_order_doubles);
	for (size_t i = n; i-- > 0;) {
		const double *const r = rows + 2 * i;

		if (r[1] > top) {
			sum += r[0] * (r[1] - top);
			top = r[1];
		}
	}
	return sum;
}

/* From the best of the first metric on; the outline lies where rows of two would. */
static double swept(struct volume *v, double *rows, size_t n)
{
	struct sw_stair stair = {.step = v->stair};
	double sum = 0;

	spend(v, n * log2_of(n));
	qsort(rows, n, 3 * sizeof *rows, sw_order_doubles);
	for (size_t i = n; i-- > 0 && !v->over;) {
		const double *const r = rows + 3 * i;

		sw_stair_add(&stair, r[1], r[2]);
		spend(v, stair.n / 16); /* steps that moved go many at a time */
		/* The outline of the rows so far holds down to where the next row begins; after the
		 * last, to the reference. */
		sum += stair.area * (r[0] - (i > 0 ? r[-3] : 0));
	}
	return sum;
}

static bool covers(const double *a, const double *b, size_t m)
{
	for (size_t k = 0; k < m; k++)
		if (a[k] < b[k])
			return false;
	return true;
}

/* Row r joins the n that are there, unless one covers it; those that it covers go. */
static size_t join(struct volume *v, double *rows, size_t n, size_t m, const double *r)
{
	size_t kept = 0;

	spend(v, n * m);
	for (size_t i = 0; i < n; i++)
		if (covers(rows + i * m, r, m))
			return n;
	for (size_t i = 0; i < n; i++) {
		if (covers(r, rows + i * m, m))
			continue;
		if (kept != i)
			memcpy(rows + kept * m, rows + i * m, m * sizeof *rows);
		kept++;
	}
	memcpy(rows + kept * m, r, m * sizeof *rows);
	return kept + 1;
}

/* The rows after k, without their first coordinate and none of them better than k in any other,
 * into the next level. A sweep needs no choice among them. */
static size_t limit_rows(struct volume *v, const double *rows, size_t n, size_t m, size_t k)
{
	double *const to = v->level[m - 1], r[SW_METRICS_MAX] = {0};
	const double *const by = rows + k * m;
	size_t kept = 0;

	spend(v, (n - k) * m);
	for (size_t i = k + 1; i < n && !v->over; i++) {
		for (size_t j = 1; j < m; j++)
			r[j - 1] = fmin(rows[i * m + j], by[j]);
		if (m - 1 > 3) {
			kept = join(v, to, kept, m - 1, r);
		} else {
			memcpy(to + kept * (m - 1), r, (m - 1) * sizeof *to);
			kept++;
		}
	}
	return kept;
}

static double volume_of(struct volume *v, size_t n, size_t m)
{
	double *const rows = v->level[m];
	double sum = 0;

	/* The rows of a level all begin at the reference, so of one metric the longest covers the
	 * others. */
	if (m == 1) {
		for (size_t i = 0; i < n; i++)
			sum = fmax(sum, rows[i]);
		return sum;
	}
	if (m == 2)
		return area(v, rows, n);
	if (m == 3)
		return swept(v, rows, n);
	spend(v, n * log2_of(n));
	qsort(rows, n, m * sizeof *rows, sw_order_doubles);
	/* The next level's rows live in one block that each k overwrites: the recursion has
	 * returned by then. */
	for (size_t k = 0; k < n && !v->over; k++) {
		double box = 1;

		for (size_t j = 1; j < m; j++)
			box *= rows[k * m + j];
		sum += rows[k * m] * (box - volume_of(v, limit_rows(v, rows, n, m, k), m - 1));
	}
	return sum;
}

/* Room for the rows of every level in one block: n (m + (m - 1) + ... + 1). */
static sw_status reserve(struct volume *v, size_t n, size_t m)
{
	double *const all = sw_malloc(n * m * (m + 1) / 2 * sizeof *all);
	size_t at = 0;

	if (all == NULL)
		return SW_NOMEM;
	v->stair = sw_malloc(n * sizeof *v->stair);
	if (v->stair == NULL) {
		free(all);
		return SW_NOMEM;
	}
	for (size_t k = m; k > 0; k--) {
		v->level[k] = all + at;
		at += n * k;
	}
	return SW_OK;
}

sw_status sw_hypervolume(const double *y, size_t n, size_t m, const double *reference, double *out)
{
	struct volume v = {.work = 0};
	double r[SW_METRICS_MAX] = {0};
	size_t kept = 0;

	assert(m >= 1 && m <= SW_METRICS_MAX);
	*out = 0;
	if (n == 0)
		return SW_OK;
	const sw_status rc = reserve(&v, n, m);

	if (rc != SW_OK)
		return rc;
	for (size_t i = 0; i < n && !v.over; i++) {
		bool inside = true;

		for (size_t k = 0; k < m; k++) {
			r[k] = reference[k] - y[i * m + k];
			inside = inside && r[k] > 0;
		}
		/* A row that is no better than the reference in some metric spans no box. */
		if (!inside)
			continue;
		if (m > 3) {
			kept = join(&v, v.level[m], kept, m, r);
		} else {
			memcpy(v.level[m] + kept * m, r, m * sizeof *r);
			kept++;
		}
	}
	*out = volume_of(&v, kept, m);
	/* The level of all metrics begins the block of all levels. */
	free(v.level[m]);
	free(v.stair);
	/* Work grows steeply with the metrics and rows. A bound that counts steps, not time, stops
	 * at the same place on each machine. */
	return v.over || !isfinite(*out) ? SW_TOO_BIG : SW_OK;
}
