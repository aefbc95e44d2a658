/* daemon/api/handlers_why.c — trial.why: a decision in words and numbers. */
#include "daemon/api/handlers.h"
#include "daemon/api/lookup.h"
#include "daemon/api/sweep_json.h"
#include "daemon/api/why_facts.h"
#include "daemon/api/why_source.h"
#include "daemon/api/why_words.h"
#include "daemon/daemon.h"
#include "daemon/sweep/running.h"
#include "store/read.h"
#include <stdio.h>
#include <string.h>

struct why_question {
	struct sw_lookup q;
	enum sw_pruner_kind pruner;
	bool brackets;    /* it has several */
	int64_t enqueued; /* of those that the user enqueued the trial is this one; 0: none */
	/* The store has told these. */
	char state[16];
	int64_t attempt, step;
	struct sw_buf cause, facts; /* of the trial; of how it came about */
	struct sw_buf left;         /* what was left out of its reports, in words */
	struct sw_buf decisions;
	struct sw_jw w;       /* writes them */
	uint64_t first_step;  /* of its first report; 0: none */
	char last_words[256]; /* of the last decision; "": none */
	bool last_paused;     /* it was that the trial pauses */
};

static bool write_decision(const struct sw_row_decision *row, void *arg)
{
	struct why_question *y = arg;

	sw_jw_obj(&y->w);
	sw_jw_kint(&y->w, "attempt", row->attempt);
	sw_jw_kint(&y->w, "seq", row->seq);
	sw_jw_kstr(&y->w, "decision", row->verdict);
	sw_jw_kint(&y->w, "bracket", row->bracket);
	sw_jw_kint(&y->w, "rung", row->rung);
	sw_jw_kint(&y->w, "rank", row->better + 1);
	sw_jw_kint(&y->w, "n", row->n);
	sw_jw_kint(&y->w, "keep", row->keep);
	sw_jw_knum_opt(&y->w, "cutoff", row->has_cutoff, row->cutoff);
	sw_jw_knum(&y->w, "value", row->value);
	sw_jw_obj_end(&y->w);
	/* "pause"; the others are "continue" and "stop". */
	y->last_paused = row->verdict[0] == 'p';
	sw_why_decision(y->pruner, y->brackets, row, y->last_words, sizeof y->last_words);
	return true;
}

static bool keep_state(const struct sw_row_trial *row, void *arg)
{
	struct why_question *y = arg;

	/* Copies: the row's texts are SQLite's until its next step. */
	(void)snprintf(y->state, sizeof y->state, "%s", row->state);
	(void)sw_buf_adds(&y->cause, row->cause != NULL ? row->cause : "");
	y->attempt = row->attempt;
	y->step = row->step;
	if (row->left_why != NULL)
		(void)sw_buf_addf(&y->left, "; left out %lld of its reports, the first: %s",
				  (long long)row->left_out, row->left_why);
	return true;
}

static bool keep_first(const struct sw_row_report *row, void *arg)
{
	((struct why_question *)arg)->first_step = (uint64_t)row->step;
	return true;
}

static void read_why(struct sw_db *db, struct sw_lookup *q)
{
	struct why_question *y = (struct why_question *)q;

	q->rc = sw_read_trial(db, q->sweep, q->trial, keep_state, y, &q->err);
	if (q->rc != SW_OK)
		return;
	sw_jw_init(&y->w, &y->decisions);
	sw_jw_arr(&y->w);
	q->rc = sw_read_decisions(db, q->sweep, q->trial, write_decision, y, &q->err);
	sw_jw_arr_end(&y->w);
	if (q->rc == SW_OK)
		q->rc = sw_read_reports(db, q->sweep, q->trial, 0, 0, 1, keep_first, y, &q->err);
	struct sw_jw facts;
	sw_jw_init(&facts, &y->facts);
	if (q->rc == SW_OK)
		q->rc = sw_why_facts_read(db, q->sweep, q->trial, y->enqueued, &facts, &q->err);
}

static void explain_paused(const struct why_question *y, struct sw_buf *out)
{
	struct sw_pruner_turn place;

	/* A sweep that is about to end resumes nothing, whatever the rank. */
	if (sw_sweep_settling(y->q.live->sched)) {
		sw_why_settling(y->q.live, out);
		(void)sw_buf_addf(out, "%s%s", y->last_words[0] != '\0' ? "; paused " : "",
				  y->last_words);
		return;
	}
	if (y->q.live->state == SW_SWEEP_PAUSED)
		(void)sw_buf_adds(out, "the sweep is paused; the trial ");
	if (sw_sweep_place(y->q.live->sched, (uint64_t)y->q.trial, &place) == SW_OK)
		sw_why_place(y->pruner, &place, out);
	if (y->last_words[0] != '\0')
		(void)sw_buf_addf(out, "; paused %s", y->last_words);
}

/* Stopped by a report; or paused by one, and never resumed. */
static void explain_pruned(const struct why_question *y, const char *cause, struct sw_buf *out)
{
	if (y->last_paused)
		(void)sw_buf_addf(out, "paused %s, and not resumed: %s", y->last_words, cause);
	else if (y->pruner == SW_PRUNER_PBT)
		(void)sw_buf_addf(out, "%s; judged %s", cause, y->last_words);
	else
		(void)sw_buf_addf(out, "stopped %s", y->last_words);
}

