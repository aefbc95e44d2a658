/*
 * daemon/verify/curves.h — a stored sweep's learning curves, as sched/sweep/simulate.h takes them.
 *
 * A trial's curve runs through all its attempts: of each the reports up to the step that a later
 * one which reported went on from.
 *
 * Memory   24 bytes a report, 32 a trial, 16 an attempt; over SW_CURVES_MAX reports are refused.
 */
#ifndef SW_DAEMON_VERIFY_CURVES_H
#define SW_DAEMON_VERIFY_CURVES_H

#include "base/status.h"
#include "sched/sweep/simulate.h"
#include "spec/spec.h"

#define SW_CURVES_MAX 2000000

struct sw_db;

struct sw_curves {
	struct sw_spec *spec;
	uint64_t seed;
	struct sw_simulate_curve *curve; /* [n], trial t at t - 1 */
	struct sw_simulate_point *point; /* [point_n] */
	size_t n, cap, point_n, point_cap;
	uint64_t lanes;         /* the most attempts that ran at once; at least 1 */
	double recorded_wall_s; /* from the first attempt's start to the last one's end */

	/* Its own. */
	struct sw_db *db;
	int64_t sweep;
	struct sw_curves_moment { /* at which an attempt began (+1) or ended (-1) */
		int64_t ms;
		int change;
	} * moment; /* [moment_n] */
	size_t moment_n, moment_cap;
	struct sw_curves_attempt {
		int64_t attempt, resume_step, ms;
	} * attempt; /* [attempt_n]: of the trial being read, as what follows up to `ruled` */
	size_t attempt_n, attempt_cap;
	int64_t live;      /* the attempt whose reports come; 0: none yet */
	uint64_t at, run;  /* its last step; steps that all attempts ran */
	int64_t ran_ms;    /* of the attempts that reported */
	bool ruled;        /* the last report was answered "stop" */
	double mean_s;     /* seconds a step, of the trials so far */
	uint64_t mean_run; /* steps behind it */
	size_t part;       /* points before this part */
	bool more;         /* it ended before the last trial */
	sw_status rc;
	struct sw_err *err;
};

/* Some thousand reports more, inside a read; *c is zeroed before the first part. *more: there are
 * others, which another read may bring. SW_NOT_FOUND; SW_CONFLICT: it has several metrics, or is a
 * population (pbt), or no trial of it ran; SW_TOO_BIG; SW_NOMEM; SW_IO. On an error too
 * sw_curves_fini() frees what there is. O(reports log attempts) all together. */
SW_NODISCARD sw_status sw_curves_part(struct sw_curves *c, struct sw_db *db, int64_t sweep,
				      bool *more, struct sw_err *err);
void sw_curves_fini(struct sw_curves *c);

#endif
