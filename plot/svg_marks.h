/* plot/svg_marks.h — the marks of a panel, as elements of its own coordinates: 0, 0 is the upper
 * left corner of the area inside its axes. */
#ifndef SW_PLOT_SVG_MARKS_H
#define SW_PLOT_SVG_MARKS_H

#include "base/buf.h"
#include "plot/plot.h"

#define SW_SVG_LINE 15 /* from one line of text to the next */

/* The element of a mark as the legend shows it, about x, y. */
void sw_svg_sample(struct sw_buf *b, const struct sw_plot_series *s, double x, double y);
/* An element <g> a series. */
void sw_svg_marks(struct sw_buf *b, const struct sw_plot *p, const struct sw_plot_panel *panel,
		  double width, double height);
/* The text of rules, bars and texts, above all marks; one that would lie on another is left out. */
void sw_svg_labels(struct sw_buf *b, const struct sw_plot *p, const struct sw_plot_panel *panel,
		   double width, double height);

#endif
