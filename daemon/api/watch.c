#include "daemon/api/watch.h"
#include "base/memory.h"
#include "daemon/api/sweep_json.h"
#include "daemon/api/trial_json.h"
#include "daemon/daemon.h"
#include "daemon/net/call.h"
#include "daemon/net/conn.h"
#include "daemon/sweep/hold.h"
#include "daemon/sweep/running.h"
#include "store/read.h"
#include <stdlib.h>
#include <string.h>

#define CHANGED_MAX 512                   /* trials in one update; more are left for the next */
#define RESET_ROWS  200                   /* trials of such a one */
#define UPDATE_FULL ((size_t)1024 * 1024) /* of trials: what is left goes into the next update */
#define UPDATE_MAX  ((size_t)16 * 1024 * 1024)

struct sw_watcher {
	struct sw_watcher *next;
	struct sw_conn *conn;
	uint64_t from; /* the number of its snapshot: an older update shows less */
	bool ready;    /* its snapshot was answered: updates may follow */
	bool behind;   /* it missed an update for want of room: the next one must be a fresh
		      * snapshot */
};

/* One read for a snapshot or an update: pieces of JSON that finish() puts together on the loop. */
struct feed {
	struct sw_running *live;
	uint64_t number;      /* in the order in which they were asked for */
	struct sw_call *call; /* a snapshot's; NULL: an update for all watchers */
	int64_t sweep, now_ms, rows, last;
	bool maximize;
	uint64_t changed[CHANGED_MAX];
	size_t changed_n, read_n; /* of them, those that `trials` has */
	struct sw_buf head, best,
		trials; /* head: the header as it was when the read was asked for */
	struct sw_jw w;
	bool snapshot; /* what runs and the latest, not what changed */
	bool ends;     /* the header has a state that ends the sweep */
	sw_status rc;
	struct sw_err err;
};

static void free_feed(struct feed *f)
{
	sw_buf_fini(&f->head);
	sw_buf_fini(&f->best);
	sw_buf_fini(&f->trials);
	free(f);
}

/* --- on the reader's thread --- */

static bool add_best(const struct sw_row_trial *row, void *arg)
{
	struct feed *f = arg;
	struct sw_jw w;

	sw_jw_init(&w, &f->best);
	sw_trial_json_obj(&w, row, f->now_ms);
	return true;
}

static bool add_trial(const struct sw_row_trial *row, void *arg)
{
	struct feed *f = arg;

	sw_trial_json_obj(&f->w, row, f->now_ms);
	f->rows--;
	return f->rows > 0 && f->trials.len < UPDATE_FULL;
}

static bool add_latest(const struct sw_row_trial *row, void *arg)
{
	/* Those that run are there already. */
	return strcmp(row->state, "RUNNING") == 0 || add_trial(row, arg);
}

static void read_feed(struct sw_db *db, void *arg)
{
	struct feed *f = arg;

	f->rc = sw_read_best(db, f->sweep, f->maximize, "all", 1, add_best, f, &f->err);
	sw_jw_init(&f->w, &f->trials);
	sw_jw_arr(&f->w);
	if (f->snapshot) { /* what runs, then the latest */
		if (f->rc == SW_OK && f->rows > 0)
			f->rc = sw_read_trials(db, f->sweep, "RUNNING", 0, f->rows, add_trial, f,
					       &f->err);
		if (f->rc == SW_OK && f->rows > 0 && f->trials.len < UPDATE_FULL)
			f->rc = sw_read_trials(db, f->sweep, NULL,
					       f->last > f->rows ? f->last - f->rows : 0, INT64_MAX,
					       add_latest, f, &f->err);
	}
	f->rows = CHANGED_MAX + 1;
	while (f->rc == SW_OK && f->read_n < f->changed_n && f->trials.len < UPDATE_FULL) {
		f->rc = sw_read_trial(db, f->sweep, (int64_t)f->changed[f->read_n++], add_trial, f,
				      &f->err);
		/* A trial that is marked and not stored yet comes with its own commit. */
		if (f->rc == SW_NOT_FOUND)
			f->rc = SW_OK;
	}
	sw_jw_arr_end(&f->w);
}

/* --- on the loop --- */

/* The whole, from its pieces. Takes the head. */
static struct sw_buf write_view(struct feed *f)
{
	struct sw_buf out = f->head;
	struct sw_jw w;

