/* tests/sched/sampler/test_learn.c — what a sampler that learns must do, whichever it is: asks at
 * once keep apart, what fails is kept away from, an earlier sweep counts. */
#include "tests/run.h"
#include "tests/sched/sampler/learn.h"
#include <math.h>

static const enum sw_sampler_kind kinds[] = {SW_SAMPLER_TPE, SW_SAMPLER_BAYES};

/* How far each of the trials after `from` is on average from the nearest other one of them. */
static double apart(const struct world *w, uint64_t from)
{
	const uint64_t n = w->h.trials;
	double sum = 0;

	for (uint64_t i = from; i < n; i++) {
		double least = INFINITY;

		for (uint64_t k = from; k < n; k++) {
			const struct sw_value *a = w->h.values + 2 * i, *b = w->h.values + 2 * k;

			if (i != k)
				least = fmin(least, hypot(a[0].number - b[0].number,
							  a[1].number - b[1].number));
		}
		ck_assert(w->h.n_obs > from || least > 1e-9); /* what is forgotten may come again */
		sum += least / (double)(n - from);
	}
	return sum;
}

/* Twenty results of a bowl, then fifty suggestions, which run or are forgotten. */
static double spread_of_fifty(enum sw_sampler_kind kind, bool pending, uint64_t seed)
{
	struct world w;

	world_init(&w, kind, learn_cube(2), seed);
	for (int t = 0; t < 20; t++) {
		const struct sw_value *v = world_ask(&w);

		world_tell(&w, SW_OBS_FINAL, hypot(v[0].number - 0.5, v[1].number - 0.5));
	}
	for (int t = 0; t < 50; t++) {
		(void)world_ask(&w);
		if (!pending)
			world_tell(&w, SW_OBS_NONE, 0);
	}
	const double spread = apart(&w, 20);

	world_fini(&w);
	return spread;
}

TEST_ROWS(fifty_at_once_keep_apart, kinds)
{
	double together = 0, alone = 0;

	for (uint64_t seed = 1; seed <= 3; seed++) {
		together += spread_of_fifty(kinds[_i], true, seed);
		alone += spread_of_fifty(kinds[_i], false, seed);
	}
	ck_assert_msg(together > 1.5 * alone, "%g, alone %g", together, alone);
}

TEST_ROWS(trials_without_results_spread_over_the_space, kinds)
{
	struct world w;

	world_init(&w, kinds[_i], learn_cube(2), 5);
	for (int t = 0; t < 60; t++)
		(void)world_ask(&w);
	ck_assert_double_gt(apart(&w, 0), 0.05); /* a grid of them: 0.13 */
	learn_tell(&w.h, 7, SW_OBS_FINAL, 0, &(double){1});
	(void)world_ask(&w);
	world_fini(&w);
}

TEST_ROWS(infeasible_part_is_left, kinds)
{
	int bad = 0;
	double best = INFINITY;

	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct world w;

		world_init(&w, kinds[_i], learn_cube(3), seed);
		for (int t = 0; t < 60; t++) {
			const struct sw_value *v = world_ask(&w);
			const bool fails = v[0].number < 0.6;

			bad += t >= 40 && fails;
			world_tell(&w, fails ? SW_OBS_INFEASIBLE : SW_OBS_FINAL, v[1].number);
			best = fails ? best : fmin(best, v[1].number);
		}
		world_fini(&w);
	}
	ck_assert_msg(bad <= 40, "%d of 100; at random 60", bad);
	ck_assert_double_lt(best, 0.01);
}

/* The first suggestion of ten sweeps. */
TEST_ROWS(priors_count_as_results, kinds)
{
	int near_by = 0;

	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct world w;

		world_init(&w, kinds[_i], learn_cube(1), seed);
		for (int i = 0; i < 40; i++) {
			const struct sw_value v = {.number = i / 40.0};
			const double y = fabs(v.number - 0.3);

			ck_assert_int_eq(sw_history_add_prior(&w.h, &v, &y), SW_OK);
		}
		near_by += fabs(world_ask(&w)->number - 0.3) < 0.2;
		ck_assert_str_eq(w.out.source, kinds[_i] == SW_SAMPLER_TPE ? "tpe" : "gp");
		world_fini(&w);
	}
	ck_assert_msg(near_by >= 7, "%d", near_by);
}

RUN_TESTS(NULL, NULL)
