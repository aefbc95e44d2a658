/* A line a trial, through its place on an axis a parameter and on that of its value. */
#include "plot/build.h"
#include "plot/ticks.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PARAMS_MAX 12 /* if none are named */
#define LINES_MAX  300
#define NAMES_MAX  12 /* of a category's names written at its axis */

struct axes {
	size_t n;                                     /* parameters */
	struct sw_plot_span span[SW_PLOT_PANELS + 1]; /* the last is the value's */
};

/* Its place on axis k. A value outside the scale lies at the end, one that has no logarithm at the
 * lower. */
static double place(const struct axes *a, const struct sw_plot_trial *t, size_t k)
{
	if (k < a->n)
		return sw_plot_unit(&a->span[k], t->params[a->span[k].param]);
	return fmin(1, fmax(0, sw_plot_unit(&a->span[k], t->value)));
}

/* Those of `ranked` that are drawn, the best last, so that it lies on top. A NaN ends each line. */
static void draw_lines(struct sw_plot *p, const struct sw_plot_data *d, const struct axes *a,
		       const struct sw_plot_rank *ranked, size_t n, size_t most)
{
	const size_t lines = n < most ? n : most;

	sw_plot_series(p, "", SW_PLOT_LINE, SW_PLOT_PLAIN);
	for (size_t line = lines; line-- > 0;) {
		const size_t k = sw_plot_spread(line, lines, n);
		const struct sw_plot_trial *t = &d->trials[ranked[k].i];
		const double v = ranked[k].rank;
		for (size_t i = 0; i <= a->n; i++)
			sw_plot_at(p, (double)i, place(a, t, i), v, t->trial);
		sw_plot_at(p, NAN, NAN, v, t->trial);
	}
	if (lines < n)
		sw_plot_note(p, "Of %zu trials %zu are drawn, evenly spread by rank.", n, lines);
}

static void draw_ends(struct sw_plot *p, const struct sw_plot_span *s, size_t k)
{
	for (int end = 0; end < 2 && s->low <= s->high; end++) {
		char text[32];
		(void)snprintf(text, sizeof text, "%.4g", sw_plot_unit_value(s, end));
		sw_plot_shorten(text);
		sw_plot_text(p, (double)k, end == 0 ? -.05 : 1.05, text);
	}
}

/* The axes, and at each what its ends or its categories are. */
static void draw_axes(struct sw_plot *p, const struct sw_plot_data *d, const struct axes *a)
{
	for (size_t k = 0; k <= a->n; k++) {
		const struct sw_plot_param *param = k < a->n ? &d->params[a->span[k].param] : NULL;
		/* If no trial has a value there, it stands for nothing. */
		const bool any = a->span[k].low <= a->span[k].high;
		sw_plot_inside(p, param != NULL ? param->name : d->metric, a->span[k].scale,
			       any ? sw_plot_unit_value(&a->span[k], 0) : 0,
			       any ? sw_plot_unit_value(&a->span[k], 1) : 0);
		if (param != NULL && a->span[k].scale == SW_PLOT_CATEGORY)
			sw_plot_param_names(p, SW_PLOT_INSIDE, param);
	}
	sw_plot_series(p, "", SW_PLOT_RULES, SW_PLOT_REFERENCE);
	for (size_t k = 0; k <= a->n; k++)
		sw_plot_at(p, (double)k, NAN, NAN, 0);
	sw_plot_series(p, "", SW_PLOT_TEXTS, SW_PLOT_REFERENCE);
	for (size_t k = 0; k <= a->n; k++) {
		const struct sw_plot_param *param = &d->params[a->span[k].param];
		if (a->span[k].scale != SW_PLOT_CATEGORY)
			draw_ends(p, &a->span[k], k);
		else
			for (size_t i = 0; i < param->n_names && i < NAMES_MAX; i++)
				sw_plot_text(p, (double)k, sw_plot_unit(&a->span[k], (double)i),
					     param->names[i]);
	}
}

/* The value's range, as on an axis of a metric. */
static void find_value_span(struct sw_plot *p, const struct sw_plot_data *d, struct axes *a,
			    const struct sw_plot_rank *ranked, size_t n)
{
	struct sw_plot_span *s = &a->span[a->n];
	double *const v = sw_plot_scratch(p, n, sizeof *v);

	const struct sw_plot_axis axis = {.label = (char *)d->metric, /* which is only read */
					  .scale = d->log ? SW_PLOT_LOG : SW_PLOT_LINEAR,
					  .better = d->maximize ? 1 : -1};
	*s = (struct sw_plot_span){.scale = axis.scale};
	for (size_t k = 0; v != NULL && k < n; k++)
		v[k] = ranked[k].value;
	if (v != NULL)
		sw_plot_reach(p, &axis, "trials", v, n, &s->low, &s->high);
	free(v);
}

SW_PLOT_BUILDER(parallel)
{
	struct axes a;
	size_t shown[SW_PLOT_PANELS], n_ranked = 0;
	struct sw_plot_rank *const ranked = sw_plot_ranked(p, d, &n_ranked);

	a.n = sw_plot_shown(p, d, named, n_named, n_named > 0 ? SW_PLOT_PANELS : PARAMS_MAX, shown);
	sw_plot_panel(p, "", SW_PLOT_CATEGORY, "from the lowest to the highest", SW_PLOT_LINEAR);
	sw_plot_range(p, SW_PLOT_Y, -.1, 1.1);
	for (size_t k = 0; k < a.n; k++) {
		sw_plot_name(p, SW_PLOT_X, d->params[shown[k]].name);
		a.span[k].param = shown[k];
	}
	sw_plot_spans(d, a.span, a.n);
	sw_plot_name(p, SW_PLOT_X, d->metric);
	find_value_span(p, d, &a, ranked, n_ranked);
	/* A line takes a mark for each axis, the value's and the break; the rest leaves room for
	 * names and rules. */
	const size_t room = SW_PLOT_MARKS / (a.n + 2) - NAMES_MAX - 1;
	if (n_ranked > 0)
		draw_lines(p, d, &a, ranked, n_ranked, room < LINES_MAX ? room : LINES_MAX);
	else
		sw_plot_note(p, "No trial has a value yet.");
	draw_axes(p, d, &a);
	sw_plot_note(p, "Colours are ranks, from the worst trial to the best.");
	sw_plot_fit(p);
	free(ranked);
}
