/* store/writer.c — the writing connection: operations become statements, a group
 * becomes a transaction. */
#include "store/internal.h"
#include <errno.h>
#include <stdio.h>

/* One sync of the file for 16 MiB of log. */
#define CHECKPOINT_PAGES 4000

/* doing: for the error's line, which has no room for a long statement. */
static sw_status prepare(sqlite3 *conn, const char *sql, const char *doing, sqlite3_stmt **q,
			 struct sw_err *err)
{
	if (sqlite3_prepare_v3(conn, sql, -1, SQLITE_PREPARE_PERSISTENT, q, NULL) != SQLITE_OK)
		return sw_sql_err(err, conn, doing);
	return SW_OK;
}

void sw_writer_log_cut(struct sw_writer *w)
{
	w->wal_pages = 0;
	w->checkpoint_at = CHECKPOINT_PAGES;
}

static int on_wal(void *arg, sqlite3 *conn, const char *schema, int pages)
{
	struct sw_writer *w = arg;

	(void)conn;
	(void)schema;
	/* Fewer than before: SQLite has begun the log anew, since a checkpoint had taken all of
	 * it. */
	if (pages < w->wal_pages)
		sw_writer_log_cut(w);
	w->wal_pages = pages;
	return SQLITE_OK;
}

sw_status sw_writer_open(struct sw_writer *w, const char *path, struct sw_err *err)
{
	sw_status rc;

	*w = (struct sw_writer){.checkpoint_at = CHECKPOINT_PAGES};
	if ((rc = sw_file_open(&w->conn, path, err)) != SW_OK ||
	    (rc = prepare(w->conn, "BEGIN IMMEDIATE", "begin", &w->begin, err)) != SW_OK ||
	    (rc = prepare(w->conn, "COMMIT", "commit", &w->commit, err)) != SW_OK ||
	    (rc = prepare(w->conn, "ROLLBACK", "rollback", &w->rollback, err)) != SW_OK)
		goto fail;
	/* All at the start: a statement that does not fit the tables is found before anything is
	 * promised. */
	for (int op = 0; op < SW_OP_N; op++)
		for (int i = 0; i < SW_OP_SQL_MAX && sw_op_defs[op]->sql[i] != NULL; i++)
			if ((rc = prepare(w->conn, sw_op_defs[op]->sql[i], sw_op_defs[op]->name,
					  &w->ops[op][i], err)) != SW_OK)
				goto fail;
	/* In the place of the automatic checkpoint, which would run inside a commit that somebody
	 * waits for. */
	(void)sqlite3_wal_hook(w->conn, on_wal, w);
	return SW_OK;
fail:
	sw_writer_close(w);
	return rc;
}

void sw_writer_close(struct sw_writer *w)
{
	(void)sqlite3_finalize(w->begin); /* NULL is a no-op */
	(void)sqlite3_finalize(w->commit);
	(void)sqlite3_finalize(w->rollback);
	for (int op = 0; op < SW_OP_N; op++)
		for (int i = 0; i < SW_OP_SQL_MAX; i++)
			(void)sqlite3_finalize(w->ops[op][i]);
	(void)sqlite3_close(w->conn);
	*w = (struct sw_writer){.conn = NULL};
}

static int bind(sqlite3_stmt *q, const struct sw_op_value *values, int n)
{
	int rc = SQLITE_OK;

	for (int i = 0; i < n && rc == SQLITE_OK; i++) {
		const struct sw_op_value *v = &values[i];

		switch (v->type) {
		case SW_VALUE_NULL:
			rc = sqlite3_bind_null(q, i + 1);
			break;
		case SW_VALUE_INT:
			rc = sqlite3_bind_int64(q, i + 1, v->i);
			break;
		case SW_VALUE_REAL:
			rc = sqlite3_bind_double(q, i + 1, v->d);
			break;
		case SW_VALUE_TEXT: /* the job outlives the group's transaction */
			rc = sqlite3_bind_text(q, i + 1, v->s, v->len, SQLITE_STATIC);
			break;
		}
	}
	return rc;
}

/* "insert a report of 12 7 1 5": the leading integers are the row's key. */
static void describe(char *out, size_t cap, enum sw_store_op op, const struct sw_op_value *values,
		     unsigned n)
{
	int at = snprintf(out, cap, "%s", sw_op_defs[op]->name);

	for (unsigned i = 0; i < n && i < 4 && values[i].type == SW_VALUE_INT; i++)
		at += snprintf(out + at, cap - (size_t)at, " %lld", (long long)values[i].i);
}

