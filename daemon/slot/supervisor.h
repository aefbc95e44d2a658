/*
 * daemon/slot/supervisor.h — the workers' processes: started, watched, started again.
 *
 * A worker that ended is started again at once, later if it ends early again and again. One that
 * outlived an earlier daemon is found again by the handle that the executor gave, and adopted: its
 * slots are STARTING (or BUSY) until it says hello. One that is silent for d->slot.silent_us is
 * ended.
 *
 * If several trials ran when a process ended, none is blamed, and as many run alone there before
 * several do again (struct sw_worker: suspects, solo). A trial on a GPU whose worker ended is lost
 * once the GPU was looked at: if it is the hardware that failed, the trial is not to blame.
 */
#ifndef SW_DAEMON_SLOT_SUPERVISOR_H
#define SW_DAEMON_SLOT_SUPERVISOR_H

#include "base/status.h"
#include "daemon/slot/slot.h"
#include <stdbool.h>
#include <stdint.h>

/* Reads the devices: slots and workers, all DOWN. */
SW_NODISCARD sw_status sw_supervisor_open(struct sw_daemon *d, struct sw_err *err);
/* Before sw_supervisor_start(): a process of an earlier daemon is this worker's, by the handle that
 * the store has of it; its slots are STARTING. SW_NOT_FOUND: it is gone. */
SW_NODISCARD sw_status sw_supervisor_adopt(struct sw_worker *w, const char *id, const char *handle,
					   struct sw_err *err);
/* Ends a process of an earlier daemon that no worker has. False: it is gone. */
bool sw_supervisor_dismiss(struct sw_daemon *d, int64_t slot, const char *handle);
/* Starts the workers of this machine that do not run. */
void sw_supervisor_start(struct sw_daemon *d);
/* One that does not run: a pilot that is wanted now. Nothing happens while it may not be
 * started. */
void sw_supervisor_start_one(struct sw_worker *w);

void sw_supervisor_tick(struct sw_daemon *d, int64_t now_us);
/* There is a new reading of the GPUs: those that are lost end their workers. */
void sw_supervisor_on_reading(struct sw_daemon *d);

/* The end: asks the workers to end, which report what their trials save; or (hard) releases what
 * runs and ends them. all_down: true once none is left. */
void sw_supervisor_stop_all(struct sw_daemon *d, bool hard);
bool sw_supervisor_all_down(const struct sw_daemon *d);
void sw_supervisor_free(struct sw_daemon *d);

#endif
