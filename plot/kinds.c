#include "plot/kinds.h"
#include "plot/build.h"
#include <string.h>

#define OF_METRIC (SW_PLOT_NEEDS_ONE_METRIC | SW_PLOT_TAKES_LOG)
#define OF_PARAMS (SW_PLOT_NEEDS_ONE_METRIC | SW_PLOT_NEEDS_PARAMS)

/* In the order in which they are offered. */
const struct sw_plot_kind sw_plot_kinds[] = {
	{"history", OF_METRIC | SW_PLOT_TAKES_NAMES, 0, SW_PLOT_SWEEPS, sw_plot_build_history},
	{"curves", OF_METRIC | SW_PLOT_NEEDS_REPORTS, 0, 1, sw_plot_build_curves},
	{"slice", OF_PARAMS | SW_PLOT_TAKES_LOG, SW_PLOT_PANELS, 1, sw_plot_build_slice},
	{"contour", OF_PARAMS, 2, 1, sw_plot_build_contour},
	{"parallel", OF_PARAMS | SW_PLOT_TAKES_LOG, SW_PLOT_PANELS, 1, sw_plot_build_parallel},
	{"importance", OF_PARAMS, 0, 1, sw_plot_build_importance},
	{"pareto", SW_PLOT_NEEDS_METRICS | SW_PLOT_TAKES_LOG, 0, 1, sw_plot_build_pareto},
	{"edf", OF_METRIC, 0, SW_PLOT_SWEEPS, sw_plot_build_edf},
	{"timeline", SW_PLOT_NEEDS_RUNS, 0, 1, sw_plot_build_timeline},
	{"expected", OF_METRIC | SW_PLOT_NEEDS_EXPECTED, 0, 1, sw_plot_build_expected},
	{"saved", 0, 0, 1, sw_plot_build_saved},
};
const size_t sw_plot_kinds_n = sizeof sw_plot_kinds / sizeof sw_plot_kinds[0];

const struct sw_plot_kind *sw_plot_kind_find(const char *name)
{
	for (size_t i = 0; i < sw_plot_kinds_n; i++)
		if (strcmp(sw_plot_kinds[i].name, name) == 0)
			return &sw_plot_kinds[i];
	return NULL;
}
