/* tests/daemon/sweep/live.h — a running sweep for tests: its spec and its scheduler, no more. */
#ifndef SW_TESTS_DAEMON_SWEEP_LIVE_H
#define SW_TESTS_DAEMON_SWEEP_LIVE_H

#include "daemon/daemon.h"
#include "daemon/plan/plan.h"
#include "daemon/sweep/running.h"
#include "tests/spec/spec_text.h"

static inline void live_fill(struct sw_running *live, const char *spec)
{
	struct sw_err err = SW_ERR_INIT;

	live->spec = read_spec(spec);
	ck_assert_int_eq(sw_plan_build(&live->sched, live->spec, 1, NULL, &err), SW_OK);
}

static inline void live_empty(struct sw_running *live)
{
	sw_sweep_destroy(live->sched);
}

#endif
