/*
 * daemon/sweep/need.h — what a trial takes of a slot, and of those beside it (daemon/slot/room.h).
 *
 * Threads  The loop's.
 */
#ifndef SW_DAEMON_SWEEP_NEED_H
#define SW_DAEMON_SWEEP_NEED_H

#include "base/status.h"
#include "daemon/slot/room.h"

struct sw_daemon;
struct sw_running;
struct sw_spec;

/* For each trial of the spec; bytes are not known. */
struct sw_room_need sw_need_of_spec(const struct sw_spec *spec);
/* For the loaded sweep's next trial, with its bytes. */
struct sw_room_need sw_need_of_next(const struct sw_running *live);

/* SW_INVALID at "/executor/NAME": the daemon was started without the spec's executor. */
SW_NODISCARD sw_status sw_need_executor(const struct sw_daemon *d, const struct sw_spec *spec,
					struct sw_err *err);

#endif
