/*
 * daemon/sweep/give/place.h — which sweep's trial goes to which slot, and what becomes of an
 * attempt whose worker ended.
 *
 * A free slot goes to the sweep that was served least (sched/sweep/share.h) of those that have work
 * for it. What a trial takes of a GPU's lanes and bytes (daemon/slot/room.h) follows from its
 * spec's resources, and from what its sweep's check said of the largest configuration. If the sweep
 * whose turn it is needs several lanes or CPU slots, or bytes, and too few are free, and they still
 * are after SW_PLACE_RESERVE_US, slots are reserved for it (daemon/sweep/give/claim.h): no other
 * sweep gets a CPU slot, or a lane of the one GPU that is cleared for it, until the trial has what
 * it takes.
 */
#ifndef SW_DAEMON_SWEEP_GIVE_PLACE_H
#define SW_DAEMON_SWEEP_GIVE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_PLACE_RESERVE_US ((int64_t)5 * 1000000)

struct sw_daemon;
struct sw_running;
struct sw_slot;
struct sw_slot_lost;

/* For d->slot.on_lost. */
void sw_place_lost(struct sw_daemon *d, const struct sw_slot_lost *lost);

/* For d->sweep.reserve_us: SW_PLACE_RESERVE_US, or SWEEPD_RESERVE_MS of the environment, for
 * tests. */
int64_t sw_place_reserve_us(void);
/* If d->slot.due: gives free slots the work there is. */
void sw_place_flush(struct sw_daemon *d);

/* Returns, of this sweep and those that want such a slot too (*rivals), the one that gets the next.
 * O(sweeps). */
const struct sw_running *sw_place_next(const struct sw_running *live, size_t *rivals);

/* True, and one line in out, when no slot that would do for a trial of the sweep is up. */
bool sw_place_short(const struct sw_running *live, char *out, size_t cap);
/* True, and a few words in out, when the slot is up and free and still not for the sweep's next
 * trial: too few lanes or bytes beside what runs there, or a GPU that waits for something else. */
bool sw_place_hinders(const struct sw_slot *s, const struct sw_running *live, char *out,
		      size_t cap);

#endif
