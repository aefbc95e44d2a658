/* tests/daemon/fixture_store.c — the store without threads: the same tables and statements on a
 * file in memory, and the story says when the writer comes round. It takes the place of store.c,
 * writer_thread.c and reader.c at link time. */
#include "base/memory.h"
#include "store/internal.h"
#include "tests/daemon/fixture_world.h"
#include <limits.h>

struct fixture_disk fixture_disk;

static struct sw_store_jobs reads;

/* --- reads --- */

/* A read sees one state of the file, as on a reader's thread. */
static void run_read(struct sw_store *s, uint64_t after, void (*work)(struct sw_db *db, void *arg),
		     void *arg)
{
	struct sw_db *db = &s->readers[0].db;
	struct sw_err err = SW_ERR_INIT;

	db->broken = s->died;
	db->behind = s->n_committed < after;
	if (sw_sql_exec(db->conn, "BEGIN", "begin a read", &err) != SW_OK)
		ck_abort_msg("%s", err.msg);
	work(db, arg);
	sw_db_reset(db);
	(void)sqlite3_exec(db->conn, "ROLLBACK", NULL, NULL, NULL);
}

sw_status sw_store_read(struct sw_store *s, enum sw_read_kind kind, struct sw_store_client *who,
			void (*work)(struct sw_db *db, void *arg), sw_store_done_cb *done,
			void *arg)
{
	struct sw_store_job *job = sw_calloc(1, sizeof *job);

	(void)kind;
	(void)who;
	if (job == NULL)
		return SW_NOMEM;
	*job = (struct sw_store_job){
		.work = work, .done = done, .arg = arg, .after = s->n_enqueued};
	(void)atomic_fetch_add(&s->queued, 1);
	sw_jobs_add(&reads, job);
	return SW_OK;
}

void sw_store_read_now(struct sw_store *s, void (*work)(struct sw_db *db, void *arg), void *arg)
{
	while (s->writes.head != NULL)
		(void)fixture_store_turn();
	run_read(s, s->n_enqueued, work, arg);
}

/* --- writes --- */

sw_status sw_store_commit(struct sw_store *s, struct sw_tx *tx, sw_store_done_cb *done, void *arg)
{
	const bool dead = s->dead && !fixture_disk.lost;

	if (tx->ops.failed != SW_OK || tx->failed != SW_OK || dead) {
		const sw_status rc = dead                      ? SW_IO
				     : tx->ops.failed != SW_OK ? tx->ops.failed
							       : tx->failed;

		sw_tx_destroy(tx);
		return rc;
	}
	tx->job.done = done;
	tx->job.arg = arg;
	s->n_enqueued++;
	(void)atomic_fetch_add(&s->queued, 1);
	sw_jobs_add(&s->writes, &tx->job);
	return SW_OK;
}

static void break_disk(struct sw_store *s)
{
	fixture_disk.state = FIXTURE_DISK_WORKS;
	fixture_disk.commits_left = -1;
	s->dead = true;
	(void)sw_err_set(&s->died, SW_IO, "sync sweepd.db: Input/output error");
	s->hooks.fatal(s->hooks.user, &s->died);
	ck_abort_msg("the daemon goes on after its store is lost");
}

static void write_all(struct sw_store *s)
{
	struct sw_err err = SW_ERR_INIT;

	if (!fixture_disk.lost && fixture_disk.commits_left == 0)
		break_disk(s);
	if (fixture_disk.commits_left > 0)
		fixture_disk.commits_left--;
	if (!fixture_disk.lost && sw_writer_apply(&s->writer, s->writes.head, &err) != SW_OK)
		ck_abort_msg("the store refuses a change: %s", err.msg);
	for (struct sw_store_job *job; (job = sw_jobs_take(&s->writes)) != NULL;) {
		s->n_committed++;
		(void)atomic_fetch_sub(&s->queued, 1);
		sw_buf_fini(&job->tx->ops);
		sw_jobs_add(&s->done, job);
	}
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
	e->job = (struct sw_store_job){.done = on_erased, .arg = e};
	e->sweep = sweep;
	e->spared = spared;
	e->erased = done;
	e->arg = arg;
	sw_jobs_add(&s->erasures, &e->job);
	return SW_OK;
}

static void erase_one(struct sw_store *s)
{
	struct sw_erasure *e = (struct sw_erasure *)sw_jobs_take(&s->erasures);
	struct sw_err err = SW_ERR_INIT;

	while (!e->done)
		if (sw_erase_slice(&s->writer, e, &err) != SW_OK)
			ck_abort_msg("the store cannot delete: %s", err.msg);
	sw_jobs_add(&s->done, &e->job);
}

