/* tests/sched/bayes/test_bayes.c — the bayes sampler as its users meet it: it finds minima, and
 * goes on whatever trials end with. */
#include "sched/sweep/samplers.h"
#include "tests/run.h"
#include "tests/sched/bayes/bayes_run.h"
#include <string.h>

static const struct sw_param plane[] = {
	{.dist = SW_DIST_UNIFORM, .min = -5, .max = 10},
	{.dist = SW_DIST_UNIFORM, .min = 0, .max = 15},
};

static double branin(const struct sw_value *v)
{
	const double pi = acos(-1), x = v[0].number, y = v[1].number;
	const double a = y - 5.1 / (4 * pi * pi) * x * x + 5 / pi * x - 6;

	return a * a + 10 * (1 - 1 / (8 * pi)) * cos(x) + 10 - 0.39788735772973816;
}

/* Few points are at the ends at first, so now and then a sweep begins badly: of 32 seeds one had
 * 1.4e-3 after forty trials, the others less than 4e-4. Which one depends on the compiler. */
TEST(function_of_two_numbers_is_minimised_in_forty_trials)
{
	unsigned late = 0;

	for (uint64_t seed = 1; seed <= 9; seed++) {
		struct run r;
		double best = INFINITY;

		open_run(&r, plane, 2, seed);
		for (uint64_t t = 1; t <= 45; t++) {
			const double y = branin(ask(&r));

			best = fmin(best, y);
			tell(&r, t, SW_OBS_FINAL, y);
			if (t == 40) {
				late += best >= 1e-3;
				ck_assert_msg(best < 3e-3 && late <= 1, "seed %u: %g, %u late",
					      (unsigned)seed, best, late);
			}
		}
		ck_assert_msg(best < 1e-3, "seed %u: %g", (unsigned)seed, best);
		ck_assert_str_eq(r.last.source, "gp");
		close_run(&r);
	}
}

static const struct sw_param units[] = {
	{.dist = SW_DIST_UNIFORM, .min = 0, .max = 1},
	{.dist = SW_DIST_UNIFORM, .min = 0, .max = 1},
	{.dist = SW_DIST_UNIFORM, .min = 0, .max = 1},
	{.dist = SW_DIST_UNIFORM, .min = 0, .max = 1},
};

/* Results that have nothing to do with the points lead a process to the ends, where it knows
 * least. */
TEST(few_of_the_first_points_are_at_the_ends_of_their_ranges)
{
	unsigned ends = 0, all = 0;

	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct run r;

		open_run(&r, units, 4, seed);
		for (uint64_t t = 1; t <= 20; t++) {
			const struct sw_value *const v = ask(&r);

			for (size_t k = 0; k < 4 && r.last.acquisition == SW_ACQUISITION_EI; k++) {
				ends += fabs(v[k].number - 0.5) > 0.499;
				all++;
			}
			tell(&r, t, SW_OBS_FINAL, (double)((t * 7 + seed) % 11));
		}
		close_run(&r);
	}
	ck_assert_msg(ends * 50 < all, "%u of %u coordinates", ends, all);
}

TEST(best_at_the_ends_is_found_all_the_same)
{
	struct run r;
	double best = INFINITY;

	open_run(&r, units, 4, 1);
	for (uint64_t t = 1; t <= 40; t++) {
		const struct sw_value *const v = ask(&r);
		double y = 0;

		for (size_t k = 0; k < 4; k++)
			y += (1 - v[k].number) * (double)(k + 1);
		best = fmin(best, y);
		tell(&r, t, SW_OBS_FINAL, y);
	}
	ck_assert_msg(best < 1e-3, "%g", best);
	close_run(&r);
}

/* A learning rate, a number of layers, an optimiser, its momentum (of the second optimiser alone),
 * a batch size, a constant. */
