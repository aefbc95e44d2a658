/* store/read_journal.c — the entries of a journal, in the order in which they were appended. */
#include "store/internal.h"

static bool give_entry(struct sw_cols *c, void *arg)
{
	const struct sw_give *g = arg;
	const int64_t n = sw_col_int(c, 0);
	const char *entry = sw_col_text(c, 1);

	return c->bad == 0 && g->entry(n, entry, g->arg);
}

sw_status sw_read_journal(struct sw_db *db, const char *journal, int64_t after, sw_row_entry_cb *cb,
			  void *arg, struct sw_err *err)
{
	static const char sql[] = "SELECT n, entry FROM journal"
				  " WHERE n > ?1 AND journal = ?2 ORDER BY n";
	struct sw_give g = {.entry = cb, .arg = arg};
	sqlite3_stmt *q;
	const sw_status rc = sw_db_query(db, sql, &after, 1, &q, err);

	if (rc != SW_OK)
		return rc;
	if (sqlite3_bind_text(q, 2, journal, -1, SQLITE_TRANSIENT) != SQLITE_OK)
		return sw_sql_err(err, db->conn, "bind a query");
	return sw_db_run(db, q, "journal", give_entry, &g, err);
}
