/*
 * sched/sampler/sampler.h — choose the next configuration to try.
 *
 * Pure     No I/O, clock, thread or global. A suggestion for trial t is a function of the
 *          configuration, t, and (for samplers that learn) the values of the trials before t, a
 *          prefix of the observations, and the sampler's state after the trial before. That state
 *          is small, is part of the suggestion, and can be put back: whoever stores it can make the
 *          next suggestion again, byte for byte, on the same machine.
 * Memory   Borrows the space and the init points for life. Caches may grow; they never change an
 *          answer.
 * Source   random: Bergstra and Bengio, JMLR 13 (2012), section 2. grid: the full product, last
 *          parameter fastest. The others name theirs in their files.
 */
#ifndef SW_SCHED_SAMPLER_SAMPLER_H
#define SW_SCHED_SAMPLER_SAMPLER_H

#include "base/sampling.h"
#include "base/status.h"
#include "sched/sampler/suggestion.h"
#include "sched/space/history.h"
#include "sched/space/space.h"
#include <stdbool.h>
#include <stdint.h>

#define SW_SAMPLER_LEVELS_MAX 64

struct sw_sampler; /* opaque; made by sched/sweep/samplers.h */

struct sw_sampler_config {
	enum sw_sampler_kind kind;
	uint64_t seed;
	const struct sw_space *space;
	size_t n_metrics; /* 1..SW_METRICS_MAX, tpe and bohb 1; 0 counts as 1 */
	bool shuffle;     /* grid: a permutation of the points, by the seed */
	size_t n_init;    /* the user's points: the first suggestions, whatever the kind */
	const struct sw_value *init; /* [n_init][space size] */
	size_t n_levels;             /* rung steps that observations may name; 0: no pruner */
	uint64_t levels[SW_SAMPLER_LEVELS_MAX]; /* rising */
	bool pauses; /* at a rung a trial waits, and may never go on: promote */
};

void sw_sampler_destroy(struct sw_sampler *s); /* NULL is allowed */

/* How many points there are; 0: no end. Init points come on top. */
uint64_t sw_sampler_points(const struct sw_sampler *s);

/* Does suggestion number `made` (from 1) depend on the history? Those of the kinds that do not
 * learn, and everyone's init points, never do: they can be made again from the number alone. */
bool sw_sampler_learns(const struct sw_sampler *s, uint64_t made);

/*
 * Suggestion number `made` (from 1: the ones this sampler made, which is the trial's number unless
 * trials were enqueued) for trial h->trials + 1. h may be NULL when !sw_sampler_learns(s, made);
 * with one, no point of few comes twice before all have come, at O(trials).
 * SW_EXHAUSTED past the grid's last point; later calls agree. SW_NOMEM. On an error the sampler is
 * as before. Cost: random, grid, sobol O(parameters); tpe, bohb bounded at any length of the
 * history, 1 to 2 ms for a few groups of parameters, 8 ms for 64; bayes milliseconds to some tenths
 * of a second up to 20 parameters (bench/ask), seconds with 60, ten with 256; and from 10,000
 * results on some 4 us for each of them.
 */
SW_NODISCARD sw_status sw_sampler_suggest(struct sw_sampler *s, const struct sw_history *h,
					  uint64_t made, struct sw_suggestion *out,
					  struct sw_err *err);

/* Puts back the state that came with a suggestion (n 0: that of a new sampler), so that the next
 * suggestion follows it. SW_INVALID: this sampler never wrote such bytes. */
SW_NODISCARD sw_status sw_sampler_restore(struct sw_sampler *s, const void *state, size_t n,
					  struct sw_err *err);

/* Draws at random, by (seed, number), what is not given of a point; what is given stays. SW_INVALID
 * when nothing was found that keeps the constraints; "/constraints/<i>" was broken most often. */
SW_NODISCARD sw_status sw_sampler_fill(const struct sw_space *space, uint64_t seed, uint64_t number,
				       const bool *given, struct sw_value *values,
				       struct sw_err *err);

/* Values of suggestion `made` of a sampler that does not learn there; asserts so. h: as above. */
SW_NODISCARD sw_status sw_sampler_next(struct sw_sampler *s, const struct sw_history *h,
				       uint64_t made, struct sw_value *values);

#endif
