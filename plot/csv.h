/*
 * plot/csv.h — the numbers of a plot as CSV (RFC 4180, LF line ends): a line a mark.
 *
 * Columns: panel (the label of its x), series, x, y, x2, y2, v, trial, text. A number
 * is in the shortest text that reads back equal, a time in ms since the epoch, and where it stands
 * for a category it is that one's name. What a mark lacks is empty.
 */
#ifndef SW_PLOT_CSV_H
#define SW_PLOT_CSV_H

#include "base/buf.h"
#include "plot/plot.h"

/* Appends the header and the lines. Failures latch in out. */
void sw_plot_csv(const struct sw_plot *p, struct sw_buf *out);

#endif
