/* tests/plot/test_params.c — plots of parameters: slice, contour, parallel. */
#include "plot/build.h"
#include "tests/plot/built.h"

#define PARAMS 70
#define TRIALS 3000

static const char *const opts[] = {"sgd", "adam", "lion"};
static char names[PARAMS][24];
static struct sw_plot_param params[PARAMS];
static struct sw_plot_trial trials[TRIALS];
static double values[TRIALS][PARAMS];

/* lr: 1e-4 to 1 by logarithm; opt; the rest from 0 to 1; the last does not vary. The value is the
 * distance of lr from 0.01 in decades. */
static struct sw_plot_data of(size_t n, size_t n_params)
{
	for (size_t k = 0; k < n_params; k++) {
		(void)snprintf(names[k], sizeof names[k], "p%zu", k);
		params[k] = (struct sw_plot_param){.name = names[k], .varied = k + 1 < n_params};
	}
	params[0] = (struct sw_plot_param){"lr", SW_PLOT_LOG, true, 0, NULL};
	params[1] = (struct sw_plot_param){"opt", SW_PLOT_CATEGORY, true, 3, opts};
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < n_params; k++)
			values[i][k] = fmod((double)i * (.618034 + .1 * (double)k), 1);
		values[i][0] = pow(10, -4 * (double)i / (double)(n - 1));
		values[i][1] = (double)(i % 3);
		trials[i] = (struct sw_plot_trial){.trial = (int64_t)i + 1,
						   .state = SW_PLOT_STATE_COMPLETED,
						   .value = fabs(log10(values[i][0]) + 2),
						   .params = values[i]};
	}
	return (struct sw_plot_data){.metric = "loss",
				     .params = params,
				     .n_params = n_params,
				     .trials = trials,
				     .n = n,
				     .all = n};
}

TEST(slice_has_a_panel_a_varied_parameter_of_the_same_trials)
{
	struct sw_plot_data d = of(41, 4);

	trials[3].state = SW_PLOT_STATE_PRUNED;
	trials[4].value = NAN;
	values[5][2] = NAN;
	trials[6].value = 1e9;
	build("slice", &d, 1, NULL, 0);
	ck_assert_uint_eq(built.n_panels, 3);
	ck_assert_str_eq(built.panels[0].x.label, "lr");
	ck_assert_int_eq(built.panels[0].x.scale, SW_PLOT_LOG);
	ck_assert_str_eq(built.panels[1].x.names[2], "lion");
	ck_assert_str_eq(built.panels[2].x.label, "p2");
	ck_assert_uint_eq(series_of(0, "completed")->n, 39);
	ck_assert_uint_eq(series_of(0, "pruned")->n, 1);
	ck_assert_uint_eq(series_of(2, "completed")->n, 38);
	const struct sw_plot_mark *best = mark_of(series_of(0, "best"), 0);
	ck_assert_int_eq(best->trial, 21);
	ck_assert_double_eq(best->x, values[20][0]);
	ck_assert_double_eq(built.panels[0].y.max, built.panels[2].y.max);
	ck_assert_double_lt(built.panels[0].y.max, 3);
	ck_assert_uint_eq(built.n_notes, 1);
	ck_assert_note("1 of 40 trials lie outside the scale of loss, at its border.");
}

TEST(slice_of_those_named_has_no_best_among_failed_ones)
{
	struct sw_plot_data d = of(41, 4);
	const size_t named[] = {3, 0};

	build("slice", &d, 1, named, 2);
	ck_assert_uint_eq(built.n_panels, 2);
	ck_assert_str_eq(built.panels[0].x.label, "p3");
	ck_assert_str_eq(built.panels[1].x.label, "lr");
	for (size_t i = 0; i < d.n; i++)
		trials[i].state = SW_PLOT_STATE_FAILED;
	build("slice", &d, 1, named, 2);
	ck_assert_uint_eq(series_of(0, "failed")->n, 41);
	ck_assert_ptr_null(series_of(0, "best"));
}

TEST(slice_of_many_shows_those_that_matter)
{
	struct sw_plot_data d = of(TRIALS, PARAMS);

	build("slice", &d, 1, NULL, 0);
	ck_assert_uint_eq(built.n_panels, 12);
	ck_assert_str_eq(built.panels[0].x.label, "lr");
	ck_assert_note("Of 69 varied parameters the 12 that matter most are drawn.");
	ck_assert_note("Of 3000 trials 332 are drawn: the best 10 and an even spread");
}

TEST(contour_of_the_two_that_matter_most_is_best_where_trials_are)
{
	struct sw_plot_data d = of(TRIALS, 4);
	size_t low = 0, high = 0;

	values[7][0] = NAN;
	trials[8].value = -1e30; /* the best by far: no more than one rank */
	values[8][0] = 1e-4;
	build("contour", &d, 1, NULL, 0);
	ck_assert_str_eq(built.panels[0].x.label, "lr");
	ck_assert_note("Of 3 varied parameters the 2 that matter most are drawn.");
	ck_assert_note("Of 2999 trials 1000 are drawn");
	const struct sw_plot_series *map = series_of(0, "");
	ck_assert_int_eq(map->shape, SW_PLOT_CELLS);
	for (size_t i = 0; i < map->n; i++) {
		const struct sw_plot_mark *m = mark_of(map, i);
		const double middle = fabs(log10(sqrt(m->x * m->x2)) + 2);
		ck_assert_double_ge(m->v, 0);
		ck_assert_double_le(m->v, 1);
		ck_assert_double_lt(m->x, m->x2);
		if (middle < .1)
			low += m->v > .9;
		if (middle > 1.7)
			high += m->v < .2;
	}
	ck_assert_uint_ge(low, 3);
	ck_assert_uint_ge(high, 6);
}

