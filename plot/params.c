/* Trials by rank, and the ranges and axes of parameters. */
#include "plot/build.h"
#include <math.h>
#include <stdlib.h>

static int by_rising(const void *va, const void *vb)
{
	const struct sw_plot_rank *a = va, *b = vb;

	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	return (a->i > b->i) - (a->i < b->i);
}

static int by_falling(const void *va, const void *vb)
{
	const struct sw_plot_rank *a = va, *b = vb;

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return (a->i > b->i) - (a->i < b->i);
}

struct sw_plot_rank *sw_plot_ranked(struct sw_plot *p, const struct sw_plot_data *d, size_t *n)
{
	struct sw_plot_rank *r = sw_plot_scratch(p, d->n, sizeof *r);

	*n = 0;
	for (size_t i = 0; r != NULL && i < d->n; i++) {
		const struct sw_plot_trial *t = &d->trials[i];
		if (t->state != SW_PLOT_STATE_FAILED && isfinite(t->value))
			r[(*n)++] = (struct sw_plot_rank){i, t->value};
	}
	if (*n > 0)
		qsort(r, *n, sizeof *r, d->maximize ? by_falling : by_rising);
	return r;
}

double sw_plot_rank_of(const struct sw_plot_rank *ranked, size_t k, size_t n)
{
	while (k > 0 && ranked[k - 1].value == ranked[k].value)
		k--;
	return n > 1 ? 1 - (double)k / (double)(n - 1) : 1;
}

/* --- ranges --- */

struct sw_plot_span sw_plot_span_of(const struct sw_plot_data *d, size_t param,
				    const struct sw_plot_rank *ranked, size_t n)
{
	struct sw_plot_span s = {d->params[param].scale, INFINITY, -INFINITY};

	if (s.scale == SW_PLOT_CATEGORY)
		return (struct sw_plot_span){s.scale, -.5, (double)d->params[param].n_names - .5};
	for (size_t k = 0; k < n; k++) {
		const double v = d->trials[ranked[k].i].params[param];
		if (!isfinite(v) || (s.scale == SW_PLOT_LOG && v <= 0))
			continue;
		s.low = v < s.low ? v : s.low;
		s.high = v > s.high ? v : s.high;
	}
	if (s.scale == SW_PLOT_LOG && s.low <= s.high) {
		s.low = log(s.low);
		s.high = log(s.high);
	}
	return s;
}

double sw_plot_unit(const struct sw_plot_span *s, double v)
{
	if (!isfinite(v) || (s->scale == SW_PLOT_LOG && v <= 0))
		return NAN;
	if (!(s->low < s->high))
		return .5;
	return ((s->scale == SW_PLOT_LOG ? log(v) : v) - s->low) / (s->high - s->low);
}

double sw_plot_unit_value(const struct sw_plot_span *s, double unit)
{
	const double v = s->low + unit * (s->high - s->low);

	return s->scale == SW_PLOT_LOG ? exp(v) : v;
}

void sw_plot_param_axis(struct sw_plot *p, enum sw_plot_side side,
			const struct sw_plot_param *param)
{
	sw_plot_axis(p, side, param->name, param->scale);
	for (size_t i = 0; i < param->n_names; i++)
		sw_plot_name(p, side, param->names[i]);
}
