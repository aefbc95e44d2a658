/* The best so far of sweeps that have one name, as those of several seeds: a line for their median,
 * a band from the lowest to the highest. */
#include "plot/build.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM (SW_PLOT_MARKS / 4) /* places of all names: a mark for the line, one for the band */

struct named {
	const struct sw_plot_data **of; /* [n]: the sweeps of the name */
	double *best, *sorted;          /* [n]; each one's best so far */
	size_t n, longest;              /* trials */
};

struct place {
	double x, low, median, high;
};

/* After so many trials; a sweep that has fewer keeps its best. False: nothing has changed. */
static bool advance(struct named *g, size_t trials, struct place *at)
{
	size_t n = 0;
	bool any = false;

	for (size_t k = 0; k < g->n; k++) {
		if (trials <= g->of[k]->n)
			any |= sw_plot_improves(g->of[k], trials - 1, &g->best[k]);
		if (isfinite(g->best[k]))
			g->sorted[n++] = g->best[k];
	}
	if (!any || n == 0)
		return false;
	sw_plot_sort(g->sorted, n);
	*at = (struct place){(double)trials, g->sorted[0],
			     g->sorted[(n - 1) / 2] / 2 + g->sorted[n / 2] / 2, g->sorted[n - 1]};
	return true;
}

/* The places where something changes, at most `room` of them, and the end. */
static void draw_named(struct sw_plot *p, struct named *g, int role, size_t room)
{
	struct place *const at = sw_plot_scratch(p, g->longest + 1, sizeof *at);
	char name[SW_PLOT_SWEEP_NAME];
	size_t n = 0;

	for (size_t i = 1; at != NULL && i <= g->longest; i++)
		n += advance(g, i, &at[n]);
	if (n > 0) {
		at[n] = at[n - 1];
		at[n].x = (double)g->longest;
	}
	const size_t step = 1 + n / room;
	/* The band first, so that the line lies on it. */
	sw_plot_series(p, "", SW_PLOT_BARS, role);
	for (size_t i = 0; i < n; i += step)
		sw_plot_mark(p, (struct sw_plot_mark){at[i].x, at[i].low,
						      at[i + step < n ? i + step : n].x, at[i].high,
						      NAN, 0, NULL});
	(void)snprintf(name, sizeof name, "%.120s (%zu sweep%s)", g->of[0]->name, g->n,
		       g->n == 1 ? "" : "s");
	sw_plot_series(p, name, SW_PLOT_STEPS, role);
	for (size_t i = 0; i < n; i += step)
		sw_plot_at(p, at[i].x, at[i].median, NAN, 0);
	if (n > 0)
		sw_plot_at(p, at[n].x, at[n].median, NAN, 0);
	free(at);
}

/* The sweeps of the name of d[first]; false: an earlier one has it. */
static bool find_named(const struct sw_plot_data *d, size_t n, size_t first, struct named *g)
{
	g->n = g->longest = 0;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(d[i].name, d[first].name) != 0)
			continue;
		if (i < first)
			return false;
		g->best[g->n] = NAN;
		g->of[g->n++] = &d[i];
		g->longest = d[i].n > g->longest ? d[i].n : g->longest;
	}
	return true;
}

void sw_plot_by_name(struct sw_plot *p, const struct sw_plot_data *d, size_t n)
{
	struct named g = {.of = sw_plot_scratch(p, n, sizeof(void *)),
			  .best = sw_plot_scratch(p, n, sizeof(double)),
			  .sorted = sw_plot_scratch(p, n, sizeof(double))};
	int role = SW_PLOT_FIRST;

	for (size_t i = 0; p->failed == SW_OK && i < n; i++)
		if (find_named(d, n, i, &g))
			draw_named(p, &g, role++, ROOM / n);
	sw_plot_note(p,
		     "Lines are the medians of the best so far of sweeps of one name, bands their "
		     "ranges; a sweep with fewer trials keeps its best.");
	free((void *)g.of);
	free(g.best);
	free(g.sorted);
}
