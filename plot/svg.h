/*
 * plot/svg.h — a plot as one SVG document, for a browser, a page, a notebook, a paper.
 *
 * Text is text; there is no script, no reference to anything outside, and no id, so that several
 * can stand in one page. Light, or dark where the reader's settings prefer that. A mark says what
 * it is when the pointer rests on it.
 * Text from elsewhere is escaped, cut, and made harmless as base/term.h has it.
 */
#ifndef SW_PLOT_SVG_H
#define SW_PLOT_SVG_H

#include "base/buf.h"
#include "plot/plot.h"

/* Appends the document, about 100 bytes a mark. Failures latch in out; so does p->failed, with
 * nothing appended. */
void sw_plot_svg(const struct sw_plot *p, struct sw_buf *out);

#endif
