/* The events that concern the whole sweep, and the dispatch. */
#include "sched/sweep/sweep.h"
#include "sched/sweep/sweep_internal.h"
#include <inttypes.h>

static sw_status on_pause(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			  struct sw_err *err)
{
	if (sw_sweep_ended(s))
		return sw_sweep_refuse_ended(s, err);
	if (s->state == SW_SWEEP_PAUSED)
		return sw_err_set(err, SW_CONFLICT, "the sweep is paused already");
	const sw_status rc = sw_actions_reserve(out, 1, err);
	if (rc == SW_OK)
		sw_sweep_enter(s, SW_SWEEP_PAUSED, ev->cause, out);
	return rc;
}

static sw_status on_resume(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			   struct sw_err *err)
{
	(void)ev;
	if (sw_sweep_ended(s))
		return sw_sweep_refuse_ended(s, err);
	if (s->state != SW_SWEEP_PAUSED)
		return sw_err_set(err, SW_CONFLICT, "the sweep is not paused");
	const sw_status rc = sw_actions_reserve(out, 1, err);
	if (rc == SW_OK) {
		/* Whoever resumes has seen the failures, so they are counted from here on. */
		sw_sweep_judge_anew(s);
		sw_sweep_enter(s, SW_SWEEP_RUNNING, NULL, out);
	}
	return rc;
}

static sw_status on_cancel(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			   struct sw_err *err)
{
	(void)ev;
	return sw_sweep_end_all(s, SW_SWEEP_CANCELLED, "sweep-cancelled", NULL, out, err);
}

static sw_status on_fail(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			 struct sw_err *err)
{
	return sw_sweep_end_all(s, SW_SWEEP_FAILED, "sweep-failed", ev->cause, out, err);
}

static sw_status on_stop(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			 struct sw_err *err)
{
	return sw_sweep_end_all(s, SW_SWEEP_COMPLETED, SW_CAUSE_ENDED, ev->cause, out, err);
}

static sw_status on_extend(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			   struct sw_err *err)
{
	const uint64_t points = sw_sweep_points(s), cap = sw_sweep_base_cap(s);

	if (s->state == SW_SWEEP_CANCELLED || s->state == SW_SWEEP_FAILED ||
	    (s->ending && !sw_sweep_ended(s)))
		return sw_sweep_refuse_ended(s, err);
	if (cap == 0)
		return sw_err_at(err, SW_CONFLICT, "/run_cap",
				 "the sweep has no run cap: there is nothing to extend");
	if (points != 0 && cap == points + s->given.n - s->given.children)
		return sw_err_at(
			err, SW_INVALID, "/run_cap",
			"the grid has only %" PRIu64
			" points, and the run cap covers them; retry runs a failed one again",
			points);
	if (ev->run_cap <= cap)
		return sw_err_at(err, SW_INVALID, "/run_cap",
				 "run_cap %" PRIu64 " is not above the present cap %" PRIu64,
				 ev->run_cap, cap);
	const sw_status rc = sw_actions_reserve(out, 1, err);
	if (rc != SW_OK)
		return rc;
	s->user_cap = ev->run_cap;
	if (s->state == SW_SWEEP_COMPLETED)
		sw_sweep_reopen(s, out);
	return SW_OK;
}

static const sweep_handler handlers[SW_EVENT_KIND_N] = {
	[SW_EVENT_ASK] = sw_sweep_on_ask,
	[SW_EVENT_REPORT] = sw_sweep_on_report,
	[SW_EVENT_TELL] = sw_sweep_on_tell,
	[SW_EVENT_LOST] = sw_sweep_on_lost,
	[SW_EVENT_RELEASE] = sw_sweep_on_release,
	[SW_EVENT_CANCEL_TRIAL] = sw_sweep_on_cancel_trial,
	[SW_EVENT_PAUSE] = on_pause,
	[SW_EVENT_RESUME] = on_resume,
	[SW_EVENT_CANCEL] = on_cancel,
	[SW_EVENT_FAIL] = on_fail,
	[SW_EVENT_EXTEND] = on_extend,
	[SW_EVENT_ENQUEUE] = sw_sweep_on_enqueue,
	[SW_EVENT_STOP] = on_stop,
	[SW_EVENT_EDIT] = sw_sweep_on_edit,
	[SW_EVENT_SETTLE] = sw_sweep_on_settle,
};

sw_status sw_sweep_step(struct sw_sweep *s, const struct sw_event *event,
			struct sw_actions *actions, struct sw_err *err)
{
	actions->n = 0;
	/* Events are read back from the store: a kind is checked, not asserted. */
	if ((unsigned)event->kind >= SW_EVENT_KIND_N)
		return sw_err_set(err, SW_INVALID, "no such event");
	/* Memory for the history is taken before the event changes anything. */
	sw_status rc = sw_sweep_learn_reserve(s, err);
	if (rc == SW_OK)
		rc = handlers[event->kind](s, event, actions, err);
	if (rc != SW_OK)
		return rc;
	/* Readers of the heap expect that its first trial still waits: one that was cancelled
	 * meanwhile leaves when it comes to the top. */
	while (s->pending.n > 0 && s->trial[s->pending.v[0] - 1].state != SW_TRIAL_PENDING)
		(void)sw_pending_pop(&s->pending);
	sw_sweep_tell_waiting(s);
	return SW_OK;
}
