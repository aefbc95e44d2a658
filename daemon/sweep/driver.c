#include "daemon/sweep/driver.h"
#include "base/log.h"
#include "base/memory.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/net/call.h"
#include "daemon/net/conn.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/ask_wait.h"
#include "daemon/sweep/host.h"
#include "daemon/sweep/rows.h"
#include "daemon/sweep/settle.h"
#include "daemon/sweep/suggest.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define STEP_KEPT 4096 /* actions whose room is kept for the next step */

static const char *const event_names[SW_EVENT_KIND_N] = {
	[SW_EVENT_ASK] = "ask",         [SW_EVENT_REPORT] = "report",
	[SW_EVENT_TELL] = "tell",       [SW_EVENT_LOST] = "lost",
	[SW_EVENT_RELEASE] = "release", [SW_EVENT_CANCEL_TRIAL] = "cancel_trial",
	[SW_EVENT_PAUSE] = "pause",     [SW_EVENT_RESUME] = "resume",
	[SW_EVENT_CANCEL] = "cancel",   [SW_EVENT_FAIL] = "fail",
	[SW_EVENT_EXTEND] = "extend",   [SW_EVENT_ENQUEUE] = "enqueue",
	[SW_EVENT_STOP] = "stop",       [SW_EVENT_EDIT] = "edit",
	[SW_EVENT_SETTLE] = "settle",
};

static const char *const decision_names[] = {
	[SW_DECISION_CONTINUE] = "continue",
	[SW_DECISION_STOP] = "stop",
	[SW_DECISION_PAUSE] = "pause",
};

sw_status sw_event_find(const char *name, enum sw_event_kind *out)
{
	for (size_t i = 0; i < SW_EVENT_KIND_N; i++)
		if (strcmp(event_names[i], name) == 0) {
			*out = (enum sw_event_kind)i;
			return SW_OK;
		}
	return SW_INVALID;
}

const char *sw_decision_name(enum sw_decision decision)
{
	return decision_names[decision];
}

/* --- changes --- */

struct sw_change *sw_change_begin(struct sw_daemon *d, struct sw_call *call)
{
	struct sw_change *c = sw_calloc(1, sizeof *c);

	if (c == NULL || sw_tx_create(&c->tx) != SW_OK)
		sw_daemon_die("begin a change", SW_NOMEM);
	c->d = d;
	c->call = call;
	c->uid = call != NULL ? (int64_t)call->conn->uid : -1;
	c->now_ms = d->clock->wall_ms();
	sw_buf_init(&c->reply, SW_REPLY_MAX);
	return c;
}

static void free_change(struct sw_change *c)
{
	sw_buf_fini(&c->reply);
	free(c->stops);
	free(c->unneeded);
	free(c);
}

void sw_change_drop(struct sw_change *c)
{
	sw_tx_destroy(c->tx);
	free_change(c);
}

static void on_committed(void *arg)
{
	struct sw_change *c = arg;

	for (size_t i = 0; i < c->stop_n; i++)
		sw_slot_stop_trial(c->d, c->stops[i].slot, c->stops[i].sweep, c->stops[i].trial,
				   c->stops[i].attempt);
	sw_checkpoint_remove(c->d, c->unneeded, c->unneeded_n);
	if (c->shrink != NULL)
		sw_checkpoint_shrink(c->shrink);
	if (c->call != NULL)
		sw_call_result(c->call, &c->reply);
	if (c->then != NULL)
		c->then(c->arg);
	sw_settle_go(c->d);
	free_change(c);
}

void sw_change_commit(struct sw_change *c)
{
	const sw_status rc = sw_store_commit(c->d->store, c->tx, on_committed, c);

	if (rc != SW_OK) /* the state machine has moved; only a restart can make the two agree */
		sw_daemon_die("record a change", rc);
}

bool sw_change_allowed(struct sw_call *call)
{
	const char *stuck = sw_store_stuck(call->d->store);
	struct sw_err err = SW_ERR_INIT;

	if (stuck != NULL)
		(void)sw_err_set(&err, SW_FULL, "%s; nothing is lost, try again once that is over",
				 stuck);
	else if (!sw_store_has_room(call->d->store))
		(void)sw_err_set(&err, SW_BUSY, "too many changes wait for the disk; try again");
	else if (call->d->phase != SW_UP)
		(void)sw_err_set(&err, SW_BUSY, "the daemon is stopping");
	if (err.code == SW_OK)
		return true;
	sw_call_error(call, &err);
	return false;
}

