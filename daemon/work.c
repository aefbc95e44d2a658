#include "daemon/work.h"
#include "base/clock.h"
#include "base/fault.h"
#include "daemon/call.h"
#include "daemon/conn.h"
#include "daemon/daemon.h"
#include "daemon/driver.h"
#include "daemon/host.h"
#include "daemon/metrics.h"
#include "daemon/plan.h"
#include "daemon/suggest.h"
#include "daemon/supervisor.h"
#include "daemon/watch.h"
#include "proto/json.h"
#include "sched/rng.h"
#include "store/read.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_MAX_BYTES ((size_t)512 * 1024)
#define ASK_TURN_US   ((int64_t)3000) /* how long an ask for many holds the loop at a time */

/* --- handing out --- */

static const struct sw_action *find_start(const struct sw_actions *actions,
					  const struct sw_action **create)
{
	const struct sw_action *start = NULL;

	*create = NULL;
	for (size_t i = 0; i < actions->n; i++) {
		if (actions->v[i].kind == SW_ACTION_CREATE)
			*create = &actions->v[i];
		if (actions->v[i].kind == SW_ACTION_START)
			start = &actions->v[i];
	}
	return start;
}

/* A new trial's parameters are at hand; those of another attempt the scheduler knows or makes
 * again. */
static void write_params(struct sw_host *h, uint64_t trial, const struct sw_action *create,
			 struct sw_buf *out)
{
	const struct sw_space *space = sw_sweep_space(h->sched);

	if (create != NULL) {
		sw_plan_params(h->spec, space, create->values, out);
		return;
	}
	struct sw_value values[SW_SPACE_MAX_PARAMS];
	if (sw_sweep_values(h->sched, trial, values) != SW_OK)
		out->failed = SW_INTERNAL;
	else
		sw_plan_params(h->spec, space, values, out);
}

static void write_work(struct sw_host *h, const struct sw_action *start, const char *params,
		       struct sw_buf *out)
{
	struct sw_jw w;

	sw_jw_init(&w, out);
	sw_jw_obj(&w);
	sw_jw_kint(&w, "sweep", h->sweep);
	sw_jw_kint(&w, "trial", (int64_t)start->trial);
	sw_jw_kint(&w, "attempt", start->attempt);
	sw_jw_kint(&w, "seed", (int64_t)(sw_rng_u64(h->seed, SW_RNG_TRIAL, start->trial, 0) >> 11));
	sw_jw_kint(&w, "data_seed", (int64_t)h->seed);
	sw_jw_kraw(&w, "params", params);
	sw_jw_kint(&w, "resume_step", 0);
	sw_jw_key(&w, "trainer");
	sw_jw_cjson(&w, h->spec->trainer);
	if (h->spec->has_asha)
		sw_jw_kint(&w, "max_t", (int64_t)h->spec->asha.max_t);
	else
		sw_jw_knull(&w, "max_t");
	sw_jw_kstr(&w, "metric", h->metric);
	sw_jw_kstr(&w, "goal", h->maximize ? "maximize" : "minimize");
	sw_jw_obj_end(&w);
}

bool sw_work_hand_out(struct sw_host *h, struct sw_slot *s, struct sw_call *call)
{
	struct sw_event event = {.kind = SW_EVENT_ASK};
	const struct sw_actions *actions;
	const struct sw_action *create, *start;
	struct sw_err err = SW_ERR_INIT;
	struct sw_buf params;

	if (!sw_suggest_peek(h, &event.suggestion))
		return false;
	struct sw_change *c = sw_change_begin(h->d, call);
	c->uid = -1;
	if (sw_driver_step(c, h, &event, s->index, &actions, NULL, &err) != SW_OK) {
		sw_change_drop(c);
		if (err.code == SW_INVALID) /* no point can be found any more */
			sw_driver_fail(h, err.msg);
		return false;
	}
	start = find_start(actions, &create);
	assert(start != NULL);
	s->state = SW_SLOT_BUSY;
	s->sweep = h->sweep;
	s->trial = (int64_t)start->trial;
	s->attempt = start->attempt;
	s->busy_since_us = sw_clock_mono_us();
	sw_buf_init(&params, SW_REPLY_MAX);
	write_params(h, start->trial, create, &params);
	if (params.failed != SW_OK)
		sw_daemon_die("hand out a trial", params.failed);
	write_work(h, start, params.data, &c->reply);
	sw_buf_fini(&params);
	sw_change_commit(c);
	return true;
}

