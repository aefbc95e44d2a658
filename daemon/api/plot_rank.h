/* daemon/api/plot_rank.h — which trials of a plot are the best, and which no other beats. Pure. */
#ifndef SW_DAEMON_API_PLOT_RANK_H
#define SW_DAEMON_API_PLOT_RANK_H

#include "base/status.h"
#include "plot/data.h"
#include <stdbool.h>
#include <stddef.h>

/* Moves the `most` best of *n trials that have a value to the front, still by number; *n is how
 * many they are. Failed ones count behind all others. values: [n][width], a row a trial, which
 * moves with it; width 0: none. SW_NOMEM. */
SW_NODISCARD sw_status sw_plot_rank_best(struct sw_plot_trial *trials, double *values, size_t width,
					 size_t *n, bool maximize, size_t most);

/* Marks the trials that no other beats in all of m metrics. maximize: [m]. SW_NOMEM. */
SW_NODISCARD sw_status sw_plot_rank_front(struct sw_plot_trial *trials, size_t n,
					  const bool *maximize, size_t m);

#endif
