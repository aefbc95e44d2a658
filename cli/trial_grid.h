/*
 * cli/trial_grid.h — trials as a grid: trial, state, parameters, the sweep's metric, the other
 * metrics, step, seconds, a bar of progress, and the cause of an end, or that one is silent.
 *
 * When room is short the cause goes first, then the other metrics from the right, then seconds, the
 * bar, the parameters from the right, the step; trial, state and the sweep's metrics stay. Where a
 * trial failed or is silent the cause goes after the bar.
 */
#ifndef SW_CLI_TRIAL_GRID_H
#define SW_CLI_TRIAL_GRID_H

#include "cli/fmt.h"
#include "cli/grid.h"
#include "cli/view.h"
#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

#define SW_TRIAL_BAR 10 /* columns of the bar */

struct sw_trial_grid {
	uint64_t sweep;
	const cJSON *parameters; /* array of names in order, or NULL: as the trials have them */
	const char *metric;      /* the sweep's; may be NULL */
	const cJSON *metrics;    /* of several: as the spec lists them; else NULL */
	double max_t;            /* steps of a whole trial; 0: not known, so no bar */
	bool cause;              /* a column for it, where some trial has one */
	/* Of a watcher: trial i is rows[i]'s, whose seconds go on until now_us; else NULL. */
	const struct sw_view_row *rows;
	int64_t now_us;
	const cJSON *progress; /* array of Progress (methods.json), or NULL */
};

/* The grid as a watcher shows it: of the view's first trials, in its order. */
struct sw_trial_grid sw_trial_grid_of(const struct sw_view *v, int64_t now_us);

/* Fills an initialised, empty grid; trials are Trial objects (methods.json). A failure latches in
 * the grid. O(trials * columns). */
void sw_trial_grid_fill(struct sw_grid *g, const struct sw_trial_grid *how,
			const cJSON *const *trials, size_t n);

/* The trial's value in the column of this name, of two such columns in the first; NULL: it has no
 * value there. */
const cJSON *sw_trial_grid_value(const struct sw_trial_grid *how, const cJSON *trial,
				 const char *column);

/* "last report 3m05s ago" of a trial that runs and has long been silent; NULL: of any other. */
const char *sw_trial_grid_silent(const cJSON *trial, char out[64]);

/* Names in the order given: parameters first seen, metrics sorted. Bounded at 256 each. */
#define SW_NAMES_MAX 256
struct sw_names {
	const char *name[SW_NAMES_MAX]; /* borrowed from the trees they were found in */
	size_t n;
};
void sw_trial_grid_name(struct sw_names *s, const char *name); /* unless it is there; O(n) */
void sw_trial_grid_names_sort(struct sw_names *s);             /* by bytes, times last */

#endif
