/*
 * daemon/sweep/faults.h — all that is wrong with a spec that was refused.
 *
 * A reader stops at the first mistake. So the mistake is noted, mended in a copy of the spec or put
 * aside there, and the copy read again by the same readers. A mistake that may come of the mending,
 * because it lies around or inside one that is noted, is not noted: no line is false, and what is
 * not seen now is seen when the others are mended.
 */
#ifndef SW_DAEMON_SWEEP_FAULTS_H
#define SW_DAEMON_SWEEP_FAULTS_H

#include "base/status.h"
#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

#define SW_FAULTS_MAX   100
#define SW_FAULTS_SHOWN 20

struct sw_faults {
	struct sw_err list[SW_FAULTS_MAX];
	size_t n; /* the first SW_FAULTS_SHOWN are for the user */
};

/* Looks at files. Reads the spec once for each mistake: not on the loop's thread. 0 faults: it is
 * a good spec, or memory is short. env: of the submission, or NULL. */
void sw_faults_find(struct sw_faults *f, const cJSON *spec, const cJSON *env, uint64_t seed);

#endif