/* A trial.ask under way. */
struct asking {
	struct sw_host *h;
	struct sw_call *call;
	int64_t left; /* trials still wanted */
	struct sw_buf reply;
	struct sw_jw w; /* writes into reply */
};

static void write_trial(struct asking *a, const struct sw_actions *actions)
{
	const struct sw_action *create, *start = find_start(actions, &create);

	assert(start != NULL);
	sw_jw_obj(&a->w);
	sw_jw_kint(&a->w, "trial", (int64_t)start->trial);
	sw_jw_kint(&a->w, "attempt", start->attempt);
	sw_jw_key(&a->w, "params");
	a->w.comma = false;
	write_params(a->h, start->trial, create, &a->reply);
	a->w.comma = true;
	sw_jw_kint(&a->w, "resume_step", 0);
	sw_jw_obj_end(&a->w);
}

static void finish_ask(struct asking *a, struct sw_change *c)
{
	sw_jw_arr_end(&a->w);
	sw_jw_obj_end(&a->w);
	sw_buf_fini(&c->reply);
	c->reply = a->reply;
	free(a);
	sw_change_commit(c); /* an empty one too: the answer keeps its place */
}

/* Hands out for a while, then lets the loop turn: the rest follows once this much is stored. Those
 * made ahead of time are handed out in one go, for a result would take the prepared ones away. */
static void go_on(void *arg)
{
	struct asking *a = arg;
	struct sw_host *h = a->h;
	struct sw_event event = {.kind = SW_EVENT_ASK};
	const int64_t until_us = h->suggest != NULL ? INT64_MAX : sw_clock_mono_us() + ASK_TURN_US;
	const struct sw_actions *actions;
	struct sw_err err = SW_ERR_INIT;
	struct sw_change *c = sw_change_begin(h->d, a->call);
	bool more = !h->d->draining && h->d->phase == SW_UP;
	bool late = false;

	/* An answer that the client can read in one line: "at most count" allows fewer. */
	while (more && !late && a->left > 0 && a->reply.len < ASK_MAX_BYTES) {
		more = sw_suggest_peek(h, &event.suggestion) &&
		       sw_driver_step(c, h, &event, -1, &actions, NULL, &err) == SW_OK;
		if (more) {
			write_trial(a, actions);
			a->left--;
		}
		late = sw_clock_mono_us() >= until_us;
	}
	if (more && late && a->left > 0 && !sw_call_gone(a->call)) {
		c->call = NULL;
		c->then = go_on;
		c->arg = a;
		sw_change_commit(c);
		return;
	}
	finish_ask(a, c);
	if (err.code == SW_INVALID)
		sw_driver_fail(h, err.msg);
}

void sw_work_ask(struct sw_host *h, struct sw_call *call, int64_t count)
{
	struct asking *a = sw_calloc(1, sizeof *a);

	if (a == NULL)
		sw_daemon_die("hand out trials", SW_NOMEM);
	*a = (struct asking){.h = h, .call = call, .left = count};
	sw_buf_init(&a->reply, SW_REPLY_MAX);
	sw_jw_init(&a->w, &a->reply);
	sw_jw_obj(&a->w);
	sw_jw_key(&a->w, "trials");
	sw_jw_arr(&a->w);
	go_on(a);
}

/* --- reports --- */

