/*
 * daemon/sweep/place.h — which sweep's trial goes to which slot, and what becomes of an attempt
 * whose worker ended.
 *
 * A free slot goes to the sweep that was served least (sched/sweep/share.h) of those that have work
 * for it. What a trial takes of a GPU's lanes and bytes (daemon/slot/room.h) follows from its
 * spec's resources.gpu, and from what its sweep's check said of the largest configuration. If the
 * sweep whose turn it is needs several lanes, or bytes, and too few are free, one GPU is cleared
 * for it: no other sweep gets its lanes until the trial has them.
 */
#ifndef SW_DAEMON_SWEEP_PLACE_H
#define SW_DAEMON_SWEEP_PLACE_H

#include <stdbool.h>
#include <stddef.h>

struct sw_daemon;
struct sw_live;
struct sw_slot;
struct sw_slot_events;

/* For d->slot_events. */
extern const struct sw_slot_events sw_place_events;

/* If d->slots_due: gives free slots the work there is. */
void sw_place_flush(struct sw_daemon *d);

/* True, and one line in out, when no slot that would do for a trial of the sweep is up. */
bool sw_place_short(const struct sw_live *live, char *out, size_t cap);
/* True, and a few words in out, when the slot is up and free and still not for the sweep's next
 * trial: too few lanes or bytes beside what runs there, or a GPU that waits for something else. */
bool sw_place_hinders(const struct sw_slot *s, const struct sw_live *live, char *out, size_t cap);

#endif
