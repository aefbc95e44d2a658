/* tests/sched/tpe/test_bohb.c — which rung the model is made of, and how much of it is chance. */
#include "tests/sched/sampler/learn.h"
#include <math.h>

/* At the low rung x near 0.2 looks best, at the high one x near 0.8. */
static const struct {
	size_t at_high; /* trials that reached it */
	double expected;
} reached[] = {
	{2, 0.2}, /* fewer than d + 2 */
	{30, 0.8},
};

TEST_ROWS(bohb_learns_from_the_highest_rung_with_enough_results, reached)
{
	struct world w;
	int modelled = 0, near_by = 0;

	world_init(&w, SW_SAMPLER_BOHB, learn_cube(1), 5);
	for (uint64_t t = 1; t <= 60; t++) {
		const struct sw_value v = {.number = (double)(t * 37 % 60) / 60.0};
		const double low = fabs(v.number - 0.2), high = fabs(v.number - 0.8);

		learn_add(&w.h, &v);
		learn_tell(&w.h, t, SW_OBS_RUNG, 0, &low);
		if (t <= reached[_i].at_high)
			learn_tell(&w.h, t, SW_OBS_RUNG, 1, &high);
		learn_tell(&w.h, t, SW_OBS_PRUNED, 0, t <= reached[_i].at_high ? &high : &low);
	}
	for (int t = 0; t < 40; t++) {
		(void)world_ask(&w);
		if (strcmp(w.out.source, "bohb") != 0)
			continue;
		modelled++;
		near_by += fabs(w.out.values[0].number - reached[_i].expected) < 0.2;
	}
	ck_assert_int_ge(modelled, 15);
	ck_assert_int_gt(2 * near_by, modelled);
	world_fini(&w);
}

TEST(bohb_a_third_is_random)
{
	struct world w;
	int random = 0, started = 0;

	world_init(&w, SW_SAMPLER_BOHB, learn_cube(1), 5);
	for (int t = 0; t < 900; t++) {
		(void)world_ask(&w);
		started += strcmp(w.out.source, "sobol") == 0;
		random += strcmp(w.out.source, "random") == 0;
		world_tell(&w, SW_OBS_FINAL, 1);
	}
	ck_assert_int_le(started, 3); /* d + 2 results make a model */
	ck_assert_int_ge(random, 250);
	ck_assert_int_le(random, 350);
	world_fini(&w);
}

RUN_TESTS(NULL, NULL)
