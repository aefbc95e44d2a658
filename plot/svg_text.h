/* plot/svg_text.h — text in an SVG: how wide it is, about, and its cut and escaped form. Pure. */
#ifndef SW_PLOT_SVG_TEXT_H
#define SW_PLOT_SVG_TEXT_H

#include "base/buf.h"
#include <stdint.h>

/* Width in units of the viewBox, where text is 12 high: an estimate on the large side, as the font
 * is the reader's. Past 2000 it stops counting. */
double sw_svg_width(const char *text);
/* Appends text, made harmless and escaped, for an element or an attribute; what is wider than max
 * ends with "…". */
void sw_svg_cut(struct sw_buf *b, const char *text, double max);
/* A character's width, in the same units. */
double sw_svg_rune(uint32_t rune);

#endif
