/* daemon/sweep/want.h — how many more pilots sweeps could use now. */
#ifndef SW_DAEMON_SWEEP_WANT_H
#define SW_DAEMON_SWEEP_WANT_H

#include <stddef.h>

struct sw_daemon;

/* Trials that would begin if slots of pilots were free for them, beyond those that are free or on
 * their way; at most `most`. O(sweeps + slots that are free x sweeps with work). */
size_t sw_want_slots(struct sw_daemon *d, size_t most);

#endif
