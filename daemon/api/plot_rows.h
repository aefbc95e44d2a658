/*
 * daemon/api/plot_rows.h — the rows that a plot is made of, read from the store.
 *
 * Threads  A reader's: nothing here sees a live sweep.
 * Memory   Zeroed at first, then sw_plot_rows_fini(). 64 bytes a trial, and 8 for each parameter.
 */
#ifndef SW_DAEMON_API_PLOT_ROWS_H
#define SW_DAEMON_API_PLOT_ROWS_H

#include "base/status.h"
#include "plot/data.h"
#include "spec/spec.h"
#include "store/read.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_plot_rows {
	struct sw_plot_data data; /* the result: it points into what follows */
	char *name;
	struct sw_spec *spec;
	struct sw_plot_param *params;
	struct sw_plot_trial *trials;
	double *values; /* [trials][width] */
	const char *metric_names[SW_SPEC_MAX_METRICS];
	bool metric_maximize[SW_SPEC_MAX_METRICS];
	double *rungs;
	struct sw_plot_report *reports;
	struct sw_plot_run *runs; /* which own their causes, but for empty ones */
	struct sw_plot_slot_name {
		char text[24];
	} * slot_names;
	const char **slots;
	size_t trials_cap, values_cap, reports_cap, runs_cap, n_slots;
	/* what is asked for, and while it is read */
	const char *state; /* of the trials that count; NULL: any */
	int64_t *chosen;   /* their numbers, in order, where a filter says so; else NULL */
	size_t n_chosen, chosen_cap, chosen_at;
	enum sw_points with; /* which values: of params or metrics */
	size_t width;
	double from_ms, to_ms; /* of runs: those of other sweeps count in between */
	int64_t *beside;       /* sweeps that ran in that time */
	size_t n_beside, beside_cap;
	size_t at; /* of trials: where rows of another table have come to */
	sw_status rc;
	struct sw_err err;
};

/* The trials of a plot: one filter for all kinds. */
struct sw_plot_filter {
	char state[16]; /* "": any */
	char *text;     /* store/filter.h; NULL: all. Owned by whoever asks */
	int64_t best;   /* that many of the best; 0: all */
};

/* needs: of plot/kinds.h. slots: the names of the
 * daemon's slots by their numbers, copied; an attempt on another is named by its number. */
SW_NODISCARD sw_status sw_plot_rows_read(struct sw_plot_rows *r, struct sw_db *db, int64_t sweep,
					 unsigned needs, const struct sw_plot_filter *filter,
					 const struct sw_plot_slot_name *slots, size_t n_slots,
					 int64_t now_ms, struct sw_err *err);
void sw_plot_rows_fini(struct sw_plot_rows *r);

#endif
