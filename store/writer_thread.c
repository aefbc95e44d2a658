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
#include <stdio.h>
#include <string.h>
#include <time.h>

#define GROUPS_MOST   8    /* between two slices of an erasure */
#define TIDY_AFTER_MS 1000 /* without a write */

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

static struct timespec after_ms(long ms)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += ms % 1000 * 1000000L;
	t.tv_sec += ms / 1000 + t.tv_nsec / 1000000000L;
	t.tv_nsec %= 1000000000L;
	return t;
}

/* false: the store closes and its time for this is up. */
static bool wait_for_room(struct sw_store *s, sw_status why, const struct sw_err *err)
{
	const struct timespec until = after_ms(SW_FULL_RETRY_MS);
	int code = 0;

	(void)pthread_mutex_lock(&s->lock);
	const bool first = set_stuck(s, why, err);
	const bool was_closing = s->closing;
	(void)pthread_cond_broadcast(&s->to_readers);
	(void)pthread_mutex_unlock(&s->lock);
	if (first && s->hooks.wake != NULL)
		s->hooks.wake(s->hooks.user); /* sw_store_stuck() has news */
	(void)pthread_mutex_lock(&s->lock);
	while (code == 0 && s->closing == was_closing)
		code = pthread_cond_timedwait(&s->to_writer, &s->lock, &until);
	const bool again = !s->closing || sw_clock_mono_us() < s->close_by_us;
	(void)pthread_mutex_unlock(&s->lock);
	return again;
}

static void die_of(struct sw_store *s, const struct sw_err *err)
{
	(void)pthread_mutex_lock(&s->lock);
	s->dead = true;
	s->died = *err;
	(void)pthread_cond_broadcast(&s->to_readers);
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
	s->n_committed += n;
	s->queued_bytes -= bytes;
	s->stuck[0] = '\0';
	(void)atomic_fetch_sub(&s->queued, weight);
	sw_jobs_move(&s->done, &heard);
	const bool awaited = sw_readers_wait(s);
	(void)pthread_mutex_unlock(&s->lock);
	if (awaited)
		(void)pthread_cond_broadcast(&s->to_readers);
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
	/* Others add behind it; only this thread takes it. */
	struct sw_erasure *e = (struct sw_erasure *)s->erasures.head;
	struct sw_err err = SW_ERR_INIT;
	const sw_status rc = sw_erase_slice(&s->writer, e, &err);

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

/* Waits for what is to be done next; tidy_ms: when nobody wrote for so long (negative: never). */
static enum turn next_turn(struct sw_store *s, struct sw_store_jobs *group, long tidy_ms)
{
	const struct timespec until = after_ms(tidy_ms > 0 ? tidy_ms : 0);
	enum turn turn = TURN_END;
	int code = 0;

	sw_jobs_init(group);
	(void)pthread_mutex_lock(&s->lock);
	while (s->writes.head == NULL && s->erasures.head == NULL && !s->closing && code == 0)
		code = tidy_ms < 0 ? pthread_cond_wait(&s->to_writer, &s->lock)
				   : pthread_cond_timedwait(&s->to_writer, &s->lock, &until);
	const bool erases = s->erasures.head != NULL && !s->closing;
	if (s->writes.head != NULL && (!erases || s->groups < GROUPS_MOST)) {
		turn = TURN_WRITE;
		s->groups++;
		take_group(s, group);
	} else if (erases) {
		turn = TURN_ERASE;
		s->groups = 0;
	} else if (!s->closing) {
		turn = TURN_TIDY;
	}
	(void)pthread_mutex_unlock(&s->lock);
	return turn;
}

void *sw_writer_main(void *store)
{
	struct sw_store *s = store;
	struct sw_store_jobs group;
	long tidy_ms = TIDY_AFTER_MS; /* the last daemon may have left something */
	enum turn turn;

	while ((turn = next_turn(s, &group, tidy_ms)) != TURN_END) {
		struct sw_err err = SW_ERR_INIT;
		bool more = false;

		if ((turn == TURN_WRITE && !write_group(s, &group)) ||
		    (turn == TURN_ERASE && !erase_slice(s)))
			break;
		sw_status rc = SW_OK;
		if (turn == TURN_TIDY)
			rc = sw_writer_tidy(&s->writer, &more, &err);
		if (rc == SW_OK)
			rc = sw_writer_checkpoint(&s->writer, &err);
		if (rc != SW_OK) {
			die_of(s, &err);
			break;
		}
		tidy_ms = turn != TURN_TIDY ? TIDY_AFTER_MS : more ? 0 : -1;
	}
	return NULL;
}
