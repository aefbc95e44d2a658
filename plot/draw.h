/*
 * plot/draw.h — where all of a plot stands: title, legend, panels in a grid, axes, marks, notes.
 * A pen (svg.c, braille.c) draws it.
 *
 * Units    The pen's: of an SVG's viewBox, or columns and lines of a terminal. y grows downwards;
 *          that of a text is the upper side of its line.
 */
#ifndef SW_PLOT_DRAW_H
#define SW_PLOT_DRAW_H

#include "plot/ticks.h"
#include <math.h>

/* The part of a page inside a panel's axes. What a pen is told of marks is relative to it. */
struct sw_area {
	const struct sw_plot *p;
	const struct sw_plot_panel *panel;
	double x, y, width, height;
	double dot_width,
		dot_height; /* of the finest mark: a value's place is its upper left corner */
	size_t n, lines;    /* its marks, and about how many lines they make */
};

enum sw_pen_text {
	SW_TEXT_TITLE,
	SW_TEXT_LABEL,
	SW_TEXT_FAINT,
	SW_TEXT_ON_MARKS,
	SW_TEXT_IN_BAR,
	SW_TEXT_UPRIGHT /* x, y: its middle */
};
enum sw_pen_align { SW_LEFT, SW_MIDDLE, SW_RIGHT };

/* The first member of what draws. */
struct sw_pen {
	double width, margin;              /* of the page */
	double line, space;                /* height of a line of text; between parts of the page */
	double panel_width, gap;           /* the least, and between two */
	double flat, least_height, height; /* of an area: height by width, and its bounds */
	double more;                       /* height that each row of panels has besides */
	double tick_apart, left,
		below_axis;           /* around an area: left of it beside the ticks' texts */
	double sample;                /* width of a mark in the legend */
	double dot_width, dot_height; /* as in an area */
	size_t rows;                  /* of panels: what was drawn */
	bool upright;                 /* the label of y stands beside its axis, not above */
	double (*rune_width)(uint32_t rune);
	void (*text)(struct sw_pen *pen, enum sw_pen_text kind, enum sw_pen_align align, double x,
		     double y, double max, const char *text);
	void (*draw_sample)(struct sw_pen *pen, const struct sw_plot_series *s, double x, double y);
	double (*draw_ramp)(struct sw_pen *pen, double y); /* of values; returns its height */
	void (*draw_axes)(struct sw_pen *pen, const struct sw_area *a,
			  const struct sw_plot_ticks *x, const struct sw_plot_ticks *y);
	/* An area, or a series of it, begins; its pointer NULL: it ends. May be NULL. */
	void (*area)(struct sw_pen *pen, const struct sw_area *a);
	void (*series)(struct sw_pen *pen, const struct sw_area *a, const struct sw_plot_series *s);
	/* One outside the area, too, which has its sign at the border. */
	void (*dot)(struct sw_pen *pen, const struct sw_area *a, const struct sw_plot_series *s,
		    const struct sw_plot_mark *m);
	/* n marks, 1 and more, that all have a place. */
	void (*path)(struct sw_pen *pen, const struct sw_area *a, const struct sw_plot_series *s,
		     const struct sw_plot_mark *m, size_t n);
	/* box: x, y, width, height of a bar or a cell, as far as it lies inside. */
	void (*box)(struct sw_pen *pen, const struct sw_area *a, const struct sw_plot_series *s,
		    const struct sw_plot_mark *m, const double box[4]);
	void (*rule)(struct sw_pen *pen, const struct sw_area *a, const struct sw_plot_series *s,
		     const struct sw_plot_mark *m);
};

/* Where a value lies in the area; NaN: nowhere. */
static inline double sw_area_x(const struct sw_area *a, double v)
{
	return sw_plot_place(&a->panel->x, v) * (a->width - a->dot_width);
}

static inline double sw_area_y(const struct sw_area *a, double v)
{
	return (1 - sw_plot_place(&a->panel->y, v)) * (a->height - a->dot_height);
}

/* What a dot outside the area is at its border: where it would be. */
enum sw_beyond { SW_INSIDE, SW_ABOVE, SW_BELOW, SW_LEFT_OF, SW_RIGHT_OF };

/* Brings a dot's place into the area; which side it lies beyond. */
static inline enum sw_beyond sw_area_bring(const struct sw_area *a, double *x, double *y)
{
	const double right = a->width - a->dot_width, bottom = a->height - a->dot_height;
	const enum sw_beyond beyond = *y < 0        ? SW_ABOVE
				      : *y > bottom ? SW_BELOW
				      : *x < 0      ? SW_LEFT_OF
				      : *x > right  ? SW_RIGHT_OF
						    : SW_INSIDE;

	*x = fmin(fmax(*x, 0), right);
	*y = fmin(fmax(*y, 0), bottom);
	return beyond;
}

/* Draws all of p, which has not failed; sets pen->rows. Returns the height of the page. */
double sw_plot_draw(const struct sw_plot *p, struct sw_pen *pen);

#endif
