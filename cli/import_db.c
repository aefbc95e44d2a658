#include "cli/import_db.h"
#include <math.h>
#include <stddef.h>

sw_status sw_import_db_open(sqlite3 **out, const char *path, struct sw_err *err)
{
	sw_status rc = SW_OK;

	*out = NULL;
	if (sqlite3_open_v2(path, out, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) !=
	    SQLITE_OK) {
		rc = sw_err_set(err, SW_IO, "%s: %s", path,
				*out != NULL ? sqlite3_errmsg(*out) : "out of memory");
		(void)sqlite3_close(*out);
		*out = NULL;
	}
	return rc;
}

sw_status sw_import_db_each(sqlite3 *db, const char *path, const char *what, const char *sql,
			    sw_status (*row)(void *arg, sqlite3_stmt *row, struct sw_err *err),
			    void *arg, struct sw_err *err)
{
	sqlite3_stmt *st = NULL;
	sw_status rc = SW_OK;
	int got = sqlite3_prepare_v2(db, sql, -1, &st, NULL);

	if (got == SQLITE_OK)
		while (rc == SW_OK && (got = sqlite3_step(st)) == SQLITE_ROW)
			rc = row(arg, st, err);
	if (rc == SW_OK && got != SQLITE_DONE)
		rc = sw_err_set(err, SW_IO, "%s: not %s: %s", path, what, sqlite3_errmsg(db));
	(void)sqlite3_finalize(st);
	return rc;
}

const char *sw_import_db_text(sqlite3_stmt *row, int column)
{
	const char *text = (const char *)sqlite3_column_text(row, column);

	return text != NULL ? text : "";
}

double sw_import_db_number(sqlite3_stmt *row, int column)
{
	return sqlite3_column_type(row, column) == SQLITE_NULL ? (double)NAN
							       : sqlite3_column_double(row, column);
}
