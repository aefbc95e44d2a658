/* daemon/sweep/adopt.h — at start: finds the workers that outlived an earlier daemon. */
#ifndef SW_DAEMON_SWEEP_ADOPT_H
#define SW_DAEMON_SWEEP_ADOPT_H

#include "base/status.h"
#include "daemon/slot/executor.h"

struct sw_daemon;

/* For the slots of d, all DOWN: those whose worker lives become STARTING or BUSY, with `ended`
 * called for the slot when it ends. Ends workers that no slot wants, and running trials that no
 * worker has. */
SW_NODISCARD sw_status sw_adopt_workers(struct sw_daemon *d, const struct sw_executor *executor,
					sw_ended_cb *ended, struct sw_err *err);

#endif
