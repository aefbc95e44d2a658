/*
 * sched/sweep/simulate.h — a sweep's stored curves once more, under another pruner.
 *
 * The same trials are handed out in the same order to `lanes` lanes on virtual time. A trial goes
 * along its curve at its own pace until the pruner stops it, or the curve ends. It is the state
 * machine of sched/sweep/sweep.h that decides, so pauses, promotions and brackets are those that a
 * sweep with these settings, this seed and these curves would see.
 *
 * What it cannot know   A curve that was cut short (by the pruner of the sweep, or its user) says
 *          nothing of what came after: when the other pruner would have let the trial go on, it
 *          ends there, takes no part in what follows, and is counted as `cut_short`; the resource
 *          is then the least that would have been used. A sampler that learns would have suggested
 *          other trials from other results.
 * Pure     No I/O, clock, thread or global.
 * Units    step: the trial's clock; values as reported, not oriented; seconds.
 * Cost     O(points log trials); memory 100 bytes a trial besides the curves.
 */
#ifndef SW_SCHED_SWEEP_SIMULATE_H
#define SW_SCHED_SWEEP_SIMULATE_H

#include "base/status.h"
#include "sched/pruner/pruner.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_simulate_point {
	uint64_t step; /* > 0, rising along a curve */
	double value;  /* NaN: it diverged there */
	bool has_value;
	bool final;  /* it came with the word that the trial ended: recorded, not judged */
	bool result; /* with `final`: not even recorded */
};

enum sw_simulate_end {
	SW_SIMULATE_COMPLETED, /* at its own end */
	SW_SIMULATE_FAILED,    /* by itself: it would again */
	SW_SIMULATE_CUT,       /* by a pruner, or its user */
	SW_SIMULATE_ABSENT     /* it never ran: it takes no part, but keeps its number */
};

/* Trial t is at t - 1. */
struct sw_simulate_curve {
	size_t first, n; /* its points */
	double step_s;   /* what a step takes, > 0 and finite */
	enum sw_simulate_end end;
};

struct sw_simulate_config {
	struct sw_pruner_config pruner; /* not PBT: its children train what no curve shows */
	uint64_t seed;                  /* the sweep's, for brackets */
	bool maximize;
	uint64_t lanes;                         /* >= 1 */
	const struct sw_simulate_curve *curves; /* [n] */
	size_t n;                               /* >= 1 */
	const struct sw_simulate_point *points;
};

/* The best trial by its last value; 0: none has one. Ties: the earlier trial. */
struct sw_simulate_best {
	uint64_t trial;
	double value;
};

struct sw_simulate_result {
	uint64_t trials;    /* that took part */
	uint64_t recorded;  /* steps of all curves */
	uint64_t resource;  /* steps that were run */
	uint64_t stopped;   /* by the pruner, or never promoted */
	uint64_t completed; /* to their own end, or to max_t */
	uint64_t failed;
	uint64_t cut_short;             /* went on past the end of a curve that was cut */
	double wall_s;                  /* when the last lane fell idle */
	struct sw_simulate_best best;   /* of the whole curves, those that failed left out */
	bool survived;                  /* the best was not stopped */
	struct sw_simulate_best chosen; /* of what was run */
};

/* SW_INVALID with a pointer into the pruner's keys ("/max_t"), SW_NOMEM. */
SW_NODISCARD sw_status sw_simulate(const struct sw_simulate_config *config,
				   struct sw_simulate_result *out, struct sw_err *err);

#endif
