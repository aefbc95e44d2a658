/* The ranges of a panel's axes. */
#include "base/memory.h"
#include "plot/plot.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct values {
	double *v;
	size_t n;
};

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void take(struct values *out, const struct sw_plot_axis *a, double v)
{
	if (isfinite(v) && (a->scale != SW_PLOT_LOG || v > 0))
		out->v[out->n++] = a->scale == SW_PLOT_LOG ? log(v) : v;
}

/* What the marks of the panel have on that side, as the scale has it, sorted. At most three values
 * a mark. */
static void gather(const struct sw_plot *p, const struct sw_plot_panel *panel,
		   enum sw_plot_side side, struct values *out)
{
	const struct sw_plot_axis *a = side == SW_PLOT_X ? &panel->x : &panel->y;

	for (size_t i = panel->series; i < panel->series + panel->n; i++) {
		const struct sw_plot_series *s = &p->series[i];
		for (size_t k = s->mark; k < s->mark + s->n; k++) {
			const struct sw_plot_mark *m = &p->marks[k];
			take(out, a, side == SW_PLOT_X ? m->x : m->y);
			if (s->shape == SW_PLOT_BARS || s->shape == SW_PLOT_CELLS)
				take(out, a, side == SW_PLOT_X ? m->x2 : m->y2);
		}
	}
	qsort(out->v, out->n, sizeof *out->v, by_value);
}

/* The part [*from, *to) of the sorted values that is not far out. */
static void drop_far_out(const struct values *all, size_t *from, size_t *to)
{
	const double q1 = all->v[all->n / 4], q3 = all->v[all->n - 1 - all->n / 4];
	const double reach = 3 * (q3 - q1);

	if (reach <= 0)
		return;
	while (all->v[*from] < q1 - reach)
		(*from)++;
	while (all->v[*to - 1] > q3 + reach)
		(*to)--;
}

/* min < max, the values inside, and some room. */
static void set_range(struct sw_plot_axis *a, double low, double high)
{
	double room = (high - low) / 20;

	if (!(room > 0))
		room = low != 0 ? fabs(low) / 20 : 1;
	a->min = low - room;
	a->max = high + room;
	if (a->scale == SW_PLOT_LOG) {
		a->min = exp(a->min);
		a->max = exp(a->max);
	}
}

static void fit_axis(struct sw_plot *p, struct sw_plot_panel *panel, enum sw_plot_side side,
		     struct values *all)
{
	struct sw_plot_axis *a = side == SW_PLOT_X ? &panel->x : &panel->y;

	if (a->min < a->max)
		return;
	if (a->scale == SW_PLOT_CATEGORY) {
		a->min = -.5;
		a->max = (double)(a->n_names > 0 ? a->n_names : 1) - .5;
		return;
	}
	all->n = 0;
	gather(p, panel, side, all);
	if (all->n == 0) {
		set_range(a, 0, 1);
		return;
	}
	size_t from = 0, to = all->n;
	if (side == SW_PLOT_Y)
		drop_far_out(all, &from, &to);
	set_range(a, all->v[from], all->v[to - 1]);
	if (to - from < all->n)
		sw_plot_note(p, "%zu of %zu marks lie outside the scale of %s.",
			     all->n - (to - from), all->n, a->label);
}

void sw_plot_fit(struct sw_plot *p)
{
	struct values all;

	if (p->failed != SW_OK)
		return;
	assert(p->n_panels > 0);
	all.v = sw_malloc((2 * p->n_marks + 1) * sizeof *all.v);
	if (all.v == NULL) {
		p->failed = SW_NOMEM;
		return;
	}
	fit_axis(p, &p->panels[p->n_panels - 1], SW_PLOT_X, &all);
	fit_axis(p, &p->panels[p->n_panels - 1], SW_PLOT_Y, &all);
	free(all.v);
}
