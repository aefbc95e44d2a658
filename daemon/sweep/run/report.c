#include "daemon/sweep/run/report.h"
#include "base/memory.h"
#include "base/text.h"
#include "daemon/daemon.h"
#include "daemon/net/call.h"
#include "daemon/net/conn.h"
#include "daemon/plan/metrics.h"
#include "daemon/sweep/names.h"
#include "daemon/sweep/run/crowd.h"
#include "daemon/sweep/run/driver.h"
#include "daemon/sweep/run/hold.h"
#include "daemon/sweep/running.h"
#include "proto/json.h"
#include "store/read.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- reports --- */

struct repeat {
	struct sw_call *call;
	int64_t sweep, trial, attempt, seq;
	uint32_t last; /* the trial's last attempt */
	char verdict[16];
	sw_status rc;
	struct sw_err err;
};

static bool take_verdict(const struct sw_row_report *row, void *arg)
{
	struct repeat *r = arg;
	/* A tell's metrics are stored as a report, which nobody may ask for as one: its seq was
	 * never the client's. */
	const char *verdict = sw_names_is_final(row->verdict) ? "continue" : row->verdict;

	(void)snprintf(r->verdict, sizeof r->verdict, "%s", verdict);
	return true;
}

static void read_repeat(struct sw_db *db, void *arg)
{
	struct repeat *r = arg;

	r->rc = sw_read_report(db, r->sweep, r->trial, r->attempt, r->seq, take_verdict, r,
			       &r->err);
}

/* next: the DECIDE of a worker's report that goes on, whose next step to be judged at it is told;
 * NULL: nothing more is said. */
static void answer_decision(struct sw_buf *out, const char *decision, const struct sw_action *next)
{
	struct sw_jw w;

	sw_jw_init_obj(&w, out);
	sw_jw_kstr(&w, "decision", decision);
	if (next != NULL && next->decision == SW_DECISION_CONTINUE)
		sw_jw_kint(&w, "until", (int64_t)next->until);
	sw_jw_obj_end(&w);
}

static void on_repeat(void *arg)
{
	struct repeat *r = arg;
	struct sw_buf out;

	/* Never stored, of an attempt that is over: it is late, not a repeat, and its client must
	 * stop. */
	if (r->rc == SW_NOT_FOUND && r->attempt < (int64_t)r->last) {
		r->err = (struct sw_err)SW_ERR_INIT;
		(void)sw_err_at(&r->err, SW_CONFLICT, "/attempt",
				"attempt %lld of trial %lld was replaced by attempt %u",
				(long long)r->attempt, (long long)r->trial, (unsigned)r->last);
	}
	if (r->rc != SW_OK) {
		sw_call_error(r->call, &r->err);
	} else {
		sw_buf_init(&out, SW_REPLY_MAX);
		answer_decision(&out, r->verdict, NULL);
		sw_call_result(r->call, &out);
	}
	free(r);
}

/* A report that was acknowledged before gets the same answer again, from the store. So does one of
 * an attempt that was replaced since: a client that lost the answer "pause" may ask again after the
 * trial was resumed. */
static void answer_repeat(struct sw_running *live, struct sw_call *call, const struct sw_event *e,
			  uint32_t last)
{
	struct repeat *r = sw_calloc(1, sizeof *r);

	if (r != NULL) {
		*r = (struct repeat){.call = call,
				     .sweep = live->sweep,
				     .trial = (int64_t)e->trial,
				     .attempt = e->attempt,
				     .seq = (int64_t)e->seq,
				     .last = last};
		/* Reads come after the commits that were queued before them, so a report that is on
		 * its way to the disk is found. */
		if (sw_store_read(live->d->store, SW_READ_SHORT, &call->conn->reads, read_repeat,
				  on_repeat, r) == SW_OK)
			return;
		free(r);
	}
	sw_call_refuse(call, SW_BUSY, "", SW_CALL_BUSY);
}

/* Has neither this report nor any before it the metric? */
static bool lacks(const struct sw_running *live, const struct sw_event *e)
{
	return !e->has_value && !live->metric_seen && live->metric != NULL;
}

