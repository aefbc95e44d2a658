/* store/schema.c — from any version that this program knows to its own, a step at a time. */
#include "base/clock.h"
#include "store/internal.h"
#include <stdio.h>

extern const char sw_schema_sql[], sw_schema_2_sql[], sw_schema_3_sql[], sw_schema_4_sql[],
	sw_schema_5_sql[], sw_schema_6_sql[], sw_schema_7_sql[], sw_schema_8_sql[],
	sw_schema_9_sql[], sw_schema_10_sql[], sw_schema_11_sql[], sw_schema_12_sql[],
	sw_schema_13_sql[], sw_schema_14_sql[],
	sw_schema_15_sql[]; /* schema.sql etc., compiled in */

static const char *const own_steps[] = {
	sw_schema_sql,    /* 0 to 1: an empty file */
	sw_schema_2_sql,  /* 1 to 2 */
	sw_schema_3_sql,  /* 2 to 3 */
	sw_schema_4_sql,  /* 3 to 4 */
	sw_schema_5_sql,  /* 4 to 5 */
	sw_schema_6_sql,  /* 5 to 6 */
	sw_schema_7_sql,  /* 6 to 7 */
	sw_schema_8_sql,  /* 7 to 8 */
	sw_schema_9_sql,  /* 8 to 9 */
	sw_schema_10_sql, /* 9 to 10 */
	sw_schema_11_sql, /* 10 to 11 */
	sw_schema_12_sql, /* 11 to 12 */
	sw_schema_13_sql, /* 12 to 13 */
	sw_schema_14_sql, /* 13 to 14 */
	sw_schema_15_sql, /* 14 to 15 */
};
_Static_assert(sizeof own_steps / sizeof own_steps[0] == SW_STORE_SCHEMA_VERSION,
	       "a version is a step");

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
		       "INSERT OR REPLACE INTO meta VALUES ('schema', %lld), ('program', '%s'),"
		       " ('migrated_ms', %lld);",
		       SW_STORE_APP_ID, (long long)to, (long long)to, SW_VERSION,
		       (long long)sw_clock_wall_ms());
	if ((rc = sw_sql_exec(conn, sql, doing, err)) == SW_OK &&
	    (rc = sw_sql_exec(conn, mark, doing, err)) == SW_OK &&
	    (rc = sw_sql_exec(conn, "COMMIT", doing, err)) == SW_OK)
		return SW_OK;
	(void)sqlite3_exec(conn, "ROLLBACK", NULL, NULL, NULL); /* the first error stands */
	return rc;
}

/* Whose file it is, then whether this program is new enough, then whether both numbers agree: a
 * newer version may have moved even meta. */
static sw_status check_owner(sqlite3 *conn, const char *path, int64_t version, int64_t known,
			     struct sw_err *err)
{
	int64_t app = 0, meta = 0;
	sw_status rc;

	if ((rc = sw_sql_int(conn, "PRAGMA application_id", &app, err)) != SW_OK)
		return rc;
	if (app != SW_STORE_APP_ID || version < 1)
		return sw_err_set(err, SW_IO, "%s: not a sweepd database", path);
	if (version > known)
		return sw_err_set(err, SW_CONFLICT,
				  "%s was written by a newer sweepd (schema %lld, this one knows "
				  "%lld)",
				  path, (long long)version, (long long)known);
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
	    (rc = check_owner(conn, path, version, n_steps, err)) != SW_OK)
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
	return sw_schema_migrate(conn, path, own_steps, SW_STORE_SCHEMA_VERSION, err);
}

sw_status sw_schema_check(sqlite3 *conn, const char *path, struct sw_err *err)
{
	int64_t version = 0;
	sw_status rc = sw_sql_int(conn, "PRAGMA user_version", &version, err);

	if (rc == SW_OK)
		rc = check_owner(conn, path, version, SW_STORE_SCHEMA_VERSION, err);
	if (rc == SW_OK && version < SW_STORE_SCHEMA_VERSION)
		rc = sw_err_set(err, SW_CONFLICT,
				"%s was written by an older sweepd (schema %lld, this one reads "
				"%lld): start this sweepd on it once",
				path, (long long)version, (long long)SW_STORE_SCHEMA_VERSION);
	return rc;
}
