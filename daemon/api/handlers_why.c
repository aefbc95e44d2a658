/* daemon/api/handlers_why.c — trial.why: a decision in words and numbers. */
#include "daemon/api/handlers.h"
#include "daemon/api/lookup.h"
#include "daemon/api/why_near.h"
#include "daemon/api/why_source.h"
#include "daemon/api/why_words.h"
#include "daemon/daemon.h"
#include "daemon/sweep/host.h"
#include "store/read.h"
#include <stdio.h>
#include <string.h>

static bool write_decision(const struct sw_row_decision *row, void *arg)
{
	struct sw_lookup *q = arg;

	sw_jw_obj(&q->w);
	sw_jw_kint(&q->w, "attempt", row->attempt);
	sw_jw_kint(&q->w, "seq", row->seq);
	sw_jw_kstr(&q->w, "decision", row->verdict);
	sw_jw_kint(&q->w, "bracket", row->bracket);
	sw_jw_kint(&q->w, "rung", row->rung);
	sw_jw_kint(&q->w, "rank", row->better + 1);
	sw_jw_kint(&q->w, "n", row->n);
	sw_jw_kint(&q->w, "keep", row->keep);
	if (row->has_cutoff)
		sw_jw_knum(&q->w, "cutoff", row->cutoff);
	else
		sw_jw_knull(&q->w, "cutoff");
	sw_jw_knum(&q->w, "value", row->value);
	sw_jw_obj_end(&q->w);
	q->next = (unsigned char)row->verdict[0];
	sw_why_decision((enum sw_pruner_kind)q->limit, q->flag, row, q->cause, sizeof q->cause);
	return true;
}

/* Keeps the row's state and cause in `more` for why_done(): "STATE cause". */
static bool keep_state(const struct sw_row_trial *row, void *arg)
{
	struct sw_lookup *q = arg;

	(void)snprintf(q->text, sizeof q->text, "%s", row->state);
	(void)sw_buf_adds(&q->more, row->cause != NULL ? row->cause : "");
	q->a = row->attempt;
	q->b = row->step;
	return true;
}

static void read_why(struct sw_db *db, struct sw_lookup *q)
{
	q->rc = sw_read_trial(db, q->sweep, q->trial, keep_state, q, &q->err);
	if (q->rc != SW_OK)
		return;
	sw_jw_arr(&q->w);
	q->rc = sw_read_decisions(db, q->sweep, q->trial, write_decision, q, &q->err);
	sw_jw_arr_end(&q->w);
	struct sw_jw facts;
	sw_jw_init(&facts, &q->extra);
	if (q->rc == SW_OK)
		q->rc = sw_why_near_read(db, q->sweep, q->trial, q->count, &facts, &q->err);
}

static void explain_paused(const struct sw_lookup *q, struct sw_buf *out)
{
	struct sw_pruner_place place;

	if (sw_sweep_settling(q->h->sched)) {
		sw_why_settling(q->h, out);
		(void)sw_buf_addf(out, "%s%s", q->cause[0] != '\0' ? "; paused " : "", q->cause);
		return;
	}
	if (q->h->state == SW_SWEEP_PAUSED)
		(void)sw_buf_adds(out, "the sweep is paused; the trial ");
	if (sw_sweep_place(q->h->sched, (uint64_t)q->trial, &place) == SW_OK)
		sw_why_place((enum sw_pruner_kind)q->limit, &place, out);
	if (q->cause[0] != '\0')
		(void)sw_buf_addf(out, "; paused %s", q->cause);
}

/* Stopped by a report; or paused by one, and never resumed. */
static void explain_pruned(const struct sw_lookup *q, const char *cause, struct sw_buf *out)
{
	if (q->next == 'p')
		(void)sw_buf_addf(out, "paused %s, and not resumed: %s", q->cause, cause);
	else if (q->limit == SW_PRUNER_PBT)
		(void)sw_buf_addf(out, "%s; judged %s", cause, q->cause);
	else
		(void)sw_buf_addf(out, "stopped %s", q->cause);
}

