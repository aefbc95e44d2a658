/* Each trial's best value in their order, and the best so far; of several sweeps the latter
 * alone. */
#include "plot/build.h"
#include <math.h>
#include <stdio.h>

static const struct {
	enum sw_plot_state state;
	int role;
	const char *name;
} groups[] = {{SW_PLOT_STATE_COMPLETED, SW_PLOT_PLAIN, "completed"},
	      {SW_PLOT_STATE_PRUNED, SW_PLOT_PRUNED, "pruned"},
	      {SW_PLOT_STATE_FAILED, SW_PLOT_FAILED, "failed"},
	      {SW_PLOT_STATE_OPEN, SW_PLOT_RUNNING, "running"}};
#define GROUPS_N (sizeof groups / sizeof groups[0])

/* Draws every step-th trial of the state. */
static void draw_state(struct sw_plot *p, const struct sw_plot_data *d, size_t group, size_t step)
{
	bool begun = false;

	for (size_t i = 0; i < d->n; i += step) {
		const struct sw_plot_trial *t = &d->trials[i];
		if (t->state != groups[group].state || isnan(t->value))
			continue;
		if (!begun)
			sw_plot_series(p, groups[group].name, SW_PLOT_DOTS, groups[group].role);
		begun = true;
		sw_plot_at(p, (double)t->trial, t->value, NAN, t->trial);
	}
}

/* A mark where the best changes, and one at the last trial: 1 + log(n) of them where trials come
 * in no order of merit. */
static void draw_best(struct sw_plot *p, const struct sw_plot_data *d, const char *name, int role,
		      size_t room)
{
	double best = NAN;
	size_t drawn = 0;

	sw_plot_series(p, name, SW_PLOT_STEPS, role);
	for (size_t i = 0; i < d->n && drawn + 1 < room; i++) {
		const struct sw_plot_trial *t = &d->trials[i];
		if (!sw_plot_better(d, t->value, best))
			continue;
		best = t->value;
		sw_plot_at(p, (double)t->trial, best, NAN, t->trial);
		drawn++;
	}
	if (drawn > 0)
		sw_plot_at(p, (double)d->trials[d->n - 1].trial, best, NAN, 0);
}

SW_PLOT_BUILDER(history)
{
	const size_t room = SW_PLOT_MARKS / 2;
	const size_t step = d->n > room ? (d->n + room - 1) / room : 1;

	(void)named;
	(void)n_named;
	sw_plot_panel(p, "");
	sw_plot_axis(p, SW_PLOT_X, "trial", SW_PLOT_LINEAR);
	sw_plot_axis(p, SW_PLOT_Y, d->metric, SW_PLOT_LINEAR);
	for (size_t g = 0; n == 1 && g < GROUPS_N; g++)
		draw_state(p, d, g, step);
	for (size_t i = 0; i < n; i++) {
		char name[160];
		(void)snprintf(name, sizeof name, "%lld %.120s", (long long)d[i].sweep, d[i].name);
		draw_best(p, &d[i], n == 1 ? "best so far" : name,
			  n == 1 ? SW_PLOT_BEST : SW_PLOT_FIRST + (int)i, room / n);
	}
	if (n == 1 && step > 1)
		sw_plot_note(p, "Of %zu trials one in %zu is drawn; the best so far is of all.",
			     d->n, step);
	sw_plot_fit(p);
}
