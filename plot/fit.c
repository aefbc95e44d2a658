/* The ranges of a panel's axes. */
#include "plot/build.h"
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#define CROWDED 10 /* far out is left out where it would leave a tenth of the scale to the others */

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Collects the marks' coordinates on one axis, in scale units: at most two a mark. Returns how
 * many. */
static size_t gather(const struct sw_plot *p, const struct sw_plot_panel *panel,
		     enum sw_plot_side side, enum sw_plot_scale scale, double *out)
{
	size_t n = 0;

	for (size_t i = panel->series; i < panel->series + panel->n; i++) {
		const struct sw_plot_series *s = &p->series[i];
		const bool ends = s->shape == SW_PLOT_BARS || s->shape == SW_PLOT_CELLS;
		for (size_t k = s->mark; k < s->mark + s->n; k++) {
			const struct sw_plot_mark *m = &p->marks[k];
			const double v[2] = {side == SW_PLOT_X ? m->x : m->y,
					     side == SW_PLOT_X ? m->x2 : m->y2};
			for (size_t end = 0; end < (ends ? 2 : 1); end++)
				if (sw_plot_has_place(scale, v[end]))
					out[n++] = scale == SW_PLOT_LOG ? log(v[end]) : v[end];
		}
	}
	return n;
}

void sw_plot_sort(double *v, size_t n)
{
	qsort(v, n, sizeof *v, by_value);
}

size_t sw_plot_reach(const double *v, size_t n, double *low, double *high)
{
	size_t from = 0, to = n;

	/* Where half of the values are equal, the reach is 0 and nothing is far out. */
	const double q1 = v[n / 4], q3 = v[n - 1 - n / 4], reach = 3 * (q3 - q1);
	while (reach > 0 && v[from] < q1 - reach)
		from++;
	while (reach > 0 && v[to - 1] > q3 + reach)
		to--;
	if (v[n - 1] - v[0] <= CROWDED * (v[to - 1] - v[from])) {
		from = 0;
		to = n;
	}
	*low = v[from];
	*high = v[to - 1];
	return n - (to - from);
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

/* v: room for two values a mark. */
static void fit_axis(struct sw_plot *p, enum sw_plot_side side, bool drop, double *v)
{
	struct sw_plot_axis *a = sw_plot_last_axis(p, side);
	double low = 0, high = 1;
	size_t outside = 0;

	/* A builder gave it a range, which stays. */
	if (a == NULL || a->min < a->max)
		return;
	if (a->scale == SW_PLOT_CATEGORY) {
		a->min = -.5;
		a->max = (double)(a->n_names > 0 ? a->n_names : 1) - .5;
		return;
	}
	const size_t n = gather(p, &p->panels[p->n_panels - 1], side, a->scale, v);
	if (n > 0) {
		sw_plot_sort(v, n);
		low = v[0];
		high = v[n - 1];
	}
	if (n > 0 && drop)
		outside = sw_plot_reach(v, n, &low, &high);
	set_range(a, low, high);
	if (outside > 0)
		sw_plot_note(p, "%zu of %zu marks lie outside the scale of %s.", outside, n,
			     a->label);
}

static void fit(struct sw_plot *p, bool drop_x)
{
	double *const v = sw_plot_scratch(p, 2 * p->n_marks, sizeof *v);

	if (v != NULL) {
		fit_axis(p, SW_PLOT_X, drop_x, v);
		fit_axis(p, SW_PLOT_Y, true, v);
	}
	free(v);
}

void sw_plot_fit(struct sw_plot *p)
{
	fit(p, false);
}

void sw_plot_fit_both(struct sw_plot *p)
{
	fit(p, true);
}
