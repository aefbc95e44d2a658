/*
 * daemon/sweep/load/faults.h — all that is wrong with a spec that was refused: its keys, the rules
 * across them, the ranges of its parameters, its program. The trainer's part its own check adds.
 */
#ifndef SW_DAEMON_SWEEP_LOAD_FAULTS_H
#define SW_DAEMON_SWEEP_LOAD_FAULTS_H

#include "proto/form.h"
#include <stdint.h>

#define SW_FAULTS_MAX   100
#define SW_FAULTS_SHOWN 20 /* the first ones are for the user */

/* Looks at files: not on the loop's thread. 0 faults: it is a good spec, or memory is short. env:
 * of the submission, or NULL. Has it a trainer's part to be checked? */
bool sw_faults_find(struct sw_faults *f, const cJSON *spec, const cJSON *env, uint64_t seed);
/* Behind them those that the check alone has found (daemon/slot/speccheck.h). */
void sw_faults_add(struct sw_faults *f, const cJSON *said);

#endif