	sw_buf_init(&f->head, UPDATE_MAX);
	sw_jw_init(&w, &out);
	w.comma = true;
	/* A fresh snapshot instead of an update: its reader must forget all that it has. */
	if (f->snapshot && f->call == NULL)
		sw_jw_kbool(&w, "reset", true); /* `trials` is all there is to show */
	sw_jw_kraw(&w, "best", f->best.len > 0 ? f->best.data : NULL);
	sw_jw_kraw(&w, "trials", f->trials.data);
	sw_jw_obj_end(&w);
	if (f->trials.failed != SW_OK || f->best.failed != SW_OK)
		out.failed = f->trials.failed != SW_OK ? f->trials.failed : f->best.failed;
	return out;
}

static bool is_watched(const struct sw_running *live)
{
	return live->view.watchers != NULL;
}

static void drop_watcher(struct sw_running *live, struct sw_watcher **at)
{
	struct sw_watcher *w = *at;

	*at = w->next;
	w->conn->n_watches--;
	free(w);
	live->view.changes.watched = is_watched(live);
}

void sw_watch_drop_conn(struct sw_daemon *d, struct sw_conn *c)
{
	for (size_t i = 0; c->n_watches > 0 && i < d->sweep.sweep_n; i++) {
		struct sw_running *live = d->sweep.sweeps[i];

		for (struct sw_watcher **at = &live->view.watchers; *at != NULL;)
			if ((*at)->conn == c)
				drop_watcher(live, at);
			else
				at = &(*at)->next;
	}
}

static void on_feed(uv_timer_t *t);

/* The watcher of a connection, made if need be. NULL: no memory. */
static struct sw_watcher *add_watcher(struct sw_running *live, struct sw_conn *c)
{
	struct sw_watcher *w;

	for (w = live->view.watchers; w != NULL; w = w->next)
		if (w->conn == c)
			return w; /* once is enough */
	w = sw_calloc(1, sizeof *w);
	if (w == NULL)
		return NULL;
	w->next = live->view.watchers;
	w->conn = c;
	live->view.watchers = w;
	live->view.changes.watched = true;
	c->n_watches++;
	if (!uv_is_active((uv_handle_t *)&live->d->feed)) /* a running one is not put off */
		(void)uv_timer_start(&live->d->feed, on_feed, SW_WATCH_MS, SW_WATCH_MS);
	return w;
}

static void on_snapshot(void *arg)
{
	struct feed *f = arg;
	struct sw_running *live = f->live;
	struct sw_conn *c = f->call->conn;

	for (struct sw_watcher **at = &live->view.watchers; *at != NULL; at = &(*at)->next) {
		if ((*at)->conn != c)
			continue;
		if (f->rc == SW_OK && !f->ends) {
			(*at)->ready = true;
			(*at)->from = f->number;
		} else if (!(*at)->ready) {
			drop_watcher(live, at); /* nothing more will happen */
		}
		break;
	}
	/* An end meanwhile must still be told, though nothing more may change. */
	live->view.changes.any = true;
	if (f->rc != SW_OK) {
		sw_call_error(f->call, &f->err);
	} else {
		struct sw_buf out = write_view(f);

		sw_call_result(f->call, &out);
	}
	free_feed(f);
}

static struct feed *new_feed(struct sw_running *live)
{
	struct feed *f = sw_calloc(1, sizeof *f);

	if (f == NULL)
		return NULL;
	f->live = live;
	f->number = ++live->view.feeds;
	f->sweep = live->sweep;
	f->maximize = live->maximize;
	f->now_ms = live->d->clock->wall_ms();
	sw_buf_init(&f->head, UPDATE_MAX);
	sw_buf_init(&f->best, UPDATE_MAX);
	sw_buf_init(&f->trials, UPDATE_MAX);
	/* Before the read: what it shows has happened, so the read, which comes after every commit
	 * before it, shows at least that. */
	sw_sweep_json_head(&f->head, live, f->now_ms);
	f->ends = live->ended_ms != 0;
	return f;
}

void sw_watch_start(struct sw_running *live, struct sw_call *call)
{
	/* A connection that has closed is told of no more: it would stay a watcher for ever. */
	struct feed *f = sw_call_gone(call) ? NULL : new_feed(live);

	/* The watcher is there from now on, so that what changes while the snapshot is read is
	 * noted. The updates that it misses until then were read before the snapshot. */
	if (f != NULL && add_watcher(live, call->conn) != NULL) {
		f->call = call;
		f->snapshot = true;
		f->rows = sw_call_int(call, "rows", 200);
		f->last = (int64_t)sw_sweep_trial_n(live->sched);
		if (sw_store_read(live->d->store, SW_READ_LONG, &call->conn->reads, read_feed,
				  on_snapshot, f) == SW_OK)
			return;
	}
	if (f != NULL) {
		struct sw_watcher **at = &live->view.watchers;

		while (*at != NULL && ((*at)->conn != call->conn || (*at)->ready))
			at = &(*at)->next;
		if (*at != NULL)
			drop_watcher(live, at);
		free_feed(f);
	}
	sw_call_refuse(call, SW_BUSY, "", SW_CALL_BUSY);
}

