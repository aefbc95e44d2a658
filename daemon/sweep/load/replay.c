/*
 * daemon/sweep/load/replay.c — a sweep's state machine from its stored events.
 *
 * A history that cannot be reproduced is refused: the alternative is to go on from a state that
 * nobody acknowledged.
 */
#include "daemon/sweep/load/replay.h"
#include "daemon/plan/metrics.h"
#include "daemon/sweep/names.h"
#include "daemon/sweep/run/suggest_state.h"
#include "proto/json.h"
#include "store/read.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void fail_replay(struct sw_replay *r, sw_status rc, const char *what)
{
	/* The first fault is the one to tell: what comes after it may follow from it. */
	if (r->rc == SW_OK)
		r->rc = sw_err_set(&r->err, rc, "sweep %lld, event %llu: %s", (long long)r->sweep,
				   (unsigned long long)r->at_ev, what);
}

/* --- what was made, read back --- */

static bool take_made(const struct sw_row_suggestion *row, void *arg)
{
	struct sw_replay *r = arg;
	const struct sw_space *space = sw_sweep_space(r->sched);
	bool given[SW_SPACE_MAX_PARAMS];
	cJSON *tree = NULL;

	r->rc = sw_json_parse(&tree, row->params, strlen(row->params), &r->err);
	if (r->rc == SW_OK)
		r->rc = sw_plan_read(r->spec, space, tree, r->suggestion.values, given, &r->err);
	if (r->rc == SW_OK &&
	    sw_plan_missing(space, r->suggestion.values, given) != sw_space_size(space))
		r->rc = sw_err_set(&r->err, SW_IO, "trial %lld lacks a parameter",
				   (long long)row->trial);
	/* The row has what is active alone; sched compares whole points. */
	sw_space_canonical(space, r->suggestion.values);
	r->suggestion.known = row->known >= 0 ? (uint64_t)row->known : 0;
	cJSON_Delete(tree);
	return false;
}

static void read_made(struct sw_replay *r, struct sw_event *e)
{
	const uint64_t trial = sw_sweep_trial_n(r->sched) + 1;

	r->suggestion = (struct sw_suggestion){.source = ""};
	const sw_status rc =
		sw_read_suggestion(r->db, r->sweep, (int64_t)trial, take_made, r, &r->err);
	if (r->rc == SW_OK)
		r->rc = rc;
	/* The store keeps the sampler's state after the latest of its suggestions only: from there
	 * on it goes on by itself. */
	if (trial == r->state_trial) {
		r->suggestion.state = r->state;
		r->suggestion.state_n = r->state_n;
	}
	e->values = r->suggestion.values;
	e->suggestion = &r->suggestion;
}

/* A suggestion that depends on the history is read back, or made again by the watch. What the user
 * enqueued is always read back, because nothing could make it again. */
static void find_made(struct sw_replay *r, struct sw_event *e)
{
	if (e->kind == SW_EVENT_ENQUEUE)
		read_made(r, e);
	/* Its values follow from the seed, or it makes no trial. */
	if (e->kind != SW_EVENT_ASK || !sw_sweep_wants_suggestion(r->sched))
		return;
	/* `sweepd replay` makes it again, to compare; the daemon trusts what it stored, since a
	 * model of another build may differ in its last bits. */
	if (r->watch != NULL && r->watch->suggest != NULL)
		r->watch->suggest(r, e);
	else
		read_made(r, e);
}

/* --- events and reports --- */

static void note_place(struct sw_replay *r, int64_t ev, int64_t trial)
{
	r->at_ev = (uint64_t)ev;
	r->at_trial = (uint64_t)trial;
	if (r->watch != NULL && r->watch->arrived != NULL)
		r->watch->arrived(r);
}

static void check_verdict(struct sw_replay *r, const struct sw_event *e,
			  const struct sw_row_report *row)
{
	const struct sw_action *a = sw_actions_find(&r->actions, SW_ACTION_DECIDE);

	if (a == NULL || strcmp(sw_names_verdict(e, a->decision), row->verdict) != 0)
		fail_replay(r, SW_INTERNAL, "the replay decides otherwise than the stored report");
}

