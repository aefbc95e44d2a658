#include "plot/kinds.h"
#include "plot/build.h"
#include <string.h>

const struct sw_plot_kind sw_plot_kinds[] = {
	{"history", "each trial's best value in their order, and the best so far",
	 SW_PLOT_NEEDS_ONE_METRIC, 0, 8, sw_plot_build_history},
	/* To come, each with its builder: name, needs, params, sweeps.
	 * curves     REPORTS | ONE_METRIC    0   1
	 * slice      ONE_METRIC|PARAMS      64   1
	 * contour    ONE_METRIC|PARAMS       2   1
	 * parallel   ONE_METRIC|PARAMS      64   1
	 * importance ONE_METRIC|PARAMS       0   1
	 * pareto     METRICS                 0   1
	 * edf        ONE_METRIC              0   8
	 * timeline   RUNS                    0   1
	 * expected   EXPECTED | ONE_METRIC   0   1
	 * saved      0 (trials, max_t)       0   1 */
};
const size_t sw_plot_kinds_n = sizeof sw_plot_kinds / sizeof sw_plot_kinds[0];

const struct sw_plot_kind *sw_plot_kind_find(const char *name)
{
	for (size_t i = 0; i < sw_plot_kinds_n; i++)
		if (strcmp(sw_plot_kinds[i].name, name) == 0)
			return &sw_plot_kinds[i];
	return NULL;
}
