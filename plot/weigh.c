/*
 * How much each parameter matters, by PED-ANOVA: Watanabe, Bansal, Hutter, "PED-ANOVA: efficiently
 * quantifying hyperparameter importance in arbitrary subspaces", IJCAI 2023, algorithm 1. Where the
 * best tenth of the trials has other values of a parameter than all of them, it decides whether a
 * trial is good: the Pearson divergence of the two densities, which is the variance that the
 * parameter alone causes. A parameter that not all trials have counts as Baba, Ozaki, Watanabe,
 * "Conditional PED-ANOVA", KDD 2026, theorem 4.2, has it: a^2/b times the divergence among those
 * that have it, which are a of the best and b of all. That others lack it is the merit of what it
 * hangs on.
 *
 * Densities are of a grid of 50 cells from the lowest value to the highest, by kernels with Scott's
 * width (as in section 4 there), with one trial's weight spread over all. Departure: of a category
 * they are counts, with that one trial's weight alone, which the kernels of the authors' code smooth
 * more.
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

/* The density over the cells of count[cells], whose sum is n, n > 0. count becomes it. */
static void smooth(double *count, size_t cells, double n, bool category)
{
	double below[2 * GRID + 1], density[GRID] = {0};

	if (category) {
		for (size_t i = 0; i < cells; i++)
			count[i] = (count[i] + 1 / (double)cells) / (n + 1);
		return;
	}
	const double width = kernel_width(count, cells, n);
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

/* Counts the ranked trials in the cells; returns how many have the parameter, *top: of the first
 * n_top. */
static double count_cells(const struct sw_plot_data *d, size_t param,
			  const struct sw_plot_rank *ranked, size_t n, size_t n_top, size_t cells,
			  double *all_count, double *top_count, double *top)
{
	const struct sw_plot_span span = sw_plot_span_of(d, param, ranked, n);
	double all = 0;

	*top = 0;
	for (size_t k = 0; k < n; k++) {
		const double unit = sw_plot_unit(&span, d->trials[ranked[k].i].params[param]);
		if (!(unit >= 0 && unit <= 1))
			continue;
		const size_t cell = (size_t)fmin(unit * (double)cells, (double)cells - 1);
		all_count[cell]++;
		all++;
		if (k < n_top) {
			top_count[cell]++;
			(*top)++;
		}
	}
	return all;
}

/* count[2 * cells], of zeros. */
static double weigh_one(const struct sw_plot_data *d, size_t param,
			const struct sw_plot_rank *ranked, size_t n, size_t n_top, double *count,
			size_t cells)
{
	const bool category = d->params[param].scale == SW_PLOT_CATEGORY;
	double *const in_top = count + cells, top, divergence = 0;
	const double all = count_cells(d, param, ranked, n, n_top, cells, count, in_top, &top);
	const double a = top / (double)n_top, b = all / (double)n;

	if (all < 2 || top < 1)
		return 0;
	smooth(count, cells, all, category);
	smooth(in_top, cells, top, category);
	for (size_t i = 0; i < cells; i++) {
		const double ratio = in_top[i] / count[i] - 1;
		divergence += count[i] * ratio * ratio;
	}
	return a * a / b * divergence;
}

size_t sw_plot_weigh(struct sw_plot *p, const struct sw_plot_data *d, double *weight)
{
	size_t n = 0, n_top, cells = GRID;
	double sum = 0;
	struct sw_plot_rank *const ranked = sw_plot_ranked(p, d, &n);

	memset(weight, 0, d->n_params * sizeof *weight);
	for (size_t i = 0; i < d->n_params; i++)
		cells = d->params[i].n_names > cells ? d->params[i].n_names : cells;
	double *const count = sw_plot_scratch(p, 2 * cells, sizeof *count);
	/* Those as good as the last of the best tenth are in it. */
	n_top = (n + TOP_PART - 1) / TOP_PART;
	while (n_top > 0 && n_top < n && ranked[n_top].value == ranked[n_top - 1].value)
		n_top++;
	for (size_t i = 0; count != NULL && n_top < n && i < d->n_params; i++) {
		const struct sw_plot_param *param = &d->params[i];
		cells = param->scale == SW_PLOT_CATEGORY ? param->n_names : GRID;
		if (!param->varied || cells == 0)
			continue;
		memset(count, 0, 2 * cells * sizeof *count);
		weight[i] = weigh_one(d, i, ranked, n, n_top, count, cells);
		sum += weight[i];
	}
	for (size_t i = 0; i < d->n_params && sum > 0; i++)
		weight[i] /= sum;
	free(count);
	free(ranked);
	return n;
}
