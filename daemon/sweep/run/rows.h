/* daemon/sweep/run/rows.h — one action of the state machine as rows of the store, and in the
 * accounts of the sweep and of the slots. */
#ifndef SW_DAEMON_SWEEP_RUN_ROWS_H
#define SW_DAEMON_SWEEP_RUN_ROWS_H

#include "daemon/sweep/change.h"

struct sw_running;

/* slot: where a START goes (-1: a client). Dies without memory. */
void sw_rows_action(struct sw_change *c, struct sw_running *live, const struct sw_event *event,
		    int32_t slot, const struct sw_action *a);

#endif
