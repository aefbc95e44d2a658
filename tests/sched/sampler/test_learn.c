/* tests/sched/sampler/test_learn.c — what a sampler that learns must do, whichever it is: it finds
 * minima, asks at once keep apart, what fails is kept away from, an earlier sweep counts. */
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

static const struct sw_param mixed[] = {
	{.dist = SW_DIST_CATEGORICAL, .n_choices = 5},
	{.dist = SW_DIST_LOG_UNIFORM, .min = 1e-6, .max = 1},
	{.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 20},
	{.dist = SW_DIST_UNIFORM, .min = 0, .max = 1},
	{.dist = SW_DIST_UNIFORM, .min = 0, .max = 1},
};

/* The last parameter is there with the best of the choices alone; two others are bound by each
 * other. */
static struct sw_space *mixed_space(void)
{
	static const struct sw_term n = {.coef = 0.05, .n_factors = 1, .factor = {2}},
				    x = {.coef = 1, .n_factors = 1, .factor = {3}};
	const struct sw_constraint c = {.left = {.terms = &n, .n_terms = 1},
					.right = {.terms = &x, .n_terms = 1},
					.op = SW_LE};
	struct sw_space *s = learn_space(mixed, ROWS(mixed));

	ck_assert_int_eq(sw_space_when(s, 4, 0, &(struct sw_value){.choice = 2}, 1, NULL), SW_OK);
	ck_assert_int_eq(sw_space_seal(s, NULL), SW_OK);
	ck_assert_int_eq(sw_space_constrain(s, &c, NULL), SW_OK);
	return s;
}

static double mixed_bowl(const struct sw_value *v)
{
	const double rate = log10(v[1].number) + 3, n = v[2].number - 4;
	const double choice = v[0].choice == 2 ? fabs(v[4].number - 0.9) : 1;

	return choice + rate * rate + 0.1 * n * n + fabs(v[3].number - 0.3);
}

static double best_of(enum sw_sampler_kind kind, uint64_t seed)
{
	double best = INFINITY;
	struct world w;

	world_init(&w, kind, mixed_space(), seed);
	for (int t = 0; t < 80; t++) {
		const double y = mixed_bowl(world_ask(&w));

		best = fmin(best, y);
		world_tell(&w, SW_OBS_FINAL, y);
	}
	world_fini(&w);
	return best;
}

TEST_ROWS(mixed_bowl_is_minimised_far_below_what_chance_finds, kinds)
{
	int won = 0;

	for (uint64_t seed = 1; seed <= 5; seed++)
		won += best_of(kinds[_i], seed) < 0.5 * best_of(SW_SAMPLER_RANDOM, seed);
	ck_assert_int_ge(won, 4);
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