/* A program or a client may report other metrics first, and the metric every tenth step; the sweep
 * says what its reports lack until one has it. */
static void note_metric(struct sw_running *live, const cJSON *metrics)
{
	struct sw_err err = SW_ERR_INIT;

	sw_metrics_explain(live->metric, metrics, &err);
	/* Not stored: after a restart the next report says it again. */
	(void)snprintf(live->note, sizeof live->note, "%.239s", err.msg);
	sw_marks_note(&live->view.changes, 0);
}

/* A trainer's report lacks the metric: the sweep fails at once, for its later ones would, too. */
static void fail_metric(struct sw_running *live, struct sw_call *call, const cJSON *metrics)
{
	struct sw_err err = SW_ERR_INIT;

	sw_metrics_explain(live->metric, metrics, &err);
	const struct sw_event fail = {.kind = SW_EVENT_FAIL, .cause = err.msg};
	struct sw_change *c = sw_driver_change(live, call, &fail);
	/* The sweep has ended meanwhile; the call has that error. */
	if (c == NULL)
		return;
	answer_decision(&c->reply, "stop", NULL);
	sw_change_commit(c);
}

static bool read_metrics(const struct sw_running *live, const cJSON *metrics, struct sw_event *e,
			 struct sw_buf *text, struct sw_err *err)
{
	sw_status rc = sw_metrics_read(metrics, live->metric, &e->has_value, &e->value, text, err);
	double y[SW_SPEC_MAX_METRICS];

	/* A report that has one of several metrics must have all of them. */
	if (rc == SW_OK && live->spec->n_metrics > 1)
		rc = sw_metrics_all(metrics, live->spec, &e->has_value, y, err);
	for (size_t k = 1; rc == SW_OK && e->has_value && k < live->spec->n_metrics; k++)
		e->more[k - 1] = y[k];
	return rc == SW_OK;
}

static bool all_finite(const struct sw_running *live, const struct sw_event *e)
{
	bool finite = isfinite(e->value);

	for (size_t k = 1; k < live->spec->n_metrics; k++)
		finite = finite && isfinite(e->more[k - 1]);
	return finite;
}

static void add_report_row(struct sw_change *c, const struct sw_running *live,
			   const struct sw_event *e, const char *metrics, const char *verdict)
{
	/* SQLite stores NaN as NULL; the flag `diverged` tells a divergence from a report without
	 * the metric. */
	const bool finite = e->has_value && all_finite(live, e);
	const struct sw_row_report row = {
		.sweep = live->sweep,
		.trial = (int64_t)e->trial,
		.attempt = e->attempt,
		.seq = (int64_t)e->seq,
		.ev = (int64_t)c->ev,
		.step = (int64_t)e->step,
		.time_ms = c->now_ms,
		.has_value = finite,
		.value = finite ? e->value : 0.0,
		.diverged = e->has_value && !(finite && sw_sweep_believes(live->sched, e->value)),
		.metrics = metrics,
		.verdict = verdict,
		.checkpoint = e->checkpoint  ? 1
			      : e->stateless ? -1
					     : 0,
		.several = live->spec->n_metrics > 1,
	};

	sw_tx_report(c->tx, &row);
}

/* A report had the metric. What the sweep says of it, or of a population whose members cannot be
 * copied, holds until one says otherwise. */
static void note_value(struct sw_running *live, const struct sw_event *e,
		       const struct sw_judgement *j)
{
	const bool pbt = sw_pruner_kind(sw_sweep_pruner(live->sched)) == SW_PRUNER_PBT;

	if (!live->metric_seen || (pbt && j->rung != 0))
		live->note[0] = '\0';
	live->metric_seen = true;
	if (!pbt || j->rung == 0 || !sw_sweep_trial(live->sched, e->trial)->prune.bare)
		return;
	(void)snprintf(live->note, sizeof live->note,
		       "trial %llu kept no checkpoint of step %llu: pbt copies only trials that "
		       "keep one",
		       (unsigned long long)e->trial, (unsigned long long)e->step);
	sw_marks_note(&live->view.changes, 0);
}

