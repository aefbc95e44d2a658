/* daemon/api/watch_head.h — what a watcher is told of a sweep itself: its header, how far its
 * trials are, how long it still takes. */
#ifndef SW_DAEMON_API_WATCH_HEAD_H
#define SW_DAEMON_API_WATCH_HEAD_H

#include "base/buf.h"
#include <stdint.h>

struct sw_running;

/* Appends a JSON object without its end: a View (methods.json) but for its trials. O(slots). */
void sw_watch_head(struct sw_buf *out, const struct sw_running *live, int64_t now_ms);

#endif
