#include "daemon/api/watch.h"
#include "base/memory.h"
#include "daemon/api/sweep_json.h"
#include "daemon/api/trial_json.h"
#include "daemon/daemon.h"
#include "daemon/net/call.h"
#include "daemon/net/conn.h"
#include "daemon/sweep/run/hold.h"
#include "daemon/sweep/running.h"
#include "store/read.h"
#include <stdlib.h>
#include <string.h>

#define CHANGED_MAX 512                   /* trials in one answer; more are left for the next */
#define ANSWER_FULL ((size_t)1024 * 1024) /* of trials: what is left goes into the next answer */
#define ANSWER_MAX  ((size_t)16 * 1024 * 1024)

/* One read for an answer: pieces of JSON that finish() puts together on the loop. */
struct update {
	struct sw_running *live;
	struct sw_call *call;
	int64_t sweep, now_ms, rows, last;
	bool maximize;
	bool stuck;    /* the store was, when the read was asked for */
	bool behind;   /* it was when the read began: that may lack what has changed */
	bool snapshot; /* what runs and the latest, not what changed */
	uint64_t next; /* the number up to which it shows all */
	struct sw_mark changed[CHANGED_MAX];
	size_t changed_n, read_n; /* of them, those that `trials` has */
	struct sw_buf head, best,
		trials; /* head: the header as it was when the read was asked for */
	struct sw_jw w;
	sw_status rc;
	struct sw_err err;
};

/* --- on the reader's thread --- */

static bool add_best(const struct sw_row_trial *row, void *arg)
{
	struct update *l = arg;
	struct sw_jw w;

	sw_jw_init(&w, &l->best);
	sw_trial_json_obj(&w, row, l->now_ms);
	return true;
}

static bool add_trial(const struct sw_row_trial *row, void *arg)
{
	struct update *l = arg;

	sw_trial_json_obj(&l->w, row, l->now_ms);
	l->rows--;
	return l->rows > 0 && l->trials.len < ANSWER_FULL;
}

static bool add_latest(const struct sw_row_trial *row, void *arg)
{
	/* Those that run are there already. */
	return strcmp(row->state, "RUNNING") == 0 || add_trial(row, arg);
}

/* Reads the trials that run, then the latest. */
static void read_snapshot(struct update *l, struct sw_db *db)
{
	if (l->rc == SW_OK && l->rows > 0)
		l->rc = sw_read_trials(db, l->sweep, "RUNNING", 0, l->rows, add_trial, l, &l->err);
	if (l->rc == SW_OK && l->rows > 0 && l->trials.len < ANSWER_FULL)
		l->rc = sw_read_trials(db, l->sweep, NULL,
				       l->last > l->rows ? l->last - l->rows : 0, INT64_MAX,
				       add_latest, l, &l->err);
}

static void read_update(struct sw_db *db, void *arg)
{
	struct update *l = arg;

	l->behind = sw_read_behind(db);
	l->rc = sw_read_best(db, l->sweep, l->maximize, "all", 1, add_best, l, &l->err);
	sw_jw_init(&l->w, &l->trials);
	sw_jw_arr(&l->w);
	if (l->snapshot)
		read_snapshot(l, db);
	l->rows = CHANGED_MAX + 1;
	while (l->rc == SW_OK && l->read_n < l->changed_n && l->trials.len < ANSWER_FULL) {
		l->rc = sw_read_trial(db, l->sweep, (int64_t)l->changed[l->read_n++].trial,
				      add_trial, l, &l->err);
		/* A trial that is marked and not stored yet comes with its own commit. */
		if (l->rc == SW_NOT_FOUND)
			l->rc = SW_OK;
	}
	sw_jw_arr_end(&l->w);
}

/* --- on the loop --- */

/* The whole, from its pieces. Takes the head. */
static struct sw_buf write_answer(struct update *l)
{
	struct sw_buf out = l->head;
	struct sw_jw w;

	sw_buf_init(&l->head, ANSWER_MAX);
	sw_jw_init(&w, &out);
	w.comma = true;
	sw_jw_kint(&w, "next", (int64_t)l->next);
	sw_jw_kbool(&w, "reset", l->snapshot);
	sw_jw_kraw(&w, "best", l->best.len > 0 ? l->best.data : NULL);
	sw_jw_kraw(&w, "trials", l->trials.data);
	sw_jw_obj_end(&w);
	if (l->trials.failed != SW_OK || l->best.failed != SW_OK)
		out.failed = l->trials.failed != SW_OK ? l->trials.failed : l->best.failed;
	return out;
}

static void free_update(struct update *l)
{
	sw_buf_fini(&l->head);
	sw_buf_fini(&l->best);
	sw_buf_fini(&l->trials);
	free(l);
}

static void on_update(void *arg)
{
	struct update *l = arg;

	l->live->lookups--;
	if (l->read_n > 0 && l->read_n < l->changed_n)
		l->next = l->changed[l->read_n - 1].number; /* the rest had no place in this one */
	/* If the store was known to be stuck, note_stuck() has all shown once it is not. */
	if (l->behind && !l->stuck)
		l->next = 0;
	if (l->rc != SW_OK) {
		sw_call_error(l->call, &l->err);
	} else {
		struct sw_buf out = write_answer(l);

		sw_call_result(l->call, &out);
	}
	free_update(l);
}

