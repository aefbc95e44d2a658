/* The share of trials that have at most a value: of several sweeps, how good their trials are. */
#include "plot/build.h"
#include <math.h>
#include <stdlib.h>

/* The values of the trials that count, rising; how many. */
static size_t gather(struct sw_plot *p, const struct sw_plot_data *d, double *v)
{
	size_t n;
	struct sw_plot_rank *const r = sw_plot_ranked(p, d, &n);

	for (size_t k = 0; k < n; k++)
		/* The best is ranked first; the share of those below a value counts upwards in any
		 * case. */
		v[k] = r[d->maximize ? n - 1 - k : k].value;
	free(r);
	return n;
}

static void draw(struct sw_plot *p, const double *v, size_t n, const char *name, size_t sweep,
		 size_t most)
{
	const size_t marks = n < most ? n : most;

	sw_plot_series(p, name, SW_PLOT_STEPS, SW_PLOT_FIRST + (int)sweep);
	sw_plot_at(p, v[0], 0, NAN, 0);
	for (size_t k = 0; k < marks; k++) {
		const size_t i = sw_plot_spread(k, most, n);
		sw_plot_at(p, v[i], (double)(i + 1) / (double)n, NAN, 0);
	}
}

SW_PLOT_BUILDER(edf)
{
	size_t total = 0, all = 0, pruned = 0;

	sw_plot_panel(p, d->metric, SW_PLOT_LINEAR, "share of trials", SW_PLOT_LINEAR);
	sw_plot_metric(p, SW_PLOT_X, d->maximize, d->log);
	sw_plot_range(p, SW_PLOT_Y, 0, 1);
	for (size_t s = 0; s < n; s++)
		all += d[s].n;
	double *const v = sw_plot_scratch(p, all, sizeof *v);
	for (size_t s = 0; v != NULL && s < n; s++) {
		char name[SW_PLOT_SWEEP_NAME];
		const size_t n_values = gather(p, &d[s], v + total);
		sw_plot_sweep_name(&d[s], name);
		if (n_values > 0)
			/* One mark less, which is the step up from 0. */
			draw(p, v + total, n_values, name, s, SW_PLOT_MARKS / n - 1);
		total += n_values;
		for (size_t i = 0; i < d[s].n; i++)
			pruned += d[s].trials[i].state == SW_PLOT_STATE_PRUNED;
	}
	if (v != NULL)
		/* Last: it orders them. */
		sw_plot_scale_to(p, SW_PLOT_X, "trials", v, total);
	if (total == 0)
		sw_plot_note(p, "No trial has a value yet.");
	if (pruned > 0)
		sw_plot_note(p, "Pruned trials count with their best value.");
	sw_plot_fit(p);
	free(v);
}
