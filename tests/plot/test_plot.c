/* tests/plot/test_plot.c — the model of a plot: its bounds, its ranges, its JSON. */
#include "tests/plot/built.h"

static struct sw_plot_trial trials[5000];

static struct sw_plot_data some_trials(size_t n)
{
	for (size_t i = 0; i < n; i++)
		trials[i] = (struct sw_plot_trial){.trial = (int64_t)i + 1,
						   .state = i % 4 == 1 ? SW_PLOT_STATE_PRUNED
								       : SW_PLOT_STATE_COMPLETED,
						   .value = 1.0 / (double)(i + 1)};
	return (struct sw_plot_data){
		.sweep = 1, .name = "a", .metric = "loss", .trials = trials, .n = n, .all = n};
}

static char *text_of(const struct sw_plot *p)
{
	struct sw_buf b;
	struct sw_jw w;

	sw_buf_init(&b, 1 << 20);
	sw_jw_init_obj(&w, &b);
	sw_plot_write(p, &w);
	sw_jw_obj_end(&w);
	return sw_buf_take(&b, NULL);
}

TEST(json_has_columns_of_what_the_marks_have)
{
	struct sw_plot p;

	sw_plot_init(&p, "slice", "a \"title\"\n");
	sw_plot_note(&p, "a note");
	sw_plot_panel(&p, "opt", SW_PLOT_CATEGORY, "lr", SW_PLOT_LOG);
	sw_plot_name(&p, SW_PLOT_X, "sgd");
	sw_plot_range(&p, SW_PLOT_Y, .5, 2);
	sw_plot_series(&p, "5", SW_PLOT_CELLS, SW_PLOT_FIRST + 2);
	sw_plot_mark(&p, (struct sw_plot_mark){0, 1e-3, .5, 1e-1, .25, 7, "here"});
	sw_plot_mark(&p, (struct sw_plot_mark){0, NAN, NAN, NAN, NAN, 0, NULL});
	sw_plot_series(&p, "", SW_PLOT_RULES,
		       SW_PLOT_FAILED); /* whose y are there, without a number */
	sw_plot_at(&p, 0, NAN, NAN, 0);
	sw_plot_fit(&p);
	char *text = text_of(&p);
	ck_assert_str_eq(text,
			 "{\"plot\":\"slice\",\"title\":\"a \\\"title\\\"\\n\",\"notes\":[\"a "
			 "note\"],\"panels\":[{"
			 "\"x\":{\"label\":\"opt\",\"scale\":\"category\",\"min\":-0.5,\"max\":0.5,"
			 "\"names\":[\"sgd\"]},"
			 "\"y\":{\"label\":\"lr\",\"scale\":\"log\",\"min\":0.5,\"max\":2},"
			 "\"series\":[{\"name\":\"5\",\"shape\":\"cells\",\"role\":2,\"x\":[0,0],"
			 "\"y\":[0.001,null],\"x2\":[0.5,null],\"y2\":[0.1,null],\"v\":[0.25,null],"
			 "\"trial\":[7,0],\"text\":[\"here\",null]},"
			 "{\"name\":\"\",\"shape\":\"rules\",\"role\":\"failed\",\"x\":[0],\"y\":["
			 "null]}]}]}");
	free(text);
	sw_plot_fini(&p);
}

/* Bad ones at 2.3, good ones from .05 to .1, at either end. A third of bad ones is at the border,
 * half of all are on the scale, and so is what is better than all. */
static const struct {
	size_t bad;
	bool maximize;
	double odd;
	size_t outside;
} scales[] = {{0, false, 1e30, 1},  {10, false, 2.3, 11}, {10, true, 2.3, 11},
	      {13, false, 2.3, 14}, {20, false, 2.3, 0},  {0, false, -1e30, 0}};

TEST_ROWS(bad_trials_do_not_ruin_the_scale, scales)
{
	struct sw_plot_data d = some_trials(30);
	const double sign = scales[_i].maximize ? -1 : 1;
	char text[100];

	d.maximize = scales[_i].maximize;
	for (size_t i = 0; i < d.n; i++)
		trials[i].value = sign * (i < scales[_i].bad ? 2.3 : .05 + .05 * (double)i / 30);
	trials[29].value = sign * scales[_i].odd;
	build("history", &d, 1, NULL, 0);
	const struct sw_plot_axis *y = &built.panels[0].y;
	for (size_t i = scales[_i].bad; i < 30; i++)
		if (i < 29 || scales[_i].odd < 0 || scales[_i].outside == 0)
			ck_assert(trials[i].value >= y->min && trials[i].value <= y->max);
	(void)snprintf(text, sizeof text,
		       "%zu of 30 trials lie outside the scale of loss, at its border.",
		       scales[_i].outside);
	if (scales[_i].outside > 0) {
		ck_assert_double_lt(y->max - y->min, .1);
		ck_assert_note(text);
	} else {
		ck_assert_uint_eq(built.n_notes, 1);
	}
}

