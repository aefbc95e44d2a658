/*
 * daemon/pilot/job.h — the job of one pilot: what becomes of its slot, and its words.
 *
 * What its worker says goes before what the executor says (docs/design.md, section 11).
 */
#ifndef SW_DAEMON_PILOT_JOB_H
#define SW_DAEMON_PILOT_JOB_H

#include "daemon/pilot/state.h"

struct sw_slot;

struct sw_pilot *sw_pilot_of(const struct sw_worker *w); /* w is away */
/* The next job behind p, or the first (NULL) that there is; NULL: no further one. */
struct sw_pilot *sw_pilot_next(struct sw_daemon *d, const struct sw_pilot *p);
struct sw_pilot *sw_pilot_find(struct sw_daemon *d, const char *name); /* NULL: none */
bool sw_pilot_is_connected(const struct sw_pilot *p);
/* A job that is over. */
bool sw_pilot_is_over(enum sw_pilot_state state);
/* "pilot slurm NAME.i ID", by which a later daemon finds it (daemon/slot/executor.h). */
void sw_pilot_handle(const struct sw_pilot *p, char *out, size_t cap);
/* It is over: its key goes, and its slot is DOWN. blamed: its worker itself failed. */
void sw_pilot_end(struct sw_pilot *p, bool blamed, const char *cause);
/* Counts one that never became a pilot; the third in a row of a shape begins a pause. */
void sw_pilot_count_failed(struct sw_daemon *d, uint64_t shape, const char *why);
/* Writes what the executor says of it: "slurm: PREEMPTED on n1 (Priority)". */
void sw_pilot_words(const struct sw_pilot *p, char *out, size_t cap);
/* Writes the causes of their slots, as they stand, and what each shape waits for. */
void sw_pilot_write_causes(struct sw_daemon *d);

#endif
