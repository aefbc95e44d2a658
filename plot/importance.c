/* How much each varied parameter matters: a bar each, the longest on top. */
#include "plot/build.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define BARS_MAX   40
#define TRIALS_MIN 50

SW_PLOT_BUILDER(importance)
{
	size_t shown[BARS_MAX];
	double *const weight = sw_plot_scratch(p, d->n_params, sizeof *weight);

	if (weight == NULL)
		return;
	sw_plot_panel(p, "importance", SW_PLOT_LINEAR, "", SW_PLOT_CATEGORY);
	const size_t trials = sw_plot_weigh(p, d, weight);
	const size_t bars = sw_plot_shown(p, d, NULL, 0, BARS_MAX, shown);
	/* Names count upwards: the lightest first. */
	for (size_t k = 0; k < bars; k++) {
		size_t lightest = k;
		for (size_t i = k + 1; i < bars; i++)
			if (weight[shown[i]] <= weight[shown[lightest]])
				lightest = i;
		const size_t param = shown[lightest];
		shown[lightest] = shown[k];
		shown[k] = param;
		sw_plot_name(p, SW_PLOT_Y, d->params[param].name);
	}
	sw_plot_series(p, "", SW_PLOT_BARS, SW_PLOT_PLAIN);
	for (size_t k = 0; k < bars; k++) {
		char text[16];
		(void)snprintf(text, sizeof text, "%.3f", weight[shown[k]]);
		sw_plot_mark(p, (struct sw_plot_mark){0, (double)k - .4, weight[shown[k]],
						      (double)k + .4, NAN, 0, text});
	}
	sw_plot_note(p,
		     "PED-ANOVA: how far the best tenth of %zu trials differs from all of them "
		     "in this parameter alone; each counts with its best value.",
		     trials);
	if (d->learned)
		sw_plot_note(p, "A model chose these trials: a parameter whose bad values it soon "
				"left shows little here. The slice plot shows them.");
	const double longest = bars > 0 ? weight[shown[bars - 1]] : NAN;
	if (longest > 0)
		sw_plot_range(p, SW_PLOT_X, 0, 1.05 * longest);
	else if (bars > 0)
		sw_plot_note(p, "No parameter tells the best trials from the others.");
	if (trials < TRIALS_MIN)
		sw_plot_note(p, "With fewer than %d trials the order may be chance.", TRIALS_MIN);
	sw_plot_fit(p);
	free(weight);
}
