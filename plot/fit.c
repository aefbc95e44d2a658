/* The ranges of a panel's axes. */
#include "plot/build.h"
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#define LEAST 5 /* the better half of a metric's values has a fifth of its scale */

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void sw_plot_sort(double *v, size_t n)
{
	qsort(v, n, sizeof *v, by_value);
}

/* Collects the marks' coordinates on one axis: at most two a mark. Returns how many. */
static size_t gather(const struct sw_plot *p, const struct sw_plot_panel *panel,
		     enum sw_plot_side side, double *out)
{
	size_t n = 0;

	for (size_t i = panel->series; i < panel->series + panel->n; i++) {
		const struct sw_plot_series *s = &p->series[i];
		const bool ends = s->shape == SW_PLOT_BARS || s->shape == SW_PLOT_CELLS;
		for (size_t k = s->mark; k < s->mark + s->n; k++) {
			const struct sw_plot_mark *m = &p->marks[k];
			out[n++] = side == SW_PLOT_X ? m->x : m->y;
			if (ends)
				out[n++] = side == SW_PLOT_X ? m->x2 : m->y2;
		}
	}
	return n;
}

/* Leaves those of v[*n] that have a place, as the scale has them, rising. Returns how many numbers
 * have none. */
static size_t to_scale(enum sw_plot_scale scale, double *v, size_t *n)
{
	size_t kept = 0, lost = 0;

	for (size_t i = 0; i < *n; i++)
		if (sw_plot_has_place(scale, v[i]))
			v[kept++] = scale == SW_PLOT_LOG ? log(v[i]) : v[i];
		else
			lost += isfinite(v[i]);
	sw_plot_sort(v, kept);
	*n = kept;
	return lost;
}

void sw_plot_say_lost(struct sw_plot *p, const struct sw_plot_axis *a, size_t lost, size_t n,
		      const char *nouns)
{
	if (lost > 0)
		sw_plot_note(p,
			     "%zu of %zu %s are not above 0: a log scale of %s has no place for "
			     "them.",
			     lost, n, nouns, a->label);
}

void sw_plot_reach(struct sw_plot *p, const struct sw_plot_axis *a, const char *nouns, double *v,
		   size_t n, double *low, double *high)
{
	const size_t lost = to_scale(a->scale, v, &n);
	size_t from = 0, to = n;

	if (nouns != NULL)
		sw_plot_say_lost(p, a, lost, lost + n, nouns);
	*low = 0;
	*high = 1;
	if (n == 0)
		return;
	/* Where the better half of the values are equal the width is 0, and all are shown. */
	const size_t half = (n - 1) / 2;
	const double width = a->better < 0 ? v[half] - v[0] : v[n - 1] - v[n - 1 - half];
	while (a->better < 0 && width > 0 && v[to - 1] - v[0] > LEAST * width)
		to--;
	while (a->better > 0 && width > 0 && v[n - 1] - v[from] > LEAST * width)
		from++;
	*low = v[from];
	*high = v[to - 1];
	if (to - from < n && nouns != NULL)
		sw_plot_note(p, "%zu of %zu %s lie outside the scale of %s, at its border.",
			     n - (to - from), n, nouns, a->label);
}

void sw_plot_metric(struct sw_plot *p, enum sw_plot_side side, bool maximize, bool log)
{
	struct sw_plot_axis *a = sw_plot_last_axis(p, side);

	if (a == NULL)
		return;
	a->better = maximize ? 1 : -1;
	if (log)
		a->scale = SW_PLOT_LOG;
}

/* The values inside, and some room. min < max, and what is between them is a number, whatever the
 * values are. */
static void set_range(struct sw_plot_axis *a, double low, double high)
{
	const double limit = DBL_MAX / 4;
	double room = (high - low) / 20;

	if (!(room > 0))
		/* All marks have one value: it gets a range of its own size around it. */
		room = low != 0 ? fabs(low) / 20 : 1;
	a->min = low - room;
	a->max = high + room;
	/* Below 0 nobody looks for a loss, or a trial's number. */
	if (a->scale != SW_PLOT_LOG && low > 0)
		a->min = fmax(a->min, 0);
	if (a->scale != SW_PLOT_LOG && high < 0)
		a->max = fmin(a->max, 0);
	if (a->scale == SW_PLOT_LOG) {
		/* Logarithms come back as numbers, within what a double and the quotient of two can
		 * hold. */
		a->min = fmin(fmax(exp(a->min), DBL_MIN), limit / 2);
		a->max = fmin(fmax(exp(a->max), 2 * a->min), limit);
		return;
	}
	a->min = fmin(fmax(a->min, -limit), limit);
	a->max = fmin(fmax(a->max, -limit), limit);
	/* Beside a huge number the room may vanish in its last digit. */
	if (!(a->min < a->max)) {
		room = fmax(1, fabs(a->min) / 20);
		a->min -= room;
		a->max += room;
	}
}

void sw_plot_room(struct sw_plot *p, enum sw_plot_side side, double low, double high)
{
	struct sw_plot_axis *a = sw_plot_last_axis(p, side);

	if (a != NULL)
		set_range(a, low, high);
}

void sw_plot_scale_to(struct sw_plot *p, enum sw_plot_side side, const char *nouns, double *v,
		      size_t n)
{
	struct sw_plot_axis *a = sw_plot_last_axis(p, side);
	double low, high;

	if (a == NULL)
		return;
	sw_plot_reach(p, a, nouns, v, n, &low, &high);
	set_range(a, low, high);
}

void sw_plot_fit(struct sw_plot *p)
{
	double *const v = sw_plot_scratch(p, 2 * p->n_marks, sizeof *v);

	for (int side = SW_PLOT_X; v != NULL && side <= SW_PLOT_Y; side++) {
		struct sw_plot_axis *a = sw_plot_last_axis(p, (enum sw_plot_side)side);
		/* A builder gave it a range, which stays. */
		if (a == NULL || a->min < a->max)
			continue;
		if (a->scale != SW_PLOT_CATEGORY) {
			const size_t n =
				gather(p, &p->panels[p->n_panels - 1], (enum sw_plot_side)side, v);
			sw_plot_scale_to(p, (enum sw_plot_side)side, "marks", v, n);
			continue;
		}
		a->min = -.5;
		a->max = (double)(a->n_names > 0 ? a->n_names : 1) - .5;
	}
	free(v);
}
