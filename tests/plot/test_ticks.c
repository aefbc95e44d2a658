/* tests/plot/test_ticks.c — which numbers stand beside an axis. */
#include "plot/ticks.h"
#include "tests/run.h"
#include <math.h>

static double rune_width(uint32_t rune)
{
	(void)rune;
	return 1;
}

static const struct {
	enum sw_plot_scale scale;
	double min, max, length;
	const char *ticks;
} axes[] = {
	{SW_PLOT_LINEAR, 0, 1, 60, "0.0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1.0"},
	{SW_PLOT_LINEAR, 0, 1, 30, "0.0 0.2 0.4 0.6 0.8 1.0"},
	{SW_PLOT_LINEAR, 0, 1, 1, "0.0"},
	{SW_PLOT_LINEAR, -30, 110, 60, "-20 0 20 40 60 80 100"},
	{SW_PLOT_LINEAR, .912340, .912345, 60, "0.912341 0.912342 0.912343 0.912344 0.912345"},
	{SW_PLOT_LINEAR, -3e8, 4e8, 60, "-3e8 -2e8 -1e8 0 1e8 2e8 3e8 4e8"},
	{SW_PLOT_LINEAR, 1e-9, 5e-9, 40, "1e-9 2e-9 3e-9 4e-9 5e-9"},
	{SW_PLOT_LINEAR, 0, 100000, 60, "0 20000 40000 60000 80000 100000"},
	{SW_PLOT_LINEAR, 1, 1 + 3e-16, 90, "1.0000000000000000 1.0000000000000002"},
	{SW_PLOT_LINEAR, -1e308, 1e308, 60, ""},
	{SW_PLOT_LOG, 1e-5, 1e-1, 60, "1e-5 0.0001 0.001 0.01 0.1"},
	{SW_PLOT_LOG, .002, .08, 60, "0.002 0.005 0.01 0.02 0.05"},
	{SW_PLOT_LOG, 3, 4, 30, "3.0 3.2 3.4 3.6 3.8 4.0"},
	{SW_PLOT_LOG, 1e-300, 1e300, 60, "1e-300 1e-200 1e-100 1 1e100 1e200 1e300"},
	{SW_PLOT_LOG, -1, 4, 60, ""},
	{SW_PLOT_TIME, 1.79e12, 1.79e12 + 4e3, 60, "14:13:20 14:13:21 14:13:22 14:13:23 14:13:24"},
	{SW_PLOT_TIME, 1.79e12, 1.79e12 + 4e6, 60, "14:20 14:30 14:40 14:50 15:00 15:10 15:20"},
	{SW_PLOT_TIME, 1.79e12, 1.79e12 + 1e8, 60,
	 "15:00 18:00 21:00 09-22 03:00 06:00 09:00 12:00 15:00 18:00"},
	{SW_PLOT_TIME, -1e300, 1e300, 99, "-8.64e+299 -4.32e+299 01-01 4.32e+299 8.64e+299"},
};

static void check_ticks(int i, double mark, const char *want)
{
	static const struct sw_plot_room room = {rune_width, 20, 1};
	struct sw_plot_ticks t;
	struct sw_plot p;
	char got[400] = "";

	sw_plot_init(&p, "", "");
	sw_plot_panel(&p, "x", axes[i].scale, "", SW_PLOT_LINEAR);
	sw_plot_range(&p, SW_PLOT_X, axes[i].min, axes[i].max);
	sw_plot_series(&p, "", SW_PLOT_DOTS, SW_PLOT_PLAIN);
	sw_plot_at(&p, mark, 0, NAN, 0);
	sw_plot_ticks(&p, p.panels, SW_PLOT_X, axes[i].length, &room, &t);
	for (size_t k = 0; k < t.n; k++) {
		const double place = sw_plot_place(&p.panels[0].x, t.at[k]);
		ck_assert(place > -1e-9 && place < 1 + 1e-9);
		(void)snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s",
			       k > 0 ? " " : "", t.text[k]);
	}
	ck_assert_str_eq(got, want);
	sw_plot_fini(&p);
}

TEST_ROWS(ticks_are_round_numbers_that_have_room, axes)
{
	check_ticks(_i, .5, axes[_i].ticks);
}

/* There is no trial 0.5. */
TEST(where_all_marks_are_whole_ticks_are_too)
{
	check_ticks(0, 1, "0 1");
}

RUN_TESTS(NULL, NULL)
