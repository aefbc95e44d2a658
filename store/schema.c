/* store/schema.c — the file's version: a new file is made by the first step, and a step after it
 * takes a file from one version to the next. A file of another version is refused. */
#include "base/text.h"
#include "store/columns.h"
#include <stdio.h>

/* report.metrics is one JSON text, not a table (report, name, value). Measured when that was
 * chosen: 4 metrics, 200,000 reports of 64 trials in turn, 1,000 a commit, on 2 shared cores (a
 * range is the spread of five runs, each layout beside the other):
 *                reports/s in    reports/s of curves out    file
 *   key-value    31-36,000         117,000-168,000          21.6 MB
 *   JSON         40-72,000       800,000-3,200,000          37.9 MB
 * JSON takes 1.3 to 2.2 times the reports and gives curves back 6 times as fast or more, because
 * the reply wants the text as it lies; it costs 1.8 times the space with values of 17 digits. */

#define SWEEP SW_CREATE("sweep", SW_TABLE_SWEEP, "PRIMARY KEY (sweep)") ";"
/* standing: the metrics of the last report of its curve that carried the sweep's; NULL: it has
 * none, or the sweep has one metric. The front of 100,000 trials is then one pass and no search for
 * each. trial_by_state changes with the state alone, a few times in a trial's life; counts and
 * lists by state read it. trial_by_best is the best trial, which every look at a sweep asks for; it
 * changes only where a report is better. */
#define TRIAL                                                                                      \
	SW_CREATE("trial", SW_TABLE_TRIAL,                                                         \
		  "standing TEXT, PRIMARY KEY (sweep, trial),"                                     \
		  " FOREIGN KEY (sweep) REFERENCES sweep")                                         \
	", WITHOUT ROWID; CREATE INDEX trial_by_state ON trial (sweep, state);"                    \
	" CREATE INDEX trial_by_best ON trial (sweep, best_value, trial);"
#define ATTEMPT                                                                                    \
	SW_CREATE("attempt", SW_TABLE_ATTEMPT,                                                     \
		  "PRIMARY KEY (sweep, trial, attempt),"                                           \
		  " FOREIGN KEY (sweep, trial) REFERENCES trial")                                  \
	", WITHOUT ROWID;"
/* No foreign key: the same operation updates the trial's row, and fails if that is missing.
 * report_by_ev carries every column that a replay needs: a replay is one pass over the index and
 * never touches the metrics. */
#define REPORT                                                                                     \
	SW_CREATE("report", SW_TABLE_REPORT,                                                       \
		  "metrics TEXT, PRIMARY KEY (sweep, trial, attempt, seq)")                        \
	", WITHOUT ROWID; CREATE INDEX report_by_ev ON report"                                     \
	" (sweep, ev, step, time_ms, value, diverged, verdict, checkpoint);"
#define DECISION                                                                                   \
	SW_CREATE("decision", SW_TABLE_DECISION, "PRIMARY KEY (sweep, trial, attempt, seq, rung)") \
	", WITHOUT ROWID;"
/* The few edits of a sweep, and the few trials that a user enqueued, among its many events. */
#define EVENT                                                                                      \
	SW_CREATE("event", SW_TABLE_EVENT, "PRIMARY KEY (sweep, ev)")                              \
	", WITHOUT ROWID; CREATE INDEX event_edits ON event (sweep, ev) WHERE kind = 'edit';"      \
	" CREATE INDEX event_enqueued ON event (sweep, ev) WHERE kind = 'enqueue';"
#define LOG SW_CREATE("log", SW_TABLE_LOG, "PRIMARY KEY (sweep, trial, n)") ", WITHOUT ROWID;"
#define SUGGESTION                                                                                 \
	SW_CREATE("suggestion", SW_TABLE_SUGGESTION,                                               \
		  "PRIMARY KEY (sweep, trial), FOREIGN KEY (sweep, trial) REFERENCES trial")       \
	", WITHOUT ROWID;"
#define SAMPLER SW_CREATE("sampler", SW_TABLE_SAMPLER, "PRIMARY KEY (sweep)") ";"
#define PRIOR                                                                                      \
	SW_CREATE("prior", SW_TABLE_PRIOR,                                                         \
		  "PRIMARY KEY (sweep, n), FOREIGN KEY (sweep) REFERENCES sweep")                  \
	", WITHOUT ROWID;"
#define SLOT SW_CREATE("slot", SW_TABLE_SLOT, "PRIMARY KEY (slot)") ";"
#define JOURNAL                                                                                    \
	SW_CREATE("journal", SW_TABLE_JOURNAL, "PRIMARY KEY (journal, n)") ", WITHOUT ROWID;"

const char sw_schema_sql[] =
	"CREATE TABLE meta (key TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;" SWEEP TRIAL
		ATTEMPT REPORT DECISION EVENT LOG SUGGESTION SAMPLER PRIOR SLOT JOURNAL;

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
	/* The step and its marks in one transaction: a crash leaves the file at the version before,
	 * whole. */
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

/* Checks whose file it is, then whether this program reads that version, then whether both numbers
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
	/* A transaction for each: a step that fails leaves those before it done. */
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
