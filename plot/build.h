/*
 * plot/build.h — the builders of kinds.h's rows: each fills an empty plot from what its row says
 * that it needs. A plot of data with nothing to show has its panel and axes, and a note.
 */
#ifndef SW_PLOT_BUILD_H
#define SW_PLOT_BUILD_H

#include "plot/data.h"

#define SW_PLOT_BUILDER(name)                                                                      \
	void sw_plot_build_##name(struct sw_plot *p, const struct sw_plot_data *d, size_t n,       \
				  const size_t *named, size_t n_named)

SW_PLOT_BUILDER(history);

/* Whether d->trials[i] has what a plot draws of it. */
typedef bool sw_plot_fits(const struct sw_plot_data *d, size_t i, const void *arg);

/* Which of those that fit are drawn where only `most` may be, as indices into d->trials: the `top`
 * best in that order, then an even spread of the others by number. 0 < top < most; out[most].
 * Returns how many; *all: how many fit. A failed trial counts as worse than all others. */
size_t sw_plot_pick(const struct sw_plot_data *d, sw_plot_fits *fits, const void *arg, size_t top,
		    size_t most, size_t *out, size_t *all);

/* Which of n rows are drawn where only `most` may be: index i of the k-th, evenly spread, the first
 * and the last among them. k < most < n. */
static inline size_t sw_plot_spread(size_t k, size_t most, size_t n)
{
	return most > 1 ? k * (n - 1) / (most - 1) : 0;
}

#endif
