/* tests/plot/test_chosen.c — which trials' curves are drawn. */
#include "plot/kinds.h"
#include "tests/run.h"
#include <math.h>

static struct sw_plot_trial trials[1000];
static size_t chosen[SW_PLOT_CURVES];

/* Each trial is better than the one before it. */
static struct sw_plot_data rising(size_t n)
{
	for (size_t i = 0; i < n; i++)
		trials[i] = (struct sw_plot_trial){.trial = (int64_t)i + 1,
						   .state = SW_PLOT_STATE_COMPLETED,
						   .value = 1 - (double)i / (double)n,
						   .step = 3};
	return (struct sw_plot_data){.metric = "loss", .trials = trials, .n = n, .all = n};
}

TEST(chosen_are_the_best_in_order_then_a_spread_of_the_others)
{
	const struct sw_plot_data d = rising(1000);

	ck_assert_uint_eq(sw_plot_chosen(&d, chosen), SW_PLOT_CURVES);
	for (size_t i = 0; i < SW_PLOT_TOP; i++)
		ck_assert_uint_eq(chosen[i], 999 - i);
	ck_assert_uint_eq(chosen[SW_PLOT_TOP], 0);
	ck_assert_uint_eq(chosen[SW_PLOT_CURVES - 1], 989);
	for (size_t i = SW_PLOT_TOP + 1; i < SW_PLOT_CURVES; i++) {
		ck_assert_uint_ge(chosen[i] - chosen[i - 1], 14);
		ck_assert_uint_le(chosen[i] - chosen[i - 1], 15);
	}
}

TEST(chosen_of_few_are_all_that_have_a_curve)
{
	struct sw_plot_data d = rising(20);

	d.maximize = true;
	trials[0].state = SW_PLOT_STATE_FAILED; /* the highest value, but a failed trial is last */
	trials[5].value = NAN;
	trials[6].step = NAN;
	trials[7].value = trials[8].value; /* the earlier of equals first */
	ck_assert_uint_eq(sw_plot_chosen(&d, chosen), 18);
	const size_t order[] = {1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 0, 13, 14, 15, 16, 17, 18, 19};
	for (size_t i = 0; i < 18; i++)
		ck_assert_uint_eq(chosen[i], order[i]);
	d = rising(0);
	ck_assert_uint_eq(sw_plot_chosen(&d, chosen), 0);
}

RUN_TESTS(NULL, NULL)
