/* daemon/verify/verify_rows.c — rows of reports, decisions, attempts and trials against what the
 * replay says. */
#include "daemon/plan/metrics.h"
#include "daemon/sweep/names.h"
#include "daemon/verify/verify.h"
#include "proto/json.h"
#include "store/peek.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sw_verify_differ(struct sw_verify *v, uint64_t trial, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	/* The first difference is told; others follow from it. */
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

void sw_verify_text(struct sw_verify *v, uint64_t trial, const char *what, const char *stored,
		    const char *made)
{
	if (strcmp(stored != NULL ? stored : "", made) != 0)
		sw_verify_differ(v, trial, "%s: stored is %s%s%s, the replay says %s%s%s", what,
				 stored != NULL ? "\"" : "", or_none(stored),
				 stored != NULL ? "\"" : "", *made != '\0' ? "\"" : "",
				 or_none(made), *made != '\0' ? "\"" : "");
}

void sw_verify_int(struct sw_verify *v, uint64_t trial, const char *what, int64_t stored,
		   uint64_t made)
{
	if (stored < 0 || (uint64_t)stored != made)
		sw_verify_differ(v, trial, "%s: stored is %" PRId64 ", the replay says %" PRIu64,
				 what, stored, made);
}

/* The sign of zero, which SQLite does not keep, is not looked at. */
static bool same_number(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
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

	if (has_stored == has_made && (!has_stored || same_number(stored, made)))
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
	sw_verify_int(v, trial, "the decision's rung", row->rung, c->a->judgement.rung);
	sw_verify_text(v, trial, "the decision", row->verdict, sw_names_decision(c->a->decision));
	sw_verify_int(v, trial, "the decision's bracket", row->bracket, c->a->judgement.bracket);
	sw_verify_int(v, trial, "the decision's n", row->n, c->a->judgement.n);
	sw_verify_int(v, trial, "the decision's better", row->better, c->a->judgement.better);
	sw_verify_int(v, trial, "the decision's keep", row->keep, c->a->judgement.keep);
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
	const sw_status rc = sw_read_report_decisions(v->replay.db, v->sweep, row->trial,
						      row->attempt, row->seq, check_decision, &c,
						      &err);

	sw_verify_fail(v, rc, &err);
	if (a->judgement.rung != 0 && c.n == 0)
		sw_verify_differ(v, a->trial,
				 "no decision is stored, the replay says \"%s\" at rung %" PRIu64,
				 sw_names_decision(a->decision), a->judgement.rung);
	v->decisions += c.n;
}

/* The value column is what the state machine was fed; the metrics are what was reported. */
static void check_metrics(struct sw_verify *v, const struct sw_row_report *row)
{
	const struct sw_spec *spec = v->replay.spec;
	struct sw_err err = SW_ERR_INIT;
	double y[SW_METRICS_MAX];

	/* It was fed no number, or has no text to compare. */
	if (!row->has_value || row->metrics == NULL)
		return;
	if (sw_metrics_stored(row->metrics, spec, y, &err) != SW_OK)
		sw_verify_differ(v, (uint64_t)row->trial,
				 "report %" PRId64 " has a value, and its metrics have none: %s",
				 row->seq, err.msg);
	else if (!same_number(y[0], row->value))
		sw_verify_differ(v, (uint64_t)row->trial,
				 "report %" PRId64 " has value %.17g, and \"%s\" %.17g among its "
				 "metrics",
				 row->seq, row->value, spec->metric, y[0]);
}

