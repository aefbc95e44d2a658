/*
 * daemon/sweep/admission.h — which sweep's trial goes to which slot, and what becomes of an attempt
 * whose worker ended.
 *
 * A free slot goes to the sweep that was served least (sched/sweep/share.h) of those that have work
 * for it. What a trial takes of a GPU's lanes and bytes (daemon/slot/room.h) follows from its
 * spec's resources.gpu, and from what its sweep's check said of the largest configuration. If the
 * sweep whose turn it is needs several lanes, or bytes, and too few are free, one GPU is cleared
 * for it: no other sweep gets its lanes until the trial has them.
 */
#ifndef SW_DAEMON_SWEEP_ADMISSION_H
#define SW_DAEMON_SWEEP_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>

struct sw_daemon;
struct sw_host;
struct sw_slot;
struct sw_slot_events;

/* For d->slot_events. */
extern const struct sw_slot_events sw_admission_events;

/* If d->slots_due: gives free slots the work there is. */
void sw_admission_flush(struct sw_daemon *d);

/* True, and one line in out, when no slot that would do for a trial that asks for so much of a GPU
 * is up. */
bool sw_admission_short(const struct sw_daemon *d, double gpu, char *out, size_t cap);
/* True, and a few words in out, when the slot is up and free and still not for the sweep's next
 * trial: too few lanes or bytes beside what runs there, or a GPU that waits for something else. */
bool sw_admission_hinders(const struct sw_slot *s, const struct sw_host *h, char *out, size_t cap);

#endif
