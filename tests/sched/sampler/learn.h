/* tests/sched/sampler/learn.h — spaces, histories and samplers for the tests of those that
 * learn. */
#ifndef SW_TESTS_SCHED_SAMPLER_LEARN_H
#define SW_TESTS_SCHED_SAMPLER_LEARN_H

#include "sched/sweep/samplers.h"
#include "tests/sched/space/check.h"
#include "tests/sched/suite.h"
#include <string.h>

static const double learn_weights[] = {0.0, 1.0, 3.0};

/* One parameter of every kind. */
static const struct sw_param learn_all[] = {
	{.dist = SW_DIST_CONSTANT},
	{.dist = SW_DIST_CATEGORICAL, .n_choices = 4},
	{.dist = SW_DIST_CATEGORICAL, .n_choices = 3, .weights = learn_weights},
	{.dist = SW_DIST_INT_UNIFORM, .min = -2, .max = 3},
	{.dist = SW_DIST_INT_UNIFORM, .min = 0, .max = 1e6},
	{.dist = SW_DIST_INT_LOG_UNIFORM, .min = 1, .max = 50},
	{.dist = SW_DIST_UNIFORM, .min = -5, .max = 5},
	{.dist = SW_DIST_LOG_UNIFORM, .min = 1e-5, .max = 1},
	{.dist = SW_DIST_INV_LOG_UNIFORM, .min = 1e-3, .max = 1},
	{.dist = SW_DIST_Q_UNIFORM, .min = 0, .max = 1, .q = 0.1},
	{.dist = SW_DIST_Q_LOG_UNIFORM, .min = 1, .max = 30, .q = 2},
	{.dist = SW_DIST_POW2, .min = 8, .max = 512},
	{.dist = SW_DIST_NORMAL, .mu = 1, .sigma = 2},
	{.dist = SW_DIST_Q_NORMAL, .mu = 0, .sigma = 3, .q = 1},
	{.dist = SW_DIST_LOG_NORMAL, .mu = 0, .sigma = 1},
	{.dist = SW_DIST_Q_LOG_NORMAL, .mu = 1, .sigma = 1, .q = 0.5},
};

static inline struct sw_space *learn_space(const struct sw_param *p, size_t n)
{
	struct sw_space *s;

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(sw_space_add(s, &p[i], NULL), SW_OK);
	return s;
}

/* d numbers in [0, 1]. */
static inline struct sw_space *learn_cube(size_t d)
{
	const struct sw_param p = {.dist = SW_DIST_UNIFORM, .min = 0, .max = 1};
	struct sw_space *s;

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	for (size_t i = 0; i < d; i++)
		ck_assert_int_eq(sw_space_add(s, &p, NULL), SW_OK);
	return s;
}

static inline struct sw_sampler *learn_sampler(enum sw_sampler_kind kind,
					       const struct sw_space *space, uint64_t seed)
{
	const struct sw_sampler_config c = {.kind = kind,
					    .seed = seed,
					    .space = space,
					    .n_levels = kind == SW_SAMPLER_BOHB ? 2 : 0,
					    .levels = {1, 3}};
	struct sw_sampler *s;

	ck_assert_int_eq(sw_samplers_create(&s, &c, NULL), SW_OK);
	return s;
}

static inline void learn_add(struct sw_history *h, const struct sw_value *values)
{
	ck_assert_int_eq(sw_history_add_trial(h, values), SW_OK);
}

static inline void learn_tell(struct sw_history *h, uint64_t trial, enum sw_obs_kind kind,
			      uint32_t level, const double *y)
{
	const struct sw_obs obs = {.trial = trial, .kind = kind, .level = level};

	ck_assert_int_eq(sw_history_observe(h, obs, y), SW_OK);
}

/* A trial at x[n_params] (a cube) that ended with y. */
static inline void learn_point(struct sw_history *h, const double *x, enum sw_obs_kind kind,
			       double y)
{
	struct sw_value v[16] = {{0}};

	for (size_t i = 0; i < h->n_params; i++)
		v[i].number = x[i];
	learn_add(h, v);
	learn_tell(h, h->trials, kind, 0, kind == SW_OBS_INFEASIBLE ? NULL : &y);
}

static inline void learn_suggest(struct sw_sampler *s, const struct sw_history *h,
				 struct sw_suggestion *out)
{
	ck_assert_int_eq(sw_sampler_suggest(s, h, h->trials + 1, out, NULL), SW_OK);
}

