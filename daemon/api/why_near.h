/*
 * daemon/api/why_near.h — what the store knows about how a trial came about, for trial.why: the
 * stored suggestion, the earlier sweeps that it may have known, and which trials it is nearest to.
 *
 * Threads  A reader's: nothing here sees a live sweep.
 * Units    Distances as in sched/sampler/near.h, in the space as wide as edits have ever made it.
 * Cost     At most SW_NEAR_TOLD trials before this one and SW_WARM_MAX of earlier sweeps are read
 *          and compared, whatever the sweep's size: 12 ms of 2 parameters, 110 ms of 60.
 */
#ifndef SW_DAEMON_API_WHY_NEAR_H
#define SW_DAEMON_API_WHY_NEAR_H

#include "base/status.h"
#include "proto/json.h"
#include <stdint.h>

struct sw_db;

/*
 * Writes one object: {"stored": as it was stored, or null, "refine": the sweep that the grid is
 * around, or null, "uid": who enqueued it, or null, "earlier": [{"sweep": 1, "results": 40}],
 * "nearest": [{"trial": 12, "distance": 0.1}, {"sweep": 1, "trial": 7, "distance": 0.2}]}
 *
 * earlier: results of earlier sweeps that the sampler began with; sweep null: which one was not
 * kept. nearest: those that the suggestion was stored with, or where it has none the nearest trials
 * before this one; and those of earlier sweeps, which have a "sweep". Rising by distance, at most
 * SW_SUGGESTION_NEAR. A trial that lies outside (of a sweep with another space) has none,
 * and is none. enqueued: it is this one of those that the user enqueued, from 1; 0: it is none of
 * them.
 */
SW_NODISCARD sw_status sw_why_near_read(struct sw_db *db, int64_t sweep, int64_t trial,
					int64_t enqueued, struct sw_jw *w, struct sw_err *err);

#endif