/* One report into the change. The decision is what the client gets. */
static sw_status step_report(struct sw_change *c, struct sw_running *live, const struct sw_event *e,
			     const char *metrics, const char **decision, struct sw_err *err)
{
	const sw_status rc = sw_driver_step(c, live, e, -1, err);

	/* Refused: out of order, or of an attempt that is over. */
	if (rc != SW_OK)
		return rc;
	const struct sw_action *a = sw_actions_find(&c->actions, SW_ACTION_DECIDE);
	assert(a != NULL); /* every REPORT that is taken is answered */
	/* It is read from the action before the caller takes another step, which would replace the
	 * actions. */
	*decision = sw_names_decision(a->decision);
	/* Behind the step, for the row has the event's number and the verdict, which the step
	 * gives. */
	add_report_row(c, live, e, metrics, sw_names_verdict(e, a->decision));
	if (c->call != NULL)
		sw_hold_take(c->call->conn, live, e->trial);
	/* No connection holds a worker's trial; sweep.get says how long it has been silent. */
	if (!live->driven)
		live->runs[e->trial - 1].heard_us = live->d->clock->mono_us();
	live->d->sweep.n_reports++;
	if (e->has_value)
		note_value(live, e, &a->judgement);
	return SW_OK;
}

/* An answer may follow from a decision that is not stored yet. An empty change waits in the queue
 * behind that decision, and so does the answer. */
static void answer_stored(struct sw_running *live, struct sw_call *call, const char *decision)
{
	struct sw_change *c = sw_change_begin(live->d, call);

	answer_decision(&c->reply, decision, NULL);
	sw_change_commit(c);
}

/* Tells the trial's last attempt, which is over, what became of it. False: the scheduler has no
 * word for that, and the call is refused. */
static bool answer_late(struct sw_running *live, struct sw_call *call, uint64_t trial,
			uint32_t attempt)
{
	enum sw_decision decision;

	if (!sw_sweep_late(live->sched, trial, attempt, &decision))
		return false;
	answer_stored(live, call, sw_names_decision(decision));
	return true;
}

/* Counts what the worker of a program has left out of its reports since it last said so. */
static void count_left_out(struct sw_change *c, const struct sw_running *live,
			   const struct sw_call *call)
{
	const int64_t n = sw_call_int(call, "left_out", 0);

	if (n > 0)
		sw_tx_left_out(c->tx, live->sweep, sw_call_int(call, "trial", 0), n,
			       sw_call_str(call, "left_why", ""));
}

/* A report that cannot be stored counts with the trial; the client may send a better one. */
static void refuse_report(struct sw_running *live, struct sw_call *call, const struct sw_event *e,
			  const struct sw_err *err)
{
	if (err->code == SW_INVALID &&
	    sw_trial_runs(sw_sweep_trial(live->sched, e->trial), e->attempt)) {
		struct sw_change *c = sw_change_begin(live->d, NULL);

		/* Counted only while the attempt runs: an old client that repeats itself must not
		 * write for ever. */
		sw_tx_left_out(c->tx, live->sweep, (int64_t)e->trial, 1, err->msg);
		sw_change_commit(c);
		sw_marks_note(&live->view.changes, e->trial);
	}
	sw_call_error(call, err);
}

