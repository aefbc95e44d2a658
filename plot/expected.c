/* What the sampler expected of each trial, with its spread, against what came. */
#include "plot/build.h"
#include <math.h>

#define TRIALS_MAX 1000

static bool dot(const struct sw_plot_data *d, size_t i, const void *arg, struct sw_plot_mark *m)
{
	const struct sw_plot_trial *t = &d->trials[i];

	(void)arg;
	m->x = t->mean;
	m->y = t->value;
	m->x2 = t->sd;
	return isfinite(t->mean) && isfinite(t->value);
}

/* Of trials that ran to their end: a pruned one's value is not what was predicted. */
static void say_how_sure(struct sw_plot *p, const struct sw_plot_data *d)
{
	size_t all = 0, one = 0, two = 0;

	for (size_t i = 0; i < d->n; i++) {
		const struct sw_plot_trial *t = &d->trials[i];
		struct sw_plot_mark m;
		if (t->state != SW_PLOT_STATE_COMPLETED || !dot(d, i, NULL, &m) || !isfinite(t->sd))
			continue;
		all++;
		one += fabs(t->value - t->mean) <= t->sd;
		two += fabs(t->value - t->mean) <= 2 * t->sd;
	}
	if (all > 0)
		sw_plot_note(p,
			     "Of %zu completed trials %.0f%% came within one spread of what was "
			     "expected and %.0f%% within two; a model that knows how sure it is "
			     "has 68%% and 95%%.",
			     all, 100 * (double)one / (double)all, 100 * (double)two / (double)all);
}

/* Both axes show the same values, so that the diagonal is one: those that came, as a model may
 * expect what cannot come, a loss below 0. */
static void scale(struct sw_plot *p, const struct sw_plot_data *d, const size_t *pick, size_t n)
{
	double v[TRIALS_MAX];
	size_t outside = 0;

	for (size_t k = 0; k < n; k++)
		v[k] = d->trials[pick[k]].value;
	sw_plot_scale_to(p, SW_PLOT_Y, "trials", v, n);
	const struct sw_plot_axis *y = sw_plot_last_axis(p, SW_PLOT_Y);
	if (y == NULL)
		return;
	sw_plot_range(p, SW_PLOT_X, y->min, y->max);
	for (size_t k = 0; k < n; k++)
		outside +=
			!(d->trials[pick[k]].mean >= y->min && d->trials[pick[k]].mean <= y->max);
	if (outside > 0)
		sw_plot_note(p, "%zu of %zu trials were expected outside the scale, at its border.",
			     outside, n);
	sw_plot_series(p, "as expected", SW_PLOT_LINE, SW_PLOT_REFERENCE);
	sw_plot_at(p, y->min, y->min, NAN, 0);
	sw_plot_at(p, y->max, y->max, NAN, 0);
}

SW_PLOT_BUILDER(expected)
{
	size_t pick[TRIALS_MAX];

	sw_plot_panel(p, "expected", SW_PLOT_LINEAR, d->metric, SW_PLOT_LINEAR);
	sw_plot_metric(p, SW_PLOT_X, d->maximize, d->log);
	sw_plot_metric(p, SW_PLOT_Y, d->maximize, d->log);
	const size_t n_pick = sw_plot_take(p, d, dot, NULL, TRIALS_MAX, "trials",
					   "both an expectation and a value", pick);
	if (n_pick > 0)
		scale(p, d, pick, n_pick);
	sw_plot_dots(p, d, pick, n_pick, dot, NULL);
	say_how_sure(p, d);
	sw_plot_fit(p);
}
