/*
 * plot/ticks.h — what all who draw a plot need: where a number lies on an axis, and which numbers
 * stand beside it.
 *
 * Pure     Times are shown in UTC: a plot is the same wherever it is drawn.
 */
#ifndef SW_PLOT_TICKS_H
#define SW_PLOT_TICKS_H

#include "plot/plot.h"

#define SW_PLOT_TICKS_MOST 64
#define SW_PLOT_VALUE      40 /* bytes of a number as text */
#define SW_PLOT_LABEL      300

struct sw_plot_ticks {
	size_t n;
	double at[SW_PLOT_TICKS_MOST];
	char own[SW_PLOT_TICKS_MOST][SW_PLOT_VALUE];
	const char
		*text[SW_PLOT_TICKS_MOST]; /* own[i], or a category's name: text from elsewhere */
};

/* Where v lies: 0 at the axis' min, 1 at its max. NaN where it cannot be drawn. */
double sw_plot_place(const struct sw_plot_axis *a, double v);

/* How much of an axis a tick's text takes: its width, up to `most`, and a gap. */
struct sw_plot_room {
	double (*rune_width)(uint32_t rune); /* NULL: texts stand above each other */
	double most, gap;
};

/* Round numbers on that side of a panel (whole ones where all marks are), or names: as many as have
 * room on `length`; one at least where there is any. O(marks of the panel). */
void sw_plot_ticks(const struct sw_plot *p, const struct sw_plot_panel *panel,
		   enum sw_plot_side side, double length, const struct sw_plot_room *room,
		   struct sw_plot_ticks *out);

/* Takes the zeros out of a number's exponent: "1e-05", "1e+06" become "1e-5", "1e6". */
void sw_plot_shorten(char *text);
/* The axis' label, cut; of a TIME one with the day on which it begins, and that this is UTC. */
void sw_plot_label(const struct sw_plot_axis *a, char out[SW_PLOT_LABEL]);

/* v as a reader knows it: a category's name (the axis' own), else text in own. */
const char *sw_plot_value(const struct sw_plot_axis *a, double v, char own[SW_PLOT_VALUE]);

/* The sum over the text as base/term.h makes it harmless; past 2000 it stops counting. */
double sw_plot_width(const char *text, double (*rune_width)(uint32_t rune));

#endif