static void step_replay(struct sw_replay *r, const struct sw_event *e,
			const struct sw_row_event *event, const struct sw_row_report *report)
{
	/* A row that was read for it is damaged. */
	if (r->rc != SW_OK)
		return;
	r->rc = sw_sweep_step(r->sched, e, &r->actions, &r->err);
	/* For the watch: an event that was taken once and is refused now is a difference, not a
	 * failure to read. */
	r->refused = r->rc != SW_OK && r->rc != SW_NOMEM;
	if (r->rc == SW_NOMEM)
		(void)sw_err_set(&r->err, r->rc, "out of memory");
	if (r->rc != SW_OK)
		return;
	/* The daemon goes on counting from there. */
	r->next_ev = r->at_ev + 1;
	r->metric_seen = r->metric_seen || (report != NULL && e->has_value);
	/* By the times of the rows, as it was live: the budget's stretches come out as they
	 * were. */
	sw_budget_state(&r->budget, sw_sweep_state(r->sched) == SW_SWEEP_RUNNING,
			event != NULL ? event->time_ms : report->time_ms);
	if (r->watch != NULL && r->watch->stepped != NULL)
		r->watch->stepped(r, e, event, report);
	else if (report != NULL)
		check_verdict(r, e, report);
}

/* The metrics after the first, of a sweep that has several. */
static void read_others(struct sw_replay *r, const struct sw_row_report *row, struct sw_event *e)
{
	double y[SW_METRICS_MAX];

	r->rc = sw_metrics_stored(row->metrics, r->spec, y, &r->err);
	for (size_t k = 1; r->rc == SW_OK && k < r->spec->n_metrics; k++)
		e->more[k - 1] = y[k];
}

static void take_report(struct sw_replay *r, const struct sw_row_report *row)
{
	struct sw_event e = {
		.kind = SW_EVENT_REPORT,
		.trial = (uint64_t)row->trial,
		.attempt = (uint32_t)row->attempt,
		.seq = (uint64_t)row->seq,
		.step = (uint64_t)row->step,
		/* A value that was not finite has no number in the store, only this mark. */
		.has_value = row->has_value || row->diverged,
		/* Any value that is not finite ends the trial in the same way, so which of them it
		 * was does not matter. */
		.value = row->has_value ? row->value : (double)NAN,
		.final = sw_names_is_final(row->verdict),
		.result = sw_names_is_result(row->verdict),
		.checkpoint = row->checkpoint > 0,
		.stateless = row->checkpoint < 0,
	};

	note_place(r, row->ev, row->trial);
	if (r->rc == SW_OK && e.has_value && r->spec->n_metrics > 1)
		read_others(r, row, &e);
	step_replay(r, &e, NULL, row);
}

/* Reads the edit from the event's cause, where it is stored as JSON. */
static void read_edit(struct sw_replay *r, const struct sw_row_event *row, struct sw_edits *edits)
{
	const char *text = row->cause != NULL ? row->cause : "";
	cJSON *tree = NULL;

	r->rc = sw_json_parse(&tree, text, strlen(text), &r->err);
	if (r->rc == SW_OK)
		r->rc = sw_edits_read(edits, r->spec, tree, &r->err);
	cJSON_Delete(tree);
}

static void take_event(struct sw_replay *r, const struct sw_row_event *row)
{
	struct sw_edits edits;
	struct sw_event e = {
		.trial = (uint64_t)row->trial,
		.attempt = (uint32_t)row->attempt,
		.cause = row->cause,
		.run_cap = (uint64_t)row->run_cap,
	};

	note_place(r, row->ev, row->trial);
	if (sw_names_event_find(row->kind, &e.kind) != SW_OK ||
	    (e.kind == SW_EVENT_TELL &&
	     (row->state == NULL || sw_trial_state_find(row->state, &e.end) != SW_OK))) {
		fail_replay(r, SW_IO, "not an event that this version knows");
		return;
	}
	if (r->rc == SW_OK)
		find_made(r, &e);
	if (r->rc == SW_OK && e.kind == SW_EVENT_EDIT) {
		read_edit(r, row, &edits);
		/* On this frame, as long as the step below: the state machine copies what it
		 * keeps. */
		e.edit = &edits.sched;
	}
	/* The settings follow the step, as they did when it was live. */
	step_replay(r, &e, row, NULL);
	if (r->rc == SW_OK && e.kind == SW_EVENT_EDIT)
		sw_settings_edit(&r->settings, &edits);
}

