/*
 * daemon/sweep/need.h — what a trial takes of a slot, and of those beside it (daemon/slot/room.h).
 *
 * Where precision is searched and fp32 is among its values, each trial goes by its own. Trials
 * begin in their order: one that waits for a GPU with its precision holds up those behind it,
 * whatever slot they need.
 *
 * Threads  The loop's.
 */
#ifndef SW_DAEMON_SWEEP_NEED_H
#define SW_DAEMON_SWEEP_NEED_H

#include "daemon/slot/room.h"

struct sw_running;
struct sw_spec;

/* What each trial of the spec takes; bytes are not known. */
struct sw_room_need sw_need_of_spec(const struct sw_spec *spec);
/* What the loaded sweep's next trial takes, with its bytes and its own precision. */
struct sw_room_need sw_need_of_next(const struct sw_running *live);
/* What that trial computes its products in if it takes more than fp32, a word. NULL: fp32, or
 * there is no next one, or it is not known before it begins. */
const char *sw_need_precision(const struct sw_running *live);

#endif
