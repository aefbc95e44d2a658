/*
 * bench/lib/pruning.h — the figures of bench_asha: what pruners and the samplers under them need to
 * come to a good configuration, from the runs of whole sweeps on virtual time.
 *
 * Against  What random points under the same form of asha (stop, where there is none) end with, the
 *          median over the seeds: the level that hits and losses are measured by.
 * Budget   Epochs that a sweep may spend: --full, else 20 full trainings, or five a worker where
 *          that is more, of which the first is known when a fifth is spent. Runs of few workers
 *          last for it at least.
 * Memory   Nothing is allocated here; what is pointed to is the caller's.
 * Errors   None: what a caller promises is asserted.
 * Cost     A quantile sorts the seeds, BENCH_MAX_SEEDS at most; means are made anew at each call.
 */
#ifndef SW_BENCH_LIB_PRUNING_H
#define SW_BENCH_LIB_PRUNING_H

#include "bench/lib/cells.h"
#include "bench/lib/sweepsim.h"

#define BENCH_PRUNING_NEVER 1.5 /* a hit that never came, as a share of the budget */
/* Workers at most whose hits are told: with more, the budget is spent before much is known. */
#define BENCH_PRUNING_FEW      8
#define BENCH_PRUNING_FAMILIES 8 /* at most */

struct bench_pruning_policy {
	const char *name;
	enum sw_sampler_kind sampler;
	enum sw_pruner_kind pruner;
	const char *against; /* a policy's name */
};

extern const struct bench_pruning_policy bench_pruning_policies[];
extern const size_t bench_pruning_policies_n;

struct bench_pruning {
	const struct bench_options *o; /* borrowed, as are the families */
	struct bench_family family[BENCH_PRUNING_FAMILIES];
	double goal[BENCH_PRUNING_FAMILIES];
	size_t families;
	struct bench_sim_run *run; /* [mode][family][policy][seed]: the caller's */
};

size_t bench_pruning_find(const char *name);
/* Is the policy to be run? */
bool bench_pruning_wanted(const struct bench_pruning *p, size_t policy);
/* Are its hits and losses known: few workers, and what it is measured against is run? */
bool bench_pruning_compared(const struct bench_pruning *p, size_t mode, size_t policy);
/* Epochs. */
size_t bench_pruning_budget(const struct bench_pruning *p, size_t mode);
/* Epochs that a hit is looked for in; what is beyond counts as never. */
size_t bench_pruning_follow(const struct bench_pruning *p, size_t mode);
/* Full trainings after which the goal counts as never reached. */
size_t bench_pruning_never(size_t workers);
/* The seeds' runs of a cell. */
struct bench_sim_run *bench_pruning_runs(const struct bench_pruning *p, size_t mode, size_t f,
					 size_t policy);

/* ---- quantile q over the seeds of a cell ---- */

/* Loss of the incumbent after so many epochs, no more than are kept and than the runs lasted. */
double bench_pruning_end(const struct bench_pruning *p, const struct bench_sim_run *r,
			 size_t epochs, double q);
/* Share of the budget until the incumbent's loss, or that of the best that is trained in full, is
 * at or below the level; BENCH_PRUNING_NEVER. */
double bench_pruning_hit(const struct bench_pruning *p, size_t mode, const struct bench_sim_run *r,
			 bool trained, double level, double q);
/* Full trainings until the family's goal is reached; never: bench_pruning_never(). */
double bench_pruning_reach(const struct bench_pruning *p, const struct bench_sim_run *r,
			   size_t workers, double q);
/* The policy's level, where it is compared. */
double bench_pruning_level(const struct bench_pruning *p, size_t mode, size_t f, size_t policy);

/* Geometric means over the families of the medians over the seeds, and the worst family's. */
struct bench_pruning_means {
	double reach, hit, worst_hit, trained, worst_trained;
	double loss, worst_loss; /* at the end of the budget, over the level */
	bool compared;           /* bench_pruning_compared(): else reach alone is known */
};

struct bench_pruning_means bench_pruning_means_of(const struct bench_pruning *p, size_t mode,
						  size_t policy);

#endif