static bool take_row(const struct sw_row_event *event, const struct sw_row_report *report,
		     void *arg)
{
	struct sw_replay *r = arg;

	if (event != NULL)
		take_event(r, event);
	else
		take_report(r, report);
	return r->rc == SW_OK;
}

/* --- the state machine as it was before its first event --- */

static bool take_spec(const struct sw_row_sweep *row, void *arg)
{
	struct sw_replay *r = arg;

	r->seed = (uint64_t)row->seed;
	sw_budget_state(&r->budget, true, row->created_ms);
	r->rc = sw_spec_parse(&r->spec, row->spec, strlen(row->spec), &r->err);
	return false;
}

static bool take_prior(const struct sw_row_prior *row, void *arg)
{
	struct sw_replay *r = arg;

	r->rc = sw_plan_priors_read(&r->priors, r->spec, r->space, row->params, row->y, &r->err);
	return r->rc == SW_OK;
}

static void read_priors(struct sw_replay *r)
{
	/* It learns from no earlier sweep. */
	if (r->spec->n_warm_start == 0)
		return;
	/* Before the state machine, which takes the priors at its birth: they are points of this
	 * space. */
	r->rc = sw_plan_space(&r->space, r->spec, &r->err);
	if (r->rc != SW_OK)
		return;
	const sw_status rc = sw_read_priors(r->db, r->sweep, take_prior, r, &r->err);
	if (r->rc == SW_OK)
		r->rc = rc;
}

static bool take_state(const struct sw_row_sampler *row, void *arg)
{
	struct sw_replay *r = arg;

	r->rc = sw_suggest_state_read(row->state, &r->state, &r->state_n);
	if (r->rc == SW_NOMEM)
		(void)sw_err_set(&r->err, SW_NOMEM, "out of memory");
	else if (r->rc != SW_OK)
		r->rc = sw_err_set(&r->err, SW_IO, "the sampler's state is damaged");
	r->state_trial = (uint64_t)row->trial;
	return false;
}

static void build_start(struct sw_replay *r)
{
	sw_status rc = sw_read_sweeps(r->db, r->sweep, take_spec, r, &r->err);

	if (r->rc == SW_OK)
		r->rc = rc;
	if (r->rc == SW_OK && r->spec == NULL)
		fail_replay(r, SW_NOT_FOUND, "its row is gone");
	if (r->rc == SW_OK)
		sw_settings_init(&r->settings, r->spec);
	if (r->rc == SW_OK)
		read_priors(r);
	if (r->rc == SW_OK)
		r->rc = sw_plan_build(&r->sched, r->spec, r->seed, &r->priors, &r->err);
	if (r->rc != SW_OK)
		return;
	rc = sw_read_sampler(r->db, r->sweep, take_state, r, &r->err);
	if (r->rc == SW_OK)
		r->rc = rc;
}

void sw_replay_run(struct sw_replay *r, struct sw_db *db)
{
	r->db = db;
	r->next_ev = 1;
	build_start(r);
	if (r->rc != SW_OK)
		return;
	const sw_status rc = sw_read_history(
		db, r->sweep, r->watch != NULL || r->spec->n_metrics > 1, take_row, r, &r->err);
	if (r->rc == SW_OK)
		r->rc = rc;
}

void sw_replay_fini(struct sw_replay *r)
{
	sw_spec_destroy(r->spec);
	sw_sweep_destroy(r->sched);
	sw_actions_fini(&r->actions);
	sw_plan_priors_fini(&r->priors);
	sw_space_destroy(r->space);
	free(r->state);
	*r = (struct sw_replay){.rc = SW_OK};
}
