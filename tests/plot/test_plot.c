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

/* What is far out is named; the scale is that of the others. */
TEST(one_bad_value_does_not_ruin_the_scale)
{
	struct sw_plot_data d = some_trials(40);

	trials[3].value = 1e30;
	build("history", &d, 1, NULL, 0);
	ck_assert_double_lt(built.panels[0].y.max, 2);
	ck_assert_double_le(built.panels[0].y.min, 1.0 / 40);
	ck_assert_uint_eq(built.n_notes, 2);
	ck_assert_note("The best is trial 40; 0 later are not better.");
	ck_assert_note(" marks lie outside the scale of loss.");
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

RUN_TESTS(NULL, NULL)