struct repeat {
	struct sw_call *call;
	int64_t sweep, trial, attempt, seq;
	char verdict[16];
	sw_status rc;
	struct sw_err err;
};

static bool take_verdict(const struct sw_row_report *row, void *arg)
{
	struct repeat *r = arg;
	/* "end" is how a last report, one that came with a tell, is stored. */
	const char *verdict = strcmp(row->verdict, "end") == 0 ? "continue" : row->verdict;

	(void)snprintf(r->verdict, sizeof r->verdict, "%s", verdict);
	return true;
}

static void read_repeat(struct sw_db *db, void *arg)
{
	struct repeat *r = arg;

	r->rc = sw_read_report(db, r->sweep, r->trial, r->attempt, r->seq, take_verdict, r,
			       &r->err);
}

static void answer_decision(struct sw_buf *out, const char *decision)
{
	struct sw_jw w;

	sw_jw_init(&w, out);
	sw_jw_obj(&w);
	sw_jw_kstr(&w, "decision", decision);
	sw_jw_obj_end(&w);
}

static void on_repeat(void *arg)
{
	struct repeat *r = arg;
	struct sw_buf out;

	if (r->rc != SW_OK) {
		sw_call_error(r->call, &r->err);
	} else {
		sw_buf_init(&out, SW_REPLY_MAX);
		answer_decision(&out, r->verdict);
		sw_call_result(r->call, &out);
	}
	free(r);
}

/* A report that was acknowledged before: the same answer, from the store. */
static void answer_repeat(struct sw_host *h, struct sw_call *call, const struct sw_event *e)
{
	struct repeat *r = sw_calloc(1, sizeof *r);
	struct sw_err err = SW_ERR_INIT;

	if (r != NULL) {
		*r = (struct repeat){.call = call,
				     .sweep = h->sweep,
				     .trial = (int64_t)e->trial,
				     .attempt = e->attempt,
				     .seq = (int64_t)e->seq};
		if (sw_store_read(h->d->store, read_repeat, on_repeat, r) == SW_OK)
			return;
		free(r);
	}
	(void)sw_err_set(&err, SW_BUSY, "too much waits; try again");
	sw_call_error(call, &err);
}

/* The metric is in no report so far, and not in this one either: say so now, not never. */
static void refuse_metric(struct sw_host *h, struct sw_call *call, const cJSON *metrics)
{
	struct sw_err err = SW_ERR_INIT;

	sw_metrics_explain(h->metric, metrics, &err);
	if (h->driven) {
		(void)snprintf(h->note, sizeof h->note, "%.239s", err.msg);
		sw_watch_changed(h, 0);
		sw_call_error(call, &err);
		return;
	}
	const struct sw_event fail = {.kind = SW_EVENT_FAIL, .cause = err.msg};
	struct sw_err refused = SW_ERR_INIT;
	struct sw_change *c = sw_change_begin(h->d, call);
	if (sw_driver_step(c, h, &fail, -1, NULL, NULL, &refused) != SW_OK) {
		sw_change_drop(c);
		sw_call_error(call, &refused);
		return;
	}
	answer_decision(&c->reply, "stop");
	sw_change_commit(c);
}

static bool read_metrics(const struct sw_host *h, const cJSON *metrics, struct sw_event *e,
			 struct sw_buf *text, struct sw_err *err)
{
	sw_status rc = sw_metrics_read(metrics, h->metric, &e->has_value, &e->value, text, err);
	double y[SW_SPEC_MAX_METRICS];

	if (rc == SW_OK && h->spec->n_metrics > 1)
		rc = sw_metrics_all(metrics, h->spec, &e->has_value, y, err);
	for (size_t k = 1; rc == SW_OK && e->has_value && k < h->spec->n_metrics; k++)
		e->more[k - 1] = y[k];
	return rc == SW_OK;
}

