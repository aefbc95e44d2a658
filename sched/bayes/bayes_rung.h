/*
 * sched/bayes/bayes_rung.h — the bayes sampler under a pruner: what trials were worth at the rungs
 * they reached informs one Gaussian process over (x, tau), tau the logarithm of the resource.
 * Internal.
 *
 *   bayes_rung.c        values at the rungs, and how those of one rung foretell the next
 *   bayes_rung_rows.c   the rows of the process, never more than BAYES_RUNG_ROWS
 *   bayes_rung_model.c  the process, and the point of largest log EI at the top
 *
 * The top is the highest rung with three values; higher ones are not used yet, and a trial that has
 * a value above the top alone has it there. A trial's values at the lower rungs are aligned first:
 * from the top down, a ridge regression of what the trials that went on came to (their aligned
 * value) on what they had at the rung says what the others would have come to. Taken at their word,
 * values of low rungs mislead wherever curves cross.
 *
 * While rungs above the top are not known yet, as many of the points as they are of the rungs are
 * spread over the space instead: a model of low rungs alone finds what is best there, which beats
 * the trials before it at each rung, and so fills the workers with trials that run to the end. With
 * eight workers and curves that cross it was worse than random search without that.
 * Afterwards a half stays spread, a guard: alone the model's points gather beside the first good
 * trials. On six nets (bench/rungs.py) full trainings end at .97 (+- .02) of a third's loss.
 *
 * Trials that run and have no value at the top are believed there, also with values of lower rungs:
 * else workers that ask in turn go beside a good trial that runs, where the model still sees room.
 * With eight of them and bench/asha that cost 2% of the resource and 3% of the final loss. Where
 * trials pause at rungs, most of those with values wait and do not run, and they are not believed:
 * with one worker that cost 4% of the final loss.
 *
 * What ends off a rung: a trial that COMPLETED without a value at the last rung never gets one, so
 * its final value counts as that. FAILED and INFEASIBLE: beyond the worst at the top, whatever it
 * had below; by accident (bayes_accident.c): its rungs count, as of one that was CANCELLED. Earlier
 * sweeps: their values are those of the last rung. A trial of a higher bracket has no value at low
 * rungs: gaps are allowed everywhere.
 *
 * Pure     A suggestion is a function of (configuration, prefix of the history, memory); the rest
 *          are caches. In the memory: theta of model 0, fitted[0] the rows of the last fit,
 *          fitted[1] how many fits there were; a sampler with rungs has no other models.
 * Units    The cube has one coordinate more, the last: tau, 0 at the first rung, 1 at the top.
 * Source   Li et al., arXiv:1810.05934, for the rungs; Swersky, Snoek, Adams, "Freeze-thaw Bayesian
 *          optimization" (2014) and Kandasamy et al., "Multi-fidelity Bayesian optimisation with
 *          continuous approximations" (2017), section 2, for one process over point and resource.
 *          The alignment is our own.
 * Cost     O(values) for the alignment, after news alone; else bounded at any n.
 */
#ifndef SW_SCHED_BAYES_BAYES_RUNG_H
#define SW_SCHED_BAYES_BAYES_RUNG_H

#include "sched/bayes/bayes.h"

#define BAYES_RUNG_ROWS ((size_t)120)
#define BAYES_RUNG_SEEN ((size_t)1000) /* points whose posterior means are compared */

/* A subject is an earlier sweep's trial or one of this sweep's: index i, priors first. */
struct sw_bayes_rung_values {
	size_t n_levels;
	const uint64_t *levels;              /* [n_levels]: borrowed, rising */
	size_t n, cap;                       /* subjects */
	double *v;                           /* [n][n_levels]; only where has says so */
	uint64_t *has;                       /* [n]: bit k: a value at rung k */
	bool *bad;                           /* [n]: it failed, and counts as worse than all */
	size_t n_prior, n_obs;               /* read */
	size_t n_valued;                     /* subjects with a value */
	size_t count[SW_SAMPLER_LEVELS_MAX]; /* values at each rung */
	size_t top;
	bool started; /* the priors are in */
	/* sw_bayes_rung_align() */
	struct sw_outcome o; /* of the last values; those of all rungs go through it */
	double slope[SW_SAMPLER_LEVELS_MAX], offset[SW_SAMPLER_LEVELS_MAX]; /* of rungs below top */
	uint64_t *at; /* [n]: as has, for what the alignment uses: no bit above top */
	double *z;    /* [n][n_levels]: transformed, where at says so */
	double *y;    /* [n]: what the subject comes to at the top, where at is not 0 */
	double *sorted;
};

