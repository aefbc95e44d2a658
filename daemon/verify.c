/*
 * daemon/verify.c — each step of a replay held against the rows that it left.
 *
 * Rows are sought by what the replay says, and at the end what nobody sought is looked for, so that
 * a row too many shows as one too few does.
 */
#include "daemon/verify.h"
#include "base/fault.h"
#include "daemon/driver.h"
#include "daemon/metrics.h"
#include "proto/json.h"
#include "store/peek.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_EVERY 256 /* events between two looks at the clock by whoever shows progress */

void sw_verify_differ(struct sw_verify *v, uint64_t trial, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	if (v->replay.rc != SW_OK || v->differs)
		return;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	v->differs = true;
	v->replay.rc = SW_CONFLICT; /* ends the replay */
	(void)sw_buf_addf(&v->line, "sweep %" PRId64, v->sweep);
	if (v->replay.at_ev != 0)
		(void)sw_buf_addf(&v->line, ", event %" PRIu64, v->replay.at_ev);
	if (trial != 0)
		(void)sw_buf_addf(&v->line, ", trial %" PRIu64, trial);
	(void)sw_buf_addf(&v->line, ": %s", text);
}

void sw_verify_fail(struct sw_verify *v, sw_status rc, const struct sw_err *err)
{
	if (rc != SW_OK && v->replay.rc == SW_OK)
		v->replay.rc = sw_err_set(&v->replay.err, rc, "%s", err->msg);
}

static const char *or_none(const char *text)
{
	return text != NULL && *text != '\0' ? text : "none";
}

static bool same_text(const char *stored, const char *made)
{
	return strcmp(stored != NULL ? stored : "", made != NULL ? made : "") == 0;
}

static void check_text(struct sw_verify *v, uint64_t trial, const char *what, const char *stored,
		       const char *made)
{
	if (!same_text(stored, made))
		sw_verify_differ(v, trial, "%s: stored is %s%s%s, the replay says %s%s%s", what,
				 stored != NULL ? "\"" : "", or_none(stored),
				 stored != NULL ? "\"" : "", *made != '\0' ? "\"" : "",
				 or_none(made), *made != '\0' ? "\"" : "");
}

static void check_int(struct sw_verify *v, uint64_t trial, const char *what, int64_t stored,
		      uint64_t made)
{
	if (stored < 0 || (uint64_t)stored != made)
		sw_verify_differ(v, trial, "%s: stored is %" PRId64 ", the replay says %" PRIu64,
				 what, stored, made);
}

static bool same_bits(double a, double b)
{
	uint64_t x, y;

	memcpy(&x, &a, sizeof x);
	memcpy(&y, &b, sizeof y);
	return x == y;
}

static void number_text(char out[32], bool has, double x)
{
	if (has && isfinite(x))
		sw_json_num_text(x, out);
	else
		(void)snprintf(out, 32, "none");
}

static void check_number(struct sw_verify *v, uint64_t trial, const char *what, bool has_stored,
			 double stored, bool has_made, double made)
{
	char was[32], is[32];

	if (has_stored == has_made && (!has_stored || same_bits(stored, made)))
		return;
	number_text(was, has_stored, stored);
	number_text(is, has_made, made);
	sw_verify_differ(v, trial, "%s: stored is %s, the replay says %s", what, was, is);
}

/* --- decisions --- */

struct decision_check {
	struct sw_verify *v;
	const struct sw_action *a;
	unsigned n;
};

static bool check_decision(const struct sw_row_decision *row, void *arg)
{
	struct decision_check *c = arg;
	const uint64_t trial = (uint64_t)row->trial;
	struct sw_verify *v = c->v;

	if (c->a->judgement.rung == 0 || c->n++ > 0) {
		sw_verify_differ(v, trial,
				 "a decision at rung %" PRId64
				 " is stored, the replay makes none there",
				 row->rung);
		return false;
	}
	check_int(v, trial, "the decision's rung", row->rung, c->a->judgement.rung);
	check_text(v, trial, "the decision", row->verdict, sw_decision_name(c->a->decision));
	check_int(v, trial, "the decision's bracket", row->bracket, c->a->judgement.bracket);
	check_int(v, trial, "the decision's n", row->n, c->a->judgement.n);
	check_int(v, trial, "the decision's better", row->better, c->a->judgement.better);
	check_int(v, trial, "the decision's keep", row->keep, c->a->judgement.keep);
	check_number(v, trial, "the decision's cutoff", row->has_cutoff, row->cutoff,
		     isfinite(c->a->judgement.cutoff), c->a->judgement.cutoff);
	check_number(v, trial, "the decision's value", true, row->value, true,
		     c->a->judgement.value);
	return v->replay.rc == SW_OK;
}

