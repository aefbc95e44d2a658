/* tests/sched/tpe/test_tpe.c — what a user relies on: it learns, it keeps to the space, it can be
 * replayed. */
#include "sched/sweep/samplers.h"
#include "tests/sched/sampler/learn.h"
#include <math.h>

TEST(tpe_starts_with_sobol_and_says_what_it_knew)
{
	struct sw_space *space = learn_cube(3);
	struct sw_sampler *sobol = learn_sampler(SW_SAMPLER_SOBOL, space, 4);
	struct sw_value v[3];
	struct world w;

	world_init(&w, SW_SAMPLER_TPE, space, 4);
	for (uint64_t t = 1; t <= 12; t++) {
		ck_assert(sw_sampler_learns(w.s, t));
		(void)world_ask(&w);
		ck_assert_str_eq(w.out.source, t <= 8 ? "sobol" : "tpe");
		ck_assert_uint_eq(w.out.known, t - 1);
		ck_assert_int_eq(w.out.acquisition, SW_ACQUISITION_NONE);
		if (t <= 8) {
			ck_assert_int_eq(sw_sampler_next(sobol, NULL, t, v), SW_OK);
			for (size_t i = 0; i < 3; i++)
				ck_assert_double_eq(v[i].number, w.out.values[i].number);
		} else
			ck_assert_double_gt(w.out.ei, 0.0);
		world_tell(&w, SW_OBS_FINAL, w.out.values[0].number);
	}
	sw_sampler_destroy(sobol);
	world_fini(&w);
}

/* Eight trials are enough for a model where a trial has one value, else ten. */
TEST(tpe_starts_as_long_as_its_values_need)
{
	static const struct {
		size_t n_levels;
		uint64_t last; /* of the Sobol points */
	} at[] = {{0, 8}, {1, 10}};
	struct sw_space *const space = learn_cube(3);

	for (size_t i = 0; i < ROWS(at); i++) {
		const struct sw_sampler_config config = {.kind = SW_SAMPLER_TPE,
							 .seed = 3,
							 .space = space,
							 .n_levels = at[i].n_levels,
							 .levels = {1}};
		struct sw_suggestion out = {.state = NULL};
		struct sw_sampler *s;
		struct sw_history h;

		ck_assert_int_eq(sw_samplers_create(&s, &config, NULL), SW_OK);
		sw_history_init(&h, 3, 1);
		for (uint64_t t = 1; t <= 12; t++) {
			const double y = (double)t;

			learn_suggest(s, &h, &out);
			ck_assert_str_eq(out.source, t <= at[i].last ? "sobol" : "tpe");
			learn_add(&h, out.values);
			learn_tell(&h, t, SW_OBS_FINAL, 0, &y);
		}
		sw_sampler_destroy(s);
		sw_history_fini(&h);
	}
	sw_space_destroy(space);
}

/* Beside a category the first points are of the middle half of each range. A category of one value
 * is none. */
TEST_LOOP(tpe_begins_in_the_middle_of_ranges_beside_categories, 0, 2)
{
	const struct sw_param p[] = {
		{.dist = SW_DIST_CATEGORICAL, .n_choices = _i == 0 ? 3 : 1},
		{.dist = SW_DIST_UNIFORM, .min = 0, .max = 1},
		{.dist = SW_DIST_UNIFORM, .min = 0, .max = 1},
	};
	unsigned outside = 0, level[3] = {0};
	struct world w;

	world_init(&w, SW_SAMPLER_TPE, learn_space(p, ROWS(p)), 3);
	for (uint64_t t = 1; t <= 10; t++) {
		const struct sw_value *v = world_ask(&w);

		outside += fabs(v[1].number - 0.5) > 0.25 || fabs(v[2].number - 0.5) > 0.25;
		level[v[0].choice]++;
	}
	ck_assert_uint_eq(outside > 0, _i > 0);
	ck_assert(_i == 1 || (level[0] > 0 && level[1] > 0 && level[2] > 0));
	world_fini(&w);
}

static const struct {
	enum sw_obs_kind other; /* of the trials around 0.2, whose values are lower */
	double expected;
} ranked[] = {
	{SW_OBS_FINAL, 0.2}, {SW_OBS_PRUNED, 0.8}, /* a value on the way is no result */
};

TEST_ROWS(tpe_pruned_trials_come_after_completed_ones, ranked)
{
	int near_by = 0;
	uint64_t rng = 7;
	struct world w;

	world_init(&w, SW_SAMPLER_TPE, learn_cube(1), 1);
	for (int t = 0; t < 30; t++) {
		const double spread = 0.04 * (unit(&rng) - 0.5), low = 0.2 + spread;
		const double high = 0.8 + spread;

		learn_point(&w.h, &low, ranked[_i].other, 0.1 + spread);
		learn_point(&w.h, &high, SW_OBS_FINAL, 1.0 + spread);
	}
	for (int t = 0; t < 20; t++) {
		(void)world_ask(&w);
		near_by += fabs(w.out.values[0].number - ranked[_i].expected) < 0.15;
		world_tell(&w, SW_OBS_NONE, 0);
	}
	ck_assert_int_ge(near_by, 14);
	world_fini(&w);
}

/* Each branch has a parameter of its own: it is learned from the trials of that branch alone. */
TEST(tpe_branches_learn_apart)
{
	const struct sw_param p[] = {{.dist = SW_DIST_CATEGORICAL, .n_choices = 2},
				     {.dist = SW_DIST_UNIFORM, .min = 0, .max = 1},
				     {.dist = SW_DIST_UNIFORM, .min = 0, .max = 1}};
	const struct sw_value a = {.choice = 0}, b = {.choice = 1};
	int right = 0, late[2] = {0};
	struct world w;
	struct sw_space *space = learn_space(p, 3);

	ck_assert_int_eq(sw_space_when(space, 1, 0, &a, 1, NULL), SW_OK);
	ck_assert_int_eq(sw_space_when(space, 2, 0, &b, 1, NULL), SW_OK);
	ck_assert_int_eq(sw_space_seal(space, NULL), SW_OK);
	world_init(&w, SW_SAMPLER_TPE, space, 12);
	for (int t = 0; t < 120; t++) {
		(void)world_ask(&w);
		const uint32_t branch = w.out.values[0].choice;
		const double x = w.out.values[1 + branch].number, at = branch == 0 ? 0.2 : 0.9;

		ck_assert_double_eq(w.out.values[2 - branch].number, 0.5); /* inactive */
		if (t >= 80) {
			late[branch]++;
			right += fabs(x - at) < 0.15;
		}
		world_tell(&w, SW_OBS_FINAL, fabs(x - at));
	}
	ck_assert_int_ge(right, 32); /* of 40; random: 12 */
	ck_assert_int_gt(late[0] + late[1], 39);
	world_fini(&w);
}

RUN_TESTS(NULL, NULL)
