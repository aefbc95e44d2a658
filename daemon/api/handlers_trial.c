/* daemon/api/handlers_trial.c — trial.ask, report, heartbeat, tell, cancel: what changes a
 * trial. */
#include "daemon/api/handlers.h"
#include "daemon/api/watch.h"
#include "daemon/daemon.h"
#include "daemon/plan/plan.h"
#include "daemon/sweep/ask.h"
#include "daemon/sweep/driver.h"
#include "daemon/sweep/live.h"
#include "daemon/sweep/recover.h"
#include "daemon/sweep/report.h"
#include "proto/json.h"

/* Loads the sweep of the call and goes on there. */
static void with_host(struct sw_call *call,
		      void (*then)(struct sw_live *live, struct sw_call *call))
{
	if (sw_change_allowed(call))
		sw_recover_need(call, then);
}

/* trial.ask, report and tell are for sweeps that a client drives. */
static bool is_driven(const struct sw_live *live, struct sw_call *call)
{
	struct sw_err err = SW_ERR_INIT;

	if (live->driven)
		return true;
	(void)sw_err_at(
		&err, SW_CONFLICT, "/sweep",
		"sweep %lld has a trainer or a command: sweepd's own workers run its trials",
		(long long)live->sweep);
	sw_call_error(call, &err);
	return false;
}

static void ask(struct sw_live *live, struct sw_call *call)
{
	struct sw_err err = SW_ERR_INIT;

	if (!is_driven(live, call))
		return;
	if (live->d->draining) {
		(void)sw_err_set(&err, SW_BUSY,
				 "the daemon is draining: it hands out no more trials");
		sw_call_error(call, &err);
		return;
	}
	sw_ask_answer(live, call);
}

static void report(struct sw_live *live, struct sw_call *call)
{
	if (is_driven(live, call))
		sw_report_answer(live, call);
}

static void heartbeat(struct sw_live *live, struct sw_call *call)
{
	if (is_driven(live, call))
		sw_report_heartbeat(live, call);
}

static void tell(struct sw_live *live, struct sw_call *call)
{
	if (is_driven(live, call))
		sw_report_tell(live, call);
}

void sw_handle_trial_ask(struct sw_call *call)
{
	with_host(call, ask);
}

void sw_handle_trial_report(struct sw_call *call)
{
	with_host(call, report);
}

void sw_handle_trial_heartbeat(struct sw_call *call)
{
	with_host(call, heartbeat);
}

void sw_handle_trial_tell(struct sw_call *call)
{
	with_host(call, tell);
}

/* A trial of the user's own: what he does not name is drawn. */
static void enqueue(struct sw_live *live, struct sw_call *call)
{
	struct sw_value values[SW_SPACE_MAX_PARAMS];
	struct sw_event event = {.kind = SW_EVENT_ENQUEUE, .values = values};
	const uint64_t trial = sw_sweep_trial_n(live->sched) + 1;
	struct sw_err err = SW_ERR_INIT;
	struct sw_jw w;

	sw_status rc = sw_plan_point(live->spec, sw_sweep_space(live->sched),
				     sw_json_get(call->params, "params"), live->seed, trial, values,
				     &err);
	if (rc != SW_OK) {
		sw_err_prefix(&err, "/params");
		sw_call_error(call, &err);
		return;
	}
	struct sw_change *c = sw_change_begin(live->d, call);
	if (sw_driver_step(c, live, &event, -1, &err) != SW_OK) {
		sw_change_drop(c);
		sw_call_error(call, &err);
		return;
	}
	sw_jw_init(&w, &c->reply);
	sw_jw_obj(&w);
	sw_jw_kint(&w, "trial", (int64_t)trial);
	sw_jw_kstr(&w, "state", sw_trial_state_name(SW_TRIAL_PENDING));
	sw_jw_obj_end(&w);
	sw_change_commit(c);
}

void sw_handle_trial_enqueue(struct sw_call *call)
{
	with_host(call, enqueue);
}

static void cancel(struct sw_live *live, struct sw_call *call)
{
	const struct sw_event event = {.kind = SW_EVENT_CANCEL_TRIAL,
				       .trial = (uint64_t)sw_call_int(call, "trial", 0)};
	struct sw_err err = SW_ERR_INIT;
	struct sw_change *c = sw_change_begin(live->d, call);
	struct sw_jw w;

	if (sw_driver_step(c, live, &event, -1, &err) != SW_OK) {
		sw_change_drop(c);
		sw_call_error(call, &err);
		return;
	}
	const struct sw_trial *t = sw_sweep_trial(live->sched, event.trial);
	sw_jw_init(&w, &c->reply);
	sw_jw_obj(&w);
	sw_jw_kint(&w, "trial", (int64_t)event.trial);
	sw_jw_kstr(&w, "state", sw_trial_state_name((enum sw_trial_state)t->state));
	sw_jw_obj_end(&w);
	sw_change_commit(c);
}

void sw_handle_trial_cancel(struct sw_call *call)
{
	with_host(call, cancel);
}
