/*
 * How much each parameter matters, and so which are drawn where not all can be. By PED-ANOVA:
 * Watanabe, Bansal, Hutter, "PED-ANOVA: efficiently quantifying hyperparameter importance in
 * arbitrary subspaces", IJCAI 2023, algorithm 1. Where the best tenth of the trials has other
 * values of a parameter than all of them, it decides whether a trial is good: the Pearson
 * divergence of the two densities, which is the variance that the parameter alone causes. A
 * parameter that not all trials have counts as Baba, Ozaki, Watanabe, "Conditional PED-ANOVA", KDD
 * 2026, theorem 4.2, has it: a^2/b times the divergence among those that have it, which are a of
 * the best and b of all. That others lack it is the merit of what it hangs on.
 *
 * Densities are of a grid of 50 cells from the lowest value to the highest, by kernels with Scott's
 * width, with one trial's weight spread over all. Departures: both densities have the width of the
 * best trials' kernels, as two that are smoothed alike never differ by more than what they are of;
 * with a width each, a parameter of a few values seems to matter where there are many trials. Of a
 * category they are counts, which the kernels of the authors' code smooth more.
 */
#include "plot/build.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GRID     50
#define TOP_PART 10 /* the best of so many count as good */

/* P(X <= x) of a standard normal. */
static double normal(double x)
{
	return .5 * erfc(-x * M_SQRT1_2);
}

/* The cell in which the sum of counts first exceeds `want`. */
static double cell_at(const double *count, size_t cells, double want)
{
	double sum = 0;
	size_t i = 0;

	while (i + 1 < cells && (sum += count[i]) <= want)
		i++;
	return (double)i;
}

/* Scott's rule: Scott, "Multivariate density estimation", 1992, with the smaller of the deviation
 * and the middle half's width, in cells. At least so wide that nine tenths stay in the cell. */
static double kernel_width(const double *count, size_t cells, double n)
{
	double mean = 0, square = 0;

	for (size_t i = 0; i < cells; i++)
		mean += (double)i * count[i] / n;
	for (size_t i = 0; i < cells; i++)
		square += ((double)i - mean) * ((double)i - mean) * count[i];
	const double deviation = sqrt(square / fmax(1, n - 1));
	const double half = cell_at(count, cells, .75 * n) - cell_at(count, cells, .25 * n);
	return fmax(1.059 * fmin(half / 1.34, deviation) * pow(n, -.2), .5 / 1.64);
}

/* The density over the cells of count[cells], whose sum is n, n > 0: of kernels of this width, in
 * cells, or of the counts where it is 0. count becomes it. */
static void smooth(double *count, size_t cells, double n, double width)
{
	double below[2 * GRID + 1], density[GRID] = {0};

	if (width <= 0) {
		for (size_t i = 0; i < cells; i++)
			/* One trial's weight over all cells keeps each density above 0, where the
			 * divergence divides by it. */
			count[i] = (count[i] + 1 / (double)cells) / (n + 1);
		return;
	}
	for (size_t i = 0; i <= 2 * cells; i++)
		below[i] = normal(((double)i - (double)cells - .5) / width);
	/* A kernel is cut off at the ends of the grid and has weight 1 inside. */
	for (size_t at = 0; at < cells; at++) {
		if (count[at] == 0)
			continue;
		const double *edge = &below[cells - at];
		const double inside = edge[cells] - edge[0];
		for (size_t i = 0; i < cells; i++)
			density[i] += count[at] * (edge[i + 1] - edge[i]) / inside;
	}
	for (size_t i = 0; i < cells; i++)
		count[i] = (density[i] + 1 / (double)cells) / (n + 1);
}

/* A parameter's trials on its grid: of the best, and of all. */
struct grid {
	size_t cells;
	double *top, *all; /* [cells]; all owns both */
	double n_top, n_all;
};

static void count_trial(struct grid *g, const struct sw_plot_span *span, double v, bool top)
{
	const double unit = sw_plot_unit(span, v);

	if (!(unit >= 0 && unit <= 1))
		return;
	const size_t at = (size_t)(unit * (double)g->cells);
	const size_t cell = at < g->cells ? at : g->cells - 1;
	g->all[cell]++;
	g->n_all++;
	g->top[cell] += top;
	g->n_top += top;
}

/* top, all: of how many trials. */
static double weigh_one(struct grid *g, bool category, double top, double all)
{
	const double a = g->n_top / top, b = g->n_all / all;
	double divergence = 0;

	if (g->n_all < 2 || g->n_top < 1)
		return 0;
	const double width = category ? 0 : kernel_width(g->top, g->cells, g->n_top);
	/* The best trials' width for both (see above); it is read from counts that smooth() writes
	 * over. */
	smooth(g->all, g->cells, g->n_all, width);
	smooth(g->top, g->cells, g->n_top, width);
	for (size_t i = 0; i < g->cells; i++) {
		const double ratio = g->top[i] / g->all[i] - 1;
		divergence += g->all[i] * ratio * ratio;
	}
	return a * a / b * divergence;
}

