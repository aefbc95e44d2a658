/*
 * plot/kinds.h — the plots that there are: a row each.
 *
 * Pure     No I/O, clock, thread or global: the same data give the same plot.
 */
#ifndef SW_PLOT_KINDS_H
#define SW_PLOT_KINDS_H

#include "plot/data.h"

/* What a plot reads of its data beside the trials; the rest may be absent. */
enum {
	SW_PLOT_NEEDS_REPORTS = 1, /* at least those of the trials of sw_plot_chosen() */
	SW_PLOT_NEEDS_RUNS = 2,
	SW_PLOT_NEEDS_EXPECTED = 4,    /* mean and sd */
	SW_PLOT_NEEDS_METRICS = 8,     /* each trial's metrics and front */
	SW_PLOT_NEEDS_ONE_METRIC = 16, /* makes no sense without a metric to compare by */
	SW_PLOT_NEEDS_PARAMS = 32,     /* else `params` of the data and of trials is absent */
	SW_PLOT_TAKES_LOG = 64,        /* has an axis of a metric */
	SW_PLOT_TAKES_NAMES = 128      /* knows by_name */
};

#define SW_PLOT_SWEEPS 64 /* in one plot, where it takes several */

struct sw_plot_kind {
	const char *name;
	unsigned needs;
	size_t params; /* how many parameters may be named */
	size_t sweeps; /* most sweeps in one plot */
	/* d[n]: the sweeps. named: indices of parameters of d[0], n_named of them. */
	void (*build)(struct sw_plot *p, const struct sw_plot_data *d, size_t n,
		      const size_t *named, size_t n_named);
};

extern const struct sw_plot_kind sw_plot_kinds[];
extern const size_t sw_plot_kinds_n;

#define SW_PLOT_CURVES 80 /* learning curves in one plot */
#define SW_PLOT_TOP    10 /* of which these are the best trials' */

/* Whose curves are drawn, as indices into d->trials: the best trials first, then an even spread of
 * the others by number. d needs nothing but its trials. out[SW_PLOT_CURVES]. Returns how many. */
size_t sw_plot_chosen(const struct sw_plot_data *d, size_t *out);

/* NULL: no plot has this name. */
const struct sw_plot_kind *sw_plot_kind_find(const char *name);

#endif