/* No scale of losses or of trials begins below 0, unless something does. */
TEST(the_room_beside_marks_does_not_pass_0)
{
	struct sw_plot_data d = some_trials(3);

	trials[2].value = 1e-6;
	build("history", &d, 1, NULL, 0);
	ck_assert_double_eq(built.panels[0].y.min, 0);
	ck_assert_double_ge(built.panels[0].x.min, 0);
	trials[2].value = -1e-6;
	build("history", &d, 1, NULL, 0);
	ck_assert_double_lt(built.panels[0].y.min, -1e-6);
}

TEST(a_log_scale_says_what_it_has_no_place_for)
{
	static const char *const kinds[] = {"history", "parallel", "edf"};

	for (size_t i = 0; i < ROWS(kinds); i++) {
		struct sw_plot_data d = some_trials(40);
		d.log = true;
		trials[3].value = 0;
		trials[4].value = -1;
		build(kinds[i], &d, 1, NULL, 0);
		ck_assert_note("2 of 40 trials are not above 0: a log scale of loss has no place "
			       "for them.");
	}
	ck_assert_int_eq(built.panels[0].x.scale, SW_PLOT_LOG);
}

TEST(a_long_history_is_thinned_and_says_so)
{
	struct sw_plot_data d = some_trials(5000);

	d.maximize = true;                  /* the first is the best */
	for (size_t i = 0; i < d.n; i += 3) /* what is regular is not all that is drawn */
		trials[i].state = SW_PLOT_STATE_FAILED;
	trials[0].state = SW_PLOT_STATE_COMPLETED;
	build("history", &d, 1, NULL, 0);
	ck_assert_note("Of 5000 trials one in 3 is drawn");
	ck_assert_uint_gt(series_of(0, "pruned")->n, 0);
	ck_assert_uint_gt(series_of(0, "failed")->n, 300);
	ck_assert_uint_gt(series_of(0, "completed")->n, 300);
	const struct sw_plot_series *best = series_of(0, "best so far");
	ck_assert_uint_eq(best->n, 2);
	ck_assert_double_eq(mark_of(best, 0)->y, 1);
	ck_assert_double_eq(mark_of(best, 1)->x, 5000);
}

/* Three seeds of "a" and one sweep "b": a line and a band a name, whichever has how many trials. */
TEST(history_by_name_has_the_median_and_the_range_of_a_name)
{
	static struct sw_plot_trial of[4][4];
	static const double values[4][4] = {
		{5, 4, 3, 2}, {7, 7, 1, 9}, {6, 8, 8, NAN}, {1, 2, 0, 3}};
	struct sw_plot_data d[4];

	for (size_t s = 0; s < 4; s++) {
		for (size_t i = 0; i < 4; i++)
			of[s][i] = (struct sw_plot_trial){.trial = (int64_t)i + 1,
							  .state = SW_PLOT_STATE_COMPLETED,
							  .value = values[s][i]};
		d[s] = (struct sw_plot_data){.sweep = (int64_t)s + 1,
					     .name = s == 3 ? "b" : "a",
					     .metric = "loss",
					     .trials = of[s],
					     .n = s == 2 ? 1 : 4,
					     .all = 4};
	}
	d[0].by_name = true;
	build("history", d, 4, NULL, 0);
	const struct sw_plot_series *line = series_of(0, "a (3 sweeps)"), *band = &built.series[0];
	ck_assert_int_eq(band->shape, SW_PLOT_BARS);
	ck_assert_int_eq(band->role, line->role);
	ck_assert_uint_eq(line->n, 5);
	static const double median[] = {6, 6, 3, 2, 2}, low[] = {5, 4, 1, 1}, high[] = {7, 7, 6, 6};
	for (size_t i = 0; i < 5; i++)
		ck_assert_double_eq(mark_of(line, i)->y, median[i]);
	for (size_t i = 0; i < 4; i++) {
		ck_assert_double_eq(mark_of(band, i)->y, low[i]);
		ck_assert_double_eq(mark_of(band, i)->y2, high[i]);
		ck_assert_double_eq(mark_of(band, i)->x2, mark_of(line, i + 1)->x);
	}
	ck_assert_int_eq(series_of(0, "b (1 sweep)")->role, SW_PLOT_FIRST + 1);
	ck_assert_note("a sweep with fewer trials keeps its best");
}

/* Looks come again behind the eighth: each line's number tells which it is. */
TEST(history_of_many_sweeps_numbers_its_lines)
{
	struct sw_plot_data d[9];

	for (size_t s = 0; s < 9; s++) {
		d[s] = some_trials(4);
		d[s].sweep = (int64_t)s + 1;
	}
	build("history", d, 9, NULL, 0);
	ck_assert_str_eq(mark_of(&built.series[17], 0)->text, "9");
	build("history", d, 8, NULL, 0);
	ck_assert_uint_eq(built.n_series, 8);
}

RUN_TESTS(NULL, NULL)
