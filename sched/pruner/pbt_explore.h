/*
 * sched/pruner/pbt_explore.h — the changed copy of a donor's parameters, with which a population
 * goes on.
 *
 * Pure     A function of its arguments; chance is drawn by counters from (seed, child).
 * Rule     Each parameter that may change is drawn anew with resample_probability. Else a number
 *          is multiplied by one of the factors, and a category or a power of two moves to a
 *          neighbour; what has steps is taken to the nearest one, and where that is the old
 *          value, to the next in the factor's direction. All of it is clipped into the space. A
 *          copy that breaks a constraint is drawn again, SW_PBT_REDRAWS times in all, then
 *          walked to one that keeps them (sched/space/space_repair.c); if there is none, the
 *          donor's parameters stay.
 * Source   Jaderberg et al., arXiv:1711.09846, section 3; the rule of Ray Tune's _explore, which
 *          lets small integers stay.
 */
#ifndef SW_SCHED_PRUNER_PBT_EXPLORE_H
#define SW_SCHED_PRUNER_PBT_EXPLORE_H

#include "sched/pruner/pruner.h"
#include "sched/space/space.h"

#define SW_PBT_REDRAWS 20

/* donor, values: [space size]; they may be the same array. The values are canonical. O(n) a
 * redraw. */
void sw_pbt_explore(const struct sw_pbt_config *c, const struct sw_space *space, uint64_t seed,
		    uint64_t child, const struct sw_value *donor, struct sw_value *values);

#endif