TEST(contour_of_two_named_covers_what_is_near_trials)
{
	struct sw_plot_data d = of(3, 4);
	const size_t named[] = {2, 3};

	for (size_t i = 0; i < 3; i++) {
		values[i][2] = i == 2 ? 1 : 0;
		values[i][3] = i == 2 ? 1 : 0;
		trials[i].value = (double)i;
	}
	build("contour", &d, 1, named, 2);
	const struct sw_plot_series *map = series_of(0, "");
	/* Two quarter circles of a quarter's radius, of 32 x 32 cells. */
	ck_assert_uint_ge(map->n, 80);
	ck_assert_uint_le(map->n, 120);
	for (size_t i = 0; i < map->n; i++)
		ck_assert_double_eq_tol(mark_of(map, i)->v, mark_of(map, i)->x < .5 ? .75 : 0,
					1e-9);
	ck_assert_double_eq_tol(mark_of(map, 0)->x, 0, 1e-12);
	ck_assert_double_eq_tol(mark_of(map, 0)->x2, 1. / 32, 1e-12);
	ck_assert_uint_eq(series_of(0, "completed")->n, 3);
	ck_assert_int_eq(mark_of(series_of(0, "best"), 0)->trial, 1);
	build("contour", &d, 1, named, 1);
	ck_assert_str_eq(built.panels[0].x.label, "p2");
	ck_assert_str_ne(built.panels[0].y.label, "p2");
}

/* Names are not near one another: nothing of sgd colours adam. */
TEST(contour_keeps_categories_apart)
{
	struct sw_plot_data d = of(60, 4);
	const size_t named[] = {1, 2};

	for (size_t i = 0; i < 60; i++) {
		values[i][1] = (double)(i % 2);
		trials[i].value = (double)(i % 2);
	}
	build("contour", &d, 1, named, 2);
	const struct sw_plot_series *map = series_of(0, "");
	ck_assert_uint_eq(map->n, 2 * 32);
	for (size_t i = 0; i < map->n; i++) {
		const struct sw_plot_mark *m = mark_of(map, i);
		ck_assert_double_eq_tol(m->x2 - m->x, 1, 1e-12);
		ck_assert_double_eq_tol(m->v, m->x < 0 ? 1 : 1 - 30. / 59, 1e-9);
	}
}

TEST(parallel_has_a_line_a_trial_the_best_last)
{
	struct sw_plot_data d = of(5, 4);

	values[1][2] = NAN;
	trials[4].state = SW_PLOT_STATE_FAILED;
	build("parallel", &d, 1, NULL, 0);
	ck_assert_uint_eq(built.panels[0].x.n_names, 4);
	ck_assert_str_eq(built.panels[0].x.names[0], "lr");
	ck_assert_str_eq(built.panels[0].x.names[3], "loss");
	const struct sw_plot_series *lines = &built.series[0];
	ck_assert_int_eq(lines->shape, SW_PLOT_LINE);
	ck_assert_uint_eq(lines->n, 4 * 5);
	/* Values 2, 1, 0, 1 at lr 1, .1, .01, .001: the equal ones share a rank. */
	const struct sw_plot_mark *best = mark_of(lines, 15);
	ck_assert_int_eq(best[0].trial, 3);
	ck_assert_double_eq(best[0].v, 1);
	ck_assert_double_eq_tol(best[0].y, 1. / 3, 1e-9);
	ck_assert_double_eq_tol(best[1].y, 2.5 / 3, 1e-9);
	ck_assert_double_eq(best[3].y, 0);
	ck_assert_double_nan(best[4].x);
	ck_assert_int_eq(mark_of(lines, 0)->trial, 1);
	ck_assert_double_eq(mark_of(lines, 0)->v, 0);
	ck_assert_double_eq_tol(mark_of(lines, 5)->v, 2. / 3, 1e-9);
	ck_assert_double_eq_tol(mark_of(lines, 10)->v, 2. / 3, 1e-9);
	ck_assert_int_eq(mark_of(lines, 10)->trial, 2);
	ck_assert_double_nan(mark_of(lines, 12)->y);
	/* lr's ends, opt's names, p2's ends, loss's. */
	const struct sw_plot_series *texts = &built.series[2];
	ck_assert_uint_eq(texts->n, 2 + 3 + 2 + 2);
	ck_assert_str_eq(mark_of(texts, 0)->text, "0.001");
	ck_assert_str_eq(mark_of(texts, 1)->text, "1");
	ck_assert_str_eq(mark_of(texts, 3)->text, "adam");
	ck_assert_double_eq(mark_of(texts, 3)->y, .5);
	ck_assert_str_eq(mark_of(texts, 8)->text, "2");
}

TEST(parallel_of_many_is_thinned_and_one_bad_value_is_at_the_end)
{
	struct sw_plot_data d = of(TRIALS, PARAMS);

	trials[1].value = 1e9;
	build("parallel", &d, 1, NULL, 0);
	ck_assert_note("Of 69 varied parameters the 12 that matter most are drawn.");
	ck_assert_note("Of 3000 trials 272 are drawn, evenly spread by rank.");
	ck_assert_note("1 of 3000 trials lie outside the scale of loss, at its border.");
	ck_assert_double_eq(mark_of(&built.series[0], 12)->y, 1);
	ck_assert_int_eq(mark_of(&built.series[0], 12)->trial, 2);
	ck_assert_double_eq(mark_of(&built.series[0], 271 * 14)->v, 1);
	const size_t all[SW_PLOT_PANELS] = {0};
	build("parallel", &d, 1, all, SW_PLOT_PANELS);
}

RUN_TESTS(NULL, NULL)
