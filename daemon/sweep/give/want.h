/* daemon/sweep/give/want.h — how many more pilots sweeps could use now. */
#ifndef SW_DAEMON_SWEEP_GIVE_WANT_H
#define SW_DAEMON_SWEEP_GIVE_WANT_H

#include "daemon/slot/job_shape.h"
#include <stddef.h>

/* As sw_daemon_pilot.wanted (daemon/pilot/state.h). O(sweeps + slots that are free x sweeps with
 * work). */
size_t sw_want_slots(struct sw_daemon *d, size_t most, struct sw_job_want out[SW_JOB_SHAPES]);

#endif
