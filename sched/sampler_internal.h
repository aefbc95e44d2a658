/* sched/sampler_internal.h — the table that each sampler fills: one file, one table. */
#ifndef SW_SCHED_SAMPLER_INTERNAL_H
#define SW_SCHED_SAMPLER_INTERNAL_H

#include "sched/sampler.h"

struct sampler_ops {
	const char *name;
	/* Sets s->points, or refuses the space. */
	sw_status (*start)(struct sw_sampler *s, struct sw_err *err);
	/* trial <= s->points where that is not 0. */
	void (*point)(const struct sw_sampler *s, uint64_t trial, struct sw_value *values);
};

struct sw_sampler {
	const struct sampler_ops *ops;
	const struct sw_space *space;
	uint64_t seed;
	uint64_t points; /* 0: no end */
};

extern const struct sampler_ops sw_sampler_random_ops;
extern const struct sampler_ops sw_sampler_grid_ops;

#endif
