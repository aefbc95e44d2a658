/*
 * daemon/api/front.h — the trials of a sweep with several metrics that no other trial beats, and
 * their hypervolume, read from the store.
 *
 * Threads  A reader's: nothing here sees a live sweep.
 * Units    Values as reported, not oriented. A trial counts as it stands: by the last report of its
 *          last attempt that carried the metrics; FAILED and INFEASIBLE ones do not.
 * Memory   init by {0}, then sw_front_fini(); 8 (m + 2) bytes a trial while it reads.
 * Cost     100,000 trials of 2 metrics: some tenths of a second, most of it in reading.
 */
#ifndef SW_DAEMON_API_FRONT_H
#define SW_DAEMON_API_FRONT_H

#include "base/status.h"
#include "proto/json.h"
#include "spec/spec.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_db;
struct sw_row_sweep;

struct sw_front {
	struct sw_spec *spec; /* owned; NULL: the sweep has one metric, and nothing else was read */
	size_t n, cap;        /* trials with values */
	int64_t *trial;       /* [n] */
	double *y;            /* [n][n_metrics], oriented: smaller is better */
	size_t *row;          /* [front_n]: the front's rows, by the first metric, best first */
	size_t front_n;
	double reference[SW_SPEC_MAX_METRICS]; /* as reported; front_n > 0 */
	bool no_volume;  /* set before it is read: the hypervolume is not wanted */
	bool has_volume; /* false: there is no front, or the volume is too much work (pareto.h) */
	double volume;
	/* while it is read */
	sw_status rc;
	struct sw_err err;
};

SW_NODISCARD sw_status sw_front_read(struct sw_front *f, struct sw_db *db, int64_t sweep,
				     struct sw_err *err);
/* The same of a sweep whose row is there. */
SW_NODISCARD sw_status sw_front_read_row(struct sw_front *f, struct sw_db *db,
					 const struct sw_row_sweep *row, struct sw_err *err);
void sw_front_fini(struct sw_front *f);

/* "pareto": {"trials": 5, "hypervolume": 1.2, "reference": {...}} of several metrics, null of
 * one. */
void sw_front_write(const struct sw_front *f, struct sw_jw *w);

/* The objects of the first n trials of the front, with the metrics of the reports that count. */
SW_NODISCARD sw_status sw_front_trials(const struct sw_front *f, struct sw_db *db, int64_t sweep,
				       size_t n, int64_t now_ms, struct sw_jw *w,
				       struct sw_err *err);

#endif
