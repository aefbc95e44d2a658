/* cli/import_db.h — an SQLite file of another program, read and never written. */
#ifndef SW_CLI_IMPORT_DB_H
#define SW_CLI_IMPORT_DB_H

#include "base/status.h"
#include <sqlite3.h>

/* SW_IO: "FILE: why". Close with sqlite3_close(). */
SW_NODISCARD sw_status sw_import_db_open(sqlite3 **out, const char *path, struct sw_err *err);

/* Calls row for each row of sql until it fails. what: of which tool the file should be, for the
 * line where it lacks a table. SW_IO, or what row said. */
SW_NODISCARD sw_status sw_import_db_each(sqlite3 *db, const char *path, const char *what,
					 const char *sql,
					 sw_status (*row)(void *arg, sqlite3_stmt *row,
							  struct sw_err *err),
					 void *arg, struct sw_err *err);

/* A column's text; "" for NULL. */
const char *sw_import_db_text(sqlite3_stmt *row, int column);
/* A column's number; NaN for NULL. */
double sw_import_db_number(sqlite3_stmt *row, int column);

#endif