static void check_decisions(struct sw_verify *v, const struct sw_row_report *row,
			    const struct sw_action *a)
{
	struct decision_check c = {.v = v, .a = a};
	struct sw_err err = SW_ERR_INIT;
	const sw_status rc = sw_peek_decisions(v->replay.db, v->sweep, row->trial, row->attempt,
					       row->seq, check_decision, &c, &err);

	sw_verify_fail(v, rc, &err);
	if (a->judgement.rung != 0 && c.n == 0)
		sw_verify_differ(v, a->trial,
				 "no decision is stored, the replay says \"%s\" at rung %" PRIu64,
				 sw_decision_name(a->decision), a->judgement.rung);
	v->decisions += c.n;
}

/* The value column is what the state machine was fed; the metrics are what was reported. */
static void check_metrics(struct sw_verify *v, const struct sw_row_report *row)
{
	const struct sw_spec *spec = v->replay.spec;
	struct sw_err err = SW_ERR_INIT;
	double y[SW_METRICS_MAX];

	if (!row->has_value || row->metrics == NULL)
		return;
	if (sw_metrics_stored(row->metrics, spec, y, &err) != SW_OK)
		sw_verify_differ(v, (uint64_t)row->trial,
				 "report %" PRId64 " has a value, and its metrics have none: %s",
				 row->seq, err.msg);
	else if (!same_bits(y[0], row->value))
		sw_verify_differ(v, (uint64_t)row->trial,
				 "report %" PRId64 " has value %.17g, and \"%s\" %.17g among its "
				 "metrics",
				 row->seq, row->value, spec->metric, y[0]);
}

static void check_report(struct sw_verify *v, const struct sw_event *e,
			 const struct sw_row_report *row)
{
	const struct sw_action *a = sw_replay_action(&v->replay, SW_ACTION_DECIDE);
	struct sw_verify_trial *t = &v->trial[e->trial - 1];

	assert(a != NULL); /* every REPORT that is taken is answered */
	t->step = e->step;
	if (row->has_value) {
		t->value = row->value;
		t->has_value = true;
	}
	check_metrics(v, row);
	check_text(v, e->trial, "the report's verdict", row->verdict,
		   e->final ? "end" : sw_decision_name(a->decision));
	check_decisions(v, row, a);
}

/* --- attempts and trials --- */

struct attempt_check {
	struct sw_verify *v;
	const struct sw_action *a;
	const char *state; /* NULL: it began with this event */
	bool found;
};

static bool check_attempt(const struct sw_row_attempt *row, void *arg)
{
	struct attempt_check *c = arg;

	c->found = true;
	if (c->state == NULL) {
		check_int(c->v, c->a->trial, "the event that began its attempt", row->ev,
			  c->v->replay.at_ev);
		check_int(c->v, c->a->trial, "the step that its attempt went on from",
			  row->resume_step, c->a->resume_step);
	} else {
		check_text(c->v, c->a->trial, "how its attempt ended", row->state, c->state);
		check_text(c->v, c->a->trial, "why its attempt ended", row->cause, c->a->cause);
	}
	return false;
}

static void seek_attempt(struct sw_verify *v, const struct sw_action *a, const char *state)
{
	struct attempt_check c = {.v = v, .a = a, .state = state};
	struct sw_err err = SW_ERR_INIT;
	const sw_status rc = sw_peek_attempt(v->replay.db, v->sweep, (int64_t)a->trial, a->attempt,
					     check_attempt, &c, &err);

	sw_verify_fail(v, rc, &err);
	if (!c.found)
		sw_verify_differ(v, a->trial,
				 "its attempt %" PRIu32 " is not stored, the replay begins it",
				 a->attempt);
}

static void check_start(struct sw_verify *v, const struct sw_action *a)
{
	v->trial[a->trial - 1].live = true;
	seek_attempt(v, a, NULL);
}

static void check_over(struct sw_verify *v, const struct sw_action *a, const char *state)
{
	struct sw_verify_trial *t = &v->trial[a->trial - 1];

	if (t->live)
		seek_attempt(v, a, state);
	t->live = false;
}