void sw_bayes_rung_init(struct sw_bayes_rung_values *r, const struct sw_sampler_config *config);
void sw_bayes_rung_fini(struct sw_bayes_rung_values *r);
/* Takes in what the history has beyond n_obs; a shorter one is read from its start. */
SW_NODISCARD sw_status sw_bayes_rung_absorb(struct sw_bayes_rung_values *r,
					    const struct sw_history *h);
/* A trial that failed: does it count as worse than all? It does until something is said here. */
void sw_bayes_rung_fail(struct sw_bayes_rung_values *r, uint64_t trial, bool bad);
/* The share of the rungs that are above the top. */
double sw_bayes_rung_blind(const struct sw_bayes_rung_values *r);
/* Fills what stands under it; n_valued > 0. O(n levels + n log n). */
void sw_bayes_rung_align(struct sw_bayes_rung_values *r);
/* The z at the top that z at a rung foretells. */
double sw_bayes_rung_foretell(const struct sw_bayes_rung_values *r, size_t level, double z);
/* tau of a rung, at most the top. */
double sw_bayes_rung_tau(const struct sw_bayes_rung_values *r, size_t level);

/* ---- bayes_rung_rows.c ---- */

struct sw_bayes_rung_row {
	double key, z; /* z: aligned; bad rows: 0, set by who knows the worst */
	size_t subject;
	size_t level;
	bool bad;
};

struct sw_bayes_rung_pick {
	struct sw_bayes_rung_row row[BAYES_RUNG_ROWS];
	size_t n;
	uint64_t total; /* how many there were to pick from */
};

/* All while they fit. Else those of the highest rungs, of the rung that fits in part some by
 * chance, though the best at the top stay; and a quarter of room for the bad. */
void sw_bayes_rung_choose(const struct sw_bayes_rung_values *r, uint64_t seed,
			  struct sw_bayes_rung_pick *out);

/* ---- bayes_rung_model.c ---- */

struct sw_bayes_rungs {
	const struct sw_bayes_cube *cube; /* with its last coordinate a resource */
	uint64_t seed;
	bool pauses;
	struct sw_bayes_rung_values values;
	struct sw_bayes_rung_pick pick;
	/* gp: the rows picked, then what is believed. x, z: points at tau 1 and the means there. */
	struct sw_bayes_model model;
	struct sw_bayes_search search;
	double *row_x, *row_z; /* [BAYES_RUNG_ROWS][d], [BAYES_RUNG_ROWS] */
	double *mean, *var;    /* of the points */
	/* What the factor was made from; a cache. */
	bool valid;
	size_t made_of; /* observations */
	size_t n_told;  /* of the model's points: told; the rest is believed */
	size_t n_believed;
};

SW_NODISCARD sw_status sw_bayes_rungs_init(struct sw_bayes_rungs *r,
					   const struct sw_bayes_cube *cube,
					   const struct sw_sampler_config *config);
void sw_bayes_rungs_fini(struct sw_bayes_rungs *r);
void sw_bayes_rungs_drop(struct sw_bayes_rungs *r); /* the caches, and what was read */
/* As sw_bayes_step(). After sw_bayes_rung_absorb() of the same history; n_valued > 0. */
SW_NODISCARD sw_status sw_bayes_rungs_step(struct sw_bayes_rungs *r, const struct sw_bayes_data *b,
					   const struct sw_history *h,
					   struct sw_bayes_memory *memory, struct sw_bayes_rng *rng,
					   struct sw_bayes_found *out);

#endif
