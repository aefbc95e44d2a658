/* store/reader.c — the readers' threads: a read sees what was enqueued before
 * it, and the next one is of the client that has had least. */
#include "base/clock.h"
#include "store/internal.h"
#include <assert.h>

/* The state of the store for a read, as it was under the lock when the read's turn came. */
struct state {
	struct sw_err died; /* code SW_OK: it lives; else each query says so */
	bool behind;
};

/* Under the lock. */
static struct state state_of(const struct sw_store *s, uint64_t after)
{
	return (struct state){.died = s->died, .behind = s->n_committed < after};
}

static void run_read(struct sw_reader *r, void (*work)(struct sw_db *db, void *arg), void *arg,
		     const struct state *state)
{
	struct sw_db *db = &r->db;

	/* The thread's reads, and sw_store_read_now() on the owner's, share this connection. */
	(void)pthread_mutex_lock(&r->lock);
	db->broken = state->died;
	/* As it was when its turn came: a group that was committed since may be in the snapshot, so
	 * this is too careful at times, and never too bold. */
	db->behind = state->behind;
	if (state->died.code == SW_OK) {
		/* The snapshot is taken by the first SELECT and holds for all of this read: its
		 * queries agree with one another. */
		const sw_status rc = sw_sql_exec(db->conn, "BEGIN", "begin a read", &db->broken);

		assert(rc == db->broken.code); /* a failure now stands there for every query */
	}
	work(db, arg);
	/* A statement that is not reset would hold the snapshot, and with it the log: no checkpoint
	 * gets past a reader. */
	sw_db_reset(db);
	/* Nothing was written, so this loses nothing; should it fail, the next BEGIN says so. */
	if (!sqlite3_get_autocommit(db->conn))
		(void)sqlite3_exec(db->conn, "ROLLBACK", NULL, NULL, NULL);
	(void)pthread_mutex_unlock(&r->lock);
}

/* Under the lock. While commits are stuck a read shows what is committed: to wait for space would
 * leave everyone without an answer. */
static bool may_read(const struct sw_store *s, uint64_t after)
{
	return s->dead || s->n_committed >= after || s->stuck[0] != '\0';
}

static bool may_run(const struct sw_turn *turn, void *store)
{
	return may_read(store, ((const struct sw_store_job *)turn)->after);
}

/* A reader without a read sleeps on: a thread that wakes takes the core of the one that woke it. */
void sw_readers_wake(struct sw_store *s)
{
	for (int k = 0; k < SW_READ_KINDS; k++)
		if (s->closing || s->readers[k].turns.n > 0 ||
		    (k == SW_READ_SHORT && s->waiting > 0))
			(void)pthread_cond_broadcast(&s->readers[k].wake);
}

static struct sw_store_job *next_read(struct sw_reader *r, struct state *state)
{
	struct sw_store *s = r->store;
	struct sw_store_job *job = NULL;

	(void)pthread_mutex_lock(&s->lock);
	while (!s->closing &&
	       (job = (struct sw_store_job *)sw_turns_take(&r->turns, may_run, s)) == NULL)
		(void)pthread_cond_wait(&r->wake, &s->lock);
	*state = state_of(s, job != NULL ? job->after : 0);
	(void)pthread_mutex_unlock(&s->lock);
	return job;
}

void *sw_reader_main(void *reader)
{
	struct sw_reader *r = reader;
	struct sw_store *s = r->store;
	struct state state;

	for (struct sw_store_job *job; (job = next_read(r, &state)) != NULL;) {
		const int64_t from_us = sw_clock_mono_us();

		run_read(r, job->work, job->arg, &state);
		(void)pthread_mutex_lock(&s->lock);
		/* Before the job is done: after that its client may go. */
		sw_turns_charge(&r->turns, job->turn.client, sw_clock_mono_us() - from_us);
		/* With the lock, as the list: a stop that sees nothing queued must find the job
		 * among the done. */
		(void)atomic_fetch_sub(&s->queued, job->weight);
		sw_jobs_add(&s->done, job);
		(void)pthread_mutex_unlock(&s->lock);
		if (s->hooks.wake != NULL)
			s->hooks.wake(s->hooks.user);
	}
	return NULL;
}

void sw_store_read_now(struct sw_store *s, void (*work)(struct sw_db *db, void *arg), void *arg)
{
	struct state state;

	(void)pthread_mutex_lock(&s->lock);
	const uint64_t after = s->n_enqueued;
	s->waiting++;
	/* Only where nothing else runs on this thread: at the start, before clients are served. */
	while (!may_read(s, after))
		(void)pthread_cond_wait(&s->readers[SW_READ_SHORT].wake, &s->lock);
	s->waiting--;
	state = state_of(s, after);
	(void)pthread_mutex_unlock(&s->lock);
	run_read(&s->readers[SW_READ_SHORT], work, arg, &state);
}
