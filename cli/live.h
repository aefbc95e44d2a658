/* cli/live.h — the live table of one or more sweeps, drawn on a canvas. Pure but for memory. */
#ifndef SW_CLI_LIVE_H
#define SW_CLI_LIVE_H

#include "base/status.h"
#include "cli/browse.h"
#include "cli/canvas.h"
#include "cli/view.h"

/* How many of the lowest lines of a screen are for a curve: what one sweep's table leaves of a high
 * one, a third at least. 0: none. */
int sw_live_below(const struct sw_view *views, size_t n, int height);

/* Draws the views one above the other, each in its share of the height: four lines of header, the
 * names of the columns, trials as b has them, a line of what was chosen and how many are not shown,
 * and the whole cause of the trial under the cursor, or else of the latest that failed, where its
 * column has no room; at its end "? keys". Settles the cursor. now_us: monotonic. SW_NOMEM. */
SW_NODISCARD sw_status sw_live_draw(struct sw_canvas *c, const struct sw_view *views, size_t n,
				    struct sw_browse *b, bool utf8, int64_t now_us);

/* "... 23 more trials not shown (3 PENDING, 20 PRUNED)": those of v's counts that are not among the
 * n shown ones. If all are shown, it writes nothing. */
void sw_live_more(struct sw_buf *b, const struct sw_view *v, const cJSON *const *shown, size_t n);

/* "? keys" at the right end of the canvas's last row, where nothing stands there. */
void sw_live_hint(struct sw_canvas *c);

#endif
