/*
 * sched/sweep/share.h — which of several sweeps gets a free slot.
 *
 * Pure     A function of its arguments.
 * Rule     Least served first. How much a sweep was served is the slot time that it has used, and
 *          what its running trials will use (each the mean of its ended attempts; a second before
 *          any ended), over its weight. Ties: the fewest running trials over the weight, then the
 *          lowest number. A newcomer is given the account of the least served sweep already active
 *          (sw_share_join), so that it gets its share from now on and not a backlog; so is one
 *          that was away, if it stands below that.
 */
#ifndef SW_SCHED_SWEEP_SHARE_H
#define SW_SCHED_SWEEP_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_share {
	uint64_t running; /* trials of it on slots now */
	int64_t used_us;  /* slot time, by the share's own account */
	double weight;    /* finite, > 0; 0 counts as 1 */
	uint64_t ended;   /* attempts that ended, and the slot time of all of them */
	int64_t ended_us;
};

/* Is a to be served before b? Not if they are level: then the caller's order decides. */
bool sw_share_before(const struct sw_share *a, const struct sw_share *b);

/* The account that a newcomer of this weight starts with, given the n sweeps already active. */
int64_t sw_share_join(const struct sw_share *v, size_t n, double weight);

/* Sets the weight and rescales the account, so that the sweep keeps its place. */
void sw_share_reweigh(struct sw_share *s, double weight);

#endif
