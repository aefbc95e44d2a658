/* daemon/api/gates.c — what a method asks for before its handler (daemon/api/handlers.h). */
#include "daemon/api/handlers.h"
#include "daemon/daemon.h"
#include "daemon/net/conn.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/change.h"
#include "daemon/sweep/load/recover.h"
#include "daemon/sweep/running.h"

void sw_gate_known(struct sw_call *call, sw_handler_fn *then)
{
	struct sw_running *live = sw_running_of(call);

	if (live != NULL)
		then(live, call);
}

void sw_gate_loaded(struct sw_call *call, sw_handler_fn *then)
{
	sw_recover_need(call, then);
}

void sw_gate_change(struct sw_call *call, sw_handler_fn *then)
{
	if (sw_change_allowed(call))
		sw_recover_need(call, then);
}

void sw_gate_driven(struct sw_call *call, sw_handler_fn *then)
{
	struct sw_running *live = sw_change_allowed(call) ? sw_running_of(call) : NULL;

	/* Asked of the row, before the state machine is loaded for nothing. */
	if (live != NULL && live->driven) {
		live->asked_us = live->d->clock->mono_us();
		sw_recover_need(call, then);
	} else if (live != NULL) {
		sw_call_refuse(call, SW_CONFLICT, "/sweep",
			       "sweep %lld has a trainer or a command: sweepd's own workers run "
			       "its trials",
			       (long long)live->sweep);
	}
}

void sw_gate_worker(struct sw_call *call, sw_handler_fn *then)
{
	struct sw_running *live = sw_slot_of(call) != NULL ? sw_running_of(call) : NULL;

	/* Without a state machine it ended before this start, and none of its trials can be on a
	 * slot. */
	if (live != NULL && (live->sched == NULL || live->driven))
		sw_call_refuse(call, SW_CONFLICT, "/sweep", "sweep %lld runs no trial on a slot",
			       (long long)live->sweep);
	else if (live != NULL)
		then(live, call);
}
