/*
 * plot/braille.h — a plot as lines of text: dots of braille, eight to a character, for a terminal.
 *
 * Text from elsewhere is made harmless as base/term.h has it, and cut.
 * Pure but for the locale: wcwidth() says how wide a character is.
 */
#ifndef SW_PLOT_BRAILLE_H
#define SW_PLOT_BRAILLE_H

#include "base/buf.h"
#include "plot/plot.h"

/* Appends the plot, no line wider than `columns` (40 and more are used, 400 at most). lines: as
 * many as there is room for, 12 or more; 0: their number is by the width. color: with SGR sequences
 * of 256 colours; without, density and signs tell roles apart. Without utf8: ASCII alone. Failures
 * latch in out. */
void sw_plot_braille(const struct sw_plot *p, int columns, int lines, bool color, bool utf8,
		     struct sw_buf *out);

#endif
