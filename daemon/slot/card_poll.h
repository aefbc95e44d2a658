/*
 * daemon/slot/card_poll.h — reads NVML again and again on a thread of its own.
 *
 * A call into the driver may never come back: the thread is no pool's, nobody joins it without a
 * limit, and what it writes is given up with it if it hangs.
 * Threads  All but `wake` is called on the owner's thread; wake on the poller's.
 */
#ifndef SW_DAEMON_SLOT_CARD_POLL_H
#define SW_DAEMON_SLOT_CARD_POLL_H

#include "base/clock.h"
#include "daemon/slot/nvml.h"

struct sw_card_poll; /* opaque */

/* Begins at once, and again every_ms after each reading. wake: there is a new one. clock says when
 * a reading began; the waits are the machine's own. */
SW_NODISCARD sw_status sw_card_poll_start(struct sw_card_poll **out, const struct sw_clock *clock,
					  int64_t every_ms, void (*wake)(void *user), void *user);
/* Ends it: wake is not called afterwards. Waits at most limit_ms for a call that hangs. NULL is
 * allowed. */
void sw_card_poll_stop(struct sw_card_poll *p, int64_t limit_ms);

/* The newest reading, newer than the one that was taken last: SW_OK and when it was begun
 * (monotonic). Waits for one for at most limit_ms (0: not at all); SW_BUSY: no new reading. Else
 * NVML does not work, and the line says why. */
SW_NODISCARD sw_status sw_card_poll_take(struct sw_card_poll *p, int64_t limit_ms,
					 struct sw_nvml_view *out, int64_t *begun_us,
					 struct sw_err *err);
/* Asks for a reading that begins after now. */
void sw_card_poll_now(struct sw_card_poll *p);
/* No more readings, and no GPU held open, until one is asked for. */
void sw_card_poll_rest(struct sw_card_poll *p);

#endif
