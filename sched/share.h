/*
 * sched/share.h — which of several sweeps gets a free slot.
 *
 * Pure     A function of its arguments.
 * Rule     The sweep with the fewest running trials; among those, the one that has used the least
 *          slot time since the latest of them became active; then the lowest number. A newcomer is
 *          given the least used time of the sweeps already active (sw_share_join), so that it gets
 *          its share from now on and not a backlog.
 */
#ifndef SW_SCHED_SHARE_H
#define SW_SCHED_SHARE_H

#include <stddef.h>
#include <stdint.h>

struct sw_share {
	uint64_t running; /* trials of it on slots now */
	int64_t used_us;  /* slot time, by the share's own account */
};

/* The index of the sweep to serve among n >= 1 candidates, all of which have work. O(n). */
size_t sw_share_pick(const struct sw_share *v, size_t n);

/* The account that a newcomer starts with, given the n sweeps already active. */
int64_t sw_share_join(const struct sw_share *v, size_t n);

#endif
