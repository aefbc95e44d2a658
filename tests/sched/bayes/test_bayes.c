/* tests/sched/bayes/test_bayes.c — the bayes sampler as its users meet it: it finds minima, and
 * goes on whatever trials end with. */
#include "sched/sweep/samplers.h"
#include "tests/sched/sampler/learn.h"
#include <math.h>

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
		struct world r;
		double best = INFINITY;

		world_init(&r, SW_SAMPLER_BAYES, learn_space(plane, 2), seed);
		for (uint64_t t = 1; t <= 45; t++) {
			const double y = branin(world_ask(&r));

			best = fmin(best, y);
			world_tell(&r, SW_OBS_FINAL, y);
			if (t == 40) {
				late += best >= 1e-3;
				ck_assert_msg(best < 3e-3 && late <= 1, "seed %u: %g, %u late",
					      (unsigned)seed, best, late);
			}
		}
		ck_assert_msg(best < 1e-3, "seed %u: %g", (unsigned)seed, best);
		ck_assert_str_eq(r.out.source, "gp");
		world_fini(&r);
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
		struct world r;

		world_init(&r, SW_SAMPLER_BAYES, learn_space(units, 4), seed);
		for (uint64_t t = 1; t <= 20; t++) {
			const struct sw_value *const v = world_ask(&r);

			for (size_t k = 0; k < 4 && r.out.acquisition == SW_ACQUISITION_EI; k++) {
				ends += fabs(v[k].number - 0.5) > 0.499;
				all++;
			}
			world_tell(&r, SW_OBS_FINAL, (double)((t * 7 + seed) % 11));
		}
		world_fini(&r);
	}
	ck_assert_msg(ends * 50 < all, "%u of %u coordinates", ends, all);
}

TEST(best_at_the_ends_is_found_all_the_same)
{
	struct world r;
	double best = INFINITY;

	world_init(&r, SW_SAMPLER_BAYES, learn_space(units, 4), 1);
	for (uint64_t t = 1; t <= 40; t++) {
		const struct sw_value *const v = world_ask(&r);
		double y = 0;

		for (size_t k = 0; k < 4; k++)
			y += (1 - v[k].number) * (double)(k + 1);
		best = fmin(best, y);
		world_tell(&r, SW_OBS_FINAL, y);
	}
	ck_assert_msg(best < 1e-3, "%g", best);
	world_fini(&r);
}

TEST(state_that_is_none_is_refused)
{
	struct world r;
	unsigned char junk[4096];

	world_init(&r, SW_SAMPLER_BAYES, learn_space(plane, 2), 1);
	memset(junk, 0x5a, sizeof junk);
	for (size_t n = 1; n <= sizeof junk; n += 97)
		ck_assert_int_eq(sw_sampler_restore(r.s, junk, n, NULL), SW_INVALID);
	(void)world_ask(&r);
	for (size_t n = 1; n < r.out.state_n; n++)
		ck_assert_int_eq(sw_sampler_restore(r.s, r.out.state, n, NULL), SW_INVALID);
	ck_assert_int_eq(sw_sampler_restore(r.s, r.out.state, r.out.state_n, NULL), SW_OK);
	world_fini(&r);
}

TEST(constants_alone_are_given)
{
	const struct sw_param p[] = {{.dist = SW_DIST_CONSTANT}};
	struct world r;

	world_init(&r, SW_SAMPLER_BAYES, learn_space(p, 1), 1);
	for (uint64_t t = 1; t <= 10; t++) {
		(void)world_ask(&r);
		world_tell(&r, SW_OBS_FINAL, (double)t);
	}
	world_fini(&r);
}

RUN_TESTS(NULL, NULL)
