/* Trials by rank, and the ranges of parameters. */
#include "plot/build.h"
#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	const struct sw_plot_rank *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return (x->i > y->i) - (x->i < y->i);
}

struct sw_plot_rank *sw_plot_ranked(struct sw_plot *p, const struct sw_plot_data *d, size_t *n)
{
	struct sw_plot_rank *const r = sw_plot_scratch(p, d->n, sizeof *r);
	const double sign = d->maximize ? -1 : 1;

	*n = 0;
	for (size_t i = 0; r != NULL && i < d->n; i++)
		if (sw_plot_compares(&d->trials[i]))
			r[(*n)++] = (struct sw_plot_rank){i, sign * d->trials[i].value, 0};
	if (r != NULL)
		qsort(r, *n, sizeof *r, by_value);
	for (size_t k = 0; k < *n; k++) {
		/* The sign was for the sort alone. */
		r[k].value *= sign;
		r[k].rank = k > 0 && r[k].value == r[k - 1].value ? r[k - 1].rank
			    : *n > 1                              ? 1 - (double)k / (double)(*n - 1)
								  : 1;
	}
	return r;
}

/* --- ranges --- */

void sw_plot_spans(const struct sw_plot_data *d, struct sw_plot_span *span, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		span[k].scale = d->params[span[k].param].scale;
		span[k].low = INFINITY;
		span[k].high = -INFINITY;
	}
	/* Trial by trial: each one's parameters lie together. */
	for (size_t i = 0; i < d->n; i++) {
		if (!sw_plot_compares(&d->trials[i]))
			continue;
		for (struct sw_plot_span *s = span; s < span + n; s++) {
			const double v = d->trials[i].params[s->param];
			if (!sw_plot_has_place(s->scale, v))
				continue;
			s->low = v < s->low ? v : s->low;
			s->high = v > s->high ? v : s->high;
		}
	}
	for (struct sw_plot_span *s = span; s < span + n; s++) {
		if (s->scale == SW_PLOT_CATEGORY) {
			/* A category fills its cell from half before to half behind it, as on an
			 * axis. */
			s->low = -.5;
			s->high = (double)d->params[s->param].n_names - .5;
		} else if (s->scale == SW_PLOT_LOG && s->low <= s->high) {
			s->low = log(s->low);
			s->high = log(s->high);
		}
	}
}

double sw_plot_unit(const struct sw_plot_span *s, double v)
{
	if (!sw_plot_has_place(s->scale, v))
		return NAN;
	if (!(s->low < s->high))
		return .5;
	/* Halves, as the difference of two doubles may overflow. */
	return ((s->scale == SW_PLOT_LOG ? log(v) : v) / 2 - s->low / 2) /
	       (s->high / 2 - s->low / 2);
}

double sw_plot_unit_value(const struct sw_plot_span *s, double unit)
{
	const double v = (1 - unit) * s->low + unit * s->high;

	return s->scale == SW_PLOT_LOG ? exp(v) : v;
}

void sw_plot_param_names(struct sw_plot *p, enum sw_plot_side side,
			 const struct sw_plot_param *param)
{
	for (size_t i = 0; i < param->n_names; i++)
		sw_plot_name(p, side, param->names[i]);
}
