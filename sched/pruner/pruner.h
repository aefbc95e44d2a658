/*
 * sched/pruner/pruner.h — what may end or pause a trial before its end: one interface, one file a
 * pruner.
 *
 * Pure     No I/O, clock, thread or global. The order of calls is the whole input; chance
 *          (brackets, donors) is drawn by counters from (seed, trial).
 * Units    step: the trial's clock, > 0. Values are oriented by the caller: lower is better.
 *          They are finite: a caller ends a trial whose value is not, and no pruner ever hears
 *          of it.
 * Trials   Numbered from 1, at most SW_PRUNE_TRIAL_MAX. The pruner's state of one is plain bytes
 *          that the caller keeps beside it. What was recorded of a trial at a step stays
 *          recorded, once: an attempt that begins again may report the same steps again, and is
 *          not judged there a second time.
 * Calls    enter() a new trial, begin() each attempt, report() each value of it, ended() once. A
 *          trial that report() said PAUSE of is in the pruner's queue until resumed() or
 *          ended().
 * Errors   Only create() and report() can fail; SW_NOMEM changes nothing.
 * Cost     O(log n) a report in the trials at the rung (step), and a next(); memory is stated in
 *          the header of each pruner.
 */
#ifndef SW_SCHED_PRUNER_PRUNER_H
#define SW_SCHED_PRUNER_PRUNER_H

#include "base/pruning.h"
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_PRUNE_TRIAL_MAX INT32_MAX
#define SW_PRUNE_CAUSE_MAX 120 /* bytes that explain() may write, the NUL included */

enum sw_verdict {
	SW_VERDICT_CONTINUE,
	SW_VERDICT_STOP,
	SW_VERDICT_PAUSE,
	SW_VERDICT_COMPLETE, /* max_t is reached */
};

/* Why: rung 0 means that nothing was judged by this report. */
struct sw_judgement {
	enum sw_verdict verdict;
	uint64_t rung;   /* the step of the rung judged (without rungs: the step of the report) */
	uint64_t n;      /* values there, this one included (patience: reports in a row) */
	uint64_t better; /* of them strictly better: the rank is better + 1 */
	uint64_t keep;   /* how many go on */
	double cutoff;   /* the value of the last that goes on (oriented); NaN when all go on */
	double value;    /* the value judged (oriented) */
	uint32_t bracket;
	uint64_t donor; /* pbt: STOP because this trial is cloned; 0 else */
};

/* A pruner's state of one trial: 40 bytes, kept by the caller beside the trial. */
struct sw_prune_trial {
	uint64_t filled; /* rungs: bit k: rung k of the trial's bracket has this trial's value, or
			    never will */
	uint64_t step;   /* of the last report that was taken; 0: none (rungs: in this attempt) */
	double value;    /* rungs: at that step. median: their mean. pbt: the last score */
	double best;     /* the best so far. promote: the value at the rung where it is paused */
	uint32_t n;      /* median, patience: reports counted */
	uint8_t bracket;
	uint8_t paused; /* in the pruner's queue; promote: 1 + the rung */
	uint8_t has;    /* pbt: it has a score. hyperband: 1 + the band that it has a value at */
	bool begun : 1; /* an attempt was */
	bool bare : 1;  /* the caller's word: it has no checkpoint that a copy could go on from */
};

struct sw_pruner; /* opaque; made by sched/pruner/pruners.h */

void sw_pruner_destroy(struct sw_pruner *p); /* NULL is allowed */
enum sw_pruner_kind sw_pruner_kind(const struct sw_pruner *p);

/* A new trial: clears the state and draws the bracket, by a hash of (seed, trial), so order-free;
 * 0 without brackets. O(brackets) */
void sw_pruner_enter(const struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t);
/* An attempt begins, from the checkpoint of resume_step; 0: from scratch. A trial that was paused
 * has been resumed() before. */
void sw_pruner_begin(const struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t,
		     uint64_t resume_step);
/* Takes the value of a trial at a step (rising within an attempt). `last`: the trial ends with
 * this report whatever is said: it is recorded, but neither paused nor exploited, and the verdict
 * is CONTINUE. */
SW_NODISCARD sw_status sw_pruner_report(struct sw_pruner *p, uint64_t trial,
					struct sw_prune_trial *t, uint64_t step, double value,
					bool last, struct sw_judgement *out);
/* The trial ended: it leaves the queue. */
void sw_pruner_ended(struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t, bool completed);

/* pbt: how many members wait outside the queue: pending (children among them), and not yet made.
 * Say it before report() and next(). A report at an interval pauses only if somebody waits; while
 * members are not yet made, next() is 0. */
void sw_pruner_waiting(struct sw_pruner *p, uint64_t pending, uint64_t unmade);
/* The paused trial that a free lane should resume now; 0: none. Changes nothing. */
uint64_t sw_pruner_next(const struct sw_pruner *p);
/* How many could be resumed in a row if nothing else happened, counted up to `most`. */
uint64_t sw_pruner_next_n(const struct sw_pruner *p, uint64_t most);
/* A paused trial (not only next()) was taken: it leaves the queue. */
void sw_pruner_resumed(struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t);

/* The step at which an attempt that begins from this state wants to be judged next: a checkpoint of
 * that step must be there when it is reported. 0: it needs no such step. */
uint64_t sw_pruner_until(const struct sw_pruner *p, const struct sw_prune_trial *t);
/* Checkpoints are wanted every so many steps; 0: never. */
uint64_t sw_pruner_every(const struct sw_pruner *p);

/* When a paused trial is resumed: how it stands at its rung. */
struct sw_pruner_turn {
	uint64_t rung;  /* step */
	uint64_t rank;  /* from 1, among all values ever recorded there; ties: the earlier trial
			   first */
	uint64_t n;     /* of them */
	uint64_t keep;  /* ranks up to this one are resumed */
	uint64_t ahead; /* paused trials that come up before it: those above that may go on, and
			   those of its own rung that are better */
};
/* t->paused must be set. O(rungs + log n). */
void sw_pruner_turn(const struct sw_pruner *p, uint64_t trial, const struct sw_prune_trial *t,
		    struct sw_pruner_turn *out);

/* The rungs (bands) of a bracket, rising; 0 for pruners without. Bracket 0 has all of them. */
uint32_t sw_pruner_bracket_n(const struct sw_pruner *p); /* >= 1 */
size_t sw_pruner_rung_n(const struct sw_pruner *p, uint32_t bracket);
uint64_t sw_pruner_rung_step(const struct sw_pruner *p, uint32_t bracket, size_t k);
uint64_t sw_pruner_rung_count(const struct sw_pruner *p, uint32_t bracket, size_t k); /* values */
/* The value that a newcomer must not exceed there now; NaN while everybody goes on. */
double sw_pruner_rung_cutoff(const struct sw_pruner *p, uint32_t bracket, size_t k);

/* The cause of an end or a pause in words: "rung 9: rank 3 of 7". Values are written as they stand
 * in the judgement, so turn them back first if they were turned. */
void sw_pruner_explain(const struct sw_pruner *p, const struct sw_judgement *j,
		       char to[SW_PRUNE_CAUSE_MAX]);

/* Asserts the order of everything. O(values); for tests. */
void sw_pruner_invariant(const struct sw_pruner *p);

#endif
