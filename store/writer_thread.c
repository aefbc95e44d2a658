/*
 * store/writer_thread.c — the writer's thread: take all that waits, commit it, say so, again.
 *
 * It may meet: no room or a locked file (wait, the same group again), anything else (the
 * store is dead: no later commit may be acknowledged, because a failed sync may have dropped pages
 * that a second sync would then call safe).
 */
#include "base/clock.h"
#include "base/log.h"
#include "store/internal.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define QUIET_US      ((int64_t)10000)   /* without a change, before a slice of other work */
#define ERASE_LATE_US ((int64_t)50000)   /* from one slice to the next where changes never stop */
#define CUT_AFTER_US  ((int64_t)1000000) /* without a change, before the log is cut */

/* Under the lock. At least one job; whole transactions only. */
static void take_group(struct sw_store *s, struct sw_store_jobs *group)
{
	size_t ops = 0;

	while (s->writes.head != NULL &&
	       (ops == 0 || ops + s->writes.head->weight <= SW_GROUP_MAX_OPS)) {
		struct sw_store_job *job = sw_jobs_take(&s->writes);

		ops += job->weight;
		sw_jobs_add(group, job);
	}
}

/* Under the lock. true: it was not stuck before. */
static bool set_stuck(struct sw_store *s, sw_status why, const struct sw_err *err)
{
	const bool first = s->stuck[0] == '\0';

	if (why == SW_FULL)
		(void)snprintf(s->stuck, sizeof s->stuck, "no space left for %s", s->path);
	else
		(void)snprintf(s->stuck, sizeof s->stuck, "another process holds %s locked",
			       s->path);
	if (first)
		sw_log(SW_LOG_WARN, "store.stuck", "why=\"%s\" error=\"%s\"", s->stuck, err->msg);
	return first;
}

static struct timespec after_us(int64_t us)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += (long)(us % 1000000) * 1000;
	t.tv_sec += us / 1000000 + t.tv_nsec / 1000000000L;
	t.tv_nsec %= 1000000000L;
	return t;
}

/* false: the store closes and its time for this is up. */
static bool wait_for_room(struct sw_store *s, sw_status why, const struct sw_err *err)
{
	const struct timespec until = after_us(SW_FULL_RETRY_MS * (int64_t)1000);
	int code = 0;

	(void)pthread_mutex_lock(&s->lock);
	const bool first = set_stuck(s, why, err);
	const bool was_closing = s->closing;
	sw_readers_wake(s);
	(void)pthread_mutex_unlock(&s->lock);
	/* Without the lock, as every hook: the owner may call the store from it. */
	if (first && s->hooks.wake != NULL)
		s->hooks.wake(s->hooks.user); /* sw_store_stuck() has news */
	(void)pthread_mutex_lock(&s->lock);
	while (code == 0 && s->closing == was_closing)
		code = pthread_cond_timedwait(&s->to_writer, &s->lock, &until);
	/* The same group again: its operations are in memory as they were, and its order must not
	 * change. */
	const bool again = !s->closing || sw_clock_mono_us() < s->close_by_us;
	(void)pthread_mutex_unlock(&s->lock);
	return again;
}

static void die_of(struct sw_store *s, const struct sw_err *err)
{
	(void)pthread_mutex_lock(&s->lock);
	/* Before the hook: a commit that comes in between is refused, and none is acknowledged
	 * after this. */
	s->dead = true;
	s->died = *err;
	sw_readers_wake(s);
	(void)pthread_mutex_unlock(&s->lock);
	if (s->hooks.fatal != NULL)
		s->hooks.fatal(s->hooks.user, err);
}

/* Committed: a read that waited for these may go, and the owner hears of them. */
static void settle_group(struct sw_store *s, struct sw_store_jobs *group)
{
	struct sw_store_jobs quiet; /* nobody waits for them */
	struct sw_store_jobs heard;
	uint64_t n = 0;
	size_t weight = 0, bytes = 0;

	sw_jobs_init(&quiet);
	sw_jobs_init(&heard);
	for (struct sw_store_job *job; (job = sw_jobs_take(group)) != NULL; n++) {
		weight += job->weight;
		bytes += job->tx->ops.len;
		sw_buf_fini(&job->tx->ops); /* bound text is no longer looked at: see writer.c */
		sw_jobs_add(job->done == NULL ? &quiet : &heard, job);
	}
	(void)pthread_mutex_lock(&s->lock);
	/* In one hold of the lock with the list of the done: who sees the count finds the jobs. */
	s->n_committed += n;
	s->wrote_us = sw_clock_mono_us();
	s->queued_bytes -= bytes;
	s->stuck[0] = '\0';
	(void)atomic_fetch_sub(&s->queued, weight);
	sw_jobs_move(&s->done, &heard);
	sw_readers_wake(s);
	(void)pthread_mutex_unlock(&s->lock);
	if (s->hooks.wake != NULL)
		s->hooks.wake(s->hooks.user);
	for (struct sw_store_job *job; (job = sw_jobs_take(&quiet)) != NULL;)
		sw_jobs_free(job);
}

/* false: the writer ends, and the group was not committed. */
static bool commit_group(struct sw_store *s, const struct sw_store_jobs *group)
{
	for (;;) {
		struct sw_err err = SW_ERR_INIT;
		sw_status rc = sw_writer_apply(&s->writer, group->head, &err);

		/* After the commit and before its word: between two looks the file may have gone,
		 * but nothing that was acknowledged has. */
		if (rc == SW_OK && sw_file_in_place(s->path, s->at))
			return true;
		if (rc == SW_OK) /* committed where nobody will find it */
			rc = sw_err_set(&err, SW_IO, "%s or its log was removed or replaced",
					s->path);
		if (rc != SW_FULL && rc != SW_BUSY) {
			die_of(s, &err);
			return false;
		}
		if (!wait_for_room(s, rc, &err))
			return false;
	}
}

