/* daemon/api/handlers_sweep_read.c — sweep.list, sweep.find and sweep.get. */
#include "daemon/api/front.h"
#include "daemon/api/handlers.h"
#include "daemon/api/lookup.h"
#include "daemon/api/sweep_json.h"
#include "daemon/api/trial_json.h"
#include "daemon/daemon.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/edit.h"
#include "daemon/sweep/running.h"
#include "proto/nearest.h"
#include "store/read.h"
#include <stdio.h>
#include <string.h>

static bool add_count(const char *state, int64_t n, void *arg)
{
	enum sw_trial_state s;
	uint64_t *counts = arg;

	/* The state of a damaged row is counted nowhere. */
	if (sw_trial_state_find(state, &s) == SW_OK)
		counts[s] = (uint64_t)n;
	return true;
}

/* --- list --- */

#define LIST_NOTES 32

struct list_question {
	struct sw_lookup q;
	int64_t from;     /* the newest sweep that it is about */
	int64_t limit, n; /* sweeps wanted, written */
	int64_t last;     /* the one that was written last */
	char state[16];   /* wanted; "": any */
	struct sw_db *db;
	/* For the newest sweeps that run, why nothing goes on there: no row says it. */
	struct {
		int64_t sweep;
		char text[160];
	} notes[LIST_NOTES];
	size_t notes_n;
};

/* A trial of the sweep on a slot that has long been silent. */
static void note_silent(const struct sw_running *live, char *text, size_t cap)
{
	for (size_t i = 0; i < live->d->slot.slot_n; i++) {
		const struct sw_slot *s = &live->d->slot.slots[i];
		const int64_t min = s->state == SW_SLOT_BUSY && s->sweep == live->sweep
					    ? sw_sweep_json_silent_min(live, s->trial)
					    : 0;

		if (min > 0)
			(void)snprintf(text, cap, "trial %lld: last report %lld min ago",
				       (long long)s->trial, (long long)min);
	}
}

/* Notes on the loop what the reader's thread must not look at. */
static void note_running(struct list_question *l, const struct sw_daemon *d)
{
	for (int64_t i = l->from; i > 0 && l->notes_n < LIST_NOTES; i--) {
		/* In memory for every sweep, loaded or not: the list needs no state machine. */
		const struct sw_running *live = d->sweep.sweeps[i - 1];
		char *text = l->notes[l->notes_n].text, whole[480] = "";
		const size_t cap = sizeof l->notes[0].text;
		bool ending;

		/* The row of any other sweep says it. */
		if (live->state != SW_SWEEP_RUNNING || live->sched == NULL)
			continue;
		(void)snprintf(text, cap, "%.*s", (int)cap - 1,
			       sw_sweep_json_cause(live, whole, sizeof whole, &ending));
		if (*text == '\0')
			note_silent(live, text, cap);
		l->notes[l->notes_n].sweep = live->sweep;
		l->notes_n += *text != '\0';
	}
}

static bool write_list_best(const struct sw_row_trial *row, void *arg)
{
	struct sw_jw *w = arg;

	sw_jw_obj(w);
	sw_jw_kint(w, "trial", row->trial);
	sw_jw_kint(w, "step", row->step);
	sw_jw_knum(w, "value", row->value);
	sw_jw_obj_end(w);
	return true;
}

/* With several metrics no trial is the best, so the row tells how many no other beats. */
static void write_list_front(const struct sw_front *f, struct sw_jw *w)
{
	sw_jw_knull(w, "best");
	sw_jw_kobj(w, "pareto");
	sw_jw_kint(w, "trials", (int64_t)f->front_n);
	sw_jw_obj_end(w);
	sw_jw_karr(w, "metrics");
	for (size_t k = 0; k < f->spec->n_metrics; k++)
		sw_jw_str(w, f->spec->metrics[k].name);
	sw_jw_arr_end(w);
}

static void write_best_or_front(struct list_question *l, const struct sw_row_sweep *row)
{
	struct sw_lookup *q = &l->q;
	struct sw_front f = {.no_volume = true};

	if (q->rc == SW_OK)
		q->rc = sw_front_read_row(&f, l->db, row, &q->err);
	/* It has several metrics. */
	if (q->rc == SW_OK && f.spec != NULL) {
		write_list_front(&f, &q->w);
		sw_front_fini(&f);
		return;
	}
	sw_front_fini(&f);
	sw_jw_key(&q->w, "best");
	const size_t without = q->out.len;
	if (q->rc == SW_OK)
		q->rc = sw_read_best(l->db, row->sweep, row->maximize, "all", 1, write_list_best,
				     &q->w, &q->err);
	if (q->out.len == without)
		sw_jw_null(&q->w);
	sw_jw_knull(&q->w, "pareto");
}

