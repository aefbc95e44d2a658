/* worker/run.h — one trial from the daemon: its options, data and model made ready, trained,
 * told. */
#ifndef SW_WORKER_RUN_H
#define SW_WORKER_RUN_H

#include "worker/data/data.h"
#include "worker/link/session.h"

/* A lane's own; ops and cache are shared. */
struct sw_runner {
	const struct sw_ops *ops;
	struct sw_queue *q;
	struct sw_data_cache *cache;
	const char *device; /* "cpu:0", "gpu:0.3", for logs */
	unsigned cores;     /* that a CPU may use */
	/* Most bytes of all trials that run at once, a data set that they share among them, of
	 * which each has an equal part; 0: no cap. */
	size_t memory;
	unsigned lanes;     /* how many these are; 0 is 1 */
	bool streams;       /* a data set over half of the memory is streamed */
	unsigned lost_rank; /* after SW_DEVICE_LOST, SW_PEER_LOST: which it was */
	bool stuck;         /* the process must end by _exit */
};

/* Runs the job and finishes it in the session; with several ranks as rank 0 (worker/ranks.h). What
 * is wrong with the trial is told, and SW_OK here. SW_DEVICE_LOST: the device is unusable, the
 * process must end and the trial is not to blame. SW_PEER_LOST: NCCL has lost a rank; the process
 * ends, by which the daemon knows that the attempt is. */
SW_NODISCARD sw_status sw_run_job(struct sw_runner *r, struct sw_session *s,
				  const struct sw_job *job, struct sw_err *err);

#endif
