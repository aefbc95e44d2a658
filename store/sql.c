/* store/sql.c — SQLite's version; its errors become ours; one-line statements. */
#include "store/internal.h"
#include <errno.h>

const char *sw_store_engine(void)
{
	return sqlite3_libversion();
}

/* A write that found no room, in one of the guises that SQLite gives it: quotas and the shared
 * index are not SQLITE_FULL. A failed sync is never among them. why: errno after the call, because
 * SQLite does not keep it for a COMMIT (sqlite3_system_errno() is of an earlier failure then). */
static bool no_space(int code, int why)
{
	if ((code & 0xff) == SQLITE_FULL)
		return true;
	return (code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_SHMSIZE) &&
	       (why == ENOSPC || why == EDQUOT);
}

static sw_status status_of(int code, int why)
{
	if (no_space(code, why))
		return SW_FULL;
	switch (code & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
	/* A close interrupts the reads that run: they are cut short, not wrong. */
	case SQLITE_INTERRUPT:
		return SW_BUSY;
	case SQLITE_NOMEM:
		return SW_NOMEM;
	case SQLITE_CONSTRAINT:
	case SQLITE_MISMATCH:
	case SQLITE_MISUSE:
	case SQLITE_RANGE:
	case SQLITE_TOOBIG:
		return SW_INTERNAL;
	default:
		return SW_IO;
	}
}

sw_status sw_sql_err(struct sw_err *err, sqlite3 *conn, const char *doing)
{
	/* First: each call below may set it. */
	const int why = errno;
	/* Extended, since a failed sync (IOERR_FSYNC) and a write that found no room (IOERR_WRITE)
	 * share the primary code. */
	const int code = conn == NULL ? SQLITE_NOMEM : sqlite3_extended_errcode(conn);
	const sw_status rc = conn == NULL ? SW_NOMEM : status_of(code, why);
	const char *text = conn == NULL ? "out of memory" : sqlite3_errmsg(conn);

	if ((code & 0xff) == SQLITE_NOTADB)
		return sw_err_set(err, SW_IO, "%s: not a sweepd database", doing);
	if ((code & 0xff) == SQLITE_CORRUPT)
		return sw_err_set(err, SW_DAMAGED, "%s: the database is damaged (sqlite %d)", doing,
				  code);
	return sw_err_set(err, rc, "%s: %s (sqlite %d)", doing, text, code);
}

sw_status sw_sql_exec(sqlite3 *conn, const char *sql, const char *doing, struct sw_err *err)
{
	if (sqlite3_exec(conn, sql, NULL, NULL, NULL) != SQLITE_OK)
		return sw_sql_err(err, conn, doing);
	return SW_OK;
}

sw_status sw_sql_int(sqlite3 *conn, const char *sql, int64_t *out, struct sw_err *err)
{
	sqlite3_stmt *q = NULL;
	sw_status rc = SW_OK;

	if (sqlite3_prepare_v2(conn, sql, -1, &q, NULL) != SQLITE_OK) {
		rc = sw_sql_err(err, conn, sql);
		goto out;
	}
	const int step = sqlite3_step(q);
	if (step == SQLITE_ROW && sqlite3_column_type(q, 0) == SQLITE_INTEGER)
		*out = sqlite3_column_int64(q, 0);
	else if (step == SQLITE_ROW || step == SQLITE_DONE)
		rc = sw_err_set(err, SW_IO, "%s: no number there", sql);
	else
		rc = sw_sql_err(err, conn, sql);
out:
	(void)sqlite3_finalize(q); /* repeats the step's code */
	return rc;
}
