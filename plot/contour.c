/*
 * How good trials are over two parameters: a map, and the trials.
 *
 * A cell of the map has the mean rank of the trials near it, by inverse distance weights: Shepard,
 * "A two-dimensional interpolation function for irregularly-spaced data", ACM 1968; with the weight
 * ((R - r) / (R r))^2, which ends at R, of Franke and Nielson, "Smooth interpolation of large sets
 * of scattered data", 1980. Trials of one cell count as one point, with their number as weight.
 * Ranks and not values, as one very bad trial would leave a map of one colour. A cell without a
 * trial within R has no colour: nothing is known there.
 */
#include "plot/build.h"
#include <math.h>
#include <stdlib.h>

#define GRID       32
#define CELLS_MAX  1600
#define TRIALS_MAX 1000
#define REACH      .25 /* R, as a part of an axis */

struct map {
	size_t cells[2];
	struct sw_plot_span span[2];
	double *sum, *count; /* [cells[1]][cells[0]] */
};

static bool dot(const struct sw_plot_data *d, size_t i, const void *arg, struct sw_plot_mark *m)
{
	const struct map *map = arg;

	m->x = d->trials[i].params[map->span[0].param];
	m->y = d->trials[i].params[map->span[1].param];
	return isfinite(d->trials[i].value) && sw_plot_has_place(map->span[0].scale, m->x) &&
	       sw_plot_has_place(map->span[1].scale, m->y);
}

static size_t cell_of(const struct map *map, size_t side, double v)
{
	const double unit = sw_plot_unit(&map->span[side], v), cells = (double)map->cells[side];

	return (size_t)fmax(0, fmin(unit * cells, cells - 1));
}

static void add_trials(struct map *map, const struct sw_plot_data *d,
		       const struct sw_plot_rank *ranked, size_t n, double *rank_of)
{
	/* By trial, so that the pass below can run over the trials and still know each one's
	 * rank. */
	for (size_t k = 0; k < n; k++)
		rank_of[ranked[k].i] = ranked[k].rank;
	/* In their order, which is that in memory. */
	for (size_t i = 0; i < d->n; i++) {
		struct sw_plot_mark m;
		if (!sw_plot_compares(&d->trials[i]) || !dot(d, i, map, &m))
			continue;
		const size_t cell = cell_of(map, 1, m.y) * map->cells[0] + cell_of(map, 0, m.x);
		map->sum[cell] += rank_of[i];
		map->count[cell]++;
	}
}

/* The distance along one side, of cells so many apart. Categories are not near one another. */
static double distance(const struct map *map, size_t side, size_t a, size_t b)
{
	const double apart = fabs((double)a - (double)b);

	if (map->span[side].scale == SW_PLOT_CATEGORY)
		/* Two is beyond R, so no category colours another. */
		return a == b ? 0 : 2;
	return apart / (double)map->cells[side];
}

/* The colour of a cell; NaN: no trial is near. */
static double colour_of(const struct map *map, size_t x, size_t y)
{
	const size_t rx = (size_t)(REACH * GRID), ry = rx;
	double sum = 0, weights = 0;

	for (size_t j = y > ry ? y - ry : 0; j <= y + ry && j < map->cells[1]; j++) {
		for (size_t i = x > rx ? x - rx : 0; i <= x + rx && i < map->cells[0]; i++) {
			const size_t cell = j * map->cells[0] + i;
			const double dx = distance(map, 0, x, i), dy = distance(map, 1, y, j);
			/* hypot() wants glibc 2.35, and the wheel promises 2.34. */
			const double r = fmax(sqrt(dx * dx + dy * dy), .5 / GRID);
			if (map->count[cell] == 0 || r >= REACH)
				continue;
			const double w = pow((REACH - r) / (REACH * r), 2);
			sum += w * map->sum[cell];
			weights += w * map->count[cell];
		}
	}
	return weights > 0 ? sum / weights : NAN;
}