/* What the threads of the store would do now. True: something was done. */
bool fixture_store_turn(void)
{
	struct sw_store *s = fixture_disk.store;
	const bool blinks = fixture_disk.state == FIXTURE_DISK_BLINKS;
	const bool stuck = blinks || fixture_disk.state == FIXTURE_DISK_FULL;
	struct sw_store_job *job;
	bool any = false;

	if (s == NULL)
		return false;
	if (s->writes.head != NULL && fixture_disk.state == FIXTURE_DISK_BROKEN)
		break_disk(s);
	if (s->writes.head != NULL && fixture_disk.state == FIXTURE_DISK_WORKS) {
		write_all(s);
		any = true;
	}
	if (s->erasures.head != NULL && fixture_disk.state == FIXTURE_DISK_WORKS) {
		erase_one(s);
		any = true;
	}
	while ((job = reads.head) != NULL && (stuck || s->n_committed >= job->after)) {
		(void)sw_jobs_take(&reads);
		run_read(s, job->after, job->work, job->arg);
		(void)atomic_fetch_sub(&s->queued, 1);
		sw_jobs_add(&s->done, job);
		any = true;
	}
	if (blinks)
		fixture_disk.state = FIXTURE_DISK_WORKS;
	if (any)
		s->hooks.wake(s->hooks.user);
	return any;
}

void sw_store_poll(struct sw_store *s)
{
	struct sw_store_jobs done;

	if (s->polling)
		return;
	s->polling = true;
	done = s->done;
	if (done.head == NULL)
		done.tail = &done.head;
	sw_jobs_init(&s->done);
	for (struct sw_store_job *job; (job = sw_jobs_take(&done)) != NULL;) {
		if (job->done != NULL)
			job->done(job->arg);
		sw_jobs_free(job);
	}
	s->polling = false;
}

/* --- what the daemon asks of it --- */

const char *sw_store_stuck(struct sw_store *s)
{
	(void)s;
	return fixture_disk.state == FIXTURE_DISK_FULL ? "no space left for sweepd.db" : NULL;
}

bool sw_store_has_room(struct sw_store *s)
{
	(void)s;
	return !fixture_disk.behind;
}

bool sw_store_in_place(const struct sw_store *s)
{
	(void)s;
	return !fixture_disk.removed;
}

size_t sw_store_queued(const struct sw_store *s)
{
	return atomic_load(&s->queued);
}

/* --- life --- */

sw_status sw_store_open(struct sw_store **out, const char *dir, const struct sw_store_hooks *hooks,
			struct sw_err *err)
{
	char path[PATH_MAX + 16];
	struct sw_store *s = sw_calloc(1, sizeof *s);
	sw_status rc;

	ck_assert_ptr_nonnull(s);
	s->hooks = *hooks;
	sw_jobs_init(&s->writes);
	sw_jobs_init(&s->done);
	sw_jobs_init(&s->erasures);
	sw_jobs_init(&reads);
	(void)snprintf(path, sizeof path, "%s/%s", dir, SW_STORE_FILE);
	rc = sw_writer_open(&s->writer, path, err);
	if (rc == SW_OK)
		rc = sw_db_open(&s->readers[0].db, path, err);
	if (rc != SW_OK) {
		sw_writer_close(&s->writer);
		free(s);
		return rc;
	}
	*out = fixture_disk.store = s;
	return SW_OK;
}

void sw_store_close(struct sw_store *s)
{
	if (s == NULL)
		return;
	if (s->writes.head != NULL) /* the last act of a real one, too */
		write_all(s);
	for (struct sw_store_job *job; (job = sw_jobs_take(&s->done)) != NULL;)
		sw_jobs_free(job);
	for (struct sw_store_job *job; (job = sw_jobs_take(&reads)) != NULL;)
		sw_jobs_free(job);
	(void)sw_jobs_clear(&s->erasures);
	sw_db_close(&s->readers[0].db);
	sw_writer_close(&s->writer);
	free(s);
	fixture_disk.store = NULL;
}

void fixture_store_alter(const char *dir, const char *sql)
{
	char path[PATH_MAX];
	sqlite3 *conn = NULL;

	(void)snprintf(path, sizeof path, "%s/%s", dir, SW_STORE_FILE);
	ck_assert_int_eq(sqlite3_open(path, &conn), SQLITE_OK);
	ck_assert_msg(sqlite3_exec(conn, sql, NULL, NULL, NULL) == SQLITE_OK, "%s: %s", sql,
		      sqlite3_errmsg(conn));
	(void)sqlite3_close(conn);
}

void fixture_store_ask(const char *sql, struct fixture_text *out)
{
	sqlite3_stmt *q = NULL;
	sqlite3 *conn = fixture_disk.store->readers[0].db.conn;
	bool first = true;

	ck_assert_msg(sqlite3_prepare_v2(conn, sql, -1, &q, NULL) == SQLITE_OK, "%s: %s", sql,
		      sqlite3_errmsg(conn));
	while (sqlite3_step(q) == SQLITE_ROW) {
		fixture_say(out, "%s", first ? "" : "; ");
		first = false;
		for (int i = 0; i < sqlite3_column_count(q); i++) {
			const char *text = (const char *)sqlite3_column_text(q, i);

			fixture_say(out, "%s%s", i > 0 ? " " : "", text != NULL ? text : "-");
		}
	}
	(void)sqlite3_finalize(q);
}
