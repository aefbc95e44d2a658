/* daemon/sweep/load/adopt.h — at start: finds the workers that outlived an earlier daemon. */
#ifndef SW_DAEMON_SWEEP_LOAD_ADOPT_H
#define SW_DAEMON_SWEEP_LOAD_ADOPT_H

#include "base/status.h"

struct sw_daemon;

/* Between sw_supervisor_open() and sw_supervisor_start(), and after sw_recover_all(). The
 * slots whose worker lives become STARTING or BUSY. Workers that no slot wants are ended, and so
 * are the attempts that no worker has. */
SW_NODISCARD sw_status sw_adopt_workers(struct sw_daemon *d, struct sw_err *err);

#endif