void sw_verify_report(struct sw_verify *v, const struct sw_event *e,
		      const struct sw_row_report *row)
{
	const struct sw_action *a = sw_actions_find(&v->replay.actions, SW_ACTION_DECIDE);
	struct sw_verify_trial *t = &v->trial[e->trial - 1];

	assert(a != NULL); /* every REPORT that is taken is answered */
	if (e->has_value || !t->has_value)
		t->step = e->step; /* else the row stays that of the last report with the metric */
	if (e->has_value) {
		t->value = row->value;
		t->has_value = row->has_value && !row->diverged;
	}
	check_metrics(v, row);
	sw_verify_text(v, e->trial, "the report's verdict", row->verdict,
		       sw_names_verdict(e, a->decision));
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
		sw_verify_int(c->v, c->a->trial, "the event that began its attempt", row->ev,
			      c->v->replay.at_ev);
		sw_verify_int(c->v, c->a->trial, "the step that its attempt went on from",
			      row->resume_step, c->a->resume_step);
	} else {
		sw_verify_text(c->v, c->a->trial, "how its attempt ended", row->state, c->state);
		sw_verify_text(c->v, c->a->trial, "why its attempt ended", row->cause, c->a->cause);
	}
	return false;
}

static void seek_attempt(struct sw_verify *v, const struct sw_action *a, const char *state)
{
	struct attempt_check c = {.v = v, .a = a, .state = state};
	struct sw_err err = SW_ERR_INIT;
	const sw_status rc = sw_read_attempt(v->replay.db, v->sweep, (int64_t)a->trial, a->attempt,
					     check_attempt, &c, &err);

	sw_verify_fail(v, rc, &err);
	if (!c.found)
		sw_verify_differ(v, a->trial,
				 "its attempt %" PRIu32 " is not stored, the replay begins it",
				 a->attempt);
}

void sw_verify_start(struct sw_verify *v, const struct sw_action *a)
{
	v->trial[a->trial - 1].live = true;
	seek_attempt(v, a, NULL);
}

void sw_verify_over(struct sw_verify *v, const struct sw_action *a, const char *state)
{
	struct sw_verify_trial *t = &v->trial[a->trial - 1];

	/* A trial may end that never began, or that waits for its next attempt. */
	if (t->live)
		/* By key, as the replay says it; rows that no event leads to are found at the end
		 * (check_whole()). */
		seek_attempt(v, a, state);
	t->live = false;
}

bool sw_verify_last(const struct sw_row_trial *row, void *arg)
{
	struct sw_verify *v = arg;
	const uint64_t trial = (uint64_t)row->trial;
	const struct sw_trial *t = sw_sweep_trial(v->replay.sched, trial);

	if (t == NULL) {
		sw_verify_differ(v, trial, "it is stored, the replay makes no such trial");
		return false;
	}
	const struct sw_verify_trial *last = &v->trial[trial - 1];
	sw_verify_text(v, trial, "its state", row->state,
		       sw_trial_state_name((enum sw_trial_state)t->state));
	sw_verify_int(v, trial, "its last attempt", row->attempt, t->attempt);
	sw_verify_int(v, trial, "its step", row->step, last->step);
	check_number(v, trial, "its value", row->has_value, row->value, last->has_value,
		     last->value);
	sw_verify_int(v, trial, "its parent", row->parent, sw_sweep_parent(v->replay.sched, trial));
	sw_verify_int(v, trial, "the step that it would go on from", row->resume_step,
		      t->resume_step);
	return v->replay.rc == SW_OK;
}

struct end_check {
	struct sw_verify *v;
	const char *cause;
};

static bool check_end_row(const struct sw_row_trial *row, void *arg)
{
	const struct end_check *c = arg;

	if (sw_verify_last(row, c->v))
		sw_verify_text(c->v, (uint64_t)row->trial, "why it ended", row->cause, c->cause);
	return false;
}

/* A trial that has ended stays as it is, so its row can be looked at here, where the event is. */
void sw_verify_end(struct sw_verify *v, const struct sw_action *a)
{
	const struct end_check c = {.v = v, .cause = a->cause};
	struct sw_err err = SW_ERR_INIT;

	sw_verify_over(v, a, sw_trial_state_name(a->end));
	if (v->replay.rc != SW_OK)
		return;
	const sw_status rc = sw_read_trial(v->replay.db, v->sweep, (int64_t)a->trial, check_end_row,
					   (void *)&c, &err);
	sw_verify_fail(v, rc, &err);
}
