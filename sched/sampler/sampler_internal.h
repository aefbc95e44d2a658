/* sched/sampler/sampler_internal.h — the table that each sampler fills: one file, one table. */
#ifndef SW_SCHED_SAMPLER_SAMPLER_INTERNAL_H
#define SW_SCHED_SAMPLER_SAMPLER_INTERNAL_H

#include "sched/sampler/sampler.h"

struct sw_sampler_ops {
	const char *name;
	/* Sets s->points if they have an end, and s->self if the kind keeps something; or refuses
	 * the space. Both may be NULL. */
	sw_status (*start)(struct sw_sampler *s, struct sw_err *err);
	void (*stop)(struct sw_sampler *s);
	/* Kinds that do not learn: point `made` (from 1, init points not counted; at most s->points
	 * where that is not 0). attempt counts from 0: the points before it broke a constraint. A
	 * kind that filters its own points (grid) is asked with 0 alone. */
	void (*point)(const struct sw_sampler *s, uint64_t made, uint32_t attempt,
		      struct sw_value *values);
	/* Kinds that learn: see sw_sampler_suggest(); out is zeroed, h is never NULL, made does not
	 * count init points. */
	sw_status (*suggest)(struct sw_sampler *s, const struct sw_history *h, uint64_t made,
			     struct sw_suggestion *out, struct sw_err *err);
	/* Kinds whose suggestions carry a state; NULL: none does. n 0: that of a new one. */
	sw_status (*restore)(struct sw_sampler *s, const unsigned char *state, size_t n,
			     struct sw_err *err);
	const void *options; /* the kind's own; NULL: it has none */
};

struct sw_sampler {
	const struct sw_sampler_ops *ops;
	struct sw_sampler_config config;
	const struct sw_space *space; /* config.space */
	uint64_t seed;                /* config.seed */
	uint64_t points;              /* 0: no end */
	void *self;                   /* the kind's own */
	/* With constraints, and unless the points are listed: a point that keeps them, which
	 * sw_space_probe() found. is_rare: not by draws, so one is enough before the walk. */
	bool is_rare;
	struct sw_value *known; /* [space size]; owned; NULL: there are no constraints */
};

/* A sampler of the kind: sw_samplers_create() knows which table that is. */
SW_NODISCARD sw_status sw_sampler_make(struct sw_sampler **out, const struct sw_sampler_ops *ops,
				       const struct sw_sampler_config *config, struct sw_err *err);

#define SW_ROW(name, KIND) extern const struct sw_sampler_ops sw_sampler_##name##_ops;
SW_SAMPLERS(SW_ROW)
#undef SW_ROW

/* If a trial of the history had the suggestion's point, and not all were had, another takes its
 * place. O(trials) until all were, then O(points). */
void sw_sampler_take_untried(const struct sw_sampler *s, const struct sw_history *h, uint64_t made,
			     struct sw_suggestion *out);

/* Where a search begins beside categories: x[d], a point of the unit cube, moves into the middle
 * half of each number's range. Each category has few of the first points, so they are spent where
 * good values are likely: people choose ranges wider than what they expect. Without any category x
 * stays: where the best is at an end, the middle half costs more than it wins. */
void sw_sampler_inward(const bool *category, size_t d, double *x);

/* A point of the space, uniform in the unit cube, that breaks no constraint: trial t's draws of the
 * stream, up to SW_SAMPLER_TRIES of them, then the last of them repaired (sw_space_repair()), in
 * the end parts of the one that is known, or all of it. For every kind, also as the last resort of
 * those that learn. */
#define SW_SAMPLER_TRIES 1000u
SW_NODISCARD sw_status sw_sampler_draw(const struct sw_sampler *s, uint64_t trial,
				       struct sw_value *values, struct sw_err *err);

#endif
