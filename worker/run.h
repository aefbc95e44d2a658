/* worker/run.h — one trial from the daemon: its options, data and model made ready, trained, told.
 */
#ifndef SW_WORKER_RUN_H
#define SW_WORKER_RUN_H

#include "worker/data.h"
#include "worker/session.h"

struct sw_runner {
	const struct sw_ops *ops;
	struct sw_queue *q;
	struct sw_data_cache *cache;
	const char *device; /* "cpu:0", for logs */
	size_t memory;      /* most bytes of a trial, its data set among them; 0: no cap */
};

/* Runs the job and finishes it in the session. What is wrong with the trial is told, and SW_OK
 * here; SW_DEVICE_LOST: the device is unusable, the process must end and the trial is not to blame.
 */
SW_NODISCARD sw_status sw_run_job(struct sw_runner *r, struct sw_session *s,
				  const struct sw_job *job, struct sw_err *err);

/* n with commas between thousands: "1,438". Returns out. */
const char *sw_run_count(uint64_t n, char out[32]);

#endif
