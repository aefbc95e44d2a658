/* Which trials are drawn where not all can be, and how they look: the same in all plots. */
#include "plot/build.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
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

bool sw_plot_improves(const struct sw_plot_data *d, size_t i, double *best)
{
	const struct sw_plot_trial *t = &d->trials[i];

	if (t->state == SW_PLOT_STATE_FAILED || !sw_plot_better(d, t->value, *best))
		return false;
	*best = t->value;
	return true;
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

size_t sw_plot_pick(const struct sw_plot_data *d, sw_plot_mark_of *mark_of, const void *arg,
		    size_t top, size_t most, size_t *out, size_t *all)
{
	size_t n_best = 0, others, room, seen = 0, n;
	struct sw_plot_mark m;

	assert(top < most);
	*all = 0;
	for (size_t i = 0; i < d->n; i++) {
		if (!mark_of(d, i, arg, &m))
			continue;
		(*all)++;
		if (top > 0)
			keep(d, i, out, &n_best, top);
	}
	others = *all - n_best;
	room = others < most - n_best ? others : most - n_best;
	n = n_best;
	for (size_t i = 0; i < d->n && n < n_best + room; i++) {
		/* Not behind the last of the best: it is one of them, and stands in out already. */
		if (!mark_of(d, i, arg, &m) || (n_best > 0 && !before(d, out[n_best - 1], i)))
			continue;
		if (seen++ == sw_plot_spread(n - n_best, room, others))
			out[n++] = i;
	}
	return n;
}

bool sw_plot_has_curve(const struct sw_plot_data *d, size_t i, const void *arg,
		       struct sw_plot_mark *m)
{
	(void)arg;
	(void)m;
	return isfinite(d->trials[i].value) && isfinite(d->trials[i].step);
}

size_t sw_plot_chosen(const struct sw_plot_data *d, size_t *out)
{
	size_t all;

	return sw_plot_pick(d, sw_plot_has_curve, NULL, SW_PLOT_TOP, SW_PLOT_CURVES, out, &all);
}

const struct sw_plot_look sw_plot_looks[SW_PLOT_LOOKS] = {
	{SW_PLOT_STATE_PRUNED, SW_PLOT_PRUNED, "pruned"},
	{SW_PLOT_STATE_FAILED, SW_PLOT_FAILED, "failed"},
	{SW_PLOT_STATE_OPEN, SW_PLOT_RUNNING, "not ended"},
	{SW_PLOT_STATE_COMPLETED, SW_PLOT_PLAIN, "completed"},
};

size_t sw_plot_take(struct sw_plot *p, const struct sw_plot_data *d, sw_plot_mark_of *mark_of,
		    const void *arg, size_t most, const char *nouns, const char *what, size_t *out)
{
	size_t all;
	const size_t n = sw_plot_pick(d, mark_of, arg, SW_PLOT_TOP, most, out, &all);

	if (n == 0)
		sw_plot_note(p, "No trial has %s yet.", what);
	if (n < all)
		sw_plot_note(p,
			     "Of %zu %s %zu are drawn: the best %d and an even spread of the "
			     "others.",
			     all, nouns, n, SW_PLOT_TOP);
	return n;
}

void sw_plot_dots(struct sw_plot *p, const struct sw_plot_data *d, const size_t *pick, size_t n,
		  sw_plot_mark_of *mark_of, const void *arg)
{
	/* In this order completed ones lie on top of pruned ones, which are many. */
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