/* A span and a grid for each varied parameter. Returns how many. */
static size_t prepare(struct sw_plot *p, const struct sw_plot_data *d, struct sw_plot_span *span,
		      struct grid *grid)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n_params; i++) {
		const struct sw_plot_param *param = &d->params[i];
		const size_t cells = param->scale == SW_PLOT_CATEGORY ? param->n_names : GRID;
		if (!param->varied || cells == 0)
			continue;
		grid[n].cells = cells;
		grid[n].all = sw_plot_scratch(p, 2 * cells, sizeof *grid[n].all);
		if (grid[n].all == NULL)
			break;
		grid[n].top = grid[n].all + cells;
		span[n++].param = i;
	}
	return n;
}

/* Trial by trial, as each one's parameters lie together. Those as good as the last of the best
 * tenth are among the best. Returns how many these are. */
static size_t count_trials(const struct sw_plot_data *d, const struct sw_plot_span *span,
			   struct grid *grid, size_t n, double last)
{
	size_t n_top = 0;

	for (size_t i = 0; i < d->n; i++) {
		const struct sw_plot_trial *t = &d->trials[i];
		const bool top = !sw_plot_better(d, last, t->value);
		if (!sw_plot_compares(t))
			continue;
		n_top += top;
		for (size_t k = 0; k < n; k++)
			count_trial(&grid[k], &span[k], t->params[span[k].param], top);
	}
	return n_top;
}

size_t sw_plot_weigh(struct sw_plot *p, const struct sw_plot_data *d, double *weight)
{
	size_t n, n_grids = 0;
	double sum = 0;
	struct sw_plot_rank *const ranked = sw_plot_ranked(p, d, &n);
	struct sw_plot_span *const span = sw_plot_scratch(p, d->n_params, sizeof *span);
	struct grid *const grid = sw_plot_scratch(p, d->n_params, sizeof *grid);

	memset(weight, 0, d->n_params * sizeof *weight);
	if (n == 0 || span == NULL || grid == NULL)
		goto out;
	n_grids = prepare(p, d, span, grid);
	sw_plot_spans(d, span, n_grids);
	const size_t n_top = count_trials(d, span, grid, n_grids, ranked[(n - 1) / TOP_PART].value);
	for (size_t k = 0; k < n_grids; k++) {
		weight[span[k].param] = weigh_one(&grid[k], span[k].scale == SW_PLOT_CATEGORY,
						  (double)n_top, (double)n);
		sum += weight[span[k].param];
	}
	for (size_t i = 0; sum > 0 && i < d->n_params; i++)
		weight[i] /= sum;
out:
	for (size_t k = 0; k < n_grids; k++)
		free(grid[k].all);
	free(grid);
	free(span);
	free(ranked);
	return n;
}

/* --- which are drawn --- */

/* Of the varied parameters in out[n] the `most` heaviest, the heaviest first. */
static void take_heaviest(const double *weight, size_t *out, size_t n, size_t most)
{
	for (size_t k = 0; k < most; k++) {
		size_t heaviest = k;
		for (size_t i = k + 1; i < n; i++)
			if (weight[out[i]] > weight[out[heaviest]])
				heaviest = i;
		const size_t param = out[heaviest];
		memmove(&out[k + 1], &out[k], (heaviest - k) * sizeof *out);
		out[k] = param;
	}
}

size_t sw_plot_shown(struct sw_plot *p, const struct sw_plot_data *d, const size_t *named,
		     size_t n_named, size_t most, size_t *out)
{
	size_t n = 0;

	if (n_named > 0) {
		n = n_named < most ? n_named : most;
		memcpy(out, named, n * sizeof *out);
		return n;
	}
	size_t *const varied = sw_plot_scratch(p, d->n_params, sizeof *varied);
	double *const weight = sw_plot_scratch(p, d->n_params, sizeof *weight);
	if (varied == NULL || weight == NULL)
		goto out;
	for (size_t i = 0; i < d->n_params; i++)
		if (d->params[i].varied)
			varied[n++] = i;
	if (n == 0)
		sw_plot_note(p, "No parameter has two values yet.");
	if (n > most) {
		(void)sw_plot_weigh(p, d, weight);
		take_heaviest(weight, varied, n, most);
		sw_plot_note(p, "Of %zu varied parameters the %zu that matter most are drawn.", n,
			     most);
		n = most;
	}
	memcpy(out, varied, n * sizeof *out);
out:
	free(varied);
	free(weight);
	return n;
}
