/*
 * daemon/sweep/admission.h — which trial goes to which slot.
 *
 * gpu is what a spec's resources.gpu asks for: a part of a GPU up to 1; 0: nothing was said, any
 * slot will do; below 0: it said 0, a CPU slot. A part takes that part of the lanes of one GPU, at
 * least one; of a GPU of one lane it takes all.
 * A trial that takes more bytes than the GPU has goes to a larger one where there is one; beside
 * others it goes where its bytes are free. What a trial takes is what its sweep's check said of the
 * largest configuration; where that is not known, lanes alone count.
 * A sweep that needs several lanes, or bytes, when too few are free has one GPU cleared for it: no
 * other sweep gets its lanes until the trial has them.
 */
#ifndef SW_DAEMON_SWEEP_ADMISSION_H
#define SW_DAEMON_SWEEP_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>

struct sw_daemon;
struct sw_host;
struct sw_slot;
struct sw_slot_events;

/* True, and one line in out, when no slot that would do for such a trial is up. */
bool sw_admission_short(const struct sw_daemon *d, double gpu, char *out, size_t cap);
/* True, and a few words in out, when the slot is up and free and still not for the sweep's next
 * trial: too few lanes or bytes beside what runs there, or a GPU that waits for something else. */
bool sw_admission_hinders(const struct sw_slot *s, const struct sw_host *h, char *out, size_t cap);
/* What the slots tell: free ones are given work, and an attempt whose worker ended is over. */
extern const struct sw_slot_events sw_admission_events;

/* Gives free slots the work there is. Call it whenever work or a slot may have become free. */
void sw_admission_feed(struct sw_daemon *d);

/* After workers were adopted: trials that have several lanes have them again. */
void sw_admission_adopted(struct sw_daemon *d);

#endif