/* What waits and where is the queue's, for programs. */
static void write_queue(const struct sw_lookup *q, struct sw_jw *w)
{
	struct sw_pruner_place p;

	if (strcmp(q->text, "PAUSED") != 0 ||
	    sw_sweep_place(q->h->sched, (uint64_t)q->trial, &p) != SW_OK) {
		sw_jw_knull(w, "queue");
		return;
	}
	sw_jw_key(w, "queue");
	sw_jw_obj(w);
	sw_jw_kint(w, "rung", (int64_t)p.rung);
	sw_jw_kint(w, "rank", (int64_t)p.rank);
	sw_jw_kint(w, "n", (int64_t)p.n);
	sw_jw_kint(w, "keep", (int64_t)p.keep);
	if (p.rank <= p.keep)
		sw_jw_kint(w, "place", (int64_t)p.ahead + 1);
	else
		sw_jw_knull(w, "place");
	sw_jw_obj_end(w);
}

static void explain(const struct sw_lookup *q, struct sw_buf *out)
{
	const char *state = q->text, *cause = q->more.data != NULL ? q->more.data : "";

	if (strcmp(state, "PENDING") == 0) {
		sw_why_waiting(q->h, out);
		if (*cause != '\0')
			(void)sw_buf_addf(out, "; attempt %lld ended: %s", (long long)q->a, cause);
	} else if (strcmp(state, "PRUNED") == 0 && q->cause[0] != '\0') {
		explain_pruned(q, cause, out);
	} else if (strcmp(state, "PAUSED") == 0) {
		explain_paused(q, out);
	} else if (strcmp(state, "RUNNING") == 0) {
		(void)sw_buf_addf(out, "runs (attempt %lld, step %lld)", (long long)q->a,
				  (long long)q->b);
		if (q->cause[0] != '\0')
			(void)sw_buf_addf(out, "; went on %s", q->cause);
	} else if (strcmp(state, "COMPLETED") == 0) {
		(void)sw_buf_addf(out, "completed at step %lld%s%s", (long long)q->b,
				  *cause != '\0' ? ": " : "", cause);
		if (q->cause[0] != '\0')
			(void)sw_buf_addf(out, "; last judged %s", q->cause);
	} else {
		(void)sw_buf_addf(out, "%s%s%s", state, *cause != '\0' ? ": " : "", cause);
	}
}

static void why_done(struct sw_lookup *q)
{
	struct sw_buf decisions = q->out, text, suggestion;

	sw_buf_init(&q->out, SW_REPLY_MAX);
	sw_buf_init(&text, 16384);
	sw_buf_init(&suggestion, SW_REPLY_MAX);
	explain(q, &text);
	sw_why_source(q->h, (uint64_t)q->trial, q->extra.data != NULL ? q->extra.data : "",
		      &suggestion, &text);
	sw_jw_init(&q->w, &q->out);
	sw_jw_obj(&q->w);
	sw_jw_kstr(&q->w, "text", text.data);
	sw_jw_kstr(&q->w, "state", q->text);
	sw_jw_kraw(&q->w, "decisions", decisions.data);
	sw_jw_kraw(&q->w, "suggestion", suggestion.data);
	write_queue(q, &q->w);
	sw_jw_obj_end(&q->w);
	sw_buf_fini(&suggestion);
	sw_buf_fini(&text);
	sw_buf_fini(&decisions);
}

static void why_loaded(struct sw_host *h, struct sw_call *call)
{
	struct sw_lookup *q = sw_lookup_create(call, h);

	if (q == NULL)
		return;
	q->limit = sw_pruner_kind(sw_sweep_pruner(h->sched));
	q->count = (int64_t)sw_sweep_origin(h->sched, (uint64_t)q->trial).enqueued;
	q->flag = sw_pruner_bracket_n(sw_sweep_pruner(h->sched)) > 1;
	q->is_long = true; /* it builds the search space, and reads a thousand trials */
	q->work = read_why;
	q->done = why_done;
	sw_lookup_run(q);
}

void sw_handle_trial_why(struct sw_call *call)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_host *h = sw_host_find(call->d, sw_call_int(call, "sweep", 0), &err);

	if (h == NULL)
		sw_call_error(call, &err);
	else
		sw_host_need(h, call, why_loaded);
}