static bool check_last(const struct sw_row_trial *row, void *arg)
{
	struct sw_verify *v = arg;
	const uint64_t trial = (uint64_t)row->trial;
	const struct sw_trial *t = sw_sweep_trial(v->replay.sched, trial);

	if (t == NULL) {
		sw_verify_differ(v, trial, "it is stored, the replay makes no such trial");
		return false;
	}
	const struct sw_verify_trial *last = &v->trial[trial - 1];
	check_text(v, trial, "its state", row->state,
		   sw_trial_state_name((enum sw_trial_state)t->state));
	check_int(v, trial, "its last attempt", row->attempt, t->attempt);
	check_int(v, trial, "its step", row->step, last->step);
	check_number(v, trial, "its value", row->has_value, row->value, last->has_value,
		     last->value);
	check_int(v, trial, "its parent", row->parent, sw_sweep_parent(v->replay.sched, trial));
	check_int(v, trial, "the step that it would go on from", row->resume_step, t->resume_step);
	return v->replay.rc == SW_OK;
}

struct end_check {
	struct sw_verify *v;
	const char *cause;
};

static bool check_end_row(const struct sw_row_trial *row, void *arg)
{
	const struct end_check *c = arg;

	if (check_last(row, c->v))
		check_text(c->v, (uint64_t)row->trial, "why it ended", row->cause, c->cause);
	return false;
}

/* A trial that has ended stays as it is, so its row can be looked at here, where the event is. */
static void check_end(struct sw_verify *v, const struct sw_action *a)
{
	const struct end_check c = {.v = v, .cause = a->cause};
	struct sw_err err = SW_ERR_INIT;

	check_over(v, a, sw_trial_state_name(a->end));
	if (v->replay.rc != SW_OK)
		return;
	const sw_status rc = sw_read_trial(v->replay.db, v->sweep, (int64_t)a->trial, check_end_row,
					   (void *)&c, &err);
	sw_verify_fail(v, rc, &err);
}

/* --- the watch --- */

static void check_action(struct sw_verify *v, const struct sw_event *e, const struct sw_action *a)
{
	switch (a->kind) {
	case SW_ACTION_CREATE:
		sw_verify_created(v, a);
		break;
	case SW_ACTION_START:
		check_start(v, a);
		break;
	case SW_ACTION_RETRY:
		check_over(v, a, e->kind == SW_EVENT_LOST ? "LOST" : "RELEASED");
		break;
	case SW_ACTION_PAUSE:
		check_over(v, a, sw_trial_state_name(SW_TRIAL_PAUSED));
		break;
	case SW_ACTION_END:
		check_end(v, a);
		break;
	case SW_ACTION_DECIDE: /* with its report */
	case SW_ACTION_STOP:   /* leaves no row */
	case SW_ACTION_SWEEP:  /* the row says the last one, at the end */
		break;
	}
}

static bool grow(struct sw_verify *v)
{
	const uint64_t n = sw_sweep_trial_n(v->replay.sched);
	uint64_t cap = v->trial_cap == 0 ? 64 : v->trial_cap;
	const struct sw_err nomem = {.msg = "out of memory"};

	if (n <= v->trial_cap)
		return true;
	while (cap < n)
		cap *= 2;
	struct sw_verify_trial *grown = sw_realloc(v->trial, cap * sizeof *grown);
	if (grown == NULL) {
		sw_verify_fail(v, SW_NOMEM, &nomem);
		return false;
	}
	memset(grown + v->trial_cap, 0, (cap - v->trial_cap) * sizeof *grown);
	v->trial = grown;
	v->trial_cap = cap;
	return true;
}

static void arrived(struct sw_replay *r)
{
	struct sw_verify *v = r->user;

	if (r->at_ev != r->next_ev) {
		const uint64_t at = r->at_ev, next = r->next_ev;

		r->at_ev = next < at ? next : at;
		sw_verify_differ(v, 0,
				 at > next
					 ? "it is missing: the next one that is stored is %" PRIu64
					 : "it is stored twice, as event %" PRIu64,
				 at);
	}
	if (v->progress != NULL && r->at_ev % PROGRESS_EVERY == 0)
		v->progress(v, r->at_ev);
}

static void stepped(struct sw_replay *r, const struct sw_event *e, const struct sw_row_event *event,
		    const struct sw_row_report *report)
{
	struct sw_verify *v = r->user;

	(void)event;
	v->events++;
	if (!grow(v))
		return;
	if (report != NULL)
		check_report(v, e, report);
	for (size_t i = 0; i < r->actions.n && r->rc == SW_OK; i++)
		check_action(v, e, &r->actions.v[i]);
}

/* --- at the end --- */

static bool check_stray_attempt(const struct sw_row_attempt *row, void *arg)
{
	struct sw_verify *v = arg;
	const struct sw_trial *t = sw_sweep_trial(v->replay.sched, (uint64_t)row->trial);

	if (t == NULL || row->attempt < 1 || row->attempt > t->attempt)
		sw_verify_differ(v, (uint64_t)row->trial,
				 "its attempt %" PRId64 " is stored, the replay begins none",
				 row->attempt);
	else if (v->trial[row->trial - 1].live && row->attempt == t->attempt)
		check_text(v, (uint64_t)row->trial, "the state of its attempt", row->state,
			   "RUNNING");
	return v->replay.rc == SW_OK;
}

