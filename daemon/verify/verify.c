/*
 * daemon/verify/verify.c — each step of a replay held against the rows that it left.
 *
 * Rows are sought by what the replay says, and at the end what nobody sought is looked for, so that
 * a row too many shows as one too few does.
 */
#include "daemon/verify/verify.h"
#include "base/memory.h"
#include "store/peek.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_EVERY 256 /* events between two looks at the clock by whoever shows progress */

/* --- the watch --- */

static void check_action(struct sw_verify *v, const struct sw_event *e, const struct sw_action *a)
{
	switch (a->kind) {
	case SW_ACTION_CREATE:
		sw_verify_created(v, a);
		break;
	case SW_ACTION_START:
		sw_verify_start(v, a);
		break;
	case SW_ACTION_RETRY:
		sw_verify_over(v, a, e->kind == SW_EVENT_LOST ? "LOST" : "RELEASED");
		break;
	case SW_ACTION_PAUSE:
		sw_verify_over(v, a, sw_trial_state_name(SW_TRIAL_PAUSED));
		break;
	case SW_ACTION_END:
		sw_verify_end(v, a);
		break;
	case SW_ACTION_DECIDE: /* with its report */
	case SW_ACTION_STOP:   /* leaves no row */
	case SW_ACTION_SWEEP:  /* the row says the last one, at the end */
		break;
	}
}

static bool grow_trials(struct sw_verify *v)
{
	const struct sw_err nomem = {.msg = "out of memory"};
	const size_t had = v->trial_cap;

	if (!sw_array_reserve(&v->trial, &v->trial_cap, sw_sweep_trial_n(v->replay.sched),
			      sizeof *v->trial)) {
		sw_verify_fail(v, SW_NOMEM, &nomem);
		return false;
	}
	if (v->trial_cap > had)
		memset(v->trial + had, 0, (v->trial_cap - had) * sizeof *v->trial);
	return true;
}

static void note_arrival(struct sw_replay *r)
{
	struct sw_verify *v = r->user;

	if (r->at_ev != r->next_ev) {
		const uint64_t at = r->at_ev, next = r->next_ev;

		/* The line names the event that is missing, not the one that showed it. */
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
	if (!grow_trials(v))
		return;
	if (report != NULL)
		sw_verify_report(v, e, report);
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
		sw_verify_text(v, (uint64_t)row->trial, "the state of its attempt", row->state,
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

	sw_verify_text(v, 0, "its state", row->state, sw_sweep_state_name(sw_sweep_state(s)));
	sw_verify_text(v, 0, "why it ended", row->cause, sw_sweep_cause(s));
	sw_verify_int(v, 0, "its run cap", row->run_cap, sw_sweep_asked_cap(s));
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
		rc = sw_read_trials(db, v->sweep, NULL, 0, -1, sw_verify_last, v, &err);
	if (rc == SW_OK && v->replay.rc == SW_OK)
		rc = sw_read_sweep_attempts(db, v->sweep, check_stray_attempt, v, &err);
	if (rc == SW_OK && v->replay.rc == SW_OK)
		rc = sw_read_stray_decision(db, v->sweep, check_stray_decision, v, &err);
	if (v->replay.state_trial != v->state_trial)
		sw_verify_int(v, 0, "the trial that the sampler's state follows",
			      (int64_t)v->replay.state_trial, v->state_trial);
	sw_verify_fail(v, rc, &err);
	v->trials = sw_sweep_trial_n(v->replay.sched);
}

/* The replay ended early: the state machine's refusal is a difference, too. */
static void explain_end(struct sw_verify *v)
{
	struct sw_replay *r = &v->replay;
	char why[sizeof r->err.msg];

	/* It came to its end, or failed to read, or a difference was told before. */
	if (!r->refused || v->differs)
		return;
	(void)snprintf(why, sizeof why, "%s", r->err.msg);
	/* So that sw_verify_differ() takes it: it tells only the first thing that goes wrong. */
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
		.arrived = note_arrival, .suggest = sw_verify_suggest, .stepped = stepped};
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
	/* A difference is a result and not an error of the run: the caller's status tells them
	 * apart. */
	if (v->differs && v->line.failed == SW_OK)
		return SW_OK;
	if (r->rc != SW_OK && strncmp(r->err.msg, "sweep ", 6) == 0)
		return sw_err_set(err, r->rc, "%s", r->err.msg);
	if (r->rc != SW_OK)
		return sw_err_set(err, r->rc, "sweep %" PRId64 ": %s", v->sweep, r->err.msg);
	return SW_OK;
}