/* A fresh snapshot goes to everyone, other updates to those that missed none. */
static void send_update(struct sw_running *live, const struct feed *f, const char *text)
{
	for (struct sw_watcher *w = live->view.watchers, *next; w != NULL; w = next) {
		next = w->next;
		/* Its snapshot is not out yet, or shows more than this. One that missed an update
		 * waits for the next snapshot. */
		if (!w->ready || f->number < w->from || (w->behind && !f->snapshot))
			continue;
		w->behind = sw_conn_is_full(w->conn);
		if (!w->behind)
			sw_conn_notify(w->conn, "sweep.update", text);
	}
}

static void on_update(void *arg)
{
	struct feed *f = arg;
	struct sw_running *live = f->live;
	bool sent = false;

	live->view.feeding = false;
	for (size_t i = f->read_n; i < f->changed_n; i++)
		sw_marks_note(&live->view.changes, f->changed[i]); /* had no place in this one */
	if (f->rc == SW_OK) {
		struct sw_buf out = write_view(f);

		sent = out.failed == SW_OK;
		if (sent)
			send_update(live, f, out.data);
		sw_buf_fini(&out);
	}
	if (!sent)
		live->view.changes.overflowed =
			true; /* what it had to tell is told by the next one */
	/* A watcher that got the update which shows the end has got its last one. */
	const bool last = sent && f->ends && live->ended_ms != 0 && live->view.changes.n == 0 &&
			  !live->view.changes.overflowed;
	for (struct sw_watcher **at = &live->view.watchers; last && *at != NULL;) {
		if ((*at)->ready && !(*at)->behind)
			drop_watcher(live, at);
		else
			at = &(*at)->next;
	}
	free_feed(f);
}

/* Does someone wait for a fresh snapshot that could be sent now? */
static bool someone_behind(const struct sw_running *live)
{
	for (const struct sw_watcher *w = live->view.watchers; w != NULL; w = w->next)
		if (w->behind && !sw_conn_is_full(w->conn))
			return true;
	return false;
}

static void feed_watchers(struct sw_running *live)
{
	struct sw_marks *c = &live->view.changes;

	if (!is_watched(live))
		return;
	const bool stuck = sw_store_stuck(live->d->store) != NULL;
	/* A read now would show less than what has changed: that it is stuck is told once, the rest
	 * afterwards. */
	c->overflowed = c->overflowed || stuck;
	if (stuck && live->view.stuck)
		return;
	/* One read at a time: what changes meanwhile is in the next. */
	if (live->view.feeding)
		return;
	const bool fresh = c->overflowed || someone_behind(live);
	const int64_t idle_min = sw_hold_idle_min(live); /* no event tells them of that */
	/* Nothing has changed. */
	if (!fresh && !c->any && c->n == 0 && idle_min == live->view.idle_min)
		return;
	struct feed *f = new_feed(live);
	/* No memory: the marks stay, and the next beat tries again. */
	if (f == NULL)
		return;
	if (fresh) {
		f->snapshot = true;
		f->rows = RESET_ROWS;
		f->last = (int64_t)sw_sweep_trial_n(live->sched);
	} else {
		f->changed_n = c->n < CHANGED_MAX ? c->n : CHANGED_MAX;
		if (f->changed_n > 0)
			memcpy(f->changed, c->trials, f->changed_n * sizeof *c->trials);
	}
	/* The queue is full: the next beat tries again. */
	if (sw_store_read(live->d->store, SW_READ_LONG, NULL, read_feed, on_update, f) != SW_OK) {
		free_feed(f);
		return;
	}
	live->view.feeding = true;
	live->view.stuck = stuck;
	live->view.idle_min = idle_min;
	/* Changes from here on are for the next update. */
	sw_marks_seen(c, f->changed_n, fresh);
}

static void on_feed(uv_timer_t *t)
{
	struct sw_daemon *d = t->data;
	bool any = false;

	for (size_t i = 0; i < d->sweep.sweep_n; i++) {
		any = any || is_watched(d->sweep.sweeps[i]);
		feed_watchers(d->sweep.sweeps[i]);
	}
	/* add_watcher() starts it again. */
	if (!any)
		(void)uv_timer_stop(t);
}
