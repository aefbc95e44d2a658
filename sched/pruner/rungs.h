/*
 * sched/pruner/rungs.h — a ladder of rungs in brackets, and what each rung has recorded: the part
 * that asha, promote and hyperband share.
 *
 * Rungs    Steps that rise. Bracket b is the rungs b, b + 1, ... of the ladder, with trees of
 *          its own.
 * Rule     A report first settles which rungs it crossed since the trial's report before it.
 *          Each of them gets, once per trial, the value that belongs to it: the last report at
 *          or below the rung; a rung with no such report gets none. The highest that got one is
 *          the one judged.
 * Memory   init/fini. About 18 bytes a value (sched/num/ostree.h).
 */
#ifndef SW_SCHED_PRUNER_RUNGS_H
#define SW_SCHED_PRUNER_RUNGS_H

#include "sched/num/ostree.h"
#include "sched/pruner/pruner.h"

#define SW_RUNGS_MAX 64

struct sw_rungs {
	uint64_t step[SW_RUNGS_MAX]; /* [n], rising */
	size_t n;
	uint32_t brackets; /* 1..n */
	struct sw_ostree
		*tree; /* [brackets][n]; (value, trial). Those below a bracket stay empty */
};

/* The ladder first * factor^k up to and including most, by integer multiplication only: a floating
 * logarithm loses the top rung of 1000/1/10 and 243/1/3. Returns its length. first >= 1, factor
 * >= 2. */
size_t sw_rungs_ladder(uint64_t first, uint64_t factor, uint64_t most, uint64_t step[SW_RUNGS_MAX]);

SW_NODISCARD sw_status sw_rungs_init(struct sw_rungs *r, const uint64_t *step, size_t n,
				     uint32_t brackets);
void sw_rungs_fini(struct sw_rungs *r);

/* Rungs of a bracket; the k-th of them, its step and its values. */
size_t sw_rungs_n(const struct sw_rungs *r, uint32_t bracket);
uint64_t sw_rungs_step(const struct sw_rungs *r, uint32_t bracket, size_t k);
struct sw_ostree *sw_rungs_tree(const struct sw_rungs *r, uint32_t bracket, size_t k);

/* The bracket of a trial: bracket b is drawn with a chance in proportion to its number of rungs. */
uint32_t sw_rungs_bracket(const struct sw_rungs *r, uint64_t seed, uint64_t trial);

struct sw_rung_hit {
	bool any;
	size_t k;        /* of the trial's bracket: the highest rung that this report filled */
	double value;    /* what it got */
	uint64_t better; /* values there that are strictly better */
};
/* step > t->step. O(log n) a rung filled. SW_NOMEM: nothing changed. */
SW_NODISCARD sw_status sw_rungs_record(struct sw_rungs *r, uint64_t trial, struct sw_prune_trial *t,
				       uint64_t step, double value, struct sw_rung_hit *hit);

void sw_rungs_invariant(const struct sw_rungs *r);

#endif