void sw_report_answer(struct sw_running *live, struct sw_call *call)
{
	const cJSON *metrics = sw_json_get(call->params, "metrics");
	struct sw_event e = {
		.kind = SW_EVENT_REPORT,
		.trial = (uint64_t)sw_call_int(call, "trial", 0),
		.attempt = (uint32_t)sw_call_int(call, "attempt", 0),
		.seq = (uint64_t)sw_call_int(call, "seq", 0),
		.step = (uint64_t)sw_call_int(call, "step", 0),
		.checkpoint = cJSON_IsTrue(sw_json_get(call->params, "checkpoint")),
	};
	const struct sw_trial *t = sw_sweep_trial(live->sched, e.trial);
	struct sw_err err = SW_ERR_INIT;
	struct sw_buf text;

	/* A worker keeps what there is before it reports; a client may once it is told to pause. It
	 * is stored with the report, so that the replay pauses or copies the same trials. */
	e.stateless = !e.checkpoint &&
		      (!live->driven || cJSON_IsTrue(sw_json_get(call->params, "stateless")));
	if (t != NULL && (e.attempt < t->attempt || (e.attempt == t->attempt && e.seq <= t->seq))) {
		if (e.attempt == t->attempt) /* a client that has come back */
			sw_hold_take(call->conn, live, e.trial);
		/* A repeat changes nothing: the same seq is taken once, however often it comes. */
		answer_repeat(live, call, &e, t->attempt);
		return;
	}
	/* Before the metrics are read: what a trial that is over reports need not even be valid. */
	if (answer_late(live, call, e.trial, e.attempt))
		return;
	sw_buf_init(&text, SW_FRAME_MAX);
	if (!read_metrics(live, metrics, &e, &text, &err)) {
		refuse_report(live, call, &e, &err);
	} else if (lacks(live, &e) && !live->driven && live->spec->command == NULL &&
		   sw_trial_runs(t, e.attempt)) {
		fail_metric(live, call, metrics);
	} else {
		struct sw_change *c = sw_change_begin(live->d, call);
		const char *decision;

		if (lacks(live, &e))
			note_metric(live, metrics);
		if (step_report(c, live, &e, text.data, &decision, &err) == SW_OK) {
			count_left_out(c, live, call);
			answer_decision(&c->reply, decision,
					live->driven
						? NULL
						: sw_actions_find(&c->actions, SW_ACTION_DECIDE));
			sw_change_commit(c);
		} else {
			sw_change_drop(c);
			refuse_report(live, call, &e, &err);
		}
	}
	sw_buf_fini(&text);
}

/* --- heartbeat --- */

void sw_report_heartbeat(struct sw_running *live, struct sw_call *call)
{
	const uint64_t trial = (uint64_t)sw_call_int(call, "trial", 0);
	const uint32_t attempt = (uint32_t)sw_call_int(call, "attempt", 0);
	const struct sw_trial *t = sw_sweep_trial(live->sched, trial);

	if (sw_trial_runs(t, attempt)) {
		sw_hold_take(call->conn, live, trial);
		answer_stored(live, call, sw_names_decision(SW_DECISION_CONTINUE));
		return;
	}
	if (answer_late(live, call, trial, attempt))
		return;
	if (t == NULL)
		sw_call_refuse(call, SW_NOT_FOUND, "/trial", "there is no trial %llu",
			       (unsigned long long)trial);
	else
		sw_call_refuse(call, SW_CONFLICT, "/attempt",
			       "attempt %u of trial %llu is not running: its last is %u, and the "
			       "trial is %s",
			       attempt, (unsigned long long)trial, t->attempt,
			       sw_trial_state_name((enum sw_trial_state)t->state));
}

/* --- tell --- */

#define NO_METRIC_MAX 260

void sw_report_state(struct sw_buf *out, const struct sw_running *live, uint64_t trial)
{
	const struct sw_trial *t = sw_sweep_trial(live->sched, trial);
	struct sw_jw w;

	sw_jw_init_obj(&w, out);
	sw_jw_kint(&w, "trial", (int64_t)trial);
	sw_jw_kstr(&w, "state", sw_trial_state_name((enum sw_trial_state)t->state));
	sw_jw_obj_end(&w);
}

/* Takes the metrics of a tell as one last report, in the tell's own change: both are stored or
 * neither is. Without a step they are what the trial came to, a test loss say, and not another
 * point of its curve: no pruner compares them. */
