/* The steps that trials made, and those that the same trials would have made without pruning. */
#include "plot/build.h"
#include <math.h>

#define POINTS_MAX 1000

/* Failed trials and those that have not ended saved nothing. */
static bool counts(const struct sw_plot_trial *t)
{
	return (t->state == SW_PLOT_STATE_COMPLETED || t->state == SW_PLOT_STATE_PRUNED) &&
	       isfinite(t->step);
}

/* The steps of a whole trial. */
static double whole_trial(struct sw_plot *p, const struct sw_plot_data *d)
{
	double longest = 0;

	if (isfinite(d->max_t))
		return d->max_t;
	for (size_t i = 0; i < d->n; i++)
		if (counts(&d->trials[i]))
			longest = fmax(longest, d->trials[i].step);
	if (longest > 0)
		sw_plot_note(p, "A whole trial counts as %g steps, the most that one has made.",
			     longest);
	return longest;
}

static double without_pruning(const struct sw_plot_trial *t, double whole)
{
	/* One that completed early ended by itself, and would have without a pruner as well. */
	return t->state == SW_PLOT_STATE_PRUNED ? fmax(t->step, whole) : t->step;
}

/* The sums after every step-th trial that counts, and after the last. */
static double draw_sums(struct sw_plot *p, const struct sw_plot_data *d, size_t n, double whole,
			bool pruning)
{
	const size_t step = 1 + n / POINTS_MAX;
	double sum = 0;
	size_t k = 0;

	sw_plot_series(p, pruning ? "made" : "without pruning", SW_PLOT_LINE,
		       pruning ? SW_PLOT_BEST : SW_PLOT_REFERENCE);
	if (n > 0)
		sw_plot_at(p, 0, 0, NAN, 0);
	for (size_t i = 0; i < d->n; i++) {
		const struct sw_plot_trial *t = &d->trials[i];
		if (!counts(t))
			continue;
		sum += pruning ? t->step : without_pruning(t, whole);
		if (++k % step == 0 || k == n)
			sw_plot_at(p, (double)t->trial, sum, NAN, t->trial);
	}
	return sum;
}

SW_PLOT_BUILDER(saved)
{
	size_t ended = 0;

	sw_plot_panel(p, "trial", SW_PLOT_LINEAR, "steps, of all trials so far", SW_PLOT_LINEAR);
	for (size_t i = 0; i < d->n; i++)
		ended += counts(&d->trials[i]);
	const double whole = whole_trial(p, d);
	const double all = draw_sums(p, d, ended, whole, false);
	const double made = draw_sums(p, d, ended, whole, true);
	if (all > 0)
		sw_plot_note(p,
			     "Pruning saved %.0f%% of the steps: %.0f were made, without it %.0f.",
			     100 * (all - made) / all, made, all);
	else
		sw_plot_note(p, "No trial has completed or was pruned yet.");
	if (ended < d->n)
		sw_plot_note(p, "Trials that failed or have not ended are not counted: %zu.",
			     d->n - ended);
	sw_plot_fit(p);
}
