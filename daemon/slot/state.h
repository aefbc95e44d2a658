/* daemon/slot/state.h — d->slot: the slots, their workers, and the checks of specs. */
#ifndef SW_DAEMON_SLOT_STATE_H
#define SW_DAEMON_SLOT_STATE_H

#include "daemon/slot/job_shape.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct sw_daemon;
struct sw_slot_lost; /* daemon/slot/slot.h */

struct sw_daemon_slot {
	struct sw_slot *slots; /* [slot_n] */
	size_t slot_n;
	struct sw_worker *workers; /* [worker_n]: one for each slot, or for all lanes of a GPU */
	size_t worker_n;
	bool due; /* there may be work for slots that are free: at the end of this turn */
	/* How the room above is told: the slot has let go of the attempt. That a slot is free is
	 * not told: `due`. */
	void (*on_lost)(struct sw_daemon *d, const struct sw_slot_lost *lost);
	const struct sw_executor *executor;        /* starts the workers of this machine */
	const struct sw_executor *pilots;          /* those of --executor */
	struct sw_job_shape shapes[SW_JOB_SHAPES]; /* of their jobs */
	struct sw_gpus *gpus; /* daemon/slot/gpus.h; NULL: no slot may have one */
	uv_async_t gpu_wake;
	int64_t silent_us; /* a worker that is silent for longer is ended */

	struct sw_check *checks, *checks_waiting; /* lists; daemon/slot/speccheck.c */
	size_t check_waiting_n;
};

#endif
