/* store/store.c — the store as its owner sees it: open, enqueue, poll, close. */
#include "store/store.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "store/internal.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- life --- */

static sw_status make_sync(struct sw_store *s)
{
	pthread_condattr_t attr;
	bool ok;

	/* Nothing is released on failure: on Linux none of these can fail without memory to
	 * free. */
	if (pthread_condattr_init(&attr) != 0)
		return SW_NOMEM;
	ok = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0 &&
	     pthread_mutex_init(&s->lock, NULL) == 0 &&
	     pthread_cond_init(&s->to_writer, &attr) == 0;
	for (int k = 0; k < SW_READ_KINDS; k++)
		ok = pthread_mutex_init(&s->readers[k].lock, NULL) == 0 &&
		     pthread_cond_init(&s->readers[k].wake, NULL) == 0 && ok;
	(void)pthread_condattr_destroy(&attr);
	return ok ? SW_OK : SW_NOMEM;
}

static void free_sync(struct sw_store *s)
{
	(void)pthread_cond_destroy(&s->to_writer);
	(void)pthread_mutex_destroy(&s->lock);
	for (int k = 0; k < SW_READ_KINDS; k++) {
		(void)pthread_mutex_destroy(&s->readers[k].lock);
		(void)pthread_cond_destroy(&s->readers[k].wake);
	}
}

static void tell_to_close(struct sw_store *s)
{
	(void)pthread_mutex_lock(&s->lock);
	/* The writer ends when its queue is empty; what waits is still committed, within
	 * SW_CLOSE_LIMIT_MS on a full disk. */
	s->closing = true;
	s->close_by_us = sw_clock_mono_us() + (int64_t)SW_CLOSE_LIMIT_MS * 1000;
	(void)pthread_cond_broadcast(&s->to_writer);
	sw_readers_wake(s);
	(void)pthread_mutex_unlock(&s->lock);
}

/* Ends the readers that were started. Their reads that have not run are dropped. */
static void join_readers(struct sw_store *s, int n)
{
	for (int k = 0; k < n; k++) {
		/* A read that runs now has nobody left to tell. The one call that SQLite allows
		 * from another thread while the connection is in use. */
		sqlite3_interrupt(s->readers[k].db.conn);
		(void)pthread_join(s->readers[k].thread, NULL);
	}
}

static sw_status start_threads(struct sw_store *s, struct sw_err *err)
{
	int code = pthread_create(&s->writer_thread, NULL, sw_writer_main, s), k = 0;

	if (code != 0)
		return sw_err_set(err, SW_NOMEM, "start the store's writer: %s", strerror(code));
	while (code == 0 && k < SW_READ_KINDS) {
		code = pthread_create(&s->readers[k].thread, NULL, sw_reader_main, &s->readers[k]);
		k += code == 0;
	}
	if (code == 0)
		return SW_OK;
	tell_to_close(s);
	join_readers(s, k);
	(void)pthread_join(s->writer_thread, NULL);
	return sw_err_set(err, SW_NOMEM, "start the store's reader: %s", strerror(code));
}

static sw_status open_readers(struct sw_store *s, struct sw_err *err)
{
	sw_status rc = SW_OK;

	for (int k = 0; rc == SW_OK && k < SW_READ_KINDS; k++) {
		s->readers[k].store = s;
		rc = sw_db_open(&s->readers[k].db, s->path, err);
	}
	return rc;
}

static void close_readers(struct sw_store *s)
{
	for (int k = 0; k < SW_READ_KINDS; k++)
		sw_db_close(&s->readers[k].db);
}

bool sw_store_in_place(const struct sw_store *s)
{
	return sw_file_in_place(s->path, s->at);
}

