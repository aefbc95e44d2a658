/* worker/run.h — one trial from the daemon: its options, data and model made ready, trained,
 * told. */
#ifndef SW_WORKER_RUN_H
#define SW_WORKER_RUN_H

#include "trainer/runner.h"
#include "worker/link/session.h"

/* Runs the job and finishes it in the session; with several ranks as rank 0 (trainer/ranks.h). What
 * is wrong with the trial is told, and SW_OK here. SW_DEVICE_LOST: the device is unusable, the
 * process must end and the trial is not to blame. SW_PEER_LOST: NCCL has lost a rank; the process
 * ends, by which the daemon knows that the attempt is. */
SW_NODISCARD sw_status sw_run_job(struct sw_runner *r, struct sw_session *s,
				  const struct sw_job *job, struct sw_err *err);

#endif