static bool all_finite(const struct sw_host *h, const struct sw_event *e)
{
	bool finite = sw_metrics_finite(e->value);

	for (size_t k = 1; k < h->spec->n_metrics; k++)
		finite = finite && sw_metrics_finite(e->more[k - 1]);
	return finite;
}

static void add_report_row(struct sw_change *c, const struct sw_host *h, const struct sw_event *e,
			   uint64_t ev, const char *metrics, const char *verdict)
{
	const bool finite = e->has_value && all_finite(h, e);
	const struct sw_row_report row = {
		.sweep = h->sweep,
		.trial = (int64_t)e->trial,
		.attempt = e->attempt,
		.seq = (int64_t)e->seq,
		.ev = (int64_t)ev,
		.step = (int64_t)e->step,
		.time_ms = c->now_ms,
		.has_value = finite,
		.value = finite ? e->value : 0.0,
		.diverged = e->has_value && !finite,
		.metrics = metrics,
		.verdict = verdict,
	};

	sw_tx_report(c->tx, &row);
}

/* One report into the change. The decision is what the client gets. */
static sw_status step_report(struct sw_change *c, struct sw_host *h, const struct sw_event *e,
			     const char *metrics, const char **decision, struct sw_err *err)
{
	const struct sw_actions *actions;
	uint64_t ev = 0;
	const sw_status rc = sw_driver_step(c, h, e, -1, &actions, &ev, err);

	if (rc != SW_OK)
		return rc;
	*decision = "continue";
	for (size_t i = 0; i < actions->n; i++)
		if (actions->v[i].kind == SW_ACTION_DECIDE)
			*decision = sw_decision_name(actions->v[i].decision);
	add_report_row(c, h, e, ev, metrics, e->final ? "end" : *decision);
	h->runs[e->trial - 1].heard_us = sw_clock_mono_us();
	h->d->n_reports++;
	if (e->has_value) {
		h->metric_seen = true;
		h->note[0] = '\0';
	}
	return SW_OK;
}

/* Did the daemon itself end this trial, so that a late report is told to stop and not refused? */
static bool ended_here(const struct sw_host *h, const struct sw_trial *t)
{
	switch ((enum sw_trial_state)t->state) {
	case SW_TRIAL_PRUNED:
	case SW_TRIAL_INFEASIBLE:
	case SW_TRIAL_CANCELLED:
		return true;
	case SW_TRIAL_COMPLETED:
		return h->spec->has_asha && t->step >= h->spec->asha.max_t;
	default:
		return false;
	}
}

static void answer_stop(struct sw_call *call)
{
	struct sw_buf out;

	sw_buf_init(&out, SW_REPLY_MAX);
	answer_decision(&out, "stop");
	sw_call_result(call, &out);
}

void sw_work_report(struct sw_host *h, struct sw_call *call)
{
	const cJSON *metrics = sw_json_get(call->params, "metrics");
	struct sw_event e = {
		.kind = SW_EVENT_REPORT,
		.trial = (uint64_t)sw_call_int(call, "trial", 0),
		.attempt = (uint32_t)sw_call_int(call, "attempt", 0),
		.seq = (uint64_t)sw_call_int(call, "seq", 0),
		.step = (uint64_t)sw_call_int(call, "step", 0),
	};
	const struct sw_trial *t = sw_sweep_trial(h->sched, e.trial);
	struct sw_err err = SW_ERR_INIT;
	struct sw_buf text;

	if (t != NULL && t->attempt == e.attempt) {
		if (e.seq <= t->seq) {
			answer_repeat(h, call, &e);
			return;
		}
		if (ended_here(h, t)) {
			answer_stop(call);
			return;
		}
	}
	sw_buf_init(&text, SW_FRAME_MAX);
	if (!read_metrics(h, metrics, &e, &text, &err)) {
		sw_call_error(call, &err);
	} else if (!e.has_value && !h->metric_seen && t != NULL && t->state == SW_TRIAL_RUNNING &&
		   t->attempt == e.attempt) {
		refuse_metric(h, call, metrics);
	} else {
		struct sw_change *c = sw_change_begin(h->d, call);
		const char *decision;

		if (step_report(c, h, &e, text.data, &decision, &err) == SW_OK) {
			answer_decision(&c->reply, decision);
			sw_change_commit(c);
		} else {
			sw_change_drop(c);
			sw_call_error(call, &err);
		}
	}
	sw_buf_fini(&text);
	sw_supervisor_feed(h->d);
}