/* --- steps --- */

sw_status sw_driver_step(struct sw_change *c, struct sw_host *h, const struct sw_event *event,
			 int32_t slot, const struct sw_actions **actions, uint64_t *ev,
			 struct sw_err *err)
{
	static struct sw_actions step; /* the loop thread's; reused for ever */
	const struct sw_checkpoint before = sw_checkpoint_of(h, event->trial);

	if (step.cap > STEP_KEPT) /* a sweep with many open trials has ended */
		sw_actions_fini(&step);
	const sw_status rc = sw_sweep_step(h->sched, event, &step, err);

	if (rc == SW_NOMEM)
		sw_daemon_die("take an event", rc);
	if (rc != SW_OK)
		return rc;
	const uint64_t number = h->next_ev++;
	if (h->run_cap != (int64_t)sw_sweep_asked_cap(h->sched)) { /* a child raises it, too */
		h->run_cap = (int64_t)sw_sweep_asked_cap(h->sched);
		sw_tx_sweep_state(c->tx, h->sweep, sw_sweep_state_name(h->state), NULL, 0,
				  h->run_cap);
	}
	for (size_t i = 0; i < step.n; i++)
		sw_rows_action(c, h, event, slot, number, &step.v[i]);
	if (event->kind != SW_EVENT_REPORT) {
		const struct sw_row_event row = {
			.sweep = h->sweep,
			.ev = (int64_t)number,
			.kind = event_names[event->kind],
			.trial = (int64_t)event->trial,
			.attempt = event->attempt,
			.state = event->kind == SW_EVENT_TELL ? sw_trial_state_name(event->end)
							      : NULL,
			.cause = event->cause,
			.run_cap = (int64_t)event->run_cap,
			.time_ms = c->now_ms,
			.uid = c->uid,
		};
		sw_tx_event(c->tx, &row);
	}
	sw_checkpoint_stepped(c, h, event, &before, &step);
	sw_budget_changed(h);
	sw_suggest_changed(h);
	sw_asks_changed(h);
	sw_settle_changed(h);
	sw_changes_stepped(c, h, event, &step);
	if (actions != NULL)
		*actions = &step;
	if (ev != NULL)
		*ev = number;
	return SW_OK;
}

void sw_driver_attempt_over(struct sw_host *h, enum sw_event_kind kind, uint64_t trial,
			    uint32_t attempt, const char *cause, int64_t over_ms)
{
	const struct sw_trial *t = h->sched != NULL ? sw_sweep_trial(h->sched, trial) : NULL;
	const struct sw_event event = {
		.kind = kind, .trial = trial, .attempt = attempt, .cause = cause};
	struct sw_err err = SW_ERR_INIT;

	if (t == NULL || t->state != SW_TRIAL_RUNNING || t->attempt != attempt)
		return;
	struct sw_change *c = sw_change_begin(h->d, NULL);
	c->over_ms = over_ms;
	if (sw_driver_step(c, h, &event, -1, NULL, NULL, &err) != SW_OK) {
		sw_log(SW_LOG_ERROR, "driver.refused", "trial=%lld/%llu event=%s why=\"%s\"",
		       (long long)h->sweep, (unsigned long long)trial, event_names[kind], err.msg);
		sw_change_drop(c);
		return;
	}
	sw_log(SW_LOG_INFO, "attempt.over", "trial=%lld/%llu attempt=%u %s cause=\"%s\"",
	       (long long)h->sweep, (unsigned long long)trial, attempt, event_names[kind], cause);
	sw_change_commit(c);
}

void sw_driver_end(struct sw_host *h, enum sw_event_kind kind, const char *cause)
{
	const struct sw_event event = {.kind = kind, .cause = cause};
	struct sw_change *c = sw_change_begin(h->d, NULL);
	struct sw_err err = SW_ERR_INIT;

	if (sw_driver_step(c, h, &event, -1, NULL, NULL, &err) == SW_OK)
		sw_change_commit(c);
	else
		sw_change_drop(c);
}

void sw_driver_fail(struct sw_host *h, const char *cause)
{
	sw_log(SW_LOG_ERROR, "sweep.failed", "sweep=%lld why=\"%s\"", (long long)h->sweep, cause);
	sw_driver_end(h, SW_EVENT_FAIL, cause);
}
