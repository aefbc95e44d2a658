/*
 * plot/data.h — what plots are made of: a sweep's trials and what became of them, as plain arrays.
 *
 * Numbers are as the user reported them (a maximised metric is not turned around); what is not
 * known is NaN. All is borrowed for the call that builds a plot.
 */
#ifndef SW_PLOT_DATA_H
#define SW_PLOT_DATA_H

#include "plot/plot.h"

struct sw_plot_param {
	const char *name;
	enum sw_plot_scale scale; /* LINEAR, LOG or CATEGORY */
	bool varied; /* two trials have different values: plots show these by default */
	size_t n_names;
	const char *const *names; /* CATEGORY: what values 0, 1, ... stand for */
};

/* The states in which a trial may stand, for plots. */
enum sw_plot_state {
	SW_PLOT_STATE_OPEN, /* pending, running, paused */
	SW_PLOT_STATE_COMPLETED,
	SW_PLOT_STATE_PRUNED,
	SW_PLOT_STATE_FAILED, /* infeasible and cancelled, too */
};

struct sw_plot_trial {
	int64_t trial;
	enum sw_plot_state state;
	double value;          /* its best of the metric, never the last */
	double step;           /* of its last report */
	double mean, sd;       /* what the sampler expected of it; NaN: nothing */
	const double *params;  /* [n_params]; NaN: it has none */
	const double *metrics; /* [n_metrics], of several; NULL: one metric */
	bool front;            /* of several: no other trial here beats it in all */
};

/* One report of a trial that carried the metric. By trial, then step; the first SW_PLOT_CURVE_MAX
 * of a trial. */
#define SW_PLOT_CURVE_MAX 20000
struct sw_plot_report {
	int64_t trial;
	double step, value;
};

/* One run of a trial on a slot. By slot, then start. */
struct sw_plot_run {
	int64_t trial;
	size_t slot;                 /* of slots */
	double started_ms, ended_ms; /* NaN: it runs */
	enum sw_plot_state state;
	const char *cause; /* why it ended, "" where nothing was wrong */
	bool other;        /* another sweep's: only the time for which it had the slot counts */
};

struct sw_plot_data {
	int64_t sweep;
	const char *name, *metric; /* metric NULL: trials are not compared */
	bool maximize;
	bool learned; /* a sampler that learns chose the trials */
	size_t n_metrics;
	const char *const *metric_names; /* of several */
	const bool *metric_maximize;
	const struct sw_plot_param *params;
	size_t n_params;
	const struct sw_plot_trial *trials; /* by number: those that the filter passed */
	size_t n, all;                      /* how many; how many the sweep has */
	const double *rungs;                /* rising steps at which the pruner compares */
	size_t n_rungs;
	double max_t; /* steps of a whole trial; NaN: not known */
	const struct sw_plot_report *reports;
	size_t n_reports;
	const struct sw_plot_run *runs;
	size_t n_runs;
	const char *const *slots;
	size_t n_slots;
	double now_ms;
	/* As was asked for, in the first sweep's alone. */
	bool log;     /* the metric's axis is LOG */
	bool by_name; /* sweeps of one name are one thing: seeds */
};

/* a before b, in the metric's sense. NaN is behind all. */
static inline bool sw_plot_better(const struct sw_plot_data *d, double a, double b)
{
	if (a != a || b != b)
		return a == a && b != b;
	return d->maximize ? a > b : a < b;
}

#endif
