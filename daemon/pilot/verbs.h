/*
 * daemon/pilot/verbs.h — an executor's program: where it lies, and what each of its verbs is told.
 *
 *   submit COUNT COMMAND...   an id a line
 *   list                      lines: ID NAME.i STATE NODE REASON...
 *   cancel ID...
 *   check                     one line: what it is
 */
#ifndef SW_DAEMON_PILOT_VERBS_H
#define SW_DAEMON_PILOT_VERBS_H

#include "daemon/pilot/state.h"
#include "daemon/slot/errand.h"

/* The program of that name: in $SWEEPD_EXECUTORS, beside the sources that sweepd was built from, or
 * where it was installed. False: not found; out has the folders that were searched. */
bool sw_pilot_find_program(const char *name, char *out, size_t cap);
const char *sw_pilot_verb_name(enum sw_pilot_verb verb);
/* Runs it. args: what comes behind the verb, NULL-terminated. prefix: of the jobs. batch: of a
 * submission, whose shape is d->pilot.submits; else 0. done gets d, after d->pilot.run[verb] is
 * NULL again. */
void sw_pilot_run(struct sw_daemon *d, const char *program, enum sw_pilot_verb verb,
		  const char *const args[], const char *prefix, uint64_t batch, sw_errand_cb *done);
/* "sweepd-3f2a91c04b7d-17": the name of a submission. */
void sw_pilot_batch_name(const struct sw_daemon *d, uint64_t batch, char out[SW_PILOT_NAME]);

#endif