/* --- tell --- */

static void answer_state(struct sw_buf *out, const struct sw_host *h, uint64_t trial)
{
	const struct sw_trial *t = sw_sweep_trial(h->sched, trial);
	struct sw_jw w;

	sw_jw_init(&w, out);
	sw_jw_obj(&w);
	sw_jw_kint(&w, "trial", (int64_t)trial);
	sw_jw_kstr(&w, "state", sw_trial_state_name((enum sw_trial_state)t->state));
	sw_jw_obj_end(&w);
}

/* The last report of a tell, as far as it has one. */
static sw_status tell_metrics(struct sw_change *c, struct sw_host *h, struct sw_call *call,
			      const struct sw_trial *t, const struct sw_event *tell,
			      struct sw_err *err)
{
	const cJSON *metrics = sw_json_get(call->params, "metrics");
	struct sw_event e = {
		.kind = SW_EVENT_REPORT,
		.trial = tell->trial,
		.attempt = tell->attempt,
		.seq = t->seq + 1,
		.step = (uint64_t)sw_call_int(call, "step", (int64_t)t->step + 1),
		.final = true,
	};
	const char *decision;
	struct sw_buf text;
	sw_status rc = SW_OK;

	if (metrics == NULL)
		return SW_OK;
	sw_buf_init(&text, SW_FRAME_MAX);
	if (!read_metrics(h, metrics, &e, &text, err))
		rc = err->code;
	else if (!e.has_value && !h->metric_seen && tell->end == SW_TRIAL_COMPLETED)
		sw_metrics_explain(h->metric, metrics, err);
	if (rc == SW_OK && err->code != SW_OK) {
		rc = err->code;
		(void)snprintf(h->note, sizeof h->note, "%.239s", err->msg);
	}
	if (rc == SW_OK)
		rc = step_report(c, h, &e, text.data, &decision, err);
	sw_buf_fini(&text);
	return rc;
}

void sw_work_tell(struct sw_host *h, struct sw_call *call)
{
	struct sw_event e = {
		.kind = SW_EVENT_TELL,
		.trial = (uint64_t)sw_call_int(call, "trial", 0),
		.attempt = (uint32_t)sw_call_int(call, "attempt", 0),
		.cause = sw_call_str(call, "cause", NULL),
	};
	const struct sw_trial *t = sw_sweep_trial(h->sched, e.trial);
	struct sw_err err = SW_ERR_INIT;
	struct sw_change *c = sw_change_begin(h->d, call);
	sw_status rc = sw_trial_state_find(sw_call_str(call, "state", ""), &e.end);

	if (rc == SW_OK && t != NULL && t->attempt == e.attempt && t->state == SW_TRIAL_RUNNING)
		rc = tell_metrics(c, h, call, t, &e, &err);
	/* A trial that the daemon ended (or that was told before) keeps its state: the answer names
	 * it. */
	if (rc == SW_OK && (t == NULL || t->attempt != e.attempt ||
			    !sw_trial_ended((enum sw_trial_state)t->state)))
		rc = sw_driver_step(c, h, &e, -1, NULL, NULL, &err);
	if (rc == SW_OK) {
		answer_state(&c->reply, h, e.trial);
		sw_change_commit(c);
	} else {
		sw_change_drop(c);
		sw_call_error(call, &err);
	}
	sw_supervisor_feed(h->d);
}
