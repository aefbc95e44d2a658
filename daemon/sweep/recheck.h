/*
 * daemon/sweep/recheck.h — what the worker's check says of a sweep (daemon/slot/speccheck.h) and the
 * store does not keep: the bytes of its data set, and how fast a core is beside a GPU. A sweep that was
 * stored by an earlier run of the daemon is checked again for it, once it has work for a slot.
 *
 * Threads  The loop's.
 */
#ifndef SW_DAEMON_SWEEP_RECHECK_H
#define SW_DAEMON_SWEEP_RECHECK_H

#include <stdint.h>

#define SW_RECHECK_WAIT_US ((int64_t)60 * 1000000) /* after a check that failed */

struct sw_live;
struct sw_speccheck;

/* These are the facts: of the submission's check, or of another. Trials that run have them, too. */
void sw_recheck_take(struct sw_live *live, const struct sw_speccheck *facts);
/* Has a loaded sweep checked again, unless its facts are known or a check is under way, and not within
 * SW_RECHECK_WAIT_US of one that failed. d->slots_due follows. */
void sw_recheck(struct sw_live *live);

#endif
