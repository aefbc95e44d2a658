/* tests/sched/sampler/learn.h — spaces, histories and samplers for the tests of those that
 * learn. */
#ifndef SW_TESTS_SCHED_SAMPLER_LEARN_H
#define SW_TESTS_SCHED_SAMPLER_LEARN_H

#include "sched/sweep/samplers.h"
#include "tests/sched/space/check.h"
#include "tests/sched/suite.h"

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

/* A sweep by hand: a space, a sampler on it, a history. */
struct world {
	struct sw_space *space;
	struct sw_sampler *s;
	struct sw_history h;
	struct sw_suggestion out;
};

static inline void world_init(struct world *w, enum sw_sampler_kind kind, struct sw_space *space,
			      uint64_t seed)
{
	*w = (struct world){.space = space, .s = learn_sampler(kind, space, seed)};
	sw_history_init(&w->h, sw_space_size(space), 1);
}

static inline void world_fini(struct world *w)
{
	sw_suggestion_fini(&w->out);
	sw_sampler_destroy(w->s);
	sw_history_fini(&w->h);
	sw_space_destroy(w->space);
}

/* One more trial, which runs. */
static inline const struct sw_value *world_ask(struct world *w)
{
	sw_suggestion_fini(&w->out);
	learn_suggest(w->s, &w->h, &w->out);
	learn_add(&w->h, w->out.values);
	return w->out.values;
}

/* The last trial ends. */
static inline void world_tell(struct world *w, enum sw_obs_kind kind, double y)
{
	learn_tell(&w->h, w->h.trials, kind, 0, kind == SW_OBS_FINAL ? &y : NULL);
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

#endif
