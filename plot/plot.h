/*
 * plot/plot.h — a plot as data: panels, axes, and marks with numbers. Whoever draws one (write.h,
 * the Python client, the page) needs nothing else.
 *
 * A plot is built from the top down: a panel, its axes, a series, its marks. Text may be anything
 * that a user called a sweep or a parameter; who draws it makes it harmless.
 * Bounds   SW_PLOT_MARKS marks in all. Whoever builds a plot of more rows leaves some out, and says
 *          how many in a note.
 * Memory   The struct is the caller's (init/fini) and owns what it is given copies of.
 * Errors   What cannot be added latches `failed` (SW_NOMEM; SW_TOO_BIG: over the bound): a builder
 *          adds many times and its caller looks once.
 */
#ifndef SW_PLOT_PLOT_H
#define SW_PLOT_PLOT_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_PLOT_MARKS  4000
#define SW_PLOT_PANELS 64

enum sw_plot_scale {
	SW_PLOT_LINEAR,
	SW_PLOT_LOG,     /* all that is drawn is above 0 */
	SW_PLOT_TIME,    /* ms since the epoch */
	SW_PLOT_CATEGORY /* k stands for names[k] */
};

enum sw_plot_side { SW_PLOT_X, SW_PLOT_Y, SW_PLOT_INSIDE };

struct sw_plot_axis {
	char *label; /* with its unit, where it has one: "hours" */
	enum sw_plot_scale scale;
	int better;      /* of a metric: the good end, -1 the low one, 1 the high one; else 0 */
	double min, max; /* what is shown, min < max; CATEGORY: -.5 and n_names - .5 */
	size_t n_names;
	char **names;
};

/* What the marks of a series are, and which of their numbers count. */
enum sw_plot_shape {
	SW_PLOT_DOTS,  /* a point at x, y; where x2 is a number, with a bar from x - x2 to x + x2 */
	SW_PLOT_LINE,  /* one line through x, y of all, in their order; a NaN breaks it */
	SW_PLOT_STEPS, /* the same by steps: y holds until the next x */
	SW_PLOT_BARS,  /* a rectangle from x, y to x2, y2 */
	SW_PLOT_CELLS, /* the same without an edge, side by side: a map of v */
	SW_PLOT_RULES, /* across the panel, at x; text at its upper end */
	SW_PLOT_TEXTS  /* text at x, y */
};

/* What they mean, which is how they look: one colour, or density, for one meaning everywhere. */
enum sw_plot_role {
	SW_PLOT_PLAIN,     /* trials that ended by themselves */
	SW_PLOT_BEST,      /* the best trial; the best so far */
	SW_PLOT_PRUNED,    /* ended by a pruner */
	SW_PLOT_FAILED,    /* failed, infeasible or cancelled */
	SW_PLOT_RUNNING,   /* not ended */
	SW_PLOT_REFERENCE, /* what others are measured against: rungs, a diagonal */
	SW_PLOT_FIRST /* and above: the first, second, ... of things with no order, as sweeps */
};
#define SW_PLOT_DISTINCT 8 /* looks for SW_PLOT_FIRST and above; they come again after these */

struct sw_plot_mark {
	double x, y, x2, y2;
	double v;      /* 0 (worst) to 1 (best), a colour between; NaN: the role's own */
	int64_t trial; /* 0: of no one trial */
	char *text;    /* or NULL */
};

struct sw_plot_series {
	char *name; /* in the legend; "" stands in none */
	enum sw_plot_shape shape;
	int role;
	size_t mark, n; /* its marks: the first, and how many */
};

struct sw_plot_panel {
	struct sw_plot_axis x, y;
	size_t series, n; /* its series: the first, and how many */
	/* Upright axes inside it: the k-th stands at x = k, with its min at y = 0, its max at 1. */
	size_t axis, n_axes;
};

struct sw_plot {
	char *title, *kind;
	size_t n_panels, n_axes, n_series, n_marks, n_notes;
	struct sw_plot_panel *panels;
	struct sw_plot_axis *axes;
	struct sw_plot_series *series;
	struct sw_plot_mark *marks;
	char **notes; /* what was left out, and what a reader must know: a sentence each */
	size_t cap_panels, cap_axes, cap_series, cap_marks, cap_notes;
	sw_status failed;
};

void sw_plot_init(struct sw_plot *p, const char *kind, const char *title);
void sw_plot_fini(struct sw_plot *p);

/* A new panel, with the labels and scales of its axes: the names, ranges and series that follow are
 * its own. */
void sw_plot_panel(struct sw_plot *p, const char *x, enum sw_plot_scale x_scale, const char *y,
		   enum sw_plot_scale y_scale);
/* An upright axis inside the last panel, behind those it has; of a CATEGORY one sw_plot_name() with
 * SW_PLOT_INSIDE gives the names. min < max, or neither is shown. */
void sw_plot_inside(struct sw_plot *p, const char *label, enum sw_plot_scale scale, double min,
		    double max);
/* The next name of that axis, a CATEGORY one. */
void sw_plot_name(struct sw_plot *p, enum sw_plot_side side, const char *name);
/* A range instead of the one that sw_plot_fit() would find. min < max. */
void sw_plot_range(struct sw_plot *p, enum sw_plot_side side, double min, double max);
void sw_plot_series(struct sw_plot *p, const char *name, enum sw_plot_shape shape, int role);
/* A mark of the last series; text is copied, or NULL. */
void sw_plot_mark(struct sw_plot *p, struct sw_plot_mark mark);
/* The same of numbers that are NaN but for the first two. */
void sw_plot_at(struct sw_plot *p, double x, double y, double v, int64_t trial);
void sw_plot_text(struct sw_plot *p, double x, double y, const char *text);
void sw_plot_note(struct sw_plot *p, const char *fmt, ...) SW_PRINTF(2, 3);

/*
 * Gives the last panel's axes their ranges, by its marks, with a twentieth of room, which does not
 * pass 0. A LOG axis has no place for what is not above 0. An axis of a metric begins at the best
 * value and ends where the better half of the values still has a fifth of it: bad trials, up to
 * half of all, do not press the good ones into a line, and the best is always there. Dots that lie
 * outside are drawn at the border; a note says how many marks do. An axis that has a range keeps
 * it.
 */
void sw_plot_fit(struct sw_plot *p);

#endif
