/*
 * sched/space/space_narrow.h — what a constraint leaves of the ranges of its parameters.
 *
 * Pure     Interval arithmetic, no allocation. Ranges are of numbers (of a choice, what it is as a
 *          number), bounds inclusive; infinite where a parameter has no end.
 * Sound    What is cut off holds no point that keeps the constraint: bounds give way by more than
 *          sums of doubles are compared to within. What is left need not hold one.
 * Source   Benhamou, Goualard, Granvilliers, Puget, "Revising hull and box consistency", ICLP-99:
 *          HC4, of sums of products alone.
 */
#ifndef SW_SCHED_SPACE_SPACE_NARROW_H
#define SW_SCHED_SPACE_SPACE_NARROW_H

#include "sched/space/space_internal.h"

struct sw_space_range {
	double lo, hi;
};

/* All that parameter i can be. O(choices). */
struct sw_space_range sw_space_range_all(const struct sw_space *s, size_t i);

/* Narrows ranges[n] by one constraint, taken as if it applied. False: it cannot hold. *narrowed
 * becomes true where it is worth looking at the other constraints again. O(terms). */
bool sw_space_narrow(const struct sw_space *s, const struct sw_constraint *c,
		     struct sw_space_range *ranges, bool *narrowed);

#endif
