/*
 * base/pruning.h — what a pruner is configured with: the one vocabulary of the spec, which fills
 * it, and of sched/pruner, which prunes by it.
 *
 * Names    The keys of "early_terminate" (docs/spec.md), where the defaults are, too.
 * Units    Steps are the reports'. Values are the metric's in the spec; in sched they are oriented,
 *          lower is better: daemon/plan turns the bounds of a threshold.
 */
#ifndef SW_BASE_PRUNING_H
#define SW_BASE_PRUNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_PBT_FACTORS_MAX 8
#define SW_PBT_PARAMS_MAX  256 /* parameters of a sweep */

/* TYPE(name, KIND): "type" is the name. sched/pruner makes an asha by sw_asha_make(), and the keys
 * of "asha" in spec/schema.json fill the members of their names in .asha. A VARIANT is made
 * likewise, and read by the type before it. A new one goes last (docs/develop.md). */
#define SW_PRUNERS(TYPE, VARIANT)                                                                  \
	TYPE(asha, ASHA)                                                                           \
	VARIANT(promote, PROMOTE)                                                                  \
	TYPE(hyperband, HYPERBAND)                                                                 \
	TYPE(median, MEDIAN)                                                                       \
	TYPE(patience, PATIENCE)                                                                   \
	TYPE(threshold, THRESHOLD)                                                                 \
	TYPE(pbt, PBT)
#define SW_NO_ROW(name, KIND)
#define SW_ONE_ROW(name, KIND) +1

enum sw_pruner_kind {
	SW_PRUNER_NONE,
#define SW_ROW(name, KIND) SW_PRUNER_##KIND,
	SW_PRUNERS(SW_ROW, SW_ROW)
#undef SW_ROW
};
#define SW_PRUNER_KIND_N (1 SW_PRUNERS(SW_ONE_ROW, SW_ONE_ROW))

struct sw_asha_config {
	uint64_t grace_period;     /* >= 1 */
	uint64_t max_t;            /* >= grace_period */
	uint64_t reduction_factor; /* >= 2 */
	uint64_t brackets;         /* >= 1, each with at least one rung */
	uint64_t min_results;      /* >= 1; PROMOTE does not look at it */
};

/* Bands: min_iter * eta^k (k from 0), or max_iter / eta^i for i = 1..s, rounded down. Of the two
 * one is 0. */
struct sw_hyperband_config {
	uint64_t min_iter;
	uint64_t max_iter, s;
	double eta;         /* above 1; W&B's takes fractions, too */
	uint64_t last_step; /* from min_iter up no band lies beyond it, but the first; 0: no end */
	bool strict;        /* compare the value at the band; else the best so far */
};

/* floor(at / eta): by integers where eta is one. */
static inline uint64_t sw_hyperband_down(uint64_t at, double eta)
{
	const uint64_t whole = (uint64_t)eta;

	return (double)whole >= eta ? at / whole : (uint64_t)((double)at / eta);
}

struct sw_median_config {
	bool running_mean;                           /* Ray's rule and keys; else Optuna's */
	uint64_t grace_period, min_samples_required; /* Ray's */
	uint64_t n_startup_trials, n_warmup_steps, interval_steps,
		n_min_trials; /* Optuna's; the last two >= 1 */
};

struct sw_patience_config {
	uint64_t patience; /* >= 1, reports */
	double min_delta;  /* >= 0 */
};

struct sw_threshold_config {
	bool has_lower, has_upper;               /* at least one */
	double lower, upper;                     /* lower < upper where both are given */
	uint64_t n_warmup_steps, interval_steps; /* interval_steps >= 1 */
};

struct sw_pbt_config {
	uint64_t perturbation_interval; /* >= 1 */
	uint64_t burn_in_period;
	double quantile_fraction;    /* in [0, 0.5] */
	double resample_probability; /* in [0, 1] */
	double factor[SW_PBT_FACTORS_MAX];
	size_t factor_n; /* >= 1 */
	/* A trial's last: it completes there, and is not judged; 0: not known. */
	uint64_t last_step;
	bool fixed[SW_PBT_PARAMS_MAX]; /* by parameter: a child has its donor's value */
};

/* The part that its kind names is set, the others are zero. */
struct sw_pruner_config {
	enum sw_pruner_kind kind;
	uint64_t first_step;        /* at which it can judge, for a warning; 0: any, or not known */
	struct sw_asha_config asha; /* ASHA and PROMOTE */
	struct sw_hyperband_config hyperband;
	struct sw_median_config median;
	struct sw_patience_config patience;
	struct sw_threshold_config threshold;
	struct sw_pbt_config pbt;
};

#endif
