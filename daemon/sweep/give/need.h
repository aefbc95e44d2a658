/*
 * daemon/sweep/give/need.h — what a trial takes of a slot, and of those beside it
 * (daemon/slot/room.h).
 *
 * Threads  The loop's.
 */
#ifndef SW_DAEMON_SWEEP_GIVE_NEED_H
#define SW_DAEMON_SWEEP_GIVE_NEED_H

#include "base/status.h"
#include "daemon/slot/room.h"
#include <stdbool.h>
#include <stddef.h>

struct sw_daemon;
struct sw_running;
struct sw_spec;

/* For each trial of the spec; bytes are not known. */
struct sw_room_need sw_need_of_spec(const struct sw_spec *spec);
/* For the loaded sweep's next trial, with its bytes. */
struct sw_room_need sw_need_of_next(const struct sw_running *live);

/* SW_INVALID at "/resources": each of the spec's trials takes several slots of one machine, and the
 * only slots are pilots, each of which is one alone. */
SW_NODISCARD sw_status sw_need_gang(const struct sw_daemon *d, const struct sw_spec *spec,
				    struct sw_err *err);

/* SW_INVALID at "/executor/NAME": the daemon was started without the spec's executor. */
SW_NODISCARD sw_status sw_need_executor(const struct sw_daemon *d, const struct sw_spec *spec,
					struct sw_err *err);

/* Trials lose slots by their trainer.precision: a CPU has fp32 alone, and TF32 and BF16 take
 * a GPU of compute capability SW_ROOM_PRECISION; one whose capability is not known will do. Slots
 * that would not do in fp32 either count for nothing here. O(slots).
 *
 * SW_INVALID at the trainer's option: there are slots that would take its trials, and none computes
 * in that precision. */
SW_NODISCARD sw_status sw_need_check(const struct sw_daemon *d, const struct sw_spec *spec,
				     struct sw_err *err);
/* True, and one line in out (cut at cap), when some slots get none of the spec's trials. */
bool sw_need_warning(const struct sw_daemon *d, const struct sw_spec *spec, char *out, size_t cap);

#endif