static const struct sw_param tuning[] = {
	{.dist = SW_DIST_LOG_UNIFORM, .min = 1e-5, .max = 1},
	{.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 8},
	{.dist = SW_DIST_CATEGORICAL, .n_choices = 3},
	{.dist = SW_DIST_UNIFORM, .min = 0, .max = 1},
	{.dist = SW_DIST_POW2, .min = 8, .max = 256},
	{.dist = SW_DIST_CONSTANT},
	{.dist = SW_DIST_NORMAL, .mu = 3, .sigma = 2},
	{.dist = SW_DIST_Q_NORMAL, .mu = 0, .sigma = 4, .q = 0.5},
};

/* Layers never more than log2 of the batch: 2^layers <= batch would need powers; so layers * 16 <=
 * batch + 64. */
static void condition_tuning(struct sw_space *space)
{
	const struct sw_value second = {.choice = 1};
	const struct sw_term left = {.coef = 16, .n_factors = 1, .factor = {1}};
	const struct sw_term right = {.coef = 1, .n_factors = 1, .factor = {4}};
	const struct sw_constraint c = {.left = {.terms = &left, .n_terms = 1},
					.right = {.terms = &right, .n_terms = 1, .constant = 64},
					.op = SW_LE};

	ck_assert_int_eq(sw_space_when(space, 3, 2, &second, 1, NULL), SW_OK);
	ck_assert_int_eq(sw_space_seal(space, NULL), SW_OK);
	ck_assert_int_eq(sw_space_constrain(space, &c, NULL), SW_OK);
}

static void open_tuning(struct run *r, uint64_t seed)
{
	open_run(r, tuning, ROWS(tuning), seed);
	sw_sampler_destroy(r->s);
	condition_tuning(r->space);
	r->s = make_sampler(r->space, seed);
}

static double tuning_loss(const struct sw_value *v)
{
	const double lr = log10(v[0].number) + 2.5, layers = v[1].number - 3;
	const double kind[] = {0.4, 0, 0.7};
	const double momentum = v[2].choice == 1 ? fabs(v[3].number - 0.9) : 0.2;
	const double batch = log2(v[4].number) - 5;

	return 0.1 * lr * lr + 0.02 * layers * layers + kind[v[2].choice] + 0.3 * momentum +
	       0.01 * batch * batch + 0.01 * fabs(v[6].number - 4) + 0.01 * fabs(v[7].number);
}

TEST(mixed_space_is_kept_to_and_minimised)
{
	for (uint64_t seed = 1; seed <= 2; seed++) {
		struct run r;
		double best = INFINITY;

		open_tuning(&r, seed);
		for (uint64_t t = 1; t <= 60; t++) {
			const double y = tuning_loss(ask(&r));

			best = fmin(best, y);
			tell(&r, t, SW_OBS_FINAL, y);
		}
		ck_assert_msg(best < 0.05, "seed %u: %g", (unsigned)seed, best);
		close_run(&r);
	}
}

TEST(state_that_is_none_is_refused)
{
	struct run r;
	unsigned char junk[4096];

	open_run(&r, plane, 2, 1);
	memset(junk, 0x5a, sizeof junk);
	for (size_t n = 1; n <= sizeof junk; n += 97)
		ck_assert_int_eq(sw_sampler_restore(r.s, junk, n, NULL), SW_INVALID);
	(void)ask(&r);
	for (size_t n = 1; n < r.last.state_n; n++)
		ck_assert_int_eq(sw_sampler_restore(r.s, r.last.state, n, NULL), SW_INVALID);
	ck_assert_int_eq(sw_sampler_restore(r.s, r.last.state, r.last.state_n, NULL), SW_OK);
	close_run(&r);
}

TEST(constants_alone_are_given)
{
	const struct sw_param p[] = {{.dist = SW_DIST_CONSTANT}};
	struct run r;

	open_run(&r, p, 1, 1);
	for (uint64_t t = 1; t <= 10; t++) {
		(void)ask(&r);
		tell(&r, t, SW_OBS_FINAL, (double)t);
	}
	close_run(&r);
}

RUN_TESTS(NULL, NULL)
