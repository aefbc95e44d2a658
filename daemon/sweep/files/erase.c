#include "daemon/sweep/files/erase.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/net/call.h"
#include "daemon/net/conn.h"
#include "daemon/slot/slot.h"
#include "daemon/statedir.h"
#include "daemon/sweep/change.h"
#include "daemon/sweep/files/files.h"
#include "daemon/sweep/running.h"
#include "proto/json.h"
#include "store/read.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define AGAIN_US ((int64_t)60 * 1000000)

/* Life: begin() -> [on_best()] -> mark() -> on_marked(): in d->sweep.erasing; the first of these:
 * sw_erase_tick() -> on_removed() -> on_erased() -> on_gone(). If files could not be removed it
 * stays in the list, marked, and on_removed() comes again. */
struct sw_erase {
	struct sw_erase *next;
	struct sw_running *live;
	struct sw_call *call; /* NULL: nobody waits */
	uv_work_t work;
	bool busy;        /* its files or its rows are being removed */
	int64_t spared;   /* the trial that stays; 0: none */
	int64_t bytes;    /* freed */
	int64_t again_us; /* files are left: tried again then; 0: none are known to be */
	sw_status rc;     /* of the read of the best trial, then of the removal of files */
	struct sw_err err;
};

static struct sw_erase *new_erase(struct sw_running *live)
{
	struct sw_erase *e = sw_daemon_calloc(1, sizeof *e, "delete a sweep");

	e->live = live;
	return e;
}

static void refuse_erase(struct sw_erase *e, sw_status rc, const char *line)
{
	if (e->call != NULL)
		sw_call_refuse(e->call, rc, "", "%s", line);
	e->call = NULL;
}

/* --- the work --- */

static void on_gone(void *arg)
{
	struct sw_erase *e = arg;
	struct sw_daemon *d = e->live->d;

	sw_log(SW_LOG_INFO, "sweep.deleted", "sweep=%lld kept=%lld bytes=%lld",
	       (long long)e->live->sweep, (long long)e->spared, (long long)e->bytes);
	/* The one under way stands first (sw_erase_tick()), and others are only added behind it. */
	assert(d->sweep.erasing == e);
	d->sweep.erasing = e->next;
	free(e);
	/* Taken again: the next deletion on a full disk needs it as this one may have. */
	sw_statedir_reserve(d->config.database, true);
	sw_erase_tick(d);
}

static void on_erased(void *arg, int64_t bytes)
{
	struct sw_erase *e = arg;
	struct sw_running *live = e->live;
	struct sw_change *c = sw_change_begin(live->d, e->call);
	char cause[80];
	struct sw_jw w;

	/* Only now that files and rows are gone: a crash before this commit finds SW_GONE_SOON and
	 * deletes what is left. */
	live->gone = e->spared != 0 ? SW_GONE_BUT_BEST : SW_GONE_ALL;
	(void)snprintf(cause, sizeof cause, "deleted but for its best trial, %lld",
		       (long long)e->spared);
	sw_tx_sweep_gone(c->tx, live->sweep, live->gone, live->spared,
			 e->spared != 0 ? cause : NULL);
	e->bytes += bytes;
	/* Stays in the list until on_gone(): a stop in between finds it without a call, and has
	 * nothing to refuse. */
	e->call = NULL; /* the change answers it */
	sw_jw_init_obj(&w, &c->reply);
	sw_jw_kint(&w, "sweep", live->sweep);
	sw_jw_kint(&w, "bytes", e->bytes);
	sw_jw_kint_opt(&w, "kept", e->spared != 0, e->spared);
	sw_jw_obj_end(&w);
	sw_change_after(c, on_gone, e);
	sw_change_commit(c);
}

/* Some files could not be removed. A user who deletes a sweep expects that all are gone, so the
 * mark stays and the removal is tried again: after a minute, and at the next start. */
static void retry_later(struct sw_erase *e)
{
	struct sw_daemon *d = e->live->d;
	struct sw_erase **end = &d->sweep.erasing;

	sw_log(SW_LOG_WARN, "sweep.delete", "sweep=%lld why=\"%s\"", (long long)e->live->sweep,
	       e->err.msg);
	if (e->call != NULL)
		sw_call_refuse(
			e->call, SW_IO, "",
			"sweep %lld is not deleted yet: %s: sweepd tries again every minute, "
			"and at its next start",
			(long long)e->live->sweep, e->err.msg);
	e->call = NULL;
	e->busy = false;
	sw_statedir_reserve(d->config.database, true);
	e->again_us = d->clock->mono_us() + AGAIN_US;
	d->sweep.erasing = e->next; /* the others' turn */
	e->next = NULL;
	while (*end != NULL)
		end = &(*end)->next;
	*end = e;
	sw_erase_tick(d);
}

static void on_removed(uv_work_t *work, int status)
{
	struct sw_erase *e = work->data;
	struct sw_running *live = e->live;

	(void)status; /* never cancelled */
	/* The next start goes on. */
	if (live->d->phase != SW_UP)
		return;
	if (e->rc != SW_OK) {
		retry_later(e);
		return;
	}
	/* Rows after files: the rows say which sweep the files were of, and are what a start finds
	 * them by. */
	const sw_status rc =
		sw_store_erase(live->d->store, live->sweep, live->spared, on_erased, e);
	if (rc != SW_OK)
		sw_daemon_die("delete a sweep", rc);
}

static void run_remove(uv_work_t *work)
{
	struct sw_erase *e = work->data;

	e->err = (struct sw_err)SW_ERR_INIT;
	/* e is the pool's until on_removed(): the loop touches its `call` alone, which this does
	 * not. */
	e->rc = sw_files_erase(e->live->d, e->live->sweep, (uint64_t)e->spared, &e->bytes, &e->err);
}

