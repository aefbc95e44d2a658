/* Which trials are drawn where not all can be. */
#include "plot/build.h"
#include "plot/kinds.h"
#include <assert.h>
#include <math.h>
#include <string.h>

/* a before b: by value, the earlier of equal ones; a failed trial is behind all others. */
static bool before(const struct sw_plot_data *d, size_t a, size_t b)
{
	const struct sw_plot_trial *x = &d->trials[a], *y = &d->trials[b];
	const bool x_failed = x->state == SW_PLOT_STATE_FAILED;

	if (x_failed != (y->state == SW_PLOT_STATE_FAILED))
		return !x_failed;
	if (sw_plot_better(d, x->value, y->value))
		return true;
	return a < b && !sw_plot_better(d, y->value, x->value);
}

/* Keeps the best `top` seen so far in their order: by insertion, as few get in. */
static void keep(const struct sw_plot_data *d, size_t i, size_t *best, size_t *n, size_t top)
{
	size_t at = *n;

	if (*n == top && !before(d, i, best[top - 1]))
		return;
	while (at > 0 && before(d, i, best[at - 1]))
		at--;
	if (*n < top)
		(*n)++;
	memmove(&best[at + 1], &best[at], (*n - 1 - at) * sizeof *best);
	best[at] = i;
}

size_t sw_plot_pick(const struct sw_plot_data *d, sw_plot_fits *fits, const void *arg, size_t top,
		    size_t most, size_t *out, size_t *all)
{
	size_t n_best = 0, others, room, seen = 0, n;

	assert(top < most);
	*all = 0;
	for (size_t i = 0; i < d->n; i++) {
		if (!fits(d, i, arg))
			continue;
		(*all)++;
		if (top > 0)
			keep(d, i, out, &n_best, top);
	}
	others = *all - n_best;
	room = others < most - n_best ? others : most - n_best;
	n = n_best;
	for (size_t i = 0; i < d->n && n < n_best + room; i++) {
		if (!fits(d, i, arg) || (n_best > 0 && !before(d, out[n_best - 1], i)))
			continue;
		const size_t k = n - n_best;
		if (seen++ == (room < others ? sw_plot_spread(k, room, others) : k))
			out[n++] = i;
	}
	return n;
}

/* It has reported a value at some step. */
static bool has_curve(const struct sw_plot_data *d, size_t i, const void *arg)
{
	(void)arg;
	return isfinite(d->trials[i].value) && isfinite(d->trials[i].step);
}

size_t sw_plot_chosen(const struct sw_plot_data *d, size_t *out)
{
	size_t all;

	return sw_plot_pick(d, has_curve, NULL, SW_PLOT_TOP, SW_PLOT_CURVES, out, &all);
}
