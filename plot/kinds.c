#include "plot/kinds.h"
#include "plot/build.h"
#include <string.h>

const struct sw_plot_kind sw_plot_kinds[] = {
	{"history", "each trial's best value in their order, and the best so far",
	 SW_PLOT_NEEDS_ONE_METRIC, 0, 8, sw_plot_build_history},
};
const size_t sw_plot_kinds_n = sizeof sw_plot_kinds / sizeof sw_plot_kinds[0];

const struct sw_plot_kind *sw_plot_kind_find(const char *name)
{
	for (size_t i = 0; i < sw_plot_kinds_n; i++)
		if (strcmp(sw_plot_kinds[i].name, name) == 0)
			return &sw_plot_kinds[i];
	return NULL;
}
