#include "daemon/sweep/run/driver.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/net/call.h"
#include "daemon/sweep/files/files.h"
#include "daemon/sweep/marks.h"
#include "daemon/sweep/names.h"
#include "daemon/sweep/run/rows.h"
#include "daemon/sweep/running.h"

static void add_event(struct sw_change *c, const struct sw_running *live,
		      const struct sw_event *event)
{
	const struct sw_row_event row = {
		.sweep = live->sweep,
		.ev = (int64_t)c->ev,
		.kind = sw_names_event(event->kind),
		.trial = (int64_t)event->trial,
		.attempt = event->attempt,
		.state = event->kind == SW_EVENT_TELL ? sw_trial_state_name(event->end) : NULL,
		.cause = event->cause,
		.run_cap = (int64_t)event->run_cap,
		.time_ms = c->now_ms,
		.uid = c->uid,
	};
	sw_tx_event(c->tx, &row);
}

sw_status sw_driver_step(struct sw_change *c, struct sw_running *live, const struct sw_event *event,
			 int32_t slot, struct sw_err *err)
{
	const sw_status rc = sw_sweep_step(live->sched, event, &c->actions, err);

	/* The step may have moved a part of the state, so no refusal can be honest; the restart
	 * rebuilds it from the store. */
	if (rc == SW_NOMEM)
		sw_daemon_die("take an event", rc);
	if (rc != SW_OK)
		return rc;
	/* From here on nothing may fail: the state machine has moved, and what is not stored with
	 * it would be decided otherwise by a replay. Given only to events that were taken, so that
	 * a replay finds them without a gap. */
	c->ev = live->next_ev++;
	/* Compared, not known from the event: a population's child raises the cap, too. */
	if (live->run_cap != (int64_t)sw_sweep_asked_cap(live->sched)) {
		live->run_cap = (int64_t)sw_sweep_asked_cap(live->sched);
		const char *cause = sw_sweep_cause(live->sched); /* a paused sweep's stays */

		sw_tx_sweep_state(c->tx, live->sweep, sw_sweep_state_name(live->state),
				  *cause != '\0' ? cause : NULL, live->ended_ms, live->run_cap);
	}
	/* In the actions' order: a trial's CREATE comes before its START, whose row refers to
	 * it. */
	for (size_t i = 0; i < c->actions.n; i++)
		sw_rows_action(c, live, event, slot, &c->actions.v[i]);
	/* A report is its own row, which the caller has: it knows the metrics as they came. */
	if (event->kind != SW_EVENT_REPORT)
		add_event(c, live, event);
	sw_files_stepped(c, live, event);
	/* Last those above, which may look at all that the step has left. */
	sw_marks_stepped(&live->view.changes, event, &c->actions);
	/* It may add effects behind those of the rows: a worker hears of its stop before a next
	 * slice of the end begins. */
	live->d->sweep.driver_events->stepped(c, live);
	return SW_OK;
}

struct sw_change *sw_driver_change(struct sw_running *live, struct sw_call *call,
				   const struct sw_event *event)
{
	struct sw_change *c = sw_change_begin(live->d, call);
	struct sw_err err = SW_ERR_INIT;
	const bool opens = event->kind == SW_EVENT_EXTEND ||
			   (event->kind == SW_EVENT_ENQUEUE && event->trial != 0);
	char spent[SW_CAUSE_MAX];

	/* Opened again it would end with this very turn. */
	if (opens && live->ended_ms != 0 && sw_budget_spent(live, c->now_ms, spent))
		(void)sw_err_set(&err, SW_CONFLICT,
				 "%s: to go on, submit a sweep with \"warm_start\": [%lld]", spent,
				 (long long)live->sweep);
	else if (sw_driver_step(c, live, event, -1, &err) == SW_OK)
		return c;
	/* A refused step has moved nothing and left no row: the change may go without a trace. */
	sw_change_drop(c);
	sw_call_error(call, &err);
	return NULL;
}

void sw_driver_attempt_over(struct sw_running *live, enum sw_event_kind kind, uint64_t trial,
			    uint32_t attempt, const char *cause, int64_t over_ms)
{
	const struct sw_trial *t = live->sched != NULL ? sw_sweep_trial(live->sched, trial) : NULL;
	const struct sw_event event = {
		.kind = kind, .trial = trial, .attempt = attempt, .cause = cause};
	struct sw_err err = SW_ERR_INIT;

	/* A worker's end, a lease and a tell may all be about one attempt: the first one counts. */
	if (!sw_trial_runs(t, attempt))
		return;
	/* A change of its own: no call stands behind the end of a process or of a lease. */
	struct sw_change *c = sw_change_begin(live->d, NULL);
	/* Only where no daemon looked: the attempt's time ends where it was last heard of, or a
	 * night without a daemon would be billed to the budget. */
	c->over_ms = over_ms;
	if (sw_driver_step(c, live, &event, -1, &err) != SW_OK) {
		/* sw_trial_runs() has just said that the attempt runs, so this is a fault of the
		 * daemon and not of a peer; the trial stays as it is, and the log says so. */
		sw_log(SW_LOG_ERROR, "driver.refused", "trial=%lld/%llu event=%s why=\"%s\"",
		       (long long)live->sweep, (unsigned long long)trial, sw_names_event(kind),
		       err.msg);
		sw_change_drop(c);
		return;
	}
	sw_log(SW_LOG_INFO, "attempt.over", "trial=%lld/%llu attempt=%u %s cause=\"%s\"",
	       (long long)live->sweep, (unsigned long long)trial, attempt, sw_names_event(kind),
	       cause);
	sw_change_commit(c);
}

void sw_driver_end(struct sw_running *live, enum sw_event_kind kind, const char *cause)
{
	const struct sw_event event = {.kind = kind, .cause = cause};
	struct sw_change *c = sw_change_begin(live->d, NULL);
	struct sw_err err = SW_ERR_INIT;

	/* Refused where the sweep has ended meanwhile, which is what was wanted. */
	if (sw_driver_step(c, live, &event, -1, &err) == SW_OK)
		sw_change_commit(c);
	else
		sw_change_drop(c);
}

void sw_driver_fail(struct sw_running *live, const char *cause)
{
	sw_log(SW_LOG_ERROR, "sweep.failed", "sweep=%lld why=\"%s\"", (long long)live->sweep,
	       cause);
	sw_driver_end(live, SW_EVENT_FAIL, cause);
}
