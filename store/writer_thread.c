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

/* false: the store closes and its time for this is up. */
static bool wait_for_room(struct sw_store *s, sw_status why, const struct sw_err *err)
{
	struct timespec until;
	int code = 0;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += SW_FULL_RETRY_MS * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
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

static bool next_group(struct sw_store *s, struct sw_store_jobs *group)
{
	sw_jobs_init(group);
	(void)pthread_mutex_lock(&s->lock);
	while (s->writes.head == NULL && !s->closing)
		(void)pthread_cond_wait(&s->to_writer, &s->lock);
	take_group(s, group);
	(void)pthread_mutex_unlock(&s->lock);
	return group->head != NULL;
}

void *sw_writer_main(void *store)
{
	struct sw_store *s = store;
	struct sw_store_jobs group;

	while (next_group(s, &group)) {
		if (!commit_group(s, &group)) {
			/* Back in front, so that close counts and frees them. */
			(void)pthread_mutex_lock(&s->lock);
			sw_jobs_move(&group, &s->writes);
			sw_jobs_move(&s->writes, &group);
			(void)pthread_mutex_unlock(&s->lock);
			break;
		}
		settle_group(s, &group);
		struct sw_err err = SW_ERR_INIT;
		if (sw_writer_checkpoint(&s->writer, &err) != SW_OK) {
			die_of(s, &err);
			break;
		}
	}
	return NULL;
}
