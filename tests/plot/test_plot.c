/* tests/plot/test_plot.c — the model of a plot: its bounds, its ranges, its JSON. */
#include "base/fault.h"
#include "plot/build.h"
#include "plot/write.h"
#include "tests/run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
	sw_jw_init(&w, &b);
	sw_plot_write(p, &w);
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
	sw_plot_series(&p, "", SW_PLOT_DOTS, SW_PLOT_FAILED);
	sw_plot_at(&p, 0, 1, NAN, 0);
	sw_plot_fit(&p);
	char *text = text_of(&p);
	ck_assert_str_eq(
		text,
		"{\"plot\":\"slice\",\"title\":\"a \\\"title\\\"\\n\",\"notes\":[\"a "
		"note\"],\"panels\":[{"
		"\"x\":{\"label\":\"opt\",\"scale\":\"category\",\"min\":-0.5,\"max\":0.5,"
		"\"names\":[\"sgd\"]},"
		"\"y\":{\"label\":\"lr\",\"scale\":\"log\",\"min\":0.5,\"max\":2},"
		"\"series\":[{\"name\":\"5\",\"shape\":\"cells\",\"role\":2,\"x\":[0,0],"
		"\"y\":[0.001,null],\"x2\":[0.5,null],\"y2\":[0.1,null],\"v\":[0.25,null],"
		"\"trial\":[7,0],\"text\":[\"here\",null]},"
		"{\"name\":\"\",\"shape\":\"dots\",\"role\":\"failed\",\"x\":[0],\"y\":[1]}]}]}");
	free(text);
	sw_plot_fini(&p);
}

/* What is far out is named; the scale is that of the others. */
TEST(one_bad_value_does_not_ruin_the_scale)
{
	struct sw_plot p;
	struct sw_plot_data d = some_trials(40);

	trials[3].value = 1e30;
	sw_plot_init(&p, "history", "");
	sw_plot_build_history(&p, &d, 1, NULL, 0);
	ck_assert_int_eq(p.failed, SW_OK);
	ck_assert_double_lt(p.panels[0].y.max, 2);
	ck_assert_double_le(p.panels[0].y.min, 1.0 / 40);
	ck_assert_uint_eq(p.n_notes, 2);
	ck_assert_ptr_nonnull(strstr(p.notes[0], "The best is trial 40; 0 later are not better."));
	ck_assert_ptr_nonnull(strstr(p.notes[1], " marks lie outside the scale of loss."));
	sw_plot_fini(&p);
}

TEST(a_long_history_is_thinned_and_says_so)
{
	struct sw_plot p;
	struct sw_plot_data d = some_trials(5000);

	d.maximize = true;                  /* the first is the best */
	for (size_t i = 0; i < d.n; i += 3) /* what is regular is not all that is drawn */
		trials[i].state = SW_PLOT_STATE_FAILED;
	trials[0].state = SW_PLOT_STATE_COMPLETED;
	sw_plot_init(&p, "history", "");
	sw_plot_build_history(&p, &d, 1, NULL, 0);
	ck_assert_int_eq(p.failed, SW_OK);
	ck_assert_ptr_nonnull(strstr(p.notes[0], "Of 5000 trials one in 3 is drawn"));
	ck_assert_str_eq(p.series[0].name, "pruned");
	ck_assert_str_eq(p.series[2].name, "completed");
	ck_assert_uint_gt(p.series[1].n, 300);
	ck_assert_uint_gt(p.series[2].n, 300);
	const struct sw_plot_series *best = &p.series[p.n_series - 1];
	ck_assert_uint_eq(best->n, 2);
	ck_assert_double_eq(p.marks[best->mark].y, 1);
	ck_assert_double_eq(p.marks[best->mark + 1].x, 5000);
	sw_plot_fini(&p);
}

#ifdef SW_FAULTS
TEST(no_memory_latches)
{
	unsigned fired = 1;

	for (unsigned nth = 1; fired != 0; nth++) {
		struct sw_plot p;
		const struct sw_plot_data d = some_trials(9);
		sw_fault_arm(SW_FAULT_MALLOC, nth, false);
		sw_plot_init(&p, "history", "");
		sw_plot_build_history(&p, &d, 1, NULL, 0);
		sw_plot_note(&p, "x");
		fired = sw_fault_fired(SW_FAULT_MALLOC);
		sw_fault_arm(SW_FAULT_MALLOC, 0, false);
		ck_assert_int_eq(p.failed, fired ? SW_NOMEM : SW_OK);
		sw_plot_fini(&p);
	}
}
#endif

RUN_TESTS(NULL, NULL)
