/* Trials' values over one parameter: a panel for each, of the same trials. */
#include "plot/build.h"
#include <math.h>

#define PANELS_MAX 12 /* if none are named */
#define TRIALS_MAX 500

static bool has_value(const struct sw_plot_data *d, size_t i, const void *arg,
		      struct sw_plot_mark *m)
{
	(void)arg;
	(void)m;
	return isfinite(d->trials[i].value);
}

static bool dot(const struct sw_plot_data *d, size_t i, const void *arg, struct sw_plot_mark *m)
{
	const size_t *param = arg;

	m->x = d->trials[i].params[*param];
	m->y = d->trials[i].value;
	return sw_plot_has_place(d->params[*param].scale, m->x);
}

SW_PLOT_BUILDER(slice)
{
	size_t shown[SW_PLOT_PANELS] = {0}, pick[TRIALS_MAX];
	const size_t panels = sw_plot_shown(p, d, named, n_named,
					    n_named > 0 ? SW_PLOT_PANELS : PANELS_MAX, shown);
	const size_t room = panels > 0 ? SW_PLOT_MARKS / panels - 1 : TRIALS_MAX;
	double v[TRIALS_MAX];

	/* One choice for all panels, so that a trial can be followed from one to the next. */
	const size_t trials = sw_plot_take(p, d, has_value, NULL,
					   room < TRIALS_MAX ? room : TRIALS_MAX, "trials",
					   "a value", pick);
	for (size_t k = 0; k < trials; k++)
		v[k] = d->trials[pick[k]].value;
	for (size_t k = 0; k < panels; k++) {
		const struct sw_plot_param *param = &d->params[shown[k]];
		sw_plot_panel(p, param->name, param->scale, d->metric, SW_PLOT_LINEAR);
		sw_plot_param_names(p, SW_PLOT_X, param);
		sw_plot_metric(p, SW_PLOT_Y, d->maximize, d->log);
		/* The same y in each panel: they stand side by side to be compared. */
		if (k == 0)
			sw_plot_scale_to(p, SW_PLOT_Y, "trials", v, trials);
		else if (p->failed == SW_OK)
			sw_plot_range(p, SW_PLOT_Y, p->panels[0].y.min, p->panels[0].y.max);
		sw_plot_dots(p, d, pick, trials, dot, &shown[k]);
		sw_plot_best_dot(p, d, pick, trials, dot, &shown[k]);
		sw_plot_fit(p);
	}
}
