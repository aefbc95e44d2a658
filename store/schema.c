/* store/schema.c — the file's version: a new file is made by the first step, and a step after it
 * takes a file from one version to the next. A file of another version is refused. */
#include "base/text.h"
#include "store/internal.h"
#include <stdio.h>

extern const char sw_schema_sql[]; /* schema.sql, compiled in */

static const char *const own_steps[] = {
	sw_schema_sql, /* 0 to 1: an empty file */
};
#define OWN_VERSION ((int64_t)(sizeof own_steps / sizeof own_steps[0]))

/* The version stands twice: in SQLite's header, where any tool sees it, and in meta, where damage
 * to the header shows. Both change with the step, in its transaction. */
static sw_status take_step(sqlite3 *conn, const char *sql, int64_t to, const char *doing,
			   struct sw_err *err)
{
	char mark[512];
	sw_status rc = sw_sql_exec(conn, "BEGIN IMMEDIATE", doing, err);

	if (rc != SW_OK)
		return rc;
	(void)snprintf(mark, sizeof mark,
		       "PRAGMA application_id = %d; PRAGMA user_version = %lld;"
		       "INSERT OR REPLACE INTO meta VALUES ('schema', %lld), ('program', '%s');",
		       SW_STORE_APP_ID, (long long)to, (long long)to, SW_VERSION);
	if ((rc = sw_sql_exec(conn, sql, doing, err)) == SW_OK &&
	    (rc = sw_sql_exec(conn, mark, doing, err)) == SW_OK &&
	    (rc = sw_sql_exec(conn, "COMMIT", doing, err)) == SW_OK)
		return SW_OK;
	(void)sqlite3_exec(conn, "ROLLBACK", NULL, NULL, NULL); /* the first error stands */
	return rc;
}

/* meta may be another version's, too: what does not look like a version is left out. */
static sw_status refuse_version(sqlite3 *conn, const char *path, int64_t version, int64_t known,
				struct sw_err *err)
{
	static const char sql[] = "SELECT value FROM meta WHERE key = 'program'";
	char wrote[32] = "of another version";
	sqlite3_stmt *q = NULL;

	if (sqlite3_prepare_v2(conn, sql, -1, &q, NULL) == SQLITE_OK &&
	    sqlite3_step(q) == SQLITE_ROW && sqlite3_column_text(q, 0) != NULL)
		(void)snprintf(wrote, sizeof wrote, "%s", (const char *)sqlite3_column_text(q, 0));
	(void)sqlite3_finalize(q);
	sw_text_plain(wrote);
	return sw_err_set(
		err, SW_CONFLICT,
		"%s was written by sweepd %s (schema %lld), and this is sweepd " SW_VERSION
		" (schema %lld): use that one, or another state folder",
		path, wrote, (long long)version, (long long)known);
}

/* Whose file it is, then whether this program reads that version, then whether both numbers
 * agree. */
static sw_status check_owner(sqlite3 *conn, const char *path, int64_t version, int64_t least,
			     int64_t most, struct sw_err *err)
{
	int64_t app = 0, meta = 0;
	sw_status rc;

	if ((rc = sw_sql_int(conn, "PRAGMA application_id", &app, err)) != SW_OK)
		return rc;
	if (app != SW_STORE_APP_ID || version < 1)
		return sw_err_set(err, SW_IO, "%s: not a sweepd database", path);
	if (version < least || version > most)
		return refuse_version(conn, path, version, most, err);
	rc = sw_sql_int(conn, "SELECT value FROM meta WHERE key = 'schema'", &meta, err);
	if (rc == SW_OK && meta != version)
		rc = sw_err_set(err, SW_IO, "%s: damaged: it says schema %lld and schema %lld",
				path, (long long)version, (long long)meta);
	return rc;
}

sw_status sw_schema_migrate(sqlite3 *conn, const char *path, const char *const *steps,
			    int64_t n_steps, struct sw_err *err)
{
	char doing[400];
	int64_t version = 0, n_tables = 0;
	sw_status rc;

	if ((rc = sw_sql_int(conn, "PRAGMA user_version", &version, err)) != SW_OK ||
	    (rc = sw_sql_int(conn, "SELECT count(*) FROM sqlite_schema", &n_tables, err)) != SW_OK)
		return rc;
	if ((version != 0 || n_tables > 0) &&
	    (rc = check_owner(conn, path, version, 1, n_steps, err)) != SW_OK)
		return rc;
	for (; version < n_steps; version++) {
		(void)snprintf(doing, sizeof doing, "bring %s to schema %lld", path,
			       (long long)version + 1);
		rc = take_step(conn, steps[version], version + 1, doing, err);
		if (rc != SW_OK)
			return rc;
	}
	return SW_OK;
}

sw_status sw_schema_update(sqlite3 *conn, const char *path, struct sw_err *err)
{
	return sw_schema_migrate(conn, path, own_steps, OWN_VERSION, err);
}

sw_status sw_schema_check(sqlite3 *conn, const char *path, struct sw_err *err)
{
	int64_t version = 0;
	const sw_status rc = sw_sql_int(conn, "PRAGMA user_version", &version, err);

	return rc != SW_OK ? rc : check_owner(conn, path, version, OWN_VERSION, OWN_VERSION, err);
}
