/*
 * daemon/sweep/load/submit.h — a spec on its way in, for sweep.submit and sweep.validate.
 *
 *   refine resolved -> spec read -> earlier trials read -> state machine built -> worker's check ->
 *   stored
 *
 * If the spec is refused on the way all its faults are found, then those of its trainer's part.
 *
 * Anything that needs the store runs on its reader's thread; anything that may take longer than a
 * turn of the loop should runs on the pool. Any stage may end the submission with an error.
 */
#ifndef SW_DAEMON_SWEEP_LOAD_SUBMIT_H
#define SW_DAEMON_SWEEP_LOAD_SUBMIT_H

#include "base/buf.h"
#include "base/status.h"
#include "daemon/net/pool.h"
#include "daemon/plan/warm.h"
#include "daemon/slot/speccheck.h"
#include "daemon/sweep/load/faults.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

struct sw_call;
struct sw_jw;
struct sw_submit;

/* Writes the members of the answer: all stages have passed, and the sweep is not stored yet. */
typedef void sw_submit_answer_cb(const struct sw_submit *s, struct sw_jw *w);

struct sw_submit {
	struct sw_call *call;
	cJSON *resolved; /* the spec with refine's parameters; NULL: as it came */
	struct sw_spec *spec;
	struct sw_buf text; /* the spec as it is stored, and as the worker's check gets it */
	struct sw_warm warm;
	struct sw_sweep *sched;
	struct sw_speccheck facts; /* zeros without a trainer */
	struct sw_pool_job job;
	sw_status rc; /* of the stage under way */
	struct sw_err err;
	uint64_t seed;
	char warning[400];                  /* of the program; empty: none */
	bool store;                         /* submit; else validate */
	struct sw_err fault[SW_FAULTS_MAX]; /* of one that is refused for its form */
	struct sw_faults faults;            /* these */
	bool warmed;
	bool trains; /* it has a trainer's part, of which the check is asked, too */
	sw_submit_answer_cb *answer;
};

/* Takes the call. store: the sweep is added, and the answer follows its commit. Dies without
 * memory. */
void sw_submit_begin(struct sw_call *call, bool store, sw_submit_answer_cb *answer);

#endif
