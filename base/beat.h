/*
 * base/beat.h — a sign of life from all that may take long: a worker that stays silent is taken
 * for hung and ended (proto/silence.h). It comes from the loops that do the work, not from a thread
 * beside them, which would go on when they hang.
 *
 * Threads  Each has a listener of its own, or none: then a beat is nothing.
 */
#ifndef SW_BASE_BEAT_H
#define SW_BASE_BEAT_H

#include <stdint.h>

#define SW_BEAT_US 100000

/* From now on listen(ctx) is called by this thread's beats, at most every so often; NULL: it is not
 * called. */
void sw_beat_to(void (*listen)(void *ctx), void *ctx, int64_t every_us);

/* Called by loops over rows, tensors, blocks of a file, operations of a net: whatever turn may not
 * take many seconds. Cost: a look at the clock, 20 ns. */
void sw_beat(void);

#endif
