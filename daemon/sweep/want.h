/* daemon/sweep/want.h — how many more pilots sweeps could use now. */
#ifndef SW_DAEMON_SWEEP_WANT_H
#define SW_DAEMON_SWEEP_WANT_H

#include <stdbool.h>
#include <stddef.h>

struct sw_daemon;

/* Trials that would begin if slots of pilots were free for them, beyond those that are free or on
 * their way; at most `most`. *any: is there a trial that could begin there at all? O(sweeps + slots
 * that are free x sweeps with work). */
size_t sw_want_slots(struct sw_daemon *d, size_t most, bool *any);

#endif
