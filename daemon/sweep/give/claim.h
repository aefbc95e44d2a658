/*
 * daemon/sweep/give/claim.h — which of several sweeps a free slot goes to, or is reserved for.
 *
 * A trial may need several slots at once (a gang), all or none: it never holds some while it waits
 * for the others, so gangs cannot wait for each other. It is its sweep's turn when that was served
 * least (sched/sweep/share.h). If the slots are too few then, others get them for reserve_us more;
 * from then on those that are free are reserved until there are enough. The wait makes the slots go
 * idle for gangs at most once in reserve_us; that they are reserved at all gives a large gang its
 * share beside small trials; that each slot of a trial counts (sw_running_account()) gives small
 * trials theirs.
 *
 * Pure     A function of its arguments.
 */
#ifndef SW_DAEMON_SWEEP_GIVE_CLAIM_H
#define SW_DAEMON_SWEEP_GIVE_CLAIM_H

#include "sched/sweep/share.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sw_claim_room {
	SW_CLAIM_FITS,
	SW_CLAIM_SHORT, /* too few are free: to reserve this one helps */
	SW_CLAIM_OTHER, /* not now, and to reserve this one does not help */
};

/* A sweep that has a trial which suits the slot. */
struct sw_claim {
	void *who;
	struct sw_share share;
	/* Since when its next trial is short of slots in its turn; 0: it is not. Set by the pick;
	 * the caller's to zero when the trial has begun. */
	int64_t *short_us;
};

/* The index of the one that was served least; of those that are level the first. */
size_t sw_claim_least(const struct sw_claim *v, size_t n);

/* Asked only of a sweep whose turn it is. */
typedef enum sw_claim_room sw_claim_room_cb(void *who, void *user);

/* The claim that gets the slot, as its `who`; NULL: none. *reserver: the one it is reserved for
 * then, or NULL. v is used up. O(n^2) at worst, O(n) if the first fits. */
void *sw_claim_pick(struct sw_claim *v, size_t n, sw_claim_room_cb *room, void *user,
		    int64_t now_us, int64_t reserve_us, void **reserver);

#endif
