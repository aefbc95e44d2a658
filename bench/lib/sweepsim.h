/*
 * bench/lib/sweepsim.h — a whole sweep on virtual time: the state machine of sched/sweep/sweep.h, W
 * workers, and a family of learning curves instead of training.
 *
 * Time     A trial's epochs take 0.5 to 1.5 units, by (seed, trial). What an epoch gave is known
 *          when it ends; ties go to the lower worker. Workers ask as soon as they are free, all of
 *          them at the start.
 * Resource Epochs that have ended, of all workers together. A trial that was paused goes on from
 *          where it was at no cost.
 * Best     The incumbent is the trial with the best value seen at the highest rung (1, 3, 9, 27)
 *          that any trial has reached; the trained one that at the last epoch, so that a user has
 *          it in hand. What counts is its truth at the last epoch.
 */
#ifndef SW_BENCH_LIB_SWEEPSIM_H
#define SW_BENCH_LIB_SWEEPSIM_H

#include "bench/lib/family.h"
#include "sched/pruner/pruners.h"
#include "sched/sampler/sampler.h"

#define BENCH_SIM_FULL 20                          /* full trainings: the budget */
#define BENCH_SIM_KEPT (60 * (size_t)BENCH_EPOCHS) /* epochs that are kept at most */

struct bench_sim_plan {
	const struct bench_family *family;
	enum sw_sampler_kind sampler;
	enum sw_pruner_kind pruner; /* eta is 3, the rungs are 1, 3, 9, 27 for all that have them */
	uint64_t seed;
	size_t workers;
	double goal;        /* a truth to reach */
	size_t least, most; /* epochs: it runs `least`, and on to `most` until the goal is reached;
			       most >= least */
};

/* Flat: it lies in memory that processes share. */
struct bench_sim_run {
	double curve[BENCH_SIM_KEPT];   /* truth of the incumbent after that many epochs; or inf */
	double trained[BENCH_SIM_KEPT]; /* of the trained one */
	double reached;    /* epochs until the trained one was at or below the goal; inf: never */
	double end;        /* truth of the trained one at the end */
	double suggest_ms; /* of computing time, a trial */
	unsigned trials, full; /* made; and those that had a value at the last rung */
};

void bench_sim_run(const struct bench_sim_plan *plan, struct bench_sim_run *out);

#endif
