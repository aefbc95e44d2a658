/* daemon/api/handlers_trial.c — trial.ask, report, heartbeat, tell, cancel: what changes a
 * trial. */
#include "daemon/api/handlers.h"
#include "daemon/daemon.h"
#include "daemon/plan/plan.h"
#include "daemon/sweep/give/ask.h"
#include "daemon/sweep/run/driver.h"
#include "daemon/sweep/run/report.h"
#include "daemon/sweep/running.h"
#include "proto/json.h"

/* A trial of the user's own: what he does not name is drawn. again: these parameters are of that
 * trial; 0: of none. NULL: the call was refused. */
static struct sw_change *enqueue(struct sw_running *live, struct sw_call *call, const cJSON *params,
				 uint64_t again)
{
	struct sw_value values[SW_SPACE_MAX_PARAMS];
	const struct sw_event event = {.kind = SW_EVENT_ENQUEUE, .trial = again, .values = values};
	struct sw_err err = SW_ERR_INIT;

	/* The values are whole then; a refusal is of the sweep, such as that it has ended. */
	if (sw_plan_point(live->spec, sw_sweep_space(live->sched), params, live->seed,
			  sw_sweep_trial_n(live->sched) + 1, values, &err) == SW_OK)
		return sw_driver_change(live, call, &event);
	sw_err_prefix(&err, "/params");
	sw_call_error(call, &err);
	return NULL;
}

/* In one turn, so that no other client's ask comes between and takes the trial. */
static void ask_given(struct sw_running *live, struct sw_call *call)
{
	struct sw_change *c = enqueue(live, call, sw_json_get(call->params, "params"), 0);

	if (c == NULL)
		return;
	/* The same call answers once, by the ask that follows in this turn. */
	c->call = NULL; /* answered with the trial */
	sw_change_commit(c);
	sw_ask_answer_given(live, call, sw_sweep_trial_n(live->sched));
}

/* Would it hand out nothing? Then nothing is enqueued either: who asks again would leave a trial
 * each time. */
static bool is_idle(const struct sw_running *live)
{
	const enum sw_idle idle = sw_sweep_idle(live->sched);

	return idle == SW_IDLE_DONE || idle == SW_IDLE_PAUSED || idle == SW_IDLE_BUSY;
}

void sw_handle_trial_ask(struct sw_running *live, struct sw_call *call)
{
	if (live->d->draining)
		sw_call_refuse(call, SW_BUSY, "",
			       "the daemon is draining: it hands out no more trials");
	else if (sw_json_get(call->params, "params") != NULL &&
		 sw_call_num(call, "wait_s", 0.0) > 0)
		sw_call_refuse(call, SW_INVALID, "/wait_s",
			       "an ask with params does not wait: ask again");
	else if (sw_json_get(call->params, "params") != NULL && !is_idle(live))
		ask_given(live, call);
	else
		sw_ask_answer(live, call);
}

static void answer_enqueued(struct sw_running *live, struct sw_change *c)
{
	struct sw_jw w;

	if (c == NULL)
		return;
	sw_jw_init_obj(&w, &c->reply);
	sw_jw_kint(&w, "trial", (int64_t)sw_sweep_trial_n(live->sched));
	sw_jw_kstr(&w, "state", sw_trial_state_name(SW_TRIAL_PENDING));
	sw_jw_obj_end(&w);
	sw_change_commit(c);
}

void sw_handle_trial_enqueue(struct sw_running *live, struct sw_call *call)
{
	answer_enqueued(live, enqueue(live, call, sw_json_get(call->params, "params"), 0));
}

/* By its parameters as they are stored: a range that was narrowed since may refuse them. */
void sw_handle_trial_retry(struct sw_running *live, struct sw_call *call)
{
	const uint64_t trial = (uint64_t)sw_call_int(call, "trial", 0);
	struct sw_value values[SW_SPACE_MAX_PARAMS];
	struct sw_buf text;

	sw_buf_init(&text, SW_REPLY_MAX);
	if (sw_sweep_values(live->sched, trial, values) == SW_OK)
		sw_plan_params(live->spec, sw_sweep_space(live->sched), values, &text);
	/* As text and back, so that the values pass the same reader as a client's. */
	cJSON *params = cJSON_Parse(text.len > 0 ? text.data : "{}"); /* of no trial: refused */
	if (params != NULL)
		answer_enqueued(live, enqueue(live, call, params, trial));
	else /* nothing is drawn in place of what was asked for */
		sw_call_refuse(call, SW_NOMEM, "", "no memory for the trial's parameters");
	cJSON_Delete(params);
	sw_buf_fini(&text);
}

void sw_handle_trial_cancel(struct sw_running *live, struct sw_call *call)
{
	const struct sw_event event = {.kind = SW_EVENT_CANCEL_TRIAL,
				       .trial = (uint64_t)sw_call_int(call, "trial", 0)};
	struct sw_change *c = sw_driver_change(live, call, &event);

	if (c == NULL)
		return;
	sw_report_state(&c->reply, live, event.trial);
	sw_change_commit(c);
}