static sw_status run_op(struct sw_writer *w, enum sw_store_op op, const struct sw_op_value *values,
			unsigned n, struct sw_err *err)
{
	const struct sw_op_def *def = sw_op_defs[op];
	char doing[200];

	for (int i = 0; i < SW_OP_SQL_MAX && def->sql[i] != NULL; i++) {
		sqlite3_stmt *q = w->ops[op][i];
		const int wants = sqlite3_bind_parameter_count(q);

		if (bind(q, values, wants < (int)n ? wants : (int)n) != SQLITE_OK ||
		    sqlite3_step(q) != SQLITE_DONE) {
			describe(doing, sizeof doing, op, values, n);
			const sw_status rc = sw_sql_err(err, w->conn, doing);
			(void)sqlite3_reset(q); /* repeats the step's code */
			return rc;
		}
		(void)sqlite3_reset(q); /* cannot fail after a step that was done */
		/* A change of a row that is not there would be lost without a word, and the store
		 * behind the state machine. */
		if (!def->any_rows[i] && sqlite3_changes(w->conn) != 1) {
			describe(doing, sizeof doing, op, values, n);
			return sw_err_set(err, SW_INTERNAL, "%s: there is no such row", doing);
		}
	}
	return SW_OK;
}

static sw_status run_plain(struct sw_writer *w, sqlite3_stmt *q, const char *doing,
			   struct sw_err *err)
{
	sw_status rc = SW_OK;

	if (sqlite3_step(q) != SQLITE_DONE)
		rc = sw_sql_err(err, w->conn, doing);
	(void)sqlite3_reset(q); /* repeats the step's code */
	return rc;
}

static sw_status run_jobs(struct sw_writer *w, const struct sw_store_job *jobs, struct sw_err *err)
{
	struct sw_op_value values[SW_OP_VALUES_MAX];
	enum sw_store_op op;
	unsigned n;
	sw_status rc = SW_OK;

	for (const struct sw_store_job *job = jobs; job != NULL; job = job->next)
		for (size_t at = 0; sw_tx_next(job->tx, &at, &op, values, &n);)
			if ((rc = run_op(w, op, values, n, err)) != SW_OK)
				return rc;
	return rc;
}

sw_status sw_writer_undo(struct sw_writer *w, sw_status rc, struct sw_err *err)
{
	struct sw_err undo = SW_ERR_INIT;

	/* SQLite may have rolled back by itself. A full disk, among others, ends the transaction
	 * inside SQLite; to roll back again would be an error. */
	if (sqlite3_get_autocommit(w->conn) ||
	    run_plain(w, w->rollback, "rollback", &undo) == SW_OK)
		return rc;
	*err = undo;
	return SW_IO;
}

sw_status sw_writer_apply(struct sw_writer *w, const struct sw_store_job *jobs, struct sw_err *err)
{
	errno = 0; /* what sw_sql_err() sees is of this group */
	sw_status rc = run_plain(w, w->begin, "begin", err);

	if (rc != SW_OK)
		return rc;
	/* One transaction and one sync for all that waited: the slower the disk syncs, the more
	 * each sync carries. */
	if ((rc = run_jobs(w, jobs, err)) == SW_OK &&
	    (rc = run_plain(w, w->commit, "commit", err)) == SW_OK)
		return SW_OK;
	return sw_writer_undo(w, rc, err);
}

sw_status sw_writer_checkpoint(struct sw_writer *w, struct sw_err *err)
{
	if (w->wal_pages < w->checkpoint_at)
		return SW_OK;
	const int code =
		sqlite3_wal_checkpoint_v2(w->conn, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	/* Set before the result is known: one that a reader held up is not tried again after each
	 * commit. */
	w->checkpoint_at = w->wal_pages + CHECKPOINT_PAGES;
	if (code == SQLITE_OK)
		return SW_OK;
	/* No room, or a reader in the way: the log has it all, and the next turn tries again. */
	const sw_status rc = sw_sql_err(NULL, w->conn, "checkpoint");
	return rc == SW_FULL || rc == SW_BUSY ? SW_OK : sw_sql_err(err, w->conn, "checkpoint");
}
