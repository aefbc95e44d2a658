/* worker/run_log.h — a trial's log says how it is trained. */
#ifndef SW_WORKER_RUN_LOG_H
#define SW_WORKER_RUN_LOG_H

#include "proto/job.h"
#include "trainer/net/net.h"
#include "trainer/prepare.h"
#include "worker/link/session.h"

/* Once all is prepared: device, model, rows, ranks. */
void sw_run_log_start(struct sw_session *s, const char *device, const struct sw_job *job,
		      const struct sw_prepared *ready);
/* Called once the net has its memory. Logs the parts of a batch, a pipeline's stages, the library
 * that makes the ranks' sums. */
void sw_run_log_net(struct sw_session *s, const struct sw_net *net);

#endif
