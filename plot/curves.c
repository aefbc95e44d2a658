/* Learning curves: of the best trials, and of an even spread of the others; rungs as rules. */
#include "base/memory.h"
#include "plot/build.h"
#include <math.h>
#include <stdio.h>

#define RUNGS_MAX 64

struct curve {
	const struct sw_plot_trial *trial;
	const struct sw_plot_report *r;
	size_t n;
};

/* The first report of a trial of this number or above. */
static size_t first_report(const struct sw_plot_data *d, int64_t trial)
{
	return sw_array_place(d->reports, d->n_reports, sizeof *d->reports, (uint64_t)trial);
}

/* The mean of r[from..to). */
static void mean_of(const struct sw_plot_report *r, size_t from, size_t to, double *x, double *y)
{
	*x = *y = 0;
	for (size_t i = from; i < to; i++) {
		*x += r[i].step / (double)(to - from);
		*y += r[i].value / (double)(to - from);
	}
}

/*
 * Draws `most` of the curve's points, 3 or more, or all. Source: Steinarsson, "Downsampling time
 * series for visual representation", MSc thesis, University of Iceland, 2013, "largest triangle
 * three buckets": of each bucket of points the one that makes the largest triangle with the point
 * before it and the mean of the bucket behind, so that peaks stay.
 */
static void draw_thinned(struct sw_plot *p, const struct curve *c, size_t most)
{
	const struct sw_plot_report *r = c->r;
	size_t at = 0;

	if (c->n <= most) {
		for (size_t i = 0; i < c->n; i++)
			sw_plot_at(p, r[i].step, r[i].value, NAN, c->trial->trial);
		return;
	}
	sw_plot_at(p, r[0].step, r[0].value, NAN, c->trial->trial);
	for (size_t k = 0; k < most - 2; k++) {
		const size_t from = 1 + k * (c->n - 2) / (most - 2);
		const size_t to = 1 + (k + 1) * (c->n - 2) / (most - 2);
		const size_t end = 1 + (k + 2) * (c->n - 2) / (most - 2);
		double x, y, largest = -1;
		size_t next = from;
		/* Behind the last bucket stands the last point alone. */
		mean_of(r, to, k + 3 < most ? end : c->n, &x, &y);
		for (size_t i = from; i < to; i++) {
			const double area = fabs((r[at].step - x) * (r[i].value - r[at].value) -
						 (r[at].step - r[i].step) * (y - r[at].value));
			if (area > largest) {
				largest = area;
				next = i;
			}
		}
		at = next;
		sw_plot_at(p, r[at].step, r[at].value, NAN, c->trial->trial);
	}
	sw_plot_at(p, r[c->n - 1].step, r[c->n - 1].value, NAN, c->trial->trial);
}

/* The most points a curve that fit into the room, each with a break behind it. */
static size_t points_each(const struct curve *c, size_t n, size_t room)
{
	size_t most = room, total = room + 1;

	while (total > room) {
		total = 0;
		for (size_t i = 0; i < n; i++)
			total += 1 + (c[i].n < most ? c[i].n : most);
		if (total > room)
			/* At least what is over, shared by all: a few rounds, as short curves give
			 * up less than their share. */
			most -= 1 + (total - room - 1) / n;
	}
	return most;
}

/* One series: a line that is broken between the curves. all: those in any state. */
static void draw_curves(struct sw_plot *p, const struct curve *c, size_t n, size_t most,
			const struct sw_plot_look *look, bool all)
{
	bool begun = false;

	for (size_t i = 0; i < n; i++) {
		if (c[i].n == 0 || (!all && c[i].trial->state != look->state))
			continue;
		if (begun)
			/* A NaN breaks the line, so that 80 curves need no series each. */
			sw_plot_at(p, NAN, NAN, NAN, c[i].trial->trial);
		else
			sw_plot_series(p, look->name, SW_PLOT_LINE, look->role);
		begun = true;
		draw_thinned(p, &c[i], most);
	}
}

static void draw_rungs(struct sw_plot *p, const struct sw_plot_data *d, size_t n)
{
	if (n > 0)
		sw_plot_series(p, "rungs", SW_PLOT_RULES, SW_PLOT_REFERENCE);
	for (size_t i = 0; i < n; i++) {
		char text[32];
		(void)snprintf(text, sizeof text, "%g", d->rungs[i]);
		sw_plot_text(p, d->rungs[i], NAN, text);
	}
}

