/* Each trial's best value in their order, and the best so far; of several sweeps the latter
 * alone. */
#include "plot/build.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ROOM (SW_PLOT_MARKS / 2)

static bool dot(const struct sw_plot_data *d, size_t i, const void *arg, struct sw_plot_mark *m)
{
	(void)arg;
	m->x = (double)d->trials[i].trial;
	m->y = d->trials[i].value;
	return !isnan(m->y);
}

/* One in `step`, by the golden ratio: each step-th would miss what comes as regularly. */
static void draw_trials(struct sw_plot *p, const struct sw_plot_data *d)
{
	const size_t step = d->n > ROOM ? (d->n + ROOM - 1) / ROOM : 1;
	size_t pick[ROOM] = {0}, n = 0;

	for (size_t i = 0; i < d->n; i += step) {
		const size_t at = i + (size_t)((double)step * fmod(.618034 * (double)n, 1));
		pick[n++] = at < d->n ? at : d->n - 1;
	}
	sw_plot_dots(p, d, pick, n, dot, NULL);
	if (step > 1)
		sw_plot_note(p, "Of %zu trials one in %zu is drawn; the best so far is of all.",
			     d->n, step);
}

/* A mark where the best changes, and one at the last trial: 1 + log(n) of them where trials come
 * in no order of merit. Where there is no room for all, every so many. */
static void draw_best(struct sw_plot *p, const struct sw_plot_data *d, const char *name, int role,
		      size_t room)
{
	double best = NAN;
	size_t changes = 0, k = 0;

	for (size_t i = 0; i < d->n; i++)
		changes += sw_plot_improves(d, i, &best);
	/* Counted first, so that the marks spread over the whole history and do not end where room
	 * does. */
	const size_t step = 1 + changes / (room - 1);
	best = NAN;
	sw_plot_series(p, name, SW_PLOT_STEPS, role);
	for (size_t i = 0; i < d->n; i++)
		if (sw_plot_improves(d, i, &best) && k++ % step == 0)
			sw_plot_at(p, (double)d->trials[i].trial, best, NAN, d->trials[i].trial);
	if (changes > 0)
		/* The step runs on to the last trial: how long nothing better came is what people
		 * look for. */
		sw_plot_at(p, (double)d->trials[d->n - 1].trial, best, NAN, 0);
}

/* Did it converge? How long nothing better came, in trials. */
static void say_last_gain(struct sw_plot *p, const struct sw_plot_data *d)
{
	double best = NAN;
	size_t last = 0, since = 0;

	for (size_t i = 0; i < d->n; i++) {
		if (sw_plot_improves(d, i, &best)) {
			last = i;
			since = 0;
		} else if (isfinite(d->trials[i].value)) {
			since++;
		}
	}
	if (isfinite(best))
		sw_plot_note(p, "The best is trial %lld; %zu later %s not better.",
			     (long long)d->trials[last].trial, since, since == 1 ? "is" : "are");
}

/* The scale is that of all trials, drawn or not. */
static void scale(struct sw_plot *p, const struct sw_plot_data *d)
{
	double *const v = sw_plot_scratch(p, d->n, sizeof *v);

	for (size_t i = 0; v != NULL && i < d->n; i++)
		v[i] = d->trials[i].value;
	if (v != NULL)
		sw_plot_scale_to(p, SW_PLOT_Y, "trials", v, d->n);
	free(v);
}

SW_PLOT_BUILDER(history)
{
	sw_plot_panel(p, "trial", SW_PLOT_LINEAR, d->metric, SW_PLOT_LINEAR);
	sw_plot_metric(p, SW_PLOT_Y, d->maximize, d->log);
	if (d->by_name) {
		sw_plot_by_name(p, d, n);
	} else if (n == 1) {
		draw_trials(p, d);
		draw_best(p, d, "best so far", SW_PLOT_BEST, ROOM);
		say_last_gain(p, d);
		scale(p, d);
	}
	for (size_t i = 0; i < n && n > 1 && !d->by_name; i++) {
		char name[SW_PLOT_SWEEP_NAME];
		sw_plot_sweep_name(&d[i], name);
		draw_best(p, &d[i], name, SW_PLOT_FIRST + (int)i, ROOM / n);
		/* Looks come again then: its number stands at the line's end. */
		if (n > SW_PLOT_DISTINCT && p->failed == SW_OK &&
		    p->series[p->n_series - 1].n > 0) {
			const struct sw_plot_mark end = p->marks[p->n_marks - 1];
			(void)snprintf(name, sizeof name, "%lld", (long long)d[i].sweep);
			sw_plot_series(p, "", SW_PLOT_TEXTS, SW_PLOT_FIRST + (int)i);
			sw_plot_text(p, end.x, end.y, name);
		}
	}
	if (p->n_marks == 0)
		sw_plot_note(p, "No trial has a value yet.");
	sw_plot_fit(p);
}