static void draw_map(struct sw_plot *p, const struct map *map)
{
	sw_plot_series(p, "", SW_PLOT_CELLS, SW_PLOT_REFERENCE);
	for (size_t cell = 0; cell < map->cells[0] * map->cells[1]; cell++) {
		const size_t x = cell % map->cells[0], y = cell / map->cells[0];
		const double v = colour_of(map, x, y);
		if (isnan(v))
			continue;
		const double w = (double)map->cells[0], h = (double)map->cells[1];
		sw_plot_mark(p, (struct sw_plot_mark){
					sw_plot_unit_value(&map->span[0], (double)x / w),
					sw_plot_unit_value(&map->span[1], (double)y / h),
					sw_plot_unit_value(&map->span[0], (double)(x + 1) / w),
					sw_plot_unit_value(&map->span[1], (double)(y + 1) / h), v,
					0, NULL});
	}
	sw_plot_note(p, "Colours are ranks, from the worst trial to the best: those near a place "
			"count by inverse distance.");
}

/* Memory, trials, map. */
static void map_trials(struct sw_plot *p, const struct sw_plot_data *d, struct map *map,
		       const struct sw_plot_rank *ranked, size_t n)
{
	const size_t cells = map->cells[0] * map->cells[1];

	/* The map and its trials share the plot's 4,000 marks. */
	if (cells > CELLS_MAX || cells == 0) {
		sw_plot_note(p, "There are too many categories for a map.");
		return;
	}
	map->sum = sw_plot_scratch(p, 2 * cells, sizeof *map->sum);
	double *const rank_of = sw_plot_scratch(p, d->n, sizeof *rank_of);
	if (map->sum != NULL && rank_of != NULL) {
		map->count = map->sum + cells;
		add_trials(map, d, ranked, n, rank_of);
		draw_map(p, map);
	}
	free(map->sum);
	free(rank_of);
}

/* One that is named gets the heaviest of the others. False: there are no two. */
static bool choose(struct sw_plot *p, const struct sw_plot_data *d, const size_t *named,
		   size_t n_named, size_t out[2])
{
	if (n_named == 2) {
		out[0] = named[0];
		out[1] = named[1];
		return true;
	}
	const size_t n = sw_plot_shown(p, d, NULL, 0, 2, out);
	if (n_named == 1 && n > 0 && out[0] != named[0]) {
		out[1] = out[0];
		out[0] = named[0];
		return true;
	}
	return n == 2;
}

SW_PLOT_BUILDER(contour)
{
	size_t pick[TRIALS_MAX], shown[2], n_ranked = 0;
	struct map map = {.sum = NULL};

	if (!choose(p, d, named, n_named, shown)) {
		sw_plot_note(p, "A contour needs two parameters that vary.");
		return;
	}
	const struct sw_plot_param *x = &d->params[shown[0]], *y = &d->params[shown[1]];
	sw_plot_panel(p, x->name, x->scale, y->name, y->scale);
	struct sw_plot_rank *const ranked = sw_plot_ranked(p, d, &n_ranked);
	map.span[0].param = shown[0];
	map.span[1].param = shown[1];
	sw_plot_spans(d, map.span, 2);
	for (enum sw_plot_side side = SW_PLOT_X; side <= SW_PLOT_Y; side++) {
		const struct sw_plot_param *param = side == SW_PLOT_X ? x : y;
		const struct sw_plot_span *s = &map.span[side];
		sw_plot_param_names(p, side, param);
		map.cells[side] = s->scale == SW_PLOT_CATEGORY ? param->n_names : GRID;
		/* By the trials that compare: a failed one far out must not shrink the map. */
		if (s->scale != SW_PLOT_CATEGORY && s->low < s->high)
			sw_plot_room(p, side, s->low, s->high);
	}
	if (n_ranked > 0)
		map_trials(p, d, &map, ranked, n_ranked);
	const size_t trials =
		sw_plot_take(p, d, dot, &map, TRIALS_MAX, "trials", "a value here", pick);
	sw_plot_dots(p, d, pick, trials, dot, &map);
	sw_plot_best_dot(p, d, pick, trials, dot, &map);
	sw_plot_fit(p);
	free(ranked);
}
