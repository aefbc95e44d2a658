/*
 * sched/num/stair.h — the outline of rectangles that share a corner at 0: which of them stand out,
 * and the area of all. Internal to sched/sampler/pareto.c and sched/sampler/hypervolume.c.
 *
 *   b |___
 *     |   |___          Steps (a, b), a rising, b falling: each covers [0, a] x [0, b].
 *     |       |_
 *     +---------- a
 *
 * Memory   The caller's array, with room for as many steps as will be added.
 * Cost     Adding: a binary search, and a move of the steps behind the new one.
 */
#ifndef SW_SCHED_NUM_STAIR_H
#define SW_SCHED_NUM_STAIR_H

#include <stdbool.h>
#include <stddef.h>

struct sw_stair_step {
	double a, b;
};

struct sw_stair {
	struct sw_stair_step *step; /* [n] */
	size_t n;
	double area; /* of steps above 0; where some are not, it means nothing */
};

/* The step that covers (a, b), the narrowest of them; NULL: it stands out. */
const struct sw_stair_step *sw_stair_cover(const struct sw_stair *s, double a, double b);

/* Adds (a, b) unless it is covered; the steps that it covers go. */
void sw_stair_add(struct sw_stair *s, double a, double b);

#endif