/* Tells that the store is stuck, and later all that it kept back: what was told in between shows
 * less than what had changed. */
static void note_stuck(struct sw_running *live)
{
	const bool stuck = sw_store_stuck(live->d->store) != NULL;

	if (stuck == live->view.stuck)
		return;
	live->view.stuck = stuck;
	sw_marks_drop(&live->view.changes);
}

static uint64_t since_of(const struct sw_call *call)
{
	return (uint64_t)sw_call_int(call, "since", 0);
}

static void answer_now(struct sw_running *live, struct sw_call *call)
{
	struct update *l = sw_calloc(1, sizeof *l);

	if (l != NULL) {
		*l = (struct update){.live = live, .call = call, .sweep = live->sweep};
		l->maximize = live->maximize;
		l->now_ms = live->d->clock->wall_ms();
		l->rows = sw_call_int(call, "rows", 200);
		l->last = (int64_t)sw_sweep_trial_n(live->sched);
		l->stuck = live->view.stuck;
		l->snapshot = !sw_marks_since(&live->view.changes, since_of(call), l->changed,
					      CHANGED_MAX, &l->changed_n, &l->next);
		sw_buf_init(&l->head, ANSWER_MAX);
		sw_buf_init(&l->best, ANSWER_MAX);
		sw_buf_init(&l->trials, ANSWER_MAX);
		/* Before the read: what it shows has happened, so the read, which comes after every
		 * commit before it, shows at least that. */
		sw_sweep_json_head(&l->head, live, l->now_ms);
		if (sw_store_read(live->d->store, SW_READ_LONG, &call->conn->reads, read_update,
				  on_update, l) == SW_OK) {
			live->lookups++; /* it stays in memory until then */
			return;
		}
		free_update(l);
	}
	sw_call_refuse(call, SW_BUSY, "", SW_CALL_BUSY);
}

/* --- those that wait --- */

/* Is there something to tell, or is its time over? While the store is stuck what changes is told
 * once it is stored. */
static bool is_due(const struct sw_running *live, const struct sw_wait *w, int64_t now_us)
{
	const struct sw_marks *m = &live->view.changes;
	const uint64_t since = since_of(w->call);

	/* a number ahead is another daemon's: a snapshot, at once */
	return now_us >= w->until_us || sw_call_gone(w->call) || since > m->number ||
	       since < (live->view.stuck ? m->dropped : m->number);
}

/* True: some still wait. */
static bool serve_waits(struct sw_running *live, int64_t now_us)
{
	struct sw_waits *all = &live->waits[SW_WAIT_CHANGE];
	const int64_t idle_min = all->n > 0 ? sw_hold_idle_min(live) : 0;

	if (all->n == 0)
		return false;
	note_stuck(live);
	if (idle_min != live->view.idle_min) { /* no event tells of that */
		live->view.idle_min = idle_min;
		sw_marks_note(&live->view.changes, 0);
	}
	for (struct sw_wait **at = &all->head; *at != NULL;) {
		if (is_due(live, *at, now_us))
			answer_now(live, sw_wait_take(all, at));
		else
			at = &(*at)->next;
	}
	return all->n > 0;
}

static void on_beat(uv_timer_t *t)
{
	struct sw_daemon *d = t->data;
	bool any = false;

	for (size_t i = 0; i < d->sweep.sweep_n; i++)
		any = serve_waits(d->sweep.sweeps[i], d->clock->mono_us()) || any;
	if (!any)
		(void)uv_timer_stop(t);
}

void sw_watch_answer(struct sw_running *live, struct sw_call *call)
{
	const double wait_s = sw_call_num(call, "wait_s", 0.0);
	struct sw_wait *w = NULL;

	note_stuck(live);
	live->view.changes.looks = SW_MARKS_LOOKS;
	/* Even if something has changed, the call waits for the next beat: one that comes again at
	 * once gets as many answers as one that takes its time. */
	if (since_of(call) != 0 && wait_s > 0 && live->d->phase == SW_UP && !sw_call_gone(call))
		w = sw_wait_add(&live->waits[SW_WAIT_CHANGE], call);
	if (w == NULL) {
		answer_now(live, call);
		return;
	}
	w->until_us = call->since_us + (int64_t)(wait_s * 1e6);
	if (!uv_is_active((uv_handle_t *)&live->d->watch)) /* a running one is not put off */
		(void)uv_timer_start(&live->d->watch, on_beat, SW_WATCH_MS, SW_WATCH_MS);
}

void sw_watch_stop(struct sw_daemon *d)
{
	for (size_t i = 0; i < d->sweep.sweep_n; i++)
		for (struct sw_wait *w = d->sweep.sweeps[i]->waits[SW_WAIT_CHANGE].head; w != NULL;
		     w = w->next)
			sw_conn_close(w->call->conn);
	sw_wait_refuse_all(d, SW_WAIT_CHANGE, "the daemon is stopping");
}
