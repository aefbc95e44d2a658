/*
 * sched/sampler.h — choose the next configuration to try.
 *
 * Pure     No I/O, clock, thread or global: equal (space, seed, trial) give equal points, so the
 *          daemon makes them again when it replays a sweep.
 * Memory   Borrows the space for life.
 * Source   random: Bergstra and Bengio, JMLR 13 (2012), section 2. grid: the full product, last
 *          parameter fastest.
 */
#ifndef SW_SCHED_SAMPLER_H
#define SW_SCHED_SAMPLER_H

#include "base/status.h"
#include "sched/space.h"
#include <stdint.h>

struct sw_sampler; /* opaque */

enum sw_sampler_kind { SW_SAMPLER_RANDOM, SW_SAMPLER_GRID };

/* The names a spec uses: "random", "grid". SW_INVALID for any other. */
SW_NODISCARD sw_status sw_sampler_find(const char *name, enum sw_sampler_kind *out);

/* SW_INVALID with a pointer like "/2/q" (index of the parameter, key) when a grid meets a parameter
 * that has no finite list of values; SW_TOO_BIG when the grid has over 10^9 points. */
SW_NODISCARD sw_status sw_sampler_create(struct sw_sampler **out, enum sw_sampler_kind kind,
					 const struct sw_space *space, uint64_t seed,
					 struct sw_err *err);
void sw_sampler_destroy(struct sw_sampler *s); /* NULL is allowed */

/* How many points there are; 0: no end. */
uint64_t sw_sampler_points(const struct sw_sampler *s);

/* Fills values[] of trial (numbered from 1). SW_EXHAUSTED past the grid's last point; later calls
 * agree. O(n) in the parameters. */
SW_NODISCARD sw_status sw_sampler_next(struct sw_sampler *s, uint64_t trial,
				       struct sw_value *values);

#endif
