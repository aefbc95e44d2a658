/* cli/block.h — the same as plain text: what a watcher prints where there is no terminal, and what
 * it leaves behind when a sweep has ended. Pure but for memory. */
#ifndef SW_CLI_BLOCK_H
#define SW_CLI_BLOCK_H

#include "base/status.h"
#include "cli/fmt.h"
#include "cli/view.h"

#define SW_BLOCK_ROWS 20 /* trials in a block, as Ray's reporter */

/* The header lines, then the first trials of the view (running ones first) and how many more there
 * are. now_us: monotonic. SW_NOMEM. */
SW_NODISCARD sw_status sw_block_print(struct sw_buf *out, const struct sw_view *v,
				      const struct sw_look *look, int64_t now_us);

/* The end: a table of n trials (Trial objects, best first; not the view's, which may be older), how
 * many there are, and the header lines. SW_NOMEM. */
SW_NODISCARD sw_status sw_block_final(struct sw_buf *out, const struct sw_view *v,
				      const cJSON *const *trials, size_t n,
				      const struct sw_look *look, int64_t now_us);

#endif
