/* tests/sched/pruner/rung.h — histories of trials under a pruner, for the tests of bayes. */
#ifndef SW_TESTS_SCHED_PRUNER_RUNG_H
#define SW_TESTS_SCHED_PRUNER_RUNG_H

#include "sched/sweep/samplers.h"
#include "tests/sched/sampler/learn.h"

#define RUNG_LEVELS 4

static const double rung_slopes[RUNG_LEVELS] = {3, 2, 1.3, 1};

static inline struct sw_sampler_config rung_config(const struct sw_space *space, uint64_t seed)
{
	return (struct sw_sampler_config){.kind = SW_SAMPLER_BAYES,
					  .seed = seed,
					  .space = space,
					  .n_metrics = 1,
					  .n_levels = RUNG_LEVELS,
					  .levels = {1, 3, 9, 27}};
}

/* pauses: trials wait at their rungs. */
static inline void rung_open(struct world *w, struct sw_space *space, uint64_t seed, bool pauses)
{
	struct sw_sampler_config c = rung_config(space, seed);

	c.pauses = pauses;
	*w = (struct world){.space = space};
	ck_assert_int_eq(sw_samplers_create(&w->s, &c, NULL), SW_OK);
	sw_history_init(&w->h, sw_space_size(space), 1);
}

static inline void rung_add(struct sw_history *h, uint64_t *rng)
{
	struct sw_value v[8] = {{0}};

	for (size_t i = 0; i < h->n_params; i++)
		v[i].number = unit(rng);
	learn_add(h, v);
}

/* Trials that go up to a rung, most of them not far; every tenth skips the lowest. */
static inline void rung_fill(struct sw_history *h, uint64_t trials, uint64_t *rng)
{
	for (uint64_t t = 1; t <= trials; t++) {
		const double end = unit(rng) * 2 + (below(rng, 8) == 0) * 20;
		uint32_t level = t % 10 == 0;

		rung_add(h, rng);
		do {
			const double y = end * rung_slopes[level] + 5 - level + 0.2 * unit(rng);

			learn_tell(h, t, SW_OBS_RUNG, level++, &y);
		} while (level < RUNG_LEVELS && below(rng, 3) == 0);
		if (t % 11 == 0)
			learn_tell(h, t, SW_OBS_INFEASIBLE, 0, NULL);
		else if (level < RUNG_LEVELS)
			learn_tell(h, t, SW_OBS_PRUNED, 0, &end);
		else
			learn_tell(h, t, SW_OBS_FINAL, 0, &end);
	}
}

#endif
