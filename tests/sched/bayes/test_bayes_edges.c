/* tests/sched/bayes/test_bayes_edges.c — histories that leave bayes little to go on: points that
 * failed again and again, trials none of which ends well, guesses that are taken back. */
#include "sched/bayes/bayes.h"
#include "tests/sched/pruner/rung.h"
#include <math.h>

static const struct sw_param plane[] = {
	{.dist = SW_DIST_UNIFORM, .min = -5, .max = 10},
	{.dist = SW_DIST_UNIFORM, .min = 0, .max = 15},
};

/* The best point failed time and again before it succeeded: its failures are as near to it as it is
 * itself, and more of them than a local model has rows. */
TEST(best_point_that_failed_often_does_no_harm)
{
	const struct sw_value flaky = {.number = 1};
	struct world r;

	world_init(&r, SW_SAMPLER_BAYES, learn_space(plane, 1), 12);
	for (uint64_t t = 1; t <= 40; t++) {
		if (t <= 6 || t > 20) {
			(void)world_ask(&r);
			world_tell(&r, SW_OBS_FINAL, 1);
			continue;
		}
		ck_assert_int_eq(sw_history_add_trial(&r.h, &flaky), SW_OK);
		world_tell(&r, t < 20 ? SW_OBS_INFEASIBLE : SW_OBS_FINAL, -9);
	}
	ck_assert_str_eq(r.out.source, "gp");
	world_fini(&r);
}

/* A guess gives way to another trial of the same number; the trials guessed after it go. What a
 * model believed of them is a cache, and must not be taken for the new trial. */
TEST(pending_trial_that_changes_is_seen)
{
	const struct sw_value other[] = {{.number = 9.9}, {.number = 14.9}};
	struct sw_suggestion fresh = {.state = NULL};
	struct world r;

	world_init(&r, SW_SAMPLER_BAYES, learn_space(plane, 2), 13);
	for (uint64_t t = 1; t <= 12; t++) {
		const struct sw_value *const v = world_ask(&r);

		world_tell(&r, SW_OBS_FINAL, fabs(v[0].number) + v[1].number);
	}
	for (int guess = 0; guess < 4; guess++)
		(void)world_ask(&r);
	memcpy(r.h.values + 12 * r.h.n_params, other, sizeof other);
	r.h.trials = 13;
	struct sw_sampler *const s = learn_sampler(SW_SAMPLER_BAYES, r.space, 13);

	ck_assert_int_eq(sw_sampler_restore(s, r.out.state, r.out.state_n, NULL), SW_OK);
	ck_assert_int_eq(sw_sampler_suggest(r.s, &r.h, r.h.trials + 1, &r.out, NULL), SW_OK);
	ck_assert_int_eq(sw_sampler_suggest(s, &r.h, r.h.trials + 1, &fresh, NULL), SW_OK);
	ck_assert_str_eq(fresh.source, "gp");
	learn_same(&r.out, &fresh, r.h.n_params);
	ck_assert_double_eq(r.out.mean, fresh.mean);
	sw_suggestion_fini(&fresh);
	sw_sampler_destroy(s);
	world_fini(&r);
}

RUN_TESTS(NULL, NULL)
