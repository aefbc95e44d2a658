/* store/db.c — the reading connection, and what every query on it does: prepare once, bind, check,
 * reset. */
#include "store/internal.h"
#include <assert.h>

sw_status sw_db_open(struct sw_db *db, const char *path, struct sw_err *err)
{
	*db = (struct sw_db){.conn = NULL};
	return sw_file_connect(&db->conn, path, path, SQLITE_OPEN_READONLY, err);
}

void sw_db_close(struct sw_db *db)
{
	for (size_t i = 0; i < db->n_queries; i++)
		/* First: sqlite3_close() refuses to close a connection that has statements. */
		(void)sqlite3_finalize(db->queries[i].stmt);
	(void)sqlite3_close(db->conn);
	*db = (struct sw_db){.conn = NULL};
}

bool sw_read_behind(const struct sw_db *db)
{
	return db->behind;
}

void sw_db_reset(struct sw_db *db)
{
	for (size_t i = 0; i < db->n_queries; i++)
		(void)sqlite3_reset(db->queries[i].stmt); /* repeats the step's code */
}

sw_status sw_db_query(struct sw_db *db, const char *sql, const int64_t *ints, size_t n_ints,
		      sqlite3_stmt **q, struct sw_err *err)
{
	size_t k = 0;

	*q = NULL;
	/* The read's transaction could not be begun, or the store is dead: every query of it says
	 * why. */
	if (db->broken.code != SW_OK)
		return sw_err_set(err, db->broken.code, "%s", db->broken.msg);
	/* By address: the text of each query is a constant of its function. */
	while (k < db->n_queries && db->queries[k].sql != sql)
		k++;
	/* A query is prepared once and kept: they are as many as the functions that read. */
	assert(k < SW_DB_QUERIES);
	sqlite3_stmt **stmt = &db->queries[k].stmt;
	if (k == db->n_queries) {
		if (sqlite3_prepare_v3(db->conn, sql, -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL) !=
		    SQLITE_OK)
			return sw_sql_err(err, db->conn, "prepare a query");
		db->queries[db->n_queries++].sql = sql;
	}
	/* A callback that asks for the same rows again would reset the statement under the outer
	 * loop. */
	if (sqlite3_stmt_busy(*stmt))
		return sw_err_set(err, SW_BUSY, "this query runs already: %s", sql);
	for (size_t i = 0; i < n_ints; i++)
		if (sqlite3_bind_int64(*stmt, (int)i + 1, ints[i]) != SQLITE_OK)
			return sw_sql_err(err, db->conn, "bind a query");
	*q = *stmt;
	return SW_OK;
}

sw_status sw_db_bad_row(struct sw_err *err, const char *what, int column)
{
	return sw_err_set(err, SW_DAMAGED,
			  "the database is damaged: column %d of %s is not what it was", column,
			  what);
}

sw_status sw_db_run(struct sw_db *db, sqlite3_stmt *q, const char *what, sw_db_give_fn *give,
		    void *arg, struct sw_err *err)
{
	struct sw_cols c = {.q = q};
	sw_status rc = SW_OK;
	bool more = true;
	int step = SQLITE_ROW;

	/* Texts that the callback gets are SQLite's own and hold until the next step. */
	while (more && (step = sqlite3_step(q)) == SQLITE_ROW) {
		more = give(&c, arg);
		if (c.bad != 0) {
			rc = sw_db_bad_row(err, what, c.bad);
			break;
		}
	}
	if (step != SQLITE_ROW && step != SQLITE_DONE)
		rc = sw_sql_err(err, db->conn, what);
	(void)sqlite3_reset(q); /* repeats the step's code */
	return rc;
}

sw_status sw_db_rows(struct sw_db *db, const char *sql, const int64_t *ints, size_t n_ints,
		     const char *what, sw_db_give_fn *give, void *arg, struct sw_err *err)
{
	sqlite3_stmt *q;
	const sw_status rc = sw_db_query(db, sql, ints, n_ints, &q, err);

	return rc != SW_OK ? rc : sw_db_run(db, q, what, give, arg, err);
}
