/* daemon/handlers_simulate.c — sweep.simulate. */
#include "daemon/handlers.h"

void sw_handle_sweep_simulate(struct sw_call *call)
{
	struct sw_err err = SW_ERR_INIT;

	(void)sw_err_set(&err, SW_CONFLICT, "sweep.simulate is not there yet");
	sw_call_error(call, &err);
}
