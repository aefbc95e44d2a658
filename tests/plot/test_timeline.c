/* tests/plot/test_timeline.c — slots over time. */
#include "tests/plot/built.h"

static const char *const slots[] = {"cpu:0", "gpu:1"};
static struct sw_plot_run runs[20000];

static void build_at(double now_ms, const struct sw_plot_run *some, size_t n)
{
	const struct sw_plot_data d = {
		.runs = some, .n_runs = n, .slots = slots, .n_slots = 2, .now_ms = now_ms};

	build("timeline", &d, 1, NULL, 0);
}

TEST(timeline_has_a_bar_a_run_with_its_end)
{
	const struct sw_plot_run some[] = {
		{1, 0, 0, 10e3, SW_PLOT_STATE_COMPLETED, "", false},
		{2, 0, 10e3, 20e3, SW_PLOT_STATE_OPEN, "", false},
		{3, 0, 60e3, NAN, SW_PLOT_STATE_OPEN, "", false},
		{4, 1, 0, 40e3, SW_PLOT_STATE_FAILED, "oom", false},
		{5, 1, 40e3, 50e3, SW_PLOT_STATE_OPEN, "lost", false},
		{6, 1, 50e3, 90e3, SW_PLOT_STATE_PRUNED, "", false},
	};

	build_at(100e3, some, ROWS(some));
	ck_assert_int_eq(built.panels[0].x.scale, SW_PLOT_TIME);
	ck_assert_uint_eq(built.panels[0].y.n_names, 2);
	ck_assert_str_eq(built.panels[0].y.names[1], "gpu:1");
	ck_assert_double_eq(mark_of(series_of(0, "completed"), 0)->x2, 10e3);
	ck_assert_ptr_null(mark_of(series_of(0, "completed"), 0)->text);
	ck_assert_int_eq(mark_of(series_of(0, "paused"), 0)->trial, 2);
	ck_assert_int_eq(mark_of(series_of(0, "not ended"), 0)->trial, 3);
	ck_assert_double_eq(mark_of(series_of(0, "not ended"), 0)->x2, 100e3);
	const struct sw_plot_series *failed = series_of(0, "failed");
	ck_assert_uint_eq(failed->n, 2);
	ck_assert_str_eq(mark_of(failed, 0)->text, "oom");
	ck_assert_double_eq(mark_of(failed, 0)->y, .6);
	ck_assert_double_eq(mark_of(failed, 0)->y2, 1.4);
	ck_assert_str_eq(mark_of(failed, 1)->text, "lost");
	ck_assert_int_eq(mark_of(series_of(0, "pruned"), 0)->trial, 6);
	/* 60 s of 100, and 90 of 100. */
	ck_assert_note("busy for 75.0% of the time; the longest gap was 40 s, on cpu:0.");
	build_at(400e3, some, ROWS(some));
	ck_assert_note("the longest gap was 5 min, on gpu:1.");
}

TEST(timeline_counts_what_other_sweeps_had_of_the_slots)
{
	const struct sw_plot_run some[] = {
		{1, 0, 0, 10e3, SW_PLOT_STATE_COMPLETED, "", false},
		{0, 0, 10e3, 40e3, SW_PLOT_STATE_OPEN, "", true},
		{2, 0, 60e3, 100e3, SW_PLOT_STATE_COMPLETED, "", false},
	};

	build_at(100e3, some, ROWS(some));
	ck_assert_uint_eq(series_of(0, "other sweeps")->n, 1);
	ck_assert_double_eq(mark_of(series_of(0, "other sweeps"), 0)->x2, 40e3);
	ck_assert_note("busy for 80.0% of the time; the longest gap was 20 s, on cpu:0.");
	ck_assert_note("Of that, other sweeps had 30.0%.");
}

/* 10,000 runs of 9 ms, 1 ms apart, and an hour in which nothing ran. */
TEST(timeline_of_many_runs_keeps_gaps_and_failures)
{
	for (size_t i = 0; i < 20000; i++) {
		const double at = (double)(i % 10000) * 10 + (i % 10000 >= 5000 ? 3600e3 : 0);
		runs[i] = (struct sw_plot_run){(int64_t)i + 1,          i / 10000, at,   at + 9,
					       SW_PLOT_STATE_COMPLETED, "",        false};
	}
	runs[7].state = SW_PLOT_STATE_FAILED;
	build_at(4000e3, runs, ROWS(runs));
	ck_assert_note("drawn together");
	ck_assert_note("the longest gap was 60 min, on cpu:0.");
	ck_assert_ptr_null(series_of(0, "failed"));
	const struct sw_plot_series *done = series_of(0, "completed");
	ck_assert_double_eq(mark_of(done, 0)->x, 0);
	ck_assert_ptr_nonnull(strstr(mark_of(done, 0)->text, " runs, 1 failed"));
	size_t gaps = 0;
	for (size_t i = 0; i < done->n; i++)
		gaps += mark_of(done, i)->x == 3650e3;
	ck_assert_uint_ge(gaps, 2);
	for (size_t i = 0; i < done->n; i++)
		ck_assert_double_lt(mark_of(done, i)->x2 - mark_of(done, i)->x, 100e3);
	for (size_t i = 0; i < 5000; i += 4)
		runs[i].state = SW_PLOT_STATE_FAILED;
	build_at(4000e3, runs, ROWS(runs));
	ck_assert_double_eq(mark_of(series_of(0, "failed"), 0)->x, 0);
}

/* Many at once where nothing tells them apart: no endless search for a width. */
TEST(timeline_of_runs_at_one_moment_is_drawn)
{
	for (size_t i = 0; i < 20000; i++)
		runs[i] = (struct sw_plot_run){(int64_t)i + 1,          i / 10000, 5,    5,
					       SW_PLOT_STATE_COMPLETED, "",        false};
	build_at(100e3, runs, ROWS(runs));
	ck_assert_str_eq(mark_of(series_of(0, "completed"), 0)->text, "10000 runs, 0 failed");
}

/* The clock went back: a run that ended before it began. */
TEST(timeline_with_a_clock_that_went_back_is_never_less_than_busy)
{
	const struct sw_plot_run some[] = {
		{1, 0, 10e3, 20e3, SW_PLOT_STATE_COMPLETED, "", false},
		{2, 0, 90e3, 12e3, SW_PLOT_STATE_COMPLETED, "", false},
	};

	build_at(100e3, some, ROWS(some));
	ck_assert_note("busy for 12.5% of the time; the longest gap was 70 s");
}

RUN_TESTS(NULL, NULL)
