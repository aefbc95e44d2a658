/*
 * daemon/pilot/pilot.h — pilots: workers that are jobs of a cluster, one for each slot behind those
 * of this machine.
 *
 * A job is asked for when sweeps have trials that could begin there, it dials back
 * (daemon/net/port.h), trains many trials, and goes when it has had none for a while, or before its
 * time is up. To all else its slot is one as any other (daemon/slot/slot.h): DOWN without a job,
 * STARTING while it is asked for, waits in the cluster's queue or is out of sight.
 *
 *   asked for -> row stored -> told (key, file) -> submitted -> pending -> running -> hello ... bye
 *
 * A job is over when its worker said so in order; or it is not connected and a list says so, or two
 * lists in a row do not name it. Its trial goes to another slot then, and never before. A connected
 * worker's word goes before the list's: one that is silent is cut off first.
 *
 * Threads  The loop's.
 */
#ifndef SW_DAEMON_PILOT_PILOT_H
#define SW_DAEMON_PILOT_PILOT_H

#include "base/status.h"
#include "daemon/pilot/state.h"
#include "daemon/slot/executor.h"
#include "proto/json.h"

struct sw_slot;

/* For d->slot.pilots. */
extern const struct sw_executor sw_executor_pilot;

/* After sw_supervisor_open(), before workers are adopted: finds the executor, and listens. */
SW_NODISCARD sw_status sw_pilot_open(struct sw_daemon *d, struct sw_err *err);
void sw_pilot_tick(struct sw_daemon *d, int64_t now_us);
/* No program of the executor runs on; sw_pilot_free() comes after the loop's end. */
void sw_pilot_close(struct sw_daemon *d);
void sw_pilot_free(struct sw_daemon *d);

/* Its worker is there (sw_slot_hello()), on that node; files: it sees the daemon's. The slot may be
 * one of this machine: nothing happens then. */
void sw_pilot_hello(struct sw_slot *s, const char *node, bool files);
/* Its worker ends by itself; end: as in worker.bye, NULL: not in order. */
void sw_pilot_bye(struct sw_slot *s, const char *cause, const char *end);

/* For device.list: "node", "job" and "left_s" of a slot, null on this machine; and "pilots". */
void sw_pilot_write_slot(const struct sw_slot *s, struct sw_jw *w);
/* If the last list is old, a new one is due with it: the next answer has what that names. */
void sw_pilot_write(struct sw_daemon *d, struct sw_jw *w);
/* Has the executor cancel all jobs of another state folder, "sweepd-3f2a91c04b7d", that the last
 * list named: *n. SW_CONFLICT: there is no executor; else as sw_others_find(). */
SW_NODISCARD sw_status sw_pilot_cancel_others(struct sw_daemon *d, const char *folder, size_t *n,
					      struct sw_err *err);

#endif
