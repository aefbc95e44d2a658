/* How trials look, the same in all plots. */
#include "plot/build.h"
#include <math.h>
#include <stdio.h>

const struct sw_plot_look sw_plot_looks[SW_PLOT_LOOKS] = {
	{SW_PLOT_STATE_PRUNED, SW_PLOT_PRUNED, "pruned"},
	{SW_PLOT_STATE_FAILED, SW_PLOT_FAILED, "failed"},
	{SW_PLOT_STATE_OPEN, SW_PLOT_RUNNING, "not ended"},
	{SW_PLOT_STATE_COMPLETED, SW_PLOT_PLAIN, "completed"},
};

size_t sw_plot_take(struct sw_plot *p, const struct sw_plot_data *d, sw_plot_fits *fits,
		    const void *arg, size_t most, const char *what, size_t *out)
{
	size_t all;
	const size_t n = sw_plot_pick(d, fits, arg, SW_PLOT_TOP, most, out, &all);

	if (n == 0)
		sw_plot_note(p, "No trial has %s yet.", what);
	if (n < all)
		sw_plot_note(p,
			     "Of %zu trials %zu are drawn: the best %d and an even spread of the "
			     "others.",
			     all, n, SW_PLOT_TOP);
	return n;
}

void sw_plot_dots(struct sw_plot *p, const struct sw_plot_data *d, const size_t *pick, size_t n,
		  sw_plot_mark_of *mark_of, const void *arg)
{
	for (size_t look = 0; look < SW_PLOT_LOOKS; look++) {
		const struct sw_plot_look *l = &sw_plot_looks[look];
		bool begun = false;
		for (size_t k = 0; k < n; k++) {
			const struct sw_plot_trial *t = &d->trials[pick[k]];
			struct sw_plot_mark m = {NAN, NAN, NAN, NAN, NAN, t->trial, NULL};
			if (t->state != l->state || !mark_of(d, pick[k], arg, &m))
				continue;
			if (!begun)
				sw_plot_series(p, l->name, SW_PLOT_DOTS, l->role);
			begun = true;
			sw_plot_mark(p, m);
		}
	}
}

void sw_plot_best_dot(struct sw_plot *p, const struct sw_plot_data *d, const size_t *pick, size_t n,
		      sw_plot_mark_of *mark_of, const void *arg)
{
	struct sw_plot_mark m = {NAN, NAN, NAN, NAN, NAN, 0, NULL};

	if (n == 0 || d->trials[pick[0]].state == SW_PLOT_STATE_FAILED ||
	    !mark_of(d, pick[0], arg, &m))
		return;
	m.trial = d->trials[pick[0]].trial;
	sw_plot_series(p, "best", SW_PLOT_DOTS, SW_PLOT_BEST);
	sw_plot_mark(p, m);
}

void sw_plot_sweep_name(const struct sw_plot_data *d, char out[SW_PLOT_SWEEP_NAME])
{
	(void)snprintf(out, SW_PLOT_SWEEP_NAME, "%lld %.120s", (long long)d->sweep, d->name);
}
