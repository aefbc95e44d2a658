/*
 * sched/space/history.h — what a sampler learns from: every trial's values, and a log of what was
 * observed of them, in the order in which it became known. Append only.
 *
 * Pure     No I/O, clock, thread or global. A suggestion is a function of the space, the seed and a
 *          prefix of this log; how long the prefix was is stored with the suggestion ("known"), so
 *          that it can be made again whatever the timing was.
 * Units    y is oriented: smaller is better, for every metric. Trials are numbered from 1.
 * Memory   Owns copies of all it is given. An add that fails (SW_NOMEM) changes nothing.
 * Cost     Adds are amortised O(parameters); a copy is O(all).
 */
#ifndef SW_SCHED_SPACE_HISTORY_H
#define SW_SCHED_SPACE_HISTORY_H

#include "base/status.h"
#include "sched/space/space.h"
#include <stddef.h>
#include <stdint.h>

#define SW_METRICS_MAX 8

enum sw_obs_kind {
	SW_OBS_RUNG,       /* the trial reached rung `level`: y[0] is its value there */
	SW_OBS_FINAL,      /* COMPLETED: y is what it ended with */
	SW_OBS_PRUNED,     /* the pruner stopped it: y is its last value */
	SW_OBS_INFEASIBLE, /* its parameters do not work (diverged, no memory): worse than all; no
			    * y */
	SW_OBS_FAILED,     /* FAILED: as INFEASIBLE, unless it was an accident; no y */
	SW_OBS_NONE,       /* CANCELLED: it tells nothing, but waits no longer; no y */
};

struct sw_obs {
	uint64_t trial;
	enum sw_obs_kind kind;
	uint32_t level; /* RUNG: index into the sampler's rung steps */
};

struct sw_history {
	size_t n_params, n_metrics;
	struct sw_value *values; /* [trials][n_params]: trial t at (t - 1) * n_params */
	uint64_t trials;    /* trials made: 1..trials; pending are those without an end in obs */
	struct sw_obs *obs; /* [n_obs] */
	double *y;          /* [n_obs][n_metrics]; NaN where obs has none */
	size_t n_obs;
	struct sw_value *prior_values; /* [n_prior][n_params] */
	double *prior_y;               /* [n_prior][n_metrics] */
	size_t n_prior;
	size_t trial_cap, obs_cap, prior_cap;
};

/* n_metrics: 1..SW_METRICS_MAX. */
void sw_history_init(struct sw_history *h, size_t n_params, size_t n_metrics);
void sw_history_fini(struct sw_history *h);

/* Makes sure that the next n_trials and n_obs adds cannot fail. */
SW_NODISCARD sw_status sw_history_reserve(struct sw_history *h, uint64_t n_trials, size_t n_obs);

/* values[n_params] of trial h->trials + 1. */
SW_NODISCARD sw_status sw_history_add_trial(struct sw_history *h, const struct sw_value *values);

/* Appends an observation. y[n_metrics]; NULL for INFEASIBLE, FAILED and NONE. RUNG reads y[0]
 * alone. Asserts that the trial was made and that y is finite. */
SW_NODISCARD sw_status sw_history_observe(struct sw_history *h, struct sw_obs obs, const double *y);

/* A finished trial of an earlier sweep; before the first observation. */
SW_NODISCARD sw_status sw_history_add_prior(struct sw_history *h, const struct sw_value *values,
					    const double *y);

/* Makes *to equal to the first `known` observations of *from, with all its trials and priors. *to
 * was initialised; what it held is dropped, its memory reused. */
SW_NODISCARD sw_status sw_history_copy(struct sw_history *to, const struct sw_history *from,
				       size_t known);

/*
 * Brings *to, an earlier copy of *from whose first `kept` trials are *from's, up to date with all
 * of from's observations: trials that *to has beyond `kept` are dropped (somebody else's guesses),
 * the rest is appended. O(what is new). SW_NOMEM: *to has lost its guesses at most.
 */
SW_NODISCARD sw_status sw_history_follow(struct sw_history *to, const struct sw_history *from,
					 uint64_t kept);

#endif
