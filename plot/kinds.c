#include "plot/kinds.h"
#include "plot/build.h"
#include <string.h>

const struct sw_plot_kind sw_plot_kinds[] = {
	{"history", "each trial's best value in their order, and the best so far",
	 SW_PLOT_NEEDS_ONE_METRIC, 0, 8, sw_plot_build_history},
	{"curves", "learning curves of the best trials and a spread of the others, with rungs",
	 SW_PLOT_NEEDS_REPORTS | SW_PLOT_NEEDS_ONE_METRIC, 0, 1, sw_plot_build_curves},
	{"slice", "trials' values over each varied parameter, or those named",
	 SW_PLOT_NEEDS_ONE_METRIC | SW_PLOT_NEEDS_PARAMS, SW_PLOT_PANELS, 1, sw_plot_build_slice},
	{"contour", "how good trials are over two parameters: those named, or that matter most",
	 SW_PLOT_NEEDS_ONE_METRIC | SW_PLOT_NEEDS_PARAMS, 2, 1, sw_plot_build_contour},
	{"parallel", "a line a trial through its parameters and its value, coloured by that",
	 SW_PLOT_NEEDS_ONE_METRIC | SW_PLOT_NEEDS_PARAMS, SW_PLOT_PANELS, 1,
	 sw_plot_build_parallel},
	{"importance", "how much each parameter alone decides whether a trial is a good one",
	 SW_PLOT_NEEDS_ONE_METRIC | SW_PLOT_NEEDS_PARAMS, 0, 1, sw_plot_build_importance},
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
