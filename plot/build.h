/*
 * plot/build.h — the builders of kinds.h's rows: each fills an empty plot from what its row says
 * that it needs. A plot of data with nothing to show has a note.
 */
#ifndef SW_PLOT_BUILD_H
#define SW_PLOT_BUILD_H

#include "plot/data.h"
#include "plot/kinds.h"
#include <math.h>

#define SW_PLOT_UNUSED __attribute__((unused)) /* most builders have no use for all */
#define SW_PLOT_BUILDER(name)                                                                      \
	void sw_plot_build_##name(struct sw_plot *p, const struct sw_plot_data *d,                 \
				  size_t n SW_PLOT_UNUSED, const size_t *named SW_PLOT_UNUSED,     \
				  size_t n_named SW_PLOT_UNUSED)

SW_PLOT_BUILDER(history);
SW_PLOT_BUILDER(curves);
SW_PLOT_BUILDER(slice);
SW_PLOT_BUILDER(contour);
SW_PLOT_BUILDER(parallel);
SW_PLOT_BUILDER(importance);
SW_PLOT_BUILDER(pareto);
SW_PLOT_BUILDER(edf);
SW_PLOT_BUILDER(timeline);
SW_PLOT_BUILDER(expected);
SW_PLOT_BUILDER(saved);

/* Zeroed memory for n elements, for the time of a build: the caller's to free. NULL: out of memory,
 * which latches. */
void *sw_plot_scratch(struct sw_plot *p, size_t n, size_t size);

/* --- which trials --- */

/* The mark of d->trials[i]; false: it has none in this plot. */
typedef bool sw_plot_mark_of(const struct sw_plot_data *d, size_t i, const void *arg,
			     struct sw_plot_mark *m);

/* Chooses which trials that have a mark are drawn if only `most` may be, as indices into d->trials:
 * the `top` best in that order, then an even spread of the others by number. top < most; out[most].
 * Returns how many; *all: how many have one. A failed trial counts as worse than all others. */
size_t sw_plot_pick(const struct sw_plot_data *d, sw_plot_mark_of *mark_of, const void *arg,
		    size_t top, size_t most, size_t *out, size_t *all);

/* Returns the index of the k-th row drawn of n if only `most` may be: evenly spread, the first and
 * the last among them, or all that there are. k < most. */
static inline size_t sw_plot_spread(size_t k, size_t most, size_t n)
{
	return most >= n ? k : most > 1 ? k * (n - 1) / (most - 1) : 0;
}

/* --- how they look --- */

/* By state, in the order in which they are drawn. */
struct sw_plot_look {
	enum sw_plot_state state;
	int role;
	const char *name;
};
#define SW_PLOT_LOOKS 4
extern const struct sw_plot_look sw_plot_looks[SW_PLOT_LOOKS];

/* sw_plot_pick() of `most`, the best SW_PLOT_TOP among them, with a note if some are left out, "Of
 * 99 `nouns` ...", or if no trial has a mark: "No trial has `what` yet.". */
size_t sw_plot_take(struct sw_plot *p, const struct sw_plot_data *d, sw_plot_mark_of *mark_of,
		    const void *arg, size_t most, const char *nouns, const char *what, size_t *out);
/* Whether it has reported a value at some step; m stays as it is. */
sw_plot_mark_of sw_plot_has_curve;
/* A series of dots for each state that a trial of pick[n] has. */
void sw_plot_dots(struct sw_plot *p, const struct sw_plot_data *d, const size_t *pick, size_t n,
		  sw_plot_mark_of *mark_of, const void *arg);

/* The same of the best of them, in a series of its own: pick[0] is it. */
void sw_plot_best_dot(struct sw_plot *p, const struct sw_plot_data *d, const size_t *pick, size_t n,
		      sw_plot_mark_of *mark_of, const void *arg);

/* A sweep among others: its number and its name. */
#define SW_PLOT_SWEEP_NAME 160
void sw_plot_sweep_name(const struct sw_plot_data *d, char out[SW_PLOT_SWEEP_NAME]);

