/* tests/sched/bayes/bayes_run.h — a sweep by hand for the tests of bayes: a space, a sampler, a
 * history. */
#ifndef SW_TESTS_SCHED_BAYES_BAYES_RUN_H
#define SW_TESTS_SCHED_BAYES_BAYES_RUN_H

#include "sched/sweep/samplers.h"
#include "tests/sched/space/check.h"
#include "tests/sched/suite.h"
#include <math.h>

struct run {
	struct sw_space *space;
	struct sw_sampler *s;
	struct sw_history h;
	uint64_t made;
	struct sw_suggestion last;
};

static inline struct sw_sampler *make_sampler(const struct sw_space *space, uint64_t seed)
{
	const struct sw_sampler_config config = {
		.kind = SW_SAMPLER_BAYES, .seed = seed, .space = space, .n_metrics = 1};
	struct sw_sampler *s;

	ck_assert_int_eq(sw_samplers_create(&s, &config, NULL), SW_OK);
	return s;
}

static inline void open_run(struct run *r, const struct sw_param *p, size_t n, uint64_t seed)
{
	*r = (struct run){.made = 0};
	ck_assert_int_eq(sw_space_create(&r->space), SW_OK);
	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(sw_space_add(r->space, &p[i], NULL), SW_OK);
	r->s = make_sampler(r->space, seed);
	sw_history_init(&r->h, n, 1);
}

static inline void close_run(struct run *r)
{
	sw_suggestion_fini(&r->last);
	sw_sampler_destroy(r->s);
	sw_history_fini(&r->h);
	sw_space_destroy(r->space);
}

/* Asks for a trial and checks that it can be one. */
static inline const struct sw_value *ask(struct run *r)
{
	struct sw_err err = SW_ERR_INIT;

	ck_assert_msg(sw_sampler_suggest(r->s, &r->h, ++r->made, &r->last, &err) == SW_OK,
		      "trial %u: %s", (unsigned)r->made, err.msg);
	ck_assert_msg(space_check(r->space, r->last.values, &err) == SW_OK, "trial %u: %s %s",
		      (unsigned)r->made, err.ptr, err.msg);
	for (size_t i = 0; i < r->h.n_params; i++)
		ck_assert(isfinite(r->last.values[i].number));
	if (r->last.acquisition == SW_ACQUISITION_EI) {
		ck_assert(isfinite(r->last.mean) && r->last.sd >= 0 && isfinite(r->last.sd));
		ck_assert(r->last.ei >= 0 && isfinite(r->last.ei));
		ck_assert_int_eq(r->last.acquisition, SW_ACQUISITION_EI);
		ck_assert(isfinite(r->last.log_ei));
	}
	ck_assert_uint_eq(r->last.known, r->h.n_obs);
	ck_assert_int_eq(sw_history_add_trial(&r->h, r->last.values), SW_OK);
	return r->h.values + (r->h.trials - 1) * r->h.n_params;
}

static inline void tell(struct run *r, uint64_t trial, enum sw_obs_kind kind, double y)
{
	const struct sw_obs obs = {.trial = trial, .kind = kind};

	ck_assert_int_eq(
		sw_history_observe(&r->h, obs,
				   kind == SW_OBS_FINAL || kind == SW_OBS_PRUNED ? &y : NULL),
		SW_OK);
}

#endif