static bool check_stray_decision(const struct sw_row_decision *row, void *arg)
{
	struct sw_verify *v = arg;

	sw_verify_differ(v, (uint64_t)row->trial,
			 "a decision at rung %" PRId64 " is stored for report %" PRId64
			 " of attempt %" PRId64 ", which is none",
			 row->rung, row->seq, row->attempt);
	return false;
}

static bool check_sweep(const struct sw_row_sweep *row, void *arg)
{
	struct sw_verify *v = arg;
	const struct sw_sweep *s = v->replay.sched;

	check_text(v, 0, "its state", row->state, sw_sweep_state_name(sw_sweep_state(s)));
	check_text(v, 0, "why it ended", row->cause, sw_sweep_cause(s));
	check_int(v, 0, "its run cap", row->run_cap, sw_sweep_run_cap(s));
	(void)snprintf(v->state, sizeof v->state, "%s", row->state);
	return false;
}

static void check_whole(struct sw_verify *v)
{
	struct sw_db *db = v->replay.db;
	struct sw_err err = SW_ERR_INIT;

	v->replay.at_ev = 0; /* no event is to blame */
	sw_status rc = sw_read_sweeps(db, v->sweep, check_sweep, v, &err);
	if (rc == SW_OK)
		rc = sw_read_trials(db, v->sweep, NULL, 0, -1, check_last, v, &err);
	if (rc == SW_OK && v->replay.rc == SW_OK)
		rc = sw_peek_attempts(db, v->sweep, check_stray_attempt, v, &err);
	if (rc == SW_OK && v->replay.rc == SW_OK)
		rc = sw_peek_stray_decision(db, v->sweep, check_stray_decision, v, &err);
	if (v->replay.state_trial != v->state_trial)
		check_int(v, 0, "the trial that the sampler's state follows",
			  (int64_t)v->replay.state_trial, v->state_trial);
	sw_verify_fail(v, rc, &err);
	v->trials = sw_sweep_trial_n(v->replay.sched);
}

/* What ended the replay before its end: the state machine's refusal is a difference, too. */
static void explain_end(struct sw_verify *v)
{
	struct sw_replay *r = &v->replay;
	char why[sizeof r->err.msg];

	if (!r->refused || v->differs)
		return;
	(void)snprintf(why, sizeof why, "%s", r->err.msg);
	r->rc = SW_OK;
	sw_verify_differ(v, r->at_trial, "the replay refuses the event: %s", why);
}

void sw_verify_init(struct sw_verify *v, int64_t sweep)
{
	*v = (struct sw_verify){.sweep = sweep};
	sw_buf_init(&v->line, 8192);
	sw_buf_init(&v->text, 16 * 1024 * 1024);
	sw_history_init(&v->history, 1, 1);
}

void sw_verify_fini(struct sw_verify *v)
{
	sw_replay_fini(&v->replay);
	sw_sampler_destroy(v->sampler);
	sw_history_fini(&v->history);
	sw_suggestion_fini(&v->made);
	sw_buf_fini(&v->line);
	sw_buf_fini(&v->text);
	free(v->trial);
	*v = (struct sw_verify){.sweep = 0};
}

sw_status sw_verify_run(struct sw_verify *v, struct sw_db *db, struct sw_err *err)
{
	static const struct sw_replay_watch watch = {
		.arrived = arrived, .suggest = sw_verify_suggest, .stepped = stepped};
	struct sw_replay *r = &v->replay;
	int64_t last = 0;
	const sw_status rc = sw_peek_events(db, v->sweep, &last, err);

	if (rc != SW_OK)
		return rc;
	v->events_n = (uint64_t)last;
	r->sweep = v->sweep;
	r->watch = &watch;
	r->user = v;
	sw_replay_run(r, db);
	explain_end(v);
	if (r->rc == SW_OK)
		check_whole(v);
	if (v->differs && v->line.failed == SW_OK)
		return SW_OK;
	if (r->rc != SW_OK && strncmp(r->err.msg, "sweep ", 6) == 0)
		return sw_err_set(err, r->rc, "%s", r->err.msg);
	if (r->rc != SW_OK)
		return sw_err_set(err, r->rc, "sweep %" PRId64 ": %s", v->sweep, r->err.msg);
	return SW_OK;
}
