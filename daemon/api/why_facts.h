/*
 * daemon/api/why_facts.h — what the store knows about how a trial came about, for trial.why: the
 * stored suggestion, and the earlier sweeps that it may have known.
 *
 * Threads  A reader's: nothing here sees a live sweep.
 * Cost     Reads the at most SW_WARM_MAX results of earlier sweeps, whatever the sweep's size.
 */
#ifndef SW_DAEMON_API_WHY_FACTS_H
#define SW_DAEMON_API_WHY_FACTS_H

#include "base/status.h"
#include "proto/json.h"
#include <stdint.h>

struct sw_db;

/*
 * Writes one object: {"stored": as it was stored, or null, "uid": who enqueued it, or null,
 * "again": the trial that it is again, or null, "earlier": [{"sweep": 1, "results": 40}]}
 *
 * earlier: results of earlier sweeps that the sampler began with. enqueued: the trial is this one
 * of those that the user enqueued, from 1; 0: the user did not enqueue it.
 */
SW_NODISCARD sw_status sw_why_facts_read(struct sw_db *db, int64_t sweep, int64_t trial,
					 int64_t enqueued, struct sw_jw *w, struct sw_err *err);

#endif
