/* tests/plot/test_curves.c — learning curves, and whose are drawn. */
#include "tests/plot/built.h"

#define STEPS 900

static struct sw_plot_trial trials[1000];
static size_t chosen[SW_PLOT_CURVES];
static struct sw_plot_report reports[400 * STEPS];
static const double rungs[] = {1, 3};

/* Trial i falls from 1 to i/100 in steps[i] steps; every second one was pruned. */
static struct sw_plot_data falling(size_t n, size_t steps)
{
	struct sw_plot_data d = {.metric = "loss",
				 .trials = trials,
				 .n = n,
				 .all = n,
				 .rungs = rungs,
				 .n_rungs = 2,
				 .reports = reports};

	for (size_t i = 0; i < n; i++) {
		trials[i] = (struct sw_plot_trial){.trial = (int64_t)i + 1,
						   .state = i % 2 ? SW_PLOT_STATE_PRUNED
								  : SW_PLOT_STATE_COMPLETED,
						   .value = (double)i / 100,
						   .step = (double)steps};
		for (size_t k = 0; k < steps; k++)
			reports[d.n_reports++] = (struct sw_plot_report){
				(int64_t)i + 1, (double)k + 1,
				1 + ((double)i / 100 - 1) * (double)k / (double)(steps - 1)};
	}
	return d;
}

TEST(curves_are_whole_by_state_and_the_best_apart)
{
	const struct sw_plot_data d = falling(8, 5);

	build("curves", &d, 1, NULL, 0);
	const struct sw_plot_series *best = series_of(0, "the best 2");
	ck_assert_uint_eq(best->n, 5 + 1 + 5);
	ck_assert_int_eq(best->role, SW_PLOT_BEST);
	ck_assert_int_eq(mark_of(best, 0)->trial, 1);
	ck_assert_double_eq(mark_of(best, 4)->x, 5);
	ck_assert_double_eq(mark_of(best, 4)->y, 0);
	ck_assert_double_nan(mark_of(best, 5)->y);
	ck_assert_int_eq(mark_of(best, 6)->trial, 2);
	ck_assert_uint_eq(series_of(0, "pruned")->n, 3 * 6 - 1);
	ck_assert_int_eq(series_of(0, "pruned")->role, SW_PLOT_PRUNED);
	ck_assert_uint_eq(series_of(0, "completed")->n, 3 * 6 - 1);
	ck_assert_ptr_null(series_of(0, "failed"));
	ck_assert_uint_eq(series_of(0, "rungs")->n, 2);
	ck_assert_double_eq(mark_of(series_of(0, "rungs"), 1)->x, 3);
	ck_assert_str_eq(mark_of(series_of(0, "rungs"), 1)->text, "3");
	ck_assert_str_eq(mark_of(series_of(0, ""), 0)->text, "1");
	ck_assert_double_eq(mark_of(series_of(0, ""), 0)->x, 5);
	ck_assert_uint_eq(built.n_notes, 0);
}

TEST(curve_of_one_trial_is_not_called_the_best)
{
	const struct sw_plot_data d = falling(1, 5);

	build("curves", &d, 1, NULL, 0);
	ck_assert_ptr_null(series_of(0, "the best"));
	for (size_t i = 0; i < built.n_series; i++)
		ck_assert_int_ne(built.series[i].role, SW_PLOT_BEST);
}

TEST(curves_of_many_trials_are_thinned_and_keep_a_peak)
{
	struct sw_plot_data d = falling(400, STEPS);
	double highest = 0;

	reports[500].value = 3; /* of the best trial */
	build("curves", &d, 1, NULL, 0);
	ck_assert_uint_ge(built.n_marks, SW_PLOT_MARKS - SW_PLOT_CURVES);
	ck_assert_note("Of 400 curves 80 are drawn: the best 10 and an even spread");
	ck_assert_note("Of 80 long curves 48 points each are drawn");
	const struct sw_plot_series *best = series_of(0, "the best 10");
	ck_assert_uint_eq(best->n, 10 * 49 - 1);
	for (size_t i = 0; i < 48; i++) {
		highest = fmax(highest, mark_of(best, i)->y);
		ck_assert_int_eq(mark_of(best, i)->trial, 1);
		if (i > 0)
			ck_assert_double_gt(mark_of(best, i)->x, mark_of(best, i - 1)->x);
	}
	ck_assert_double_eq(highest, 3);
	ck_assert_double_eq(mark_of(best, 0)->x, 1);
	ck_assert_double_eq(mark_of(best, 47)->x, STEPS);
}

/* What short curves leave is room for long ones. */
TEST(curves_share_the_room_by_need)
{
	struct sw_plot_data d = falling(40, 5);

	for (size_t k = 0; k < STEPS; k++)
		reports[d.n_reports++] = (struct sw_plot_report){41, (double)k + 1, sin((double)k)};
	trials[40] = (struct sw_plot_trial){
		.trial = 41, .state = SW_PLOT_STATE_OPEN, .value = -1, .step = STEPS};
	d.n = 41;
	build("curves", &d, 1, NULL, 0);
	ck_assert_uint_eq(built.n_notes, 0);
	ck_assert_int_eq(mark_of(series_of(0, "the best 10"), STEPS - 1)->trial, 41);
}

/* All fall from 1: that is on the scale. A third that never comes below 30 is not. */
TEST(curves_scale_is_not_that_of_the_bad_third)
{
	struct sw_plot_data d = falling(9, 50);

	build("curves", &d, 1, NULL, 0);
	ck_assert_double_ge(built.panels[0].y.max, 1);
	ck_assert_uint_eq(built.n_notes, 0);
	for (size_t k = 6 * 50; k < d.n_reports; k++)
		reports[k].value = 30;
	reports[0].value = 0;
	d.log = true;
	build("curves", &d, 1, NULL, 0);
	ck_assert_double_ge(built.panels[0].y.max, 30);
	ck_assert_note("2 of 450 reports are not above 0");
	d.log = false;
	build("curves", &d, 1, NULL, 0);
	ck_assert_double_lt(built.panels[0].y.max, 2);
	ck_assert_note("3 of 9 curves leave the scale of loss.");
}

/* --- whose --- */

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