/* Bit for bit: a NaN is the same as itself. */
static inline void learn_same_number(const char *what, double a, double b)
{
	ck_assert_msg(memcmp(&a, &b, sizeof a) == 0, "%s: %.17g, not %.17g", what, a, b);
}

static inline void learn_same(const struct sw_suggestion *a, const struct sw_suggestion *b,
			      size_t n)
{
	for (size_t i = 0; i < n; i++) {
		ck_assert_double_eq(a->values[i].number, b->values[i].number);
		ck_assert_uint_eq(a->values[i].choice, b->values[i].choice);
	}
	ck_assert_str_eq(a->source, b->source);
	ck_assert_uint_eq(a->known, b->known);
	ck_assert_int_eq(a->acquisition, b->acquisition);
	learn_same_number("mean", a->mean, b->mean);
	learn_same_number("sd", a->sd, b->sd);
	learn_same_number("ei", a->ei, b->ei);
	ck_assert_uint_eq(a->state_n, b->state_n);
	if (a->state_n > 0)
		ck_assert_mem_eq(a->state, b->state, a->state_n);
}

/* Some of the pending trials end, one way or another; rungs as a pruner would have them. */
static inline void learn_news(struct sw_history *h, bool *ended, uint64_t *rng, uint32_t levels)
{
	for (uint64_t t = 1; t <= h->trials; t++) {
		double y[SW_METRICS_MAX];
		const uint64_t what = below(rng, 16);

		for (size_t k = 0; k < h->n_metrics; k++)
			y[k] = unit(rng) + (double)below(rng, 3);
		if (ended[t] || below(rng, 3) != 0)
			continue;
		for (uint32_t level = 0; level < levels && what % 3 >= level; level++)
			learn_tell(h, t, SW_OBS_RUNG, level, y);
		ended[t] = true;
		if (what < 8)
			learn_tell(h, t, SW_OBS_FINAL, 0, y);
		else if (what < 12)
			learn_tell(h, t, SW_OBS_PRUNED, 0, y);
		else if (what < 14)
			learn_tell(h, t, SW_OBS_INFEASIBLE, 0, NULL);
		else if (what < 15)
			learn_tell(h, t, SW_OBS_NONE, 0, NULL);
		else
			ended[t] = false;
	}
}

/* A sampler that was there all the time, a new one, and one that is asked about the past agree. */
static inline void learn_check_replay_of(const struct sw_sampler_config *config, uint64_t trials)
{
	const struct sw_space *const space = config->space;
	const size_t n = sw_space_size(space), n_metrics = config->n_metrics;
	struct sw_history h, past;
	struct sw_suggestion out = {.state = NULL}, again = {.state = NULL};
	static struct sw_suggestion kept[400];
	bool ended[400] = {false};
	uint64_t rng = 5;
	struct sw_sampler *s, *fresh;

	sw_history_init(&h, n, n_metrics);
	sw_history_init(&past, n, n_metrics);
	ck_assert_int_eq(sw_samplers_create(&s, config, NULL), SW_OK);
	for (uint64_t t = 1; t <= trials; t++) {
		learn_suggest(s, &h, &kept[t]);
		ck_assert_int_eq(space_check(space, kept[t].values, NULL), SW_OK);
		if (t % 5 == 0) {
			ck_assert_int_eq(sw_samplers_create(&fresh, config, NULL), SW_OK);
			learn_suggest(fresh, &h, &out);
			learn_same(&out, &kept[t], n);
			sw_sampler_destroy(fresh);
		}
		if (t % 7 == 0) { /* a guess that is taken back */
			learn_add(&h, kept[t].values);
			learn_suggest(s, &h, &out);
			h.trials--;
		}
		learn_add(&h, kept[t].values);
		learn_news(&h, ended, &rng, config->n_levels > 0 ? 2 : 1);
	}
	for (uint64_t t = trials; t > trials / 2; t -= 11) {
		ck_assert_int_eq(sw_history_copy(&past, &h, kept[t].known), SW_OK);
		past.trials = t - 1;
		learn_suggest(s, &past, &again);
		learn_same(&again, &kept[t], n);
	}
	sw_sampler_destroy(s);
	sw_history_fini(&h);
	sw_history_fini(&past);
}

static inline void learn_check_replay(enum sw_sampler_kind kind, const struct sw_space *space,
				      uint64_t trials)
{
	const struct sw_sampler_config config = {.kind = kind,
						 .seed = 9,
						 .space = space,
						 .n_metrics = 1,
						 .n_levels = kind == SW_SAMPLER_BOHB ? 2 : 0};

	learn_check_replay_of(&config, trials);
}

#endif