static sw_status tell_metrics(struct sw_change *c, struct sw_running *live, struct sw_call *call,
			      const struct sw_trial *t, const struct sw_event *tell,
			      struct sw_err *err)
{
	const cJSON *metrics = sw_json_get(call->params, "metrics");
	struct sw_event e = {
		.kind = SW_EVENT_REPORT,
		.trial = tell->trial,
		.attempt = tell->attempt,
		/* A tell has no number of its own; the next one cannot collide, as the attempt ends
		 * with this step. */
		.seq = t->seq + 1,
		.step = (uint64_t)sw_call_int(call, "step", (int64_t)t->step + 1),
		.final = true,
		.result = sw_json_get(call->params, "step") == NULL,
	};
	const char *decision;
	struct sw_buf text;
	sw_status rc = SW_OK;

	/* A tell without metrics: the last report stands. */
	if (metrics == NULL)
		return SW_OK;
	sw_buf_init(&text, SW_FRAME_MAX);
	if (!read_metrics(live, metrics, &e, &text, err))
		rc = err->code;
	else if (lacks(live, &e) && tell->end == SW_TRIAL_COMPLETED)
		sw_metrics_explain(live->metric, metrics, err);
	if (rc == SW_OK && err->code != SW_OK) {
		rc = err->code;
		(void)snprintf(live->note, sizeof live->note, "%.239s", err->msg);
	}
	if (rc == SW_OK)
		rc = step_report(c, live, &e, text.data, &decision, err);
	sw_buf_fini(&text);
	return rc;
}

/* The worker of a program says what that printed instead of the metric; of a client's trial the
 * sweep's note does, until a report had the metric: from then on it is of something else. */
static void name_metric(const struct sw_running *live, const struct sw_trial *t, struct sw_event *e,
			char cause[NO_METRIC_MAX])
{
	if (e->end != SW_TRIAL_COMPLETED || t->has_value || t->seq == 0 || live->metric_seen ||
	    live->note[0] == '\0')
		return;
	e->end = SW_TRIAL_FAILED;
	e->cause = cause;
	(void)snprintf(cause, NO_METRIC_MAX, "no-metric: %s", live->note);
	sw_text_plain(cause); /* the note may have been cut within a character */
}

void sw_report_tell(struct sw_running *live, struct sw_call *call)
{
	char cause[NO_METRIC_MAX];
	struct sw_event e = {
		.kind = SW_EVENT_TELL,
		.trial = (uint64_t)sw_call_int(call, "trial", 0),
		.attempt = (uint32_t)sw_call_int(call, "attempt", 0),
		.cause = sw_call_str(call, "cause", NULL),
	};
	const struct sw_trial *t = sw_sweep_trial(live->sched, e.trial);
	struct sw_err err = SW_ERR_INIT;
	struct sw_change *c = sw_change_begin(live->d, call);
	sw_status rc = sw_trial_state_find(sw_call_str(call, "state", ""), &e.end);

	if (rc == SW_OK && sw_trial_runs(t, e.attempt)) {
		count_left_out(c, live, call);
		/* First, since the end that follows chooses the trial's value from its last
		 * report. */
		rc = tell_metrics(c, live, call, t, &e, &err);
	}
	if (rc == SW_OK && sw_trial_runs(t, e.attempt)) {
		name_metric(live, t, &e, cause);
		if (sw_crowd_had_its_memory(live, &e)) {
			live->runs[e.trial - 1].alone = true;
			e.kind = SW_EVENT_RELEASE;
			e.cause = SW_CROWD_CAUSE;
		}
	}
	/* A trial that the daemon ended or paused, or that was told before, keeps its state, and
	 * the answer names that. */
	if (rc == SW_OK &&
	    (t == NULL || t->attempt != e.attempt ||
	     (t->state != SW_TRIAL_PAUSED && !sw_trial_ended((enum sw_trial_state)t->state))))
		/* A second step in one change: its actions replace those of the report, whose rows
		 * are in the change already. */
		rc = sw_driver_step(c, live, &e, -1, &err);
	if (rc == SW_OK) {
		sw_report_state(&c->reply, live, e.trial);
		sw_change_commit(c);
	} else {
		sw_change_drop(c);
		sw_call_error(call, &err);
	}
}
