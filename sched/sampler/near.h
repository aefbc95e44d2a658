/*
 * sched/sampler/near.h — which earlier trials a new point is nearest to, for `trial why`.
 *
 * Pure     No I/O, clock, thread or global. A function of the history's prefix and the point.
 * Units    Distances in the unit cube of sw_space_encode(): Euclidean, where a category counts 0
 *          (equal) or 1 (not), and what is inactive stands where sw_space_canonical() puts it.
 * Memory   struct sw_near keeps the last SW_NEAR_TOLD trials that told something (at a rung or at
 *          their end), encoded: a cache.
 * Cost     sync O(what is new), with rungs O(SW_NEAR_TOLD) for each; find O(SW_NEAR_TOLD *
 *          parameters), at any length of the history.
 */
#ifndef SW_SCHED_SAMPLER_NEAR_H
#define SW_SCHED_SAMPLER_NEAR_H

#include "sched/sampler/sampler.h"

#define SW_NEAR_TOLD ((size_t)2000)

/* The nearest of n rows, for one who has them encoded: x double[n][d], trial uint64_t[n] (0: skip
 * the row), category bool[d] or NULL, at double[d]. Fills near, near_distance and near_n of *out;
 * rising by distance, the lower row first among equals. O(n d). */
void sw_near_rows(const double *x, const uint64_t *trial, size_t n, size_t d, const bool *category,
		  const double *at, struct sw_suggestion *out);

struct sw_near {
	const struct sw_space *space;
	size_t d;
	bool category[SW_SPACE_MAX_PARAMS];
	double *x;       /* [SW_NEAR_TOLD][d]; told trial k, from 0, at k % SW_NEAR_TOLD */
	uint64_t *trial; /* [SW_NEAR_TOLD] */
	uint64_t told;
	size_t n_obs; /* read */
	bool rungs;   /* some of what was read is of a rung */
	struct sw_obs last;
};

SW_NODISCARD sw_status sw_near_init(struct sw_near *near, const struct sw_space *space);
void sw_near_fini(struct sw_near *near);

/* The trials of the history's log nearest to values[d], as sw_near_rows() has it. All histories
 * given to one sw_near are prefixes of one log; a shorter one than the last is read again. */
void sw_near_find(struct sw_near *near, const struct sw_history *h, const struct sw_value *values,
		  struct sw_suggestion *out);

#endif
