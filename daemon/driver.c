#include "daemon/driver.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "daemon/call.h"
#include "daemon/conn.h"
#include "daemon/daemon.h"
#include "daemon/host.h"
#include "daemon/plan.h"
#include "daemon/suggest.h"
#include "daemon/supervisor.h"
#include "daemon/watch.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXPIRE_MAX 1000 /* leases that one tick ends, of one sweep */

static const char *const event_names[SW_EVENT_KIND_N] = {
	[SW_EVENT_ASK] = "ask",         [SW_EVENT_REPORT] = "report",
	[SW_EVENT_TELL] = "tell",       [SW_EVENT_LOST] = "lost",
	[SW_EVENT_RELEASE] = "release", [SW_EVENT_CANCEL_TRIAL] = "cancel_trial",
	[SW_EVENT_PAUSE] = "pause",     [SW_EVENT_RESUME] = "resume",
	[SW_EVENT_CANCEL] = "cancel",   [SW_EVENT_FAIL] = "fail",
	[SW_EVENT_EXTEND] = "extend",   [SW_EVENT_ENQUEUE] = "enqueue",
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
	c->now_ms = sw_clock_wall_ms();
	sw_buf_init(&c->reply, SW_REPLY_MAX);
	return c;
}

static void free_change(struct sw_change *c)
{
	sw_buf_fini(&c->reply);
	free(c->stops);
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
		sw_supervisor_stop_trial(c->d, c->stops[i].slot, c->stops[i].sweep,
					 c->stops[i].trial, c->stops[i].attempt);
	if (c->call != NULL)
		sw_call_result(c->call, &c->reply);
	if (c->then != NULL)
		c->then(c->arg);
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

/* --- a step's rows --- */

static void note_stop(struct sw_change *c, int32_t slot, const struct sw_host *h,
		      const struct sw_action *a)
{
	if (slot < 0)
		return;
	if (c->stop_n == c->stop_cap) {
		const size_t cap = c->stop_cap == 0 ? 8 : c->stop_cap * 2;
		struct sw_stop *grown = sw_realloc(c->stops, cap * sizeof *grown);

		if (grown == NULL)
			sw_daemon_die("stop a trial", SW_NOMEM);
		c->stops = grown;
		c->stop_cap = cap;
	}
	c->stops[c->stop_n++] = (struct sw_stop){
		.slot = slot, .sweep = h->sweep, .trial = (int64_t)a->trial, .attempt = a->attempt};
}

static void add_log(struct sw_change *c, const struct sw_host *h, const struct sw_action *a,
		    const char *fmt, const char *text)
{
	struct sw_buf b;

	sw_buf_init(&b, 1000);
	(void)sw_buf_adds(&b, fmt);
	if (*text != '\0') {
		(void)sw_buf_adds(&b, ": ");
		(void)sw_buf_adds(&b, text);
	}
	const struct sw_row_log row = {.sweep = h->sweep,
				       .trial = (int64_t)a->trial,
				       .attempt = a->attempt,
				       .time_ms = c->now_ms,
				       .line = b.data};
	if (b.failed == SW_OK)
		sw_tx_log(c->tx, &row);
	sw_buf_fini(&b);
}

/* How the trial came about, and what the sampler needs to go on from there. */
static void add_suggestion(struct sw_change *c, const struct sw_host *h, const struct sw_action *a)
{
	static const char digits[] = "0123456789abcdef";
	const struct sw_suggestion *s = a->suggestion;
	struct sw_buf why, state;

	sw_buf_init(&why, 64 * 1024);
	sw_buf_init(&state, 16 * 1024 * 1024);
	sw_suggest_why(s, sw_sweep_history(h->sched)->n_obs, h->maximize, &why);
	for (size_t i = 0; i < s->state_n; i++) {
		const char pair[2] = {digits[s->state[i] >> 4], digits[s->state[i] & 15]};

		(void)sw_buf_add(&state, pair, 2);
	}
	if (why.failed != SW_OK || state.failed != SW_OK)
		sw_daemon_die("record a suggestion", SW_NOMEM);
	const struct sw_row_suggestion row = {.sweep = h->sweep,
					      .trial = (int64_t)a->trial,
					      .known = (int64_t)s->known,
					      .why = why.data};
	const struct sw_row_sampler sampler = {
		.sweep = h->sweep, .trial = (int64_t)a->trial, .state = state.data};
	sw_tx_suggestion(c->tx, &row);
	if (s->state_n > 0)
		sw_tx_sampler(c->tx, &sampler);
	sw_buf_fini(&why);
	sw_buf_fini(&state);
}

static void on_create(struct sw_change *c, struct sw_host *h, const struct sw_action *a)
{
	struct sw_buf params;

	sw_buf_init(&params, SW_REPLY_MAX);
	sw_plan_params(h->spec, sw_sweep_space(h->sched), a->values, &params);
	if (params.failed != SW_OK || sw_host_runs(h, a->trial) != SW_OK)
		sw_daemon_die("record a trial", SW_NOMEM);
	const struct sw_row_trial row = {.sweep = h->sweep,
					 .trial = (int64_t)a->trial,
					 .state = sw_trial_state_name(SW_TRIAL_PENDING),
					 .params = params.data,
					 .created_ms = c->now_ms};
	sw_tx_trial_insert(c->tx, &row);
	sw_buf_fini(&params);
	if (a->suggestion != NULL && sw_sweep_learns(h->sched))
		add_suggestion(c, h, a);
}

static void on_start(struct sw_change *c, struct sw_host *h, const struct sw_action *a,
		     int32_t slot, uint64_t ev)
{
	struct sw_run *run = &h->runs[a->trial - 1];
	const struct sw_row_attempt attempt = {.sweep = h->sweep,
					       .trial = (int64_t)a->trial,
					       .attempt = a->attempt,
					       .ev = (int64_t)ev,
					       .slot = slot,
					       .started_ms = c->now_ms,
					       .state = "RUNNING"};
	const struct sw_row_trial trial = {.sweep = h->sweep,
					   .trial = (int64_t)a->trial,
					   .state = sw_trial_state_name(SW_TRIAL_RUNNING),
					   .attempt = a->attempt,
					   .started_ms = c->now_ms,
					   .seconds = (double)run->seconds};

	*run = (struct sw_run){.started_ms = c->now_ms,
			       .heard_us = sw_clock_mono_us(),
			       .seconds = run->seconds,
			       .slot = slot};
	if (a->trial < h->oldest)
		h->oldest = a->trial;
	if (slot >= 0)
		h->share.running++;
	sw_tx_attempt_start(c->tx, &attempt);
	sw_tx_trial_state(c->tx, &trial);
}

/* The live attempt of a trial, if there is one, is over: rows and accounts. */
static void end_attempt(struct sw_change *c, struct sw_host *h, const struct sw_action *a,
			const char *state)
{
	struct sw_run *run = &h->runs[a->trial - 1];
	const struct sw_row_attempt row = {.sweep = h->sweep,
					   .trial = (int64_t)a->trial,
					   .attempt = a->attempt,
					   .ended_ms = c->now_ms,
					   .state = state,
					   .cause = *a->cause != '\0' ? a->cause : NULL};

	if (run->started_ms == 0)
		return;
	sw_tx_attempt_end(c->tx, &row);
	const int64_t ms = c->now_ms > run->started_ms ? c->now_ms - run->started_ms : 0;
	run->seconds += (float)ms / 1000.0f;
	run->started_ms = 0;
	if (run->slot < 0)
		return;
	assert(h->share.running > 0);
	h->share.running--;
	h->share.used_us += ms * 1000;
	if ((size_t)run->slot < h->d->slot_n) {
		struct sw_slot *s = &h->d->slots[run->slot];

		if (s->sweep == h->sweep && s->trial == (int64_t)a->trial &&
		    s->attempt == a->attempt)
			sw_supervisor_done(s);
	}
}

static void on_over(struct sw_change *c, struct sw_host *h, const struct sw_action *a,
		    enum sw_trial_state state, bool counts)
{
	const bool retry = a->kind == SW_ACTION_RETRY;
	const char *name = sw_trial_state_name(state);

	end_attempt(c, h, a, retry ? (counts ? "LOST" : "RELEASED") : name);
	const struct sw_row_trial row = {.sweep = h->sweep,
					 .trial = (int64_t)a->trial,
					 .state = name,
					 .cause = *a->cause != '\0' ? a->cause : NULL,
					 .attempt = a->attempt,
					 .seconds = (double)h->runs[a->trial - 1].seconds,
					 .ended_ms = retry ? 0 : c->now_ms};
	sw_tx_trial_state(c->tx, &row);
	if (retry)
		add_log(c, h, a, "the attempt ended, another one follows", a->cause);
	else if (state == SW_TRIAL_FAILED || state == SW_TRIAL_INFEASIBLE)
		add_log(c, h, a, name, a->cause);
}

static void on_sweep(struct sw_change *c, struct sw_host *h, const struct sw_action *a)
{
	const bool ended = a->sweep != SW_SWEEP_RUNNING && a->sweep != SW_SWEEP_PAUSED;

	h->state = a->sweep;
	h->ended_ms = ended ? c->now_ms : 0;
	sw_tx_sweep_state(c->tx, h->sweep, sw_sweep_state_name(a->sweep),
			  *a->cause != '\0' ? a->cause : NULL, h->ended_ms, h->run_cap);
	sw_log(SW_LOG_INFO, "sweep.state", "sweep=%lld state=%s%s%s%s", (long long)h->sweep,
	       sw_sweep_state_name(a->sweep), *a->cause != '\0' ? " cause=\"" : "", a->cause,
	       *a->cause != '\0' ? "\"" : "");
}

static void on_decide(struct sw_change *c, const struct sw_host *h, const struct sw_event *event,
		      const struct sw_action *a)
{
	const struct sw_asha_judgement *j = &a->judgement;

	if (j->rung == 0)
		return;
	const struct sw_row_decision row = {.sweep = h->sweep,
					    .trial = (int64_t)a->trial,
					    .attempt = event->attempt,
					    .seq = (int64_t)event->seq,
					    .verdict = decision_names[a->decision],
					    .bracket = j->bracket,
					    .rung = (int64_t)j->rung,
					    .n = (int64_t)j->n,
					    .better = (int64_t)j->better,
					    .keep = (int64_t)j->keep,
					    .has_cutoff = isfinite(j->cutoff),
					    .cutoff = j->cutoff,
					    .value = j->value};
	sw_tx_decision(c->tx, &row);
}

static void take_action(struct sw_change *c, struct sw_host *h, const struct sw_event *event,
			int32_t slot, uint64_t ev, const struct sw_action *a)
{
	switch (a->kind) {
	case SW_ACTION_CREATE:
		on_create(c, h, a);
		break;
	case SW_ACTION_START:
		on_start(c, h, a, slot, ev);
		break;
	case SW_ACTION_DECIDE:
		on_decide(c, h, event, a);
		break;
	case SW_ACTION_RETRY:
		on_over(c, h, a, SW_TRIAL_PENDING, event->kind == SW_EVENT_LOST);
		break;
	case SW_ACTION_PAUSE:
		on_over(c, h, a, SW_TRIAL_PAUSED, false);
		break;
	case SW_ACTION_END:
		on_over(c, h, a, a->end, false);
		break;
	case SW_ACTION_STOP:
		note_stop(c, h->runs[a->trial - 1].slot, h, a);
		break;
	case SW_ACTION_SWEEP:
		on_sweep(c, h, a);
		break;
	}
	sw_watch_changed(h, a->kind == SW_ACTION_SWEEP ? 0 : a->trial);
}

sw_status sw_driver_step(struct sw_change *c, struct sw_host *h, const struct sw_event *event,
			 int32_t slot, const struct sw_actions **actions, uint64_t *ev,
			 struct sw_err *err)
{
	static struct sw_actions step; /* the loop thread's; grown once, reused for ever */
	const sw_status rc = sw_sweep_step(h->sched, event, &step, err);

	if (rc == SW_NOMEM)
		sw_daemon_die("take an event", rc);
	if (rc != SW_OK)
		return rc;
	const uint64_t number = h->next_ev++;
	if (event->kind == SW_EVENT_EXTEND || event->kind == SW_EVENT_ENQUEUE) {
		h->run_cap = (int64_t)sw_sweep_run_cap(h->sched);
		sw_tx_sweep_state(c->tx, h->sweep, sw_sweep_state_name(h->state), NULL, 0,
				  h->run_cap);
	}
	for (size_t i = 0; i < step.n; i++)
		take_action(c, h, event, slot, number, &step.v[i]);
	if (event->kind == SW_EVENT_REPORT) {
		sw_watch_changed(h, event->trial);
	} else {
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
	sw_suggest_changed(h);
	if (actions != NULL)
		*actions = &step;
	if (ev != NULL)
		*ev = number;
	return SW_OK;
}

void sw_driver_attempt_over(struct sw_host *h, enum sw_event_kind kind, uint64_t trial,
			    uint32_t attempt, const char *cause)
{
	const struct sw_trial *t = h->sched != NULL ? sw_sweep_trial(h->sched, trial) : NULL;
	const struct sw_event event = {
		.kind = kind, .trial = trial, .attempt = attempt, .cause = cause};
	struct sw_err err = SW_ERR_INIT;

	if (t == NULL || t->state != SW_TRIAL_RUNNING || t->attempt != attempt)
		return;
	struct sw_change *c = sw_change_begin(h->d, NULL);
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

void sw_driver_fail(struct sw_host *h, const char *cause)
{
	const struct sw_event event = {.kind = SW_EVENT_FAIL, .cause = cause};
	struct sw_change *c = sw_change_begin(h->d, NULL);
	struct sw_err err = SW_ERR_INIT;

	sw_log(SW_LOG_ERROR, "sweep.failed", "sweep=%lld why=\"%s\"", (long long)h->sweep, cause);
	if (sw_driver_step(c, h, &event, -1, NULL, NULL, &err) == SW_OK)
		sw_change_commit(c);
	else
		sw_change_drop(c);
}

static void expire(struct sw_host *h, int64_t now_us)
{
	const int64_t lease_us = (int64_t)(h->spec->lease_s * 1e6);
	const uint64_t n = sw_sweep_trial_n(h->sched);
	unsigned expired = 0;
	bool first = true;

	for (uint64_t trial = h->oldest; trial <= n && expired < EXPIRE_MAX; trial++) {
		const struct sw_trial *t = sw_sweep_trial(h->sched, trial);

		if (first && sw_trial_ended((enum sw_trial_state)t->state)) {
			h->oldest = trial + 1;
			continue;
		}
		first = false;
		if (t->state == SW_TRIAL_RUNNING && now_us - h->runs[trial - 1].heard_us > lease_us)
			sw_driver_attempt_over(h, SW_EVENT_RELEASE, trial, t->attempt,
					       "lease expired");
	}
}

void sw_driver_tick(struct sw_daemon *d, int64_t now_us)
{
	/* A lease cannot be renewed while nothing can be stored, so none ends then either. */
	if (sw_store_stuck(d->store) != NULL || !sw_store_has_room(d->store))
		return;
	for (size_t i = 0; i < d->host_n; i++) {
		struct sw_host *h = d->hosts[i];

		if (h->driven && h->sched != NULL && h->ended_ms == 0 && h->spec->lease_s > 0)
			expire(h, now_us);
	}
}