/* false: the writer ends. */
static bool write_group(struct sw_store *s, struct sw_store_jobs *group)
{
	if (commit_group(s, group)) {
		settle_group(s, group);
		return true;
	}
	/* Back in front, so that close counts and frees them. */
	(void)pthread_mutex_lock(&s->lock);
	sw_jobs_move(group, &s->writes);
	sw_jobs_move(&s->writes, group);
	(void)pthread_mutex_unlock(&s->lock);
	return false;
}

/* A slice of the first erasure. false: the writer ends. */
static bool erase_slice(struct sw_store *s)
{
	/* Others add behind it; only this thread takes it. Read without the lock: the head changes
	 * only by this thread, once there is one. */
	struct sw_erasure *e = (struct sw_erasure *)s->erasures.head;
	struct sw_err err = SW_ERR_INIT;
	errno = 0; /* what sw_sql_err() sees is of this slice */
	sw_status rc = sw_erase_slice(&s->writer, e, &err);

	if (rc == SW_OK && !sw_file_in_place(s->path, s->at))
		rc = sw_err_set(&err, SW_IO, "%s or its log was removed or replaced", s->path);
	s->erased_us = sw_clock_mono_us(); /* one that failed, too: changes have their turn */
	if (rc == SW_FULL || rc == SW_BUSY)
		return wait_for_room(s, rc, &err);
	if (rc != SW_OK) {
		die_of(s, &err);
		return false;
	}
	(void)pthread_mutex_lock(&s->lock);
	s->stuck[0] = '\0';
	if (e->done)
		sw_jobs_add(&s->done, sw_jobs_take(&s->erasures));
	const bool done = e->done;
	(void)pthread_mutex_unlock(&s->lock);
	if (done && s->hooks.wake != NULL)
		s->hooks.wake(s->hooks.user);
	return true;
}

enum turn { TURN_WRITE, TURN_ERASE, TURN_TIDY, TURN_END };

/* Under the lock: when the next slice of an erasure is due. A client that waits for each answer
 * writes again at once, so an empty queue does not say that nobody writes. */
static int64_t erase_at(const struct sw_store *s)
{
	const int64_t quiet_us = s->wrote_us + QUIET_US, late_us = s->erased_us + ERASE_LATE_US;

	return quiet_us < late_us ? quiet_us : late_us;
}

/* Waits for what is to be done next; tidy_us: when nobody wrote for so long (negative: never). */
static enum turn next_turn(struct sw_store *s, struct sw_store_jobs *group, int64_t tidy_us)
{
	const int64_t from_us = sw_clock_mono_us();
	enum turn turn = TURN_END;

	sw_jobs_init(group);
	(void)pthread_mutex_lock(&s->lock);
	for (;;) {
		const int64_t now_us = sw_clock_mono_us();
		const bool erases = s->erasures.head != NULL && !s->closing;
		const int64_t due_us = erases        ? erase_at(s)
				       : tidy_us < 0 ? INT64_MAX
						     : from_us + tidy_us;

		/* Changes first, unless they have kept an erasure waiting for long. */
		if (s->writes.head != NULL && (!erases || now_us < s->erased_us + ERASE_LATE_US)) {
			turn = TURN_WRITE;
			take_group(s, group);
			break;
		}
		/* Only behind the writes: a close commits all that waits first, and leaves erasures
		 * to the next start. */
		if (s->closing)
			break;
		if (now_us >= due_us) {
			turn = erases ? TURN_ERASE : TURN_TIDY;
			break;
		}
		const struct timespec until = after_us(due_us == INT64_MAX ? 0 : due_us - now_us);
		(void)(due_us == INT64_MAX
			       ? pthread_cond_wait(&s->to_writer, &s->lock)
			       : pthread_cond_timedwait(&s->to_writer, &s->lock, &until));
	}
	(void)pthread_mutex_unlock(&s->lock);
	return turn;
}

/* Work between changes: first the file shrinks, in slices, then the log is cut. */
struct tidy {
	bool cut;       /* the file has shrunk */
	int64_t due_us; /* the next of it, counted from now; negative: none */
};

static sw_status tidy_up(struct sw_store *s, struct tidy *t, struct sw_err *err)
{
	bool more = false;

	errno = 0; /* what sw_sql_err() sees is of this */
	const sw_status rc = t->cut ? sw_writer_cut(&s->writer, err)
				    : sw_writer_shrink(&s->writer, &more, err);
	/* A reader may have kept the log from being cut: there is another try. */
	t->due_us = more ? QUIET_US : t->cut && s->writer.wal_pages == 0 ? -1 : CUT_AFTER_US;
	t->cut = !more;
	return rc;
}

void *sw_writer_main(void *store)
{
	static const struct tidy begin = {.due_us = QUIET_US};
	struct sw_store *s = store;
	struct sw_store_jobs group;
	struct tidy tidy = begin; /* the last daemon may have left something */
	enum turn turn;

	while ((turn = next_turn(s, &group, tidy.due_us)) != TURN_END) {
		struct sw_err err = SW_ERR_INIT;
		sw_status rc = SW_OK;

		if ((turn == TURN_WRITE && !write_group(s, &group)) ||
		    (turn == TURN_ERASE && !erase_slice(s)))
			break;
		if (turn == TURN_TIDY)
			rc = tidy_up(s, &tidy, &err);
		else
			tidy = begin;
		if (rc == SW_OK)
			/* After the answers have left: a checkpoint syncs the database itself,
			 * which may take long. */
			rc = sw_writer_checkpoint(&s->writer, &err);
		if (rc != SW_OK) {
			die_of(s, &err);
			break;
		}
	}
	return NULL;
}
