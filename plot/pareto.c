/* The front of several metrics: a panel for each two of them, with the trials that none beats. */
#include "plot/build.h"
#include <math.h>
#include <stdlib.h>

#define ALL_PAIRS_MAX 4 /* metrics; of more the first is drawn against each other */

/* Two metrics, and the trials of the front, or those that others beat. */
struct pair {
	size_t x, y;
	bool front;
};

static bool belongs(const struct sw_plot_data *d, size_t i, const void *arg, struct sw_plot_mark *m)
{
	const struct sw_plot_trial *t = &d->trials[i];
	const struct pair *pair = arg;

	(void)m;
	return t->metrics != NULL && t->front == pair->front;
}

static bool dot(const struct sw_plot_data *d, size_t i, const void *arg, struct sw_plot_mark *m)
{
	const struct pair *pair = arg;

	m->x = d->trials[i].metrics[pair->x];
	m->y = d->trials[i].metrics[pair->y];
	return isfinite(m->x) && isfinite(m->y);
}

static int by_x(const void *a, const void *b)
{
	const double x = ((const struct sw_plot_mark *)a)->x;
	const double y = ((const struct sw_plot_mark *)b)->x;

	return (x > y) - (x < y);
}

/* From the best x on, where the edge of two metrics' front is one of steps. */
static void draw_front(struct sw_plot *p, const struct sw_plot_data *d, const size_t *pick,
		       size_t n, const struct pair *pair, bool steps)
{
	struct sw_plot_mark *m = sw_plot_scratch(p, n, sizeof *m);
	size_t n_marks = 0;

	if (m == NULL)
		return;
	for (size_t k = 0; k < n; k++) {
		m[n_marks] = (struct sw_plot_mark){
			NAN, NAN, NAN, NAN, NAN, d->trials[pick[k]].trial, NULL};
		/* One without both values is written over by the next. */
		n_marks += dot(d, pick[k], pair, &m[n_marks]);
	}
	qsort(m, n_marks, sizeof *m, by_x);
	for (int line = 0; line < (steps ? 2 : 1) && n_marks > 0; line++) {
		sw_plot_series(p, line ? "" : "front", line ? SW_PLOT_STEPS : SW_PLOT_DOTS,
			       SW_PLOT_BEST);
		for (size_t k = 0; k < n_marks; k++)
			sw_plot_mark(p, m[d->metric_maximize[pair->x] ? n_marks - 1 - k : k]);
	}
	free(m);
}

static void draw_pair(struct sw_plot *p, const struct sw_plot_data *d, size_t x, size_t y,
		      size_t room)
{
	struct pair pair = {x, y, false};
	size_t pick[SW_PLOT_MARKS / 2], all;

	sw_plot_panel(p, d->metric_names[x], SW_PLOT_LINEAR, d->metric_names[y], SW_PLOT_LINEAR);
	sw_plot_metric(p, SW_PLOT_X, d->metric_maximize[x], d->log);
	sw_plot_metric(p, SW_PLOT_Y, d->metric_maximize[y], d->log);
	/* Half for those that others beat, a quarter for the front, and as much again for its
	 * line. */
	size_t n = sw_plot_pick(d, belongs, &pair, 0, room / 2, pick, &all);
	sw_plot_dots(p, d, pick, n, dot, &pair);
	if (n < all && x == 0 && y == 1)
		sw_plot_note(p, "Of %zu trials that others beat %zu are drawn.", all, n);
	pair.front = true;
	n = sw_plot_pick(d, belongs, &pair, 0, room / 4, pick, &all);
	draw_front(p, d, pick, n, &pair, d->n_metrics == 2);
	if (n < all && x == 0 && y == 1)
		sw_plot_note(p, "Of %zu trials of the front %zu are drawn.", all, n);
	sw_plot_fit(p);
}

SW_PLOT_BUILDER(pareto)
{
	const size_t m = d->n_metrics;
	const bool all = m <= ALL_PAIRS_MAX;

	for (size_t x = 0; x < (all ? m : 1); x++)
		for (size_t y = x + 1; y < m; y++)
			draw_pair(p, d, x, y, SW_PLOT_MARKS / (all ? m * (m - 1) / 2 : m - 1));
	if (p->n_marks == 0)
		sw_plot_note(p, "No trial has its metrics yet.");
	if (!all)
		sw_plot_note(p, "Of %zu metrics the first is drawn against each of the others.", m);
}