static void write_annotations(struct sw_jw *w, const struct sw_row_sweep *row)
{
	char tag[64];

	sw_jw_karr(w, "tags");
	for (const char *s = row->tags; s != NULL && *s != '\0';) {
		const size_t n = strcspn(s, " ");

		(void)snprintf(tag, sizeof tag, "%.*s", (int)n, s);
		sw_jw_str(w, tag);
		s += n + strspn(s + n, " ");
	}
	sw_jw_arr_end(w);
	sw_jw_kstr(w, "note", row->note != NULL && *row->note != '\0' ? row->note : NULL);
}

static void write_listed(struct list_question *l, const struct sw_row_sweep *row)
{
	struct sw_lookup *q = &l->q;
	const int64_t end_ms = row->ended_ms != 0 ? row->ended_ms : q->now_ms;
	uint64_t counts[SW_TRIAL_STATE_N] = {0};

	sw_jw_obj(&q->w);
	sw_jw_kint(&q->w, "sweep", row->sweep);
	sw_jw_kstr(&q->w, "name", row->name);
	sw_jw_kstr(&q->w, "state", row->state);
	const char *cause = row->cause;
	for (size_t i = 0; i < l->notes_n && cause == NULL; i++)
		if (l->notes[i].sweep == row->sweep)
			cause = l->notes[i].text;
	sw_jw_kstr(&q->w, "cause", cause);
	sw_jw_kstr(&q->w, "method", row->method);
	sw_jw_kstr(&q->w, "metric", row->metric);
	sw_jw_kstr(&q->w, "goal", row->maximize ? "maximize" : "minimize");
	write_annotations(&q->w, row);
	if (q->rc == SW_OK)
		q->rc = sw_read_counts(l->db, row->sweep, add_count, counts, &q->err);
	sw_sweep_json_counts(&q->w, counts);
	sw_jw_kint_opt(&q->w, "run_cap", row->run_cap > 0, row->run_cap);
	write_best_or_front(l, row);
	sw_jw_kint(&q->w, "created_ms", row->created_ms);
	sw_jw_knum(&q->w, "seconds",
		   end_ms > row->created_ms ? (double)(end_ms - row->created_ms) / 1000.0 : 0.0);
	sw_jw_obj_end(&q->w);
}

static bool write_sweep_row(const struct sw_row_sweep *row, void *arg)
{
	struct list_question *l = arg;

	/* A sweep in another state counts for nothing, and the next one down is read. */
	if (sw_row_is_gone(row->gone))
		return true;
	if (l->state[0] == '\0' || strcmp(l->state, row->state) == 0) {
		l->last = row->sweep;
		l->n++;
		write_listed(l, row);
	}
	return l->q.rc == SW_OK;
}

/* The newest first: sweep numbers are dense, so each is read by its number, from the first down. */
static void read_list(struct sw_db *db, struct sw_lookup *q)
{
	struct list_question *l = (struct list_question *)q;
	int64_t sweep;

	l->db = db;
	sw_jw_karr(&q->w, "sweeps");
	for (sweep = l->from; sweep >= 1 && q->rc == SW_OK && l->n < l->limit; sweep--) {
		const sw_status rc = sw_read_sweeps(db, sweep, write_sweep_row, l, &q->err);

		if (q->rc == SW_OK)
			q->rc = rc;
	}
	sw_jw_arr_end(&q->w);
	sw_jw_kint_opt(&q->w, "next", sweep >= 1 && l->n > 0, l->last);
}

/* How many further pages would show; by the states that are now, which no row need be read for. */
static void end_list(struct sw_lookup *q)
{
	const struct list_question *l = (const struct list_question *)q;
	const struct sw_daemon *d = q->call->d;
	int64_t older = 0;

	for (int64_t i = 1; i < l->last; i++) {
		const struct sw_running *live = d->sweep.sweeps[i - 1];

		older += !sw_row_is_gone(live->gone) &&
			 (l->state[0] == '\0' ||
			  strcmp(l->state, sw_sweep_state_name(live->state)) == 0);
	}
	sw_jw_kint(&q->w, "older", older);
}

void sw_handle_sweep_list(struct sw_call *call)
{
	struct list_question *l = sw_lookup_create(call, NULL, sizeof *l, read_list);
	const int64_t after = sw_call_int(call, "after", 0), n = (int64_t)call->d->sweep.sweep_n;

	if (l == NULL)
		return;
	/* `after` is the last one of the page before; a number that no sweep has is the first
	 * page. */
	l->from = after > 0 && after <= n ? after - 1 : n;
	l->limit = sw_call_int(call, "limit", 100);
	(void)snprintf(l->state, sizeof l->state, "%s", sw_call_str(call, "state", ""));
	l->q.is_long = true;
	l->q.done = end_list;
	note_running(l, call->d);
	sw_lookup_run(&l->q);
}

/* --- find --- */

#define NEAR_MOST                                                                                  \
	1000 /* names of the newest sweeps: a misspelt one is compared with these, in 1 ms */