static void say_what_is_cut(struct sw_plot *p, const struct curve *c, size_t n, size_t most)
{
	size_t thinned = 0, cut = 0;

	for (size_t i = 0; i < n; i++) {
		thinned += c[i].n > most;
		cut += c[i].n >= SW_PLOT_CURVE_MAX;
	}
	if (cut > 0)
		sw_plot_note(p, "Of %zu of them the first %d reports are drawn.", cut,
			     SW_PLOT_CURVE_MAX);
	if (thinned > 0)
		sw_plot_note(p, "Of %zu long curves %zu points each are drawn, peaks among them.",
			     thinned, most);
}

/* By the worst value of each curve: where all fall from 2.3 to .1 that is their shape, and nothing
 * that is far out. */
static void scale(struct sw_plot *p, const struct sw_plot_data *d, const struct curve *c, size_t n)
{
	const struct sw_plot_axis *y = sw_plot_last_axis(p, SW_PLOT_Y);
	double v[SW_PLOT_CURVES + 1], best = NAN, worst[SW_PLOT_CURVES];
	size_t all = 0, lost = 0, outside = 0;

	if (y == NULL)
		return;
	for (size_t i = 0; i < n; i++) {
		worst[i] = NAN;
		all += c[i].n;
		for (const struct sw_plot_report *r = c[i].r; r < c[i].r + c[i].n; r++) {
			lost += isfinite(r->value) && !sw_plot_has_place(y->scale, r->value);
			if (!sw_plot_has_place(y->scale, r->value))
				continue;
			if (sw_plot_better(d, r->value, best))
				best = r->value;
			if (isnan(worst[i]) || sw_plot_better(d, worst[i], r->value))
				worst[i] = r->value;
		}
		v[i] = worst[i];
	}
	v[n] = best;
	sw_plot_scale_to(p, SW_PLOT_Y, NULL, v, n + 1);
	for (size_t i = 0; i < n; i++)
		outside += worst[i] < y->min || worst[i] > y->max;
	sw_plot_say_lost(p, y, lost, all, "reports");
	if (outside > 0)
		sw_plot_note(p, "%zu of %zu curves leave the scale of %s.", outside, n, y->label);
}

SW_PLOT_BUILDER(curves)
{
	size_t chosen[SW_PLOT_CURVES];
	const size_t n_curves = sw_plot_take(p, d, sw_plot_has_curve, NULL, SW_PLOT_CURVES,
					     "curves", "reported a value", chosen);
	const size_t rungs = d->n_rungs < RUNGS_MAX ? d->n_rungs : RUNGS_MAX;
	/* A quarter of a few trials, or all lines would be the best ones; one alone is no best. */
	const size_t top = n_curves < 2                 ? 0
			   : n_curves / 4 < SW_PLOT_TOP ? (n_curves + 3) / 4
							: SW_PLOT_TOP;
	struct curve c[SW_PLOT_CURVES] = {{NULL, NULL, 0}};
	char text[32];
	const struct sw_plot_look best = {.role = SW_PLOT_BEST, .name = text};

	sw_plot_panel(p, "step", SW_PLOT_LINEAR, d->metric, SW_PLOT_LINEAR);
	sw_plot_metric(p, SW_PLOT_Y, d->maximize, d->log);
	for (size_t i = 0; i < n_curves; i++) {
		c[i].trial = &d->trials[chosen[i]];
		const size_t first = first_report(d, c[i].trial->trial);
		c[i].r = d->reports + first;
		c[i].n = first_report(d, c[i].trial->trial + 1) - first;
	}
	const size_t most = points_each(c, n_curves, SW_PLOT_MARKS - rungs - 1);
	draw_rungs(p, d, rungs);
	/* The best come after these, and so lie on top. */
	for (size_t l = 0; l < SW_PLOT_LOOKS; l++)
		draw_curves(p, c + top, n_curves - top, most, &sw_plot_looks[l], false);
	(void)snprintf(text, sizeof text, top == 1 ? "the best" : "the best %zu", top);
	draw_curves(p, c, top, most, &best, true);
	if (top > 0 && c[0].n > 0) {
		(void)snprintf(text, sizeof text, "%lld", (long long)c[0].trial->trial);
		sw_plot_series(p, "", SW_PLOT_TEXTS, SW_PLOT_BEST);
		sw_plot_text(p, c[0].r[c[0].n - 1].step, c[0].r[c[0].n - 1].value, text);
	}
	say_what_is_cut(p, c, n_curves, most);
	scale(p, d, c, n_curves);
	sw_plot_fit(p);
}
