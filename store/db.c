/* store/db.c — the reading connection, and what every query on it does: prepare once, bind, check,
 * reset. */
#include "store/internal.h"

sw_status sw_db_open(struct sw_db *db, const char *path, struct sw_err *err)
{
	*db = (struct sw_db){.conn = NULL};
	return sw_file_open_reader(&db->conn, path, err);
}

void sw_db_close(struct sw_db *db)
{
	for (int i = 0; i < SW_Q_N; i++)
		(void)sqlite3_finalize(db->stmts[i]); /* NULL is a no-op */
	(void)sqlite3_close(db->conn);
	*db = (struct sw_db){.conn = NULL};
}

sw_status sw_db_query(struct sw_db *db, enum sw_query id, const char *sql, const int64_t *ints,
		      int n_ints, sqlite3_stmt **q, struct sw_err *err)
{
	sqlite3_stmt **slot = &db->stmts[id];

	*q = NULL;
	if (db->broken.code != SW_OK)
		return sw_err_set(err, db->broken.code, "%s", db->broken.msg);
	if (*slot == NULL && sqlite3_prepare_v3(db->conn, sql, -1, SQLITE_PREPARE_PERSISTENT, slot,
						NULL) != SQLITE_OK)
		return sw_sql_err(err, db->conn, "prepare a query");
	if (sqlite3_stmt_busy(*slot))
		return sw_err_set(err, SW_BUSY, "this query runs already: %s", sql);
	for (int i = 0; i < n_ints; i++)
		if (sqlite3_bind_int64(*slot, i + 1, ints[i]) != SQLITE_OK)
			return sw_sql_err(err, db->conn, "bind a query");
	*q = *slot;
	return SW_OK;
}

sw_status sw_db_bad_row(struct sw_err *err, const char *what, int column)
{
	return sw_err_set(err, SW_IO, "the database is damaged: column %d of %s is not what it was",
			  column, what);
}

sw_status sw_db_run(struct sw_db *db, sqlite3_stmt *q, const char *what, sw_db_give_fn *give,
		    void *arg, struct sw_err *err)
{
	struct sw_cols c = {.q = q};
	sw_status rc = SW_OK;
	bool more = true;
	int step = SQLITE_ROW;

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

sw_status sw_db_rows(struct sw_db *db, enum sw_query id, const char *sql, const int64_t *ints,
		     int n_ints, const char *what, sw_db_give_fn *give, void *arg,
		     struct sw_err *err)
{
	sqlite3_stmt *q;
	const sw_status rc = sw_db_query(db, id, sql, ints, n_ints, &q, err);

	return rc != SW_OK ? rc : sw_db_run(db, q, what, give, arg, err);
}
