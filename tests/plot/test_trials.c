/* tests/plot/test_trials.c — plots of trials' values: edf, pareto, expected, saved. */
#include "tests/plot/built.h"

static struct sw_plot_trial trials[10000];
static double metrics[10000][3];
static const char *const names[] = {"loss", "speed", "size"};
static const bool maximize[] = {false, true, false};

static struct sw_plot_data of(size_t n)
{
	for (size_t i = 0; i < n; i++)
		trials[i] = (struct sw_plot_trial){.trial = (int64_t)i + 1,
						   .state = SW_PLOT_STATE_COMPLETED,
						   .value = (double)(i * 7919 % n),
						   .step = 27,
						   .mean = NAN,
						   .sd = NAN};
	return (struct sw_plot_data){.sweep = 3,
				     .name = "mine",
				     .metric = "loss",
				     .trials = trials,
				     .n = n,
				     .all = n,
				     .max_t = 27};
}

TEST(edf_counts_trials_at_most_so_high)
{
	struct sw_plot_data d[2] = {of(10), of(10)};

	d[1].sweep = 4;
	d[1].n = 4;
	trials[0].state = SW_PLOT_STATE_FAILED; /* value 0: out */
	trials[1].state = SW_PLOT_STATE_PRUNED;
	trials[2].value = NAN;
	build("edf", d, 2, NULL, 0);
	const struct sw_plot_series *s = series_of(0, "3 mine");
	ck_assert_int_eq(s->shape, SW_PLOT_STEPS);
	ck_assert_int_eq(s->role, SW_PLOT_FIRST);
	ck_assert_uint_eq(s->n, 1 + 8);
	ck_assert_double_eq(mark_of(s, 0)->y, 0);
	ck_assert_double_eq(mark_of(s, 4)->y, .5);
	ck_assert_double_eq(mark_of(s, 8)->x, 9);
	ck_assert_double_eq(mark_of(s, 8)->y, 1);
	ck_assert_uint_eq(series_of(0, "4 mine")->n, 1 + 2);
	ck_assert_int_eq(series_of(0, "4 mine")->role, SW_PLOT_FIRST + 1);
	ck_assert_note("Pruned trials count with their best value.");
}

TEST(edf_leaves_out_no_more_than_it_must)
{
	struct sw_plot_data d = of(10);

	trials[9].value = 20; /* 0 to 4, the better half, keep a fifth of the scale */
	build("edf", &d, 1, NULL, 0);
	ck_assert_double_gt(built.panels[0].x.max, 20);
	ck_assert_uint_eq(built.n_notes, 0);
}

TEST(edf_of_many_trials_is_thinned_and_one_bad_value_is_no_scale)
{
	struct sw_plot_data d = of(10000);

	trials[17].value = 1e30;
	build("edf", &d, 1, NULL, 0);
	ck_assert_uint_eq(built.n_marks, SW_PLOT_MARKS);
	ck_assert_double_lt(built.panels[0].x.max, 11000);
	ck_assert_note("1 of 10000 trials lie outside the scale of loss, at its border.");
	const struct sw_plot_mark *m = mark_of(series_of(0, "3 mine"), 2000);
	ck_assert_double_eq_tol(m->y, m->x / 10000, .001);
}

static struct sw_plot_data of_two_metrics(size_t n)
{
	struct sw_plot_data d = of(n);

	d.n_metrics = 2;
	d.metric_names = names;
	d.metric_maximize = maximize;
	for (size_t i = 0; i < n; i++)
		trials[i].metrics = metrics[i];
	return d;
}

/* speed i, loss i for even i, and i + 1/2 for odd ones: those are beaten. */
TEST(pareto_has_a_panel_for_each_two_metrics_and_the_front_from_its_best)
{
	struct sw_plot_data d = of_two_metrics(10);

	for (size_t i = 0; i < 10; i++) {
		metrics[i][0] = i % 2 ? (double)i + 1.5 : (double)i;
		metrics[i][1] = (double)i;
		trials[i].front = i % 2 == 0;
	}
	trials[3].state = SW_PLOT_STATE_PRUNED;
	trials[5].metrics = NULL;
	build("pareto", &d, 1, NULL, 0);
	ck_assert_uint_eq(built.n_panels, 1);
	ck_assert_str_eq(built.panels[0].x.label, "loss");
	ck_assert_str_eq(built.panels[0].y.label, "speed");
	ck_assert_uint_eq(series_of(0, "completed")->n, 3);
	ck_assert_uint_eq(series_of(0, "pruned")->n, 1);
	const struct sw_plot_series *front = series_of(0, "front");
	ck_assert_uint_eq(front->n, 5);
	ck_assert_double_eq(mark_of(front, 0)->x, 0);
	ck_assert_int_eq(mark_of(front, 4)->trial, 9);
	ck_assert_int_eq(series_of(0, "")->shape, SW_PLOT_STEPS);
	d.metric_names = names + 1;
	d.metric_maximize = maximize + 1; /* the first is the better the higher */
	build("pareto", &d, 1, NULL, 0);
	ck_assert_double_eq(mark_of(series_of(0, "front"), 0)->x, 8);
	d.n_metrics = 3;
	d.metric_names = names;
	d.metric_maximize = maximize;
	build("pareto", &d, 1, NULL, 0);
	ck_assert_uint_eq(built.n_panels, 3);
	ck_assert_ptr_null(series_of(2, ""));
}

