/* store/query.c — what every query does: prepare once, bind, check each column, reset. */
#include "store/internal.h"
#include <math.h>

static void mark(struct sw_cols *c, int i)
{
	if (c->bad == 0)
		c->bad = i + 1;
}

int64_t sw_col_int(struct sw_cols *c, int i)
{
	if (sqlite3_column_type(c->q, i) != SQLITE_INTEGER) {
		mark(c, i);
		return 0;
	}
	return sqlite3_column_int64(c->q, i);
}

bool sw_col_bool(struct sw_cols *c, int i)
{
	return sw_col_int(c, i) != 0;
}

double sw_col_real(struct sw_cols *c, int i)
{
	const double v = sqlite3_column_double(c->q, i);

	if (sqlite3_column_type(c->q, i) != SQLITE_FLOAT || !isfinite(v)) {
		mark(c, i);
		return 0;
	}
	return v;
}

double sw_col_real_opt(struct sw_cols *c, int i, bool *has)
{
	*has = sqlite3_column_type(c->q, i) != SQLITE_NULL;
	return *has ? sw_col_real(c, i) : 0;
}

const char *sw_col_text_opt(struct sw_cols *c, int i)
{
	const int type = sqlite3_column_type(c->q, i);
	const char *s = NULL;

	if (type == SQLITE_NULL)
		return NULL;
	if (type == SQLITE_TEXT)
		s = (const char *)sqlite3_column_text(c->q, i);
	if (s == NULL) /* another type, or no memory */
		mark(c, i);
	return s;
}

const char *sw_col_text(struct sw_cols *c, int i)
{
	const char *s = sw_col_text_opt(c, i);

	if (s == NULL) {
		mark(c, i);
		return "";
	}
	return s;
}

sw_status sw_query_start(struct sw_db *db, enum sw_query id, const char *sql, const int64_t *ints,
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

sw_status sw_query_bad_row(struct sw_err *err, const char *what, int column)
{
	return sw_err_set(err, SW_IO, "the database is damaged: column %d of %s is not what it was",
			  column, what);
}

sw_status sw_query_run(struct sw_db *db, sqlite3_stmt *q, const char *what,
		       bool (*give)(struct sw_cols *c, void *arg), void *arg, struct sw_err *err)
{
	struct sw_cols c = {.q = q};
	sw_status rc = SW_OK;
	bool more = true;
	int step = SQLITE_ROW;

	while (more && (step = sqlite3_step(q)) == SQLITE_ROW) {
		more = give(&c, arg);
		if (c.bad != 0) {
			rc = sw_query_bad_row(err, what, c.bad);
			break;
		}
	}
	if (step != SQLITE_ROW && step != SQLITE_DONE)
		rc = sw_sql_err(err, db->conn, what);
	(void)sqlite3_reset(q); /* repeats the step's code */
	return rc;
}