/* Whether trial i is better than *best, which it then is; NaN: nothing was yet. */
bool sw_plot_improves(const struct sw_plot_data *d, size_t i, double *best);
/* The best so far of the n sweeps by name: the median of those of one name, and their range. */
void sw_plot_by_name(struct sw_plot *p, const struct sw_plot_data *d, size_t n);

/* --- which parameters --- */

/* Those named, or else those varied, in their order; `most` of them, which then are those that
 * matter most, with a note. out[most]. Returns how many. */
size_t sw_plot_shown(struct sw_plot *p, const struct sw_plot_data *d, const size_t *named,
		     size_t n_named, size_t most, size_t *out);

/* Whether plots compare it with others: it has a value, and has not failed. */
static inline bool sw_plot_compares(const struct sw_plot_trial *t)
{
	return t->state != SW_PLOT_STATE_FAILED && isfinite(t->value);
}

/* Those, the best first, the earlier of equal ones first. The caller's to free; NULL: no memory,
 * and p says so. */
struct sw_plot_rank {
	size_t i; /* of d->trials */
	double value;
	double rank; /* 1, the best, to 0, the worst; equal values the same: a bad one is no more
		      * than one */
};
struct sw_plot_rank *sw_plot_ranked(struct sw_plot *p, const struct sw_plot_data *d, size_t *n);

/* How much each parameter matters: weight[n_params], of sum 1, or all 0. Of how many trials. */
size_t sw_plot_weigh(struct sw_plot *p, const struct sw_plot_data *d, double *weight);

/* Whether an axis of this scale has a place for it. */
static inline bool sw_plot_has_place(enum sw_plot_scale scale, double v)
{
	return isfinite(v) && (scale != SW_PLOT_LOG || v > 0);
}

/* The values that a parameter has in trials, as its scale has them: logarithms where it is LOG. */
struct sw_plot_span {
	size_t param;
	enum sw_plot_scale scale;
	double low, high; /* low > high: no trial has it */
};
/* Of span[n].param in all trials that compare. One look at each trial. */
void sw_plot_spans(const struct sw_plot_data *d, struct sw_plot_span *span, size_t n);
/* Maps v to 0..1 within the span; NaN if the axis has no place for it. */
double sw_plot_unit(const struct sw_plot_span *s, double v);
/* The other way. */
double sw_plot_unit_value(const struct sw_plot_span *s, double unit);
/* The last panel's axis, a parameter's, gets its names. */
void sw_plot_param_names(struct sw_plot *p, enum sw_plot_side side,
			 const struct sw_plot_param *param);

/* --- ranges --- */

/* Of the last panel; NULL: p has failed. */
struct sw_plot_axis *sw_plot_last_axis(struct sw_plot *p, enum sw_plot_side side);
/* Sorts a few numbers. */
void sw_plot_sort(double *v, size_t n);
/* The last panel's axis is a metric's; log: on a LOG scale. */
void sw_plot_metric(struct sw_plot *p, enum sw_plot_side side, bool maximize, bool log);
/* The ends of those of v[n] that the axis shows (plot.h, sw_plot_fit), logarithms where it is LOG;
 * 0 and 1 of none. Of `nouns` that lie outside it makes a note, NULL: of none. Orders v. */
void sw_plot_reach(struct sw_plot *p, const struct sw_plot_axis *a, const char *nouns, double *v,
		   size_t n, double *low, double *high);
/* A note if some of n `nouns` are not above 0 on a LOG axis. */
void sw_plot_say_lost(struct sw_plot *p, const struct sw_plot_axis *a, size_t lost, size_t n,
		      const char *nouns);
/* The last panel's axis, no CATEGORY, shows these with some room. */
void sw_plot_scale_to(struct sw_plot *p, enum sw_plot_side side, const char *nouns, double *v,
		      size_t n);
/* It shows low to high with some room: logarithms where it is LOG. */
void sw_plot_room(struct sw_plot *p, enum sw_plot_side side, double low, double high);

#endif