static void refuse_name(struct sw_call *call, const char *name)
{
	const struct sw_daemon *d = call->d;
	const char *names[NEAR_MOST];
	char did[SW_DID_YOU_MEAN];
	size_t n = 0;

	for (size_t i = d->sweep.sweep_n; i > 0 && n < NEAR_MOST; i--)
		if (!sw_row_is_gone(d->sweep.sweeps[i - 1]->gone))
			names[n++] = d->sweep.sweeps[i - 1]->name;
	const char *near = sw_nearest(name, names, n);
	sw_call_refuse(call, SW_NOT_FOUND, "", "no sweep is called \"%s\"%s", name,
		       sw_did_you_mean(near, did));
}

void sw_handle_sweep_find(struct sw_call *call)
{
	const char *name = sw_call_str(call, "name", "");
	const struct sw_daemon *d = call->d;
	struct sw_jw *w = NULL;
	int64_t newest = 0, same = 0;

	for (size_t i = 0; i < d->sweep.sweep_n; i++) {
		if (sw_row_is_gone(d->sweep.sweeps[i]->gone) ||
		    strcmp(d->sweep.sweeps[i]->name, name) != 0)
			continue;
		if (same++ == 0) {
			w = sw_call_reply(call);
			sw_jw_karr(w, "sweeps");
		}
		newest = d->sweep.sweeps[i]->sweep;
		sw_jw_int(w, newest);
	}
	if (w == NULL) {
		refuse_name(call, name);
		return;
	}
	sw_jw_arr_end(w);
	sw_jw_kint(w, "sweep", newest);
	sw_jw_kint(w, "same", same);
	sw_call_reply_end(call);
}

/* --- get --- */

static bool write_edit(const struct sw_row_event *row, void *arg)
{
	struct sw_lookup *q = arg;
	const char *text = row->cause != NULL ? row->cause : "";
	cJSON *tree = NULL;

	q->rc = sw_json_parse(&tree, text, strlen(text), &q->err);
	if (q->rc != SW_OK)
		return false;
	sw_jw_obj(&q->w);
	sw_jw_kint(&q->w, "time_ms", row->time_ms);
	sw_jw_kint(&q->w, "uid", row->uid);
	sw_jw_key(&q->w, "changes");
	sw_edits_changes(tree, &q->w);
	sw_jw_obj_end(&q->w);
	cJSON_Delete(tree);
	return true;
}

static void read_edits(struct sw_db *db, struct sw_lookup *q)
{
	sw_jw_karr(&q->w, "edits");
	const sw_status rc = sw_read_edits(db, q->sweep, write_edit, q, &q->err);
	if (q->rc == SW_OK)
		q->rc = rc;
	sw_jw_arr_end(&q->w);
}

static bool write_spec(const struct sw_row_sweep *row, void *arg)
{
	struct sw_lookup *q = arg;

	write_annotations(&q->w, row);
	sw_trial_json_stored(&q->w, "spec", row->spec, row->sweep, 0);
	return true;
}

/* Goes on where sw_handle_sweep_get() began: the header has happened, so the read shows at least
 * that. */
static void read_get(struct sw_db *db, struct sw_lookup *q)
{
	read_edits(db, q);
	if (q->rc == SW_OK)
		q->rc = sw_read_sweeps(db, q->sweep, write_spec, q, &q->err);
	if (q->rc != SW_OK)
		return;
	sw_jw_key(&q->w, "best");
	const size_t without = q->out.len;
	q->rc = sw_read_best(db, q->sweep, q->maximize, "all", 1, sw_lookup_write_trial, q,
			     &q->err);
	if (q->out.len == without)
		sw_jw_null(&q->w);
	struct sw_front f = {.n = 0};
	if (q->rc == SW_OK && q->is_long)
		q->rc = sw_front_read(&f, db, q->sweep, &q->err);
	if (q->rc == SW_OK)
		sw_front_write(&f, &q->w);
	sw_front_fini(&f);
}

void sw_handle_sweep_get(struct sw_running *live, struct sw_call *call)
{
	struct sw_lookup *q = sw_lookup_create(call, live, sizeof *q, read_get);

	if (q == NULL)
		return;
	/* On the loop, where the state machine may be asked; the reader's thread adds what the
	 * store has. */
	sw_sweep_json(&q->w, live, q->now_ms);
	sw_jw_kint(&q->w, "seed", (int64_t)live->seed);
	sw_sweep_json_progress(&q->w, live);
	sw_jw_kint(&q->w, "created_ms", live->created_ms);
	sw_jw_kint_opt(&q->w, "ended_ms", live->ended_ms != 0, live->ended_ms);
	sw_jw_knum(&q->w, "seconds", sw_sweep_json_seconds(live, q->now_ms));
	q->is_long = live->spec->n_metrics > 1; /* its front is of all trials */
	sw_lookup_run(q);
}
