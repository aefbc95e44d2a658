/* daemon/plan.h — from a spec (proto) to the scheduler's configuration (sched), and values back to
 * JSON. */
#ifndef SW_DAEMON_PLAN_H
#define SW_DAEMON_PLAN_H

#include "base/buf.h"
#include "base/status.h"
#include "proto/spec.h"
#include "sched/sweep.h"

/* Builds the state machine of a spec. seed is used where the spec has none. Errors carry pointers
 * into the spec ("/parameters/lr/min"). *out is the caller's. */
SW_NODISCARD sw_status sw_plan_build(struct sw_sweep **out, const struct sw_spec *spec,
				     uint64_t seed, struct sw_err *err);

/* Appends the parameters of a trial as a JSON object. O(n) in the parameters. */
void sw_plan_params(const struct sw_spec *spec, const struct sw_space *space,
		    const struct sw_value *values, struct sw_buf *out);

#endif