/* Neither metric's scale is that of one bad trial, unless the others can be seen beside it. */
TEST(pareto_leaves_out_what_is_far_out_on_both_sides)
{
	struct sw_plot_data d = of_two_metrics(40);

	for (size_t i = 0; i < 40; i++) {
		metrics[i][0] = i == 3 ? 1e9 : (double)i;
		metrics[i][1] = i == 4 ? -1e9 : (double)i;
	}
	build("pareto", &d, 1, NULL, 0);
	ck_assert_double_lt(built.panels[0].x.max, 50);
	ck_assert_double_gt(built.panels[0].y.min, -50);
	ck_assert_note("1 of 40 marks lie outside the scale of loss, at its border.");
	ck_assert_note("1 of 40 marks lie outside the scale of speed, at its border.");
	d.n = 9;
	metrics[3][0] = 20; /* leaves a fifth of the scale to the better half */
	build("pareto", &d, 1, NULL, 0);
	ck_assert_double_gt(built.panels[0].x.max, 20);
}

TEST(pareto_of_many_trials_is_thinned_and_says_so)
{
	struct sw_plot_data d = of_two_metrics(10000);

	for (size_t i = 0; i < 10000; i++)
		trials[i].front = i % 4 == 0;
	build("pareto", &d, 1, NULL, 0);
	ck_assert_note("Of 7500 trials that others beat 2000 are drawn.");
	ck_assert_note("Of 2500 trials of the front 1000 are drawn.");
}

TEST(expected_stands_against_what_came_on_equal_axes)
{
	struct sw_plot_data d = of(20);

	for (size_t i = 0; i < 10; i++) {
		trials[i].value = (double)i;
		trials[i].mean = (double)i + (i < 5 ? .5 : i < 9 ? 1.5 : 4);
		trials[i].sd = 1;
	}
	trials[0].state = SW_PLOT_STATE_PRUNED;
	build("expected", &d, 1, NULL, 0);
	const struct sw_plot_series *done = series_of(0, "completed");
	ck_assert_uint_eq(done->n, 9);
	ck_assert_uint_eq(series_of(0, "pruned")->n, 1);
	ck_assert_double_eq(mark_of(done, 0)->x, 1.5); /* trial 2: the best that completed */
	ck_assert_double_eq(mark_of(done, 0)->y, 1);
	ck_assert_double_eq(mark_of(done, 0)->x2, 1);
	ck_assert_double_eq(built.panels[0].x.min, built.panels[0].y.min);
	ck_assert_double_eq(built.panels[0].x.max, built.panels[0].y.max);
	const struct sw_plot_series *diagonal = series_of(0, "as expected");
	ck_assert_double_eq(mark_of(diagonal, 1)->x, built.panels[0].x.max);
	ck_assert_double_eq(mark_of(diagonal, 1)->y, built.panels[0].y.max);
	/* The scale is that of 0 to 9, what came: 9.5 and 13 were expected. */
	ck_assert_double_lt(built.panels[0].x.max, 10);
	ck_assert_note("2 of 10 trials were expected outside the scale, at its border.");
	ck_assert_note("Of 9 completed trials 44% came within one spread of what was expected and "
		       "89% within two");
	d = of(5000);
	for (size_t i = 0; i < 5000; i++)
		trials[i].mean = 1;
	build("expected", &d, 1, NULL, 0);
	ck_assert_note("Of 5000 trials 1000 are drawn: the best 10 and an even spread");
}

TEST(saved_is_what_pruned_trials_would_have_cost)
{
	struct sw_plot_data d = of(6);

	d.max_t = 54;
	trials[1].state = SW_PLOT_STATE_PRUNED;
	trials[1].step = 3;
	trials[2].step = 20; /* ended by itself: nothing was saved */
	trials[4].state = SW_PLOT_STATE_FAILED;
	trials[5].state = SW_PLOT_STATE_OPEN;
	build("saved", &d, 1, NULL, 0);
	const struct sw_plot_series *made = series_of(0, "made");
	ck_assert_uint_eq(made->n, 1 + 4);
	ck_assert_double_eq(mark_of(made, 4)->x, 4);
	ck_assert_double_eq(mark_of(made, 4)->y, 27 + 3 + 20 + 27);
	ck_assert_double_eq(mark_of(series_of(0, "without pruning"), 4)->y, 27 + 54 + 20 + 27);
	ck_assert_note("Pruning saved 40% of the steps: 77 were made, without it 128.");
	ck_assert_note("Trials that failed or have not ended are not counted: 2.");
	d.max_t = NAN;
	trials[3].step = 50;
	build("saved", &d, 1, NULL, 0);
	ck_assert_note("A whole trial counts as 50 steps, the most that one has made.");
	ck_assert_double_eq(mark_of(series_of(0, "without pruning"), 4)->y, 27 + 50 + 20 + 50);
	d = of(10000);
	build("saved", &d, 1, NULL, 0);
	ck_assert_uint_le(built.n_marks, 2003);
	ck_assert_double_eq(mark_of(series_of(0, "made"), series_of(0, "made")->n - 1)->y, 270000);
	ck_assert_note("Pruning saved 0% of the steps");
}

/* A best that is better each time is thinned, and its end is the true one. */
TEST(history_of_ever_better_trials_ends_at_the_best)
{
	struct sw_plot_data d = of(10000);

	for (size_t i = 0; i < 10000; i++)
		trials[i].value = -(double)i;
	trials[9999].state = SW_PLOT_STATE_FAILED;
	build("history", &d, 1, NULL, 0);
	const struct sw_plot_series *best = series_of(0, "best so far");
	ck_assert_uint_ge(best->n, 1500);
	ck_assert_double_eq(mark_of(best, best->n - 1)->y, -9998);
	ck_assert_double_eq(mark_of(best, best->n - 1)->x, 10000);
}

RUN_TESTS(NULL, NULL)