/* The trial's place in its queue, for programs. */
static void write_queue(const struct why_question *y, struct sw_jw *w)
{
	struct sw_pruner_turn p;

	/* By the row's state, as the words are; the state machine may be a step ahead, and then has
	 * no place for it. */
	if (strcmp(y->state, "PAUSED") != 0 ||
	    sw_sweep_place(y->q.live->sched, (uint64_t)y->q.trial, &p) != SW_OK) {
		sw_jw_knull(w, "queue");
		return;
	}
	sw_jw_kobj(w, "queue");
	sw_jw_kint(w, "rung", (int64_t)p.rung);
	sw_jw_kint(w, "rank", (int64_t)p.rank);
	sw_jw_kint(w, "n", (int64_t)p.n);
	sw_jw_kint(w, "keep", (int64_t)p.keep);
	sw_jw_kint_opt(w, "place", p.rank <= p.keep, (int64_t)p.ahead + 1);
	sw_jw_obj_end(w);
}

static void explain(const struct why_question *y, struct sw_buf *out)
{
	const char *state = y->state, *cause = y->cause.data != NULL ? y->cause.data : "";

	if (strcmp(state, "PENDING") == 0) {
		sw_why_waiting(y->q.live, out);
		if (*cause != '\0')
			(void)sw_buf_addf(out, "; attempt %lld ended: %s", (long long)y->attempt,
					  cause);
	} else if (strcmp(state, "PRUNED") == 0 && y->last_words[0] != '\0') {
		explain_pruned(y, cause, out);
	} else if (strcmp(state, "PAUSED") == 0) {
		explain_paused(y, out);
	} else if (strcmp(state, "RUNNING") == 0) {
		(void)sw_buf_addf(out, "runs (attempt %lld, step %lld)", (long long)y->attempt,
				  (long long)y->step);
		sw_why_slots(y->q.live, y->q.trial, out);
		const int64_t silent = sw_sweep_json_silent_min(y->q.live, y->q.trial);
		if (silent > 0)
			(void)sw_buf_addf(out, ", last heard of %lld min ago", (long long)silent);
		if (y->last_words[0] != '\0')
			(void)sw_buf_addf(out, "; went on %s", y->last_words);
	} else if (strcmp(state, "COMPLETED") == 0) {
		(void)sw_buf_addf(out, "completed at step %lld%s%s", (long long)y->step,
				  *cause != '\0' ? ": " : "", cause);
		if (y->last_words[0] != '\0')
			(void)sw_buf_addf(out, "; last judged %s", y->last_words);
	} else {
		(void)sw_buf_addf(out, "%s%s%s", state, *cause != '\0' ? ": " : "", cause);
	}
}

static void why_done(struct sw_lookup *q)
{
	struct why_question *y = (struct why_question *)q;
	/* The store's thread has written the decisions alone; the answer is put together here, on
	 * the loop, where the state machine may be asked. */
	struct sw_buf text, suggestion;

	sw_buf_init(&text, 16384);
	sw_buf_init(&suggestion, SW_REPLY_MAX);
	explain(y, &text);
	(void)sw_buf_adds(&text, y->left.data != NULL ? y->left.data : "");
	if (sw_sweep_is_past(q->live->sched, y->first_step)) {
		char past[200];

		sw_sweep_json_past(q->live, y->first_step, past, sizeof past);
		(void)sw_buf_addf(&text, "; %s", past);
	}
	enum sw_trial_state state;
	if (sw_store_stuck(q->live->d->store) != NULL &&
	    sw_trial_state_find(y->state, &state) == SW_OK && !sw_trial_ended(state))
		(void)sw_buf_addf(&text, "; %s", sw_store_stuck(q->live->d->store));
	sw_why_source(q->live, (uint64_t)q->trial, y->facts.data != NULL ? y->facts.data : "",
		      &suggestion, &text);
	sw_jw_kstr(&q->w, "text", text.data);
	sw_jw_kstr(&q->w, "state", y->state);
	sw_jw_kraw(&q->w, "decisions", y->decisions.data);
	sw_jw_kraw(&q->w, "suggestion", suggestion.data);
	write_queue(y, &q->w);
	sw_buf_fini(&suggestion);
	sw_buf_fini(&text);
}

static void why_fini(struct sw_lookup *q)
{
	struct why_question *y = (struct why_question *)q;

	sw_buf_fini(&y->cause);
	sw_buf_fini(&y->left);
	sw_buf_fini(&y->facts);
	sw_buf_fini(&y->decisions);
}

void sw_handle_trial_why(struct sw_running *live, struct sw_call *call)
{
	struct why_question *y = sw_lookup_create(call, live, sizeof *y, read_why);

	if (y == NULL)
		return;
	y->pruner = sw_pruner_kind(sw_sweep_pruner(live->sched));
	y->brackets = sw_pruner_bracket_n(sw_sweep_pruner(live->sched)) > 1;
	/* Asked now, on the loop: the store's thread must not touch the state machine. */
	y->enqueued = (int64_t)sw_sweep_origin(live->sched, (uint64_t)y->q.trial).enqueued;
	sw_buf_init(&y->cause, SW_REPLY_MAX);
	sw_buf_init(&y->left, SW_REPLY_MAX);
	sw_buf_init(&y->facts, SW_REPLY_MAX);
	sw_buf_init(&y->decisions, SW_REPLY_MAX);
	y->q.is_long = true; /* it builds the search space, and reads a thousand trials */
	y->q.done = why_done;
	y->q.fini = why_fini;
	sw_lookup_run(&y->q);
}
