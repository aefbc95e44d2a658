/*
 * plot/write.h — what a plot is written as: numbers, a drawing, or text for a terminal.
 *
 * Text from elsewhere is escaped, cut, and made harmless as base/term.h has it.
 * Pure     But for the locale in sw_plot_braille(): wcwidth() says how wide a character is.
 * Errors   Failures latch in `out`; so does p->failed.
 */
#ifndef SW_PLOT_WRITE_H
#define SW_PLOT_WRITE_H

#include "base/buf.h"
#include "plot/plot.h"
#include "proto/json.h"

/* The members of a JSON object: docs/protocol.md, sweep.plot, has the form. The marks of a series
 * are columns: "x" and "y", and those others in which one of them has something. p has not
 * failed. */
void sw_plot_write(const struct sw_plot *p, struct sw_jw *w);

/* CSV (RFC 4180, LF line ends): a header, and a line a mark. Columns: panel (the label of its x),
 * series, x, y, x2, y2, v, trial, text. A number is in the shortest text that reads back equal, a
 * time in ms since the epoch, and where it stands for a category it is that one's name. What a mark
 * lacks is empty. */
void sw_plot_csv(const struct sw_plot *p, struct sw_buf *out);

/* One SVG document, `width` pixels wide (280 and more), for a browser, a page, a notebook, a paper;
 * about 100 bytes a mark. Its letters have one size: a narrow one has its panels below each other.
 * bare: without margins, <title> and <style>, for a page that has them itself. There is no
 * script, no reference to anything outside, and no id, so that several can stand in one page.
 * Light, or dark where the reader's settings prefer that. A mark says what it is when the pointer
 * rests on it, and data-trial whose it is. */
void sw_plot_svg(const struct sw_plot *p, int width, bool bare, struct sw_buf *out);
/* What stands in <style> there, the same for all: a page with many drawings has it once. */
void sw_plot_svg_style(struct sw_buf *out);

/* Lines of text, of dots of braille, eight to a character; none wider than `columns` (40 and more
 * are used, 400 at most). lines: as many as there is room for, 12 or more; 0: their number is by
 * the width. color: with SGR sequences of 256 colours; without, density and signs tell roles apart.
 * Without utf8: ASCII alone. */
void sw_plot_braille(const struct sw_plot *p, int columns, int lines, bool color, bool utf8,
		     struct sw_buf *out);

#endif
