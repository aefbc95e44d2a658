#include "plot/kinds.h"
#include "plot/build.h"
#include <string.h>

const struct sw_plot_kind sw_plot_kinds[] = {
	{"history", "each trial's best value in their order, and the best so far",
	 SW_PLOT_NEEDS_ONE_METRIC, 0, 8, sw_plot_build_history},
	{"curves", "learning curves of the best trials and a spread of the others, with rungs",
	 SW_PLOT_NEEDS_REPORTS | SW_PLOT_NEEDS_ONE_METRIC, 0, 1, sw_plot_build_curves},
	/* To come, each with its builder: name, needs, params, sweeps.
	 * slice      ONE_METRIC|PARAMS      64   1
	 * contour    ONE_METRIC|PARAMS       2   1
	 * parallel   ONE_METRIC|PARAMS      64   1
	 * importance ONE_METRIC|PARAMS       0   1 */
	{"pareto", "several metrics: each two against one another, with the trials that none beats",
	 SW_PLOT_NEEDS_METRICS, 0, 1, sw_plot_build_pareto},
	{"edf", "the share of trials whose value is at most so much", SW_PLOT_NEEDS_ONE_METRIC, 0,
	 8, sw_plot_build_edf},
	{"timeline", "what ran on which slot when, why it ended, and when nothing ran",
	 SW_PLOT_NEEDS_RUNS, 0, 1, sw_plot_build_timeline},
	{"expected", "what the sampler expected of each trial, against what came",
	 SW_PLOT_NEEDS_EXPECTED | SW_PLOT_NEEDS_ONE_METRIC, 0, 1, sw_plot_build_expected},
	{"saved", "the steps that trials made, and what they would have been without pruning", 0, 0,
	 1, sw_plot_build_saved},
};
const size_t sw_plot_kinds_n = sizeof sw_plot_kinds / sizeof sw_plot_kinds[0];

const struct sw_plot_kind *sw_plot_kind_find(const char *name)
{
	for (size_t i = 0; i < sw_plot_kinds_n; i++)
		if (strcmp(sw_plot_kinds[i].name, name) == 0)
			return &sw_plot_kinds[i];
	return NULL;
}
