/* cli/table.h — a grid as lines of text, by libsmartcols: what lsblk's tables are made with. */
#ifndef SW_CLI_TABLE_H
#define SW_CLI_TABLE_H

#include "base/buf.h"
#include "base/status.h"
#include "cli/fmt.h"
#include "cli/grid.h"

/* Appends the table with its header line; nothing without rows. look->width > 0: columns are
 * dropped and values cut as sw_grid_fit() says, so that no line is wider; 0: everything in full.
 * A failure latches in out. The grid ends (sw_grid_fini()). */
void sw_table_print(struct sw_buf *out, struct sw_grid *g, const struct sw_look *look);

#endif
