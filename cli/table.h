/*
 * cli/table.h — a grid as lines of marked text (cli/header.h), for a terminal, a file or a canvas.
 *
 * Errors   A failure latches in the buffer. The grid ends (sw_grid_fini()).
 */
#ifndef SW_CLI_TABLE_H
#define SW_CLI_TABLE_H

#include "base/buf.h"
#include "cli/fmt.h"
#include "cli/grid.h"

/* Appends the table with its header line; nothing without rows. look->width > 0: columns are
 * dropped and values cut as sw_grid_fit() says, so that no line is wider; 0: everything in full. */
void sw_table_print(struct sw_buf *out, struct sw_grid *g, const struct sw_look *look);
/* The same as marked lines. */
void sw_table_mark(struct sw_buf *out, struct sw_grid *g, int width);

/* Appends one row, -1: the names, as sw_grid_fit() made room; no line end. */
void sw_table_line(struct sw_buf *out, const struct sw_grid *g, long row, const int *widths);

#endif
