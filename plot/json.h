/* plot/json.h — a plot as JSON text: docs/protocol.md, sweep.plot, has the form. */
#ifndef SW_PLOT_JSON_H
#define SW_PLOT_JSON_H

#include "plot/plot.h"
#include "proto/json.h"

/* One object. The marks of a series are columns: "x" and "y", and those others in which one of them
 * has something. */
void sw_plot_write(const struct sw_plot *p, struct sw_jw *w);

#endif