void sw_erase_tick(struct sw_daemon *d)
{
	struct sw_erase **at = &d->sweep.erasing, *e = *at;

	if (e == NULL || e->busy || d->phase != SW_UP)
		return;
	while ((e = *at) != NULL &&
	       (e->again_us > d->clock->mono_us() || sw_slot_holds(d, e->live->sweep, 0)))
		at = &e->next;
	if (e == NULL)
		return; /* each of them waits for a worker, or for its next try */
	/* To the front: what is under way is always the first, so nothing else has to say which it
	 * is. */
	*at = e->next;
	e->next = d->sweep.erasing;
	d->sweep.erasing = e;
	e->busy = true;
	e->work.data = e;
	/* The files first: on a full disk they make the room that the rows' going needs. */
	if (uv_queue_work(d->loop, &e->work, run_remove, on_removed) != 0)
		sw_daemon_die("delete a sweep", SW_INTERNAL);
}

/* From now on the daemon's stop answers its call; it begins once the mark is stored. */
static void join_others(struct sw_erase *e)
{
	struct sw_erase **at = &e->live->d->sweep.erasing;

	/* Its mark is on the way to the disk. Were its files removed first, a crash would leave a
	 * sweep that is there and has lost them. */
	e->again_us = INT64_MAX;
	while (*at != NULL)
		at = &(*at)->next;
	*at = e;
}

static void on_marked(void *arg)
{
	struct sw_erase *e = arg;

	e->again_us = 0;
	sw_erase_tick(e->live->d);
}

/* --- the mark --- */

static void mark_sweep(struct sw_erase *e)
{
	struct sw_running *live = e->live;

	/* It may have been extended, or deleted, while its best trial was looked up. */
	if (live->ended_ms == 0 || sw_row_is_gone(live->gone)) {
		refuse_erase(e, SW_CONFLICT, "the sweep goes on, or is being deleted already");
		free(e);
		return;
	}
	/* a full disk does not stop what makes room on it */
	if (e->call != NULL && sw_store_stuck(live->d->store) == NULL &&
	    !sw_change_allowed(e->call)) {
		free(e);
		return;
	}
	/* On a full disk SQLite needs room to write the mark: the reserve is what gives it one. */
	sw_statedir_reserve(live->d->config.database, false);
	/* Without the call: it is answered when all is gone, by the change of on_erased(). */
	struct sw_change *c = sw_change_begin(live->d, NULL);
	live->gone = SW_GONE_SOON; /* at once: nobody may wake it now */
	live->spared = e->spared;
	sw_log(SW_LOG_INFO, "sweep.delete", "sweep=%lld uid=%lld", (long long)live->sweep,
	       e->call != NULL ? (long long)e->call->conn->uid : -1LL);
	sw_tx_sweep_gone(c->tx, live->sweep, live->gone, live->spared, NULL);
	join_others(e);
	sw_change_after(c, on_marked, e);
	sw_change_commit(c);
}

static bool take_best(const struct sw_row_trial *row, void *arg)
{
	struct sw_erase *e = arg;

	e->spared = row->trial;
	return false;
}

/* The reader's thread. */
static void read_best(struct sw_db *db, void *arg)
{
	struct sw_erase *e = arg;

	e->rc = sw_read_best(db, e->live->sweep, e->live->maximize, "all", 1, take_best, e,
			     &e->err);
}

static void on_best(void *arg)
{
	struct sw_erase *e = arg;

	if (e->rc == SW_OK && e->spared != 0) {
		mark_sweep(e);
		return;
	}
	refuse_erase(e, e->rc != SW_OK ? e->rc : SW_CONFLICT,
		     e->rc != SW_OK ? e->err.msg
				    : "no trial of it has a value: delete it without keep_best");
	free(e);
}

void sw_erase_begin(struct sw_running *live, bool keep_best, struct sw_call *call)
{
	if (live->ended_ms == 0) {
		if (call != NULL)
			sw_call_refuse(call, SW_CONFLICT, "/sweep",
				       "sweep %lld is %s: end it first (sweep cancel %lld)",
				       (long long)live->sweep, sw_sweep_state_name(live->state),
				       (long long)live->sweep);
		return;
	}
	struct sw_erase *e = new_erase(live);
	e->call = call;
	if (!keep_best) {
		mark_sweep(e);
	} else if (sw_store_read(live->d->store, SW_READ_SHORT, &call->conn->reads, read_best,
				 on_best, e) != SW_OK) {
		refuse_erase(e, SW_BUSY, SW_CALL_BUSY);
		free(e);
	}
}

/* --- the daemon's beats --- */

void sw_erase_start(struct sw_daemon *d)
{
	for (size_t i = 0; i < d->sweep.sweep_n; i++) {
		struct sw_running *live = d->sweep.sweeps[i];

		if (live->gone != SW_GONE_SOON)
			continue;
		struct sw_erase *e = new_erase(live);
		e->spared = live->spared;
		join_others(e);
		/* The mark is in the store since an earlier run; there is nothing to wait for. */
		on_marked(e);
	}
}

void sw_erase_stop(struct sw_daemon *d)
{
	/* The pool's threads ask it between two files: a stop waits for one file, not for a
	 * folder. */
	atomic_store(&d->sweep.stopping, true);
	for (struct sw_erase *e = d->sweep.erasing; e != NULL; e = e->next)
		refuse_erase(e, SW_BUSY,
			     "the daemon is stopping; the sweep is deleted when it is started "
			     "again");
}

void sw_erase_free(struct sw_daemon *d)
{
	for (struct sw_erase *e = d->sweep.erasing, *next; e != NULL; e = next) {
		next = e->next;
		free(e);
	}
	d->sweep.erasing = NULL;
}