static sw_status open_files(struct sw_store *s, struct sw_err *err)
{
	/* The writer first: it makes the file and its log, without which a reading connection
	 * cannot open them. */
	sw_status rc = sw_writer_open(&s->writer, s->path, err);

	if (rc == SW_OK)
		rc = open_readers(s, err);
	/* While both are open: from here on the writer compares after each commit. */
	if (rc == SW_OK && !sw_file_inodes(s->path, s->at))
		rc = sw_err_set(err, SW_IO, "open %s: it or its log is gone again", s->path);
	return rc;
}

sw_status sw_store_open(struct sw_store **out, const char *dir, const struct sw_store_hooks *hooks,
			struct sw_err *err)
{
	const size_t n = strlen(dir) + sizeof "/" SW_STORE_FILE;
	struct sw_store *s = sw_calloc(1, sizeof *s);
	sw_status rc = SW_NOMEM;

	*out = NULL;
	if (s == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	if (hooks != NULL)
		s->hooks = *hooks;
	sw_jobs_init(&s->writes);
	sw_jobs_init(&s->done);
	sw_jobs_init(&s->erasures);
	if ((s->path = sw_malloc(n)) == NULL || make_sync(s) != SW_OK) {
		rc = sw_err_set(err, SW_NOMEM, "out of memory");
		goto fail;
	}
	(void)snprintf(s->path, n, "%s/%s", dir, SW_STORE_FILE);
	/* Threads last: before them the connections are this thread's alone. */
	if ((rc = open_files(s, err)) != SW_OK || (rc = start_threads(s, err)) != SW_OK)
		goto fail_open;
	*out = s;
	return SW_OK;
fail_open:
	close_readers(s);
	sw_writer_close(&s->writer);
	free_sync(s);
fail:
	free(s->path);
	free(s);
	return rc;
}

void sw_store_close(struct sw_store *s)
{
	if (s == NULL)
		return;
	assert(!s->polling);
	tell_to_close(s);
	join_readers(s, SW_READ_KINDS);
	(void)pthread_join(s->writer_thread, NULL);
	const size_t lost = sw_jobs_clear(&s->writes);
	if (lost > 0)
		sw_log(SW_LOG_ERROR, "store.lost", "commits=%zu why=\"%s\"", lost,
		       s->dead ? s->died.msg : s->stuck);
	for (int k = 0; k < SW_READ_KINDS; k++)
		for (struct sw_turn *t;
		     (t = sw_turns_take(&s->readers[k].turns, NULL, NULL)) != NULL;)
			sw_jobs_free((struct sw_store_job *)t);
	/* Their callbacks never run: the owner is past its loop, and what they would tell is in the
	 * store. */
	(void)sw_jobs_clear(&s->done);
	(void)sw_jobs_clear(&s->erasures);
	close_readers(s); /* before the writer, whose close folds the log into the file */
	sw_writer_close(&s->writer);
	free_sync(s);
	free(s->path);
	free(s);
}

void sw_store_poll(struct sw_store *s)
{
	struct sw_store_jobs done;

	if (s->polling)
		return; /* from a callback: the outer call goes on in order, later work wakes
			 * again */
	s->polling = true;
	sw_jobs_init(&done);
	(void)pthread_mutex_lock(&s->lock);
	/* Taken as one list: callbacks run without the lock, and may commit and read. */
	sw_jobs_move(&done, &s->done);
	(void)pthread_mutex_unlock(&s->lock);
	for (struct sw_store_job *job; (job = sw_jobs_take(&done)) != NULL;) {
		if (job->done != NULL)
			job->done(job->arg);
		sw_jobs_free(job);
	}
	s->polling = false;
}

bool sw_store_has_room(struct sw_store *s)
{
	(void)pthread_mutex_lock(&s->lock);
	const bool room = atomic_load(&s->queued) < SW_STORE_MAX_QUEUED &&
			  s->queued_bytes < SW_STORE_MAX_QUEUED_BYTES;
	(void)pthread_mutex_unlock(&s->lock);
	return room;
}

const char *sw_store_stuck(struct sw_store *s)
{
	(void)pthread_mutex_lock(&s->lock);
	/* A copy of the owner's: the writer's line may change as soon as the lock is let go. */
	memcpy(s->stuck_seen, s->stuck, sizeof s->stuck_seen);
	(void)pthread_mutex_unlock(&s->lock);
	return s->stuck_seen[0] == '\0' ? NULL : s->stuck_seen;
}

size_t sw_store_queued(const struct sw_store *s)
{
	return atomic_load(&s->queued);
}

/* --- work --- */

sw_status sw_store_commit(struct sw_store *s, struct sw_tx *tx, sw_store_done_cb *done, void *arg)
{
	sw_status rc = SW_OK;

	if (tx == NULL)
		return SW_INVALID;
	struct sw_store_job *job = &tx->job;
	/* Looked at once, here: the functions that put rows have no status, so that their callers
	 * read as the rows do. */
	if (tx->ops.failed != SW_OK || tx->failed != SW_OK) {
		rc = tx->ops.failed != SW_OK ? tx->ops.failed : tx->failed;
		sw_tx_destroy(tx);
		return rc;
	}
	job->weight = tx->n_ops == 0 ? 1 : tx->n_ops;
	job->done = done;
	job->arg = arg;
	(void)pthread_mutex_lock(&s->lock);
	if (s->dead)
		rc = SW_IO;
	if (rc == SW_OK) {
		/* Under the lock with the queue: a read that is asked for next waits for exactly
		 * these. */
		s->n_enqueued++;
		s->queued_bytes += tx->ops.len;
		(void)atomic_fetch_add(&s->queued, job->weight);
		sw_jobs_add(&s->writes, job);
	}
	(void)pthread_mutex_unlock(&s->lock);
	if (rc == SW_OK)
		(void)pthread_cond_signal(&s->to_writer);
	else
		sw_tx_destroy(tx);
	return rc;
}

static void on_erased(void *arg)
{
	const struct sw_erasure *e = arg;

	e->erased(e->arg, e->freed);
}

sw_status sw_store_erase(struct sw_store *s, int64_t sweep, int64_t spared,
			 sw_store_erased_cb *done, void *arg)
{
	struct sw_erasure *e = sw_calloc(1, sizeof *e);

	if (e == NULL)
		return SW_NOMEM;
	*e = (struct sw_erasure){.job = {.done = on_erased, .arg = e},
				 .sweep = sweep,
				 .spared = spared,
				 .erased = done,
				 .arg = arg};
	(void)pthread_mutex_lock(&s->lock);
	const bool dead = s->dead;
	if (!dead)
		sw_jobs_add(&s->erasures, &e->job);
	(void)pthread_mutex_unlock(&s->lock);
	(void)pthread_cond_signal(&s->to_writer);
	if (dead)
		free(e);
	return dead ? SW_IO : SW_OK;
}

sw_status sw_store_read(struct sw_store *s, enum sw_read_kind kind, struct sw_store_client *who,
			void (*work)(struct sw_db *db, void *arg), sw_store_done_cb *done,
			void *arg)
{
	struct sw_store_job *job;

	/* Reads are refused where the queue is full; changes are not, for the state machine has
	 * moved by then: who makes one asks sw_store_has_room() before. */
	if (atomic_load(&s->queued) >= SW_STORE_MAX_QUEUED)
		return SW_BUSY;
	if ((job = sw_calloc(1, sizeof *job)) == NULL)
		return SW_NOMEM;
	*job = (struct sw_store_job){.work = work, .done = done, .arg = arg, .weight = 1};
	(void)pthread_mutex_lock(&s->lock);
	/* So a client reads what it has written, and a change that this turn of the loop has
	 * queued. */
	job->after = s->n_enqueued;
	(void)atomic_fetch_add(&s->queued, job->weight);
	sw_turns_add(&s->readers[kind].turns, &(who != NULL ? who : &s->own)->kinds[kind],
		     &job->turn);
	(void)pthread_mutex_unlock(&s->lock);
	(void)pthread_cond_broadcast(&s->readers[kind].wake);
	return SW_OK;
}
