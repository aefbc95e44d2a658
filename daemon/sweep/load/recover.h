/*
 * daemon/sweep/load/recover.h — sweeps rebuilt from the store: at start, and those that ended when
 * somebody needs them again. The replay itself is daemon/sweep/load/replay.h's.
 */
#ifndef SW_DAEMON_SWEEP_LOAD_RECOVER_H
#define SW_DAEMON_SWEEP_LOAD_RECOVER_H

#include "base/status.h"

struct sw_call;
struct sw_daemon;
struct sw_running;

/* At start, before the loop runs: every stored sweep, those that have not ended with their state
 * machine. */
SW_NODISCARD sw_status sw_recover_all(struct sw_daemon *d, struct sw_err *err);

/*
 * Calls then(h, call) with the sweep that the call names once its state machine is there: at once,
 * or after its history was read and replayed on the store's thread. If there is no such sweep, or
 * that fails, the call is answered with an error instead.
 */
void sw_recover_need(struct sw_call *call,
		     void (*then)(struct sw_running *live, struct sw_call *call));

#endif
