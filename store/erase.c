/*
 * store/erase.c — the rows of a deleted sweep go, so many in a transaction.
 *
 * Each slice takes the first rows that are left, so an erasure needs no memory of its own: one that
 * a crash cut short is begun again and goes on. The sweep's own row stays.
 */
#include "base/memory.h"
#include "store/internal.h"

/* About 2 ms: what a commit that comes meanwhile waits at most. */
#define SLICE_ROWS 200

/* ?2 and ?3 are the first and the last trial. What refers to trials goes before them. */
#define ROWS_OF(table, key)                                                                        \
	"DELETE FROM " table " WHERE sweep = ?1 AND (" key ") IN (SELECT " key " FROM " table      \
	" WHERE sweep = ?1 AND trial BETWEEN ?2 AND ?3 LIMIT ?4)"

static const char *const tables[] = {
	ROWS_OF("report", "trial, attempt, seq"),
	ROWS_OF("decision", "trial, attempt, seq, rung"),
	ROWS_OF("log", "trial, n"),
	ROWS_OF("suggestion", "trial"),
	ROWS_OF("attempt", "trial, attempt"),
	ROWS_OF("trial", "trial"),
	/* These go for the whole sweep: nothing of them stays with a trial. */
	"DELETE FROM event WHERE sweep = ?1 AND ev IN"
	" (SELECT ev FROM event WHERE sweep = ?1 LIMIT ?4)",
	"DELETE FROM prior WHERE sweep = ?1 AND n IN"
	" (SELECT n FROM prior WHERE sweep = ?1 LIMIT ?4)",
	"DELETE FROM sampler WHERE sweep = ?1 AND ?4 > 0",
};
#define TABLES_N (sizeof tables / sizeof tables[0])

/* Removes at most *left rows of the table and takes what went from it. */
static sw_status erase_rows(sqlite3 *conn, const struct sw_erasure *e, size_t at, int64_t *left,
			    struct sw_err *err)
{
	/* The spared trial lies between two ranges, and is never looked at. */
	const bool above = at >= TABLES_N;
	const int64_t values[] = {e->sweep, above ? e->spared + 1 : 0,
				  above || e->spared == 0 ? INT64_MAX : e->spared - 1, *left};
	sqlite3_stmt *q = NULL;
	sw_status rc = SW_OK;
	bool good = sqlite3_prepare_v2(conn, tables[at % TABLES_N], -1, &q, NULL) == SQLITE_OK;

	for (int i = 0; i < 4 && good && i < sqlite3_bind_parameter_count(q); i++)
		good = sqlite3_bind_int64(q, i + 1, values[i]) == SQLITE_OK;
	if (!good || sqlite3_step(q) != SQLITE_DONE)
		rc = sw_sql_err(err, conn, "delete a sweep");
	else
		*left -= sqlite3_changes64(conn);
	(void)sqlite3_finalize(q); /* repeats the step's code */
	return rc;
}

sw_status sw_erase_slice(struct sw_writer *w, struct sw_erasure *e, struct sw_err *err)
{
	const size_t end = e->spared != 0 ? 2 * TABLES_N : TABLES_N;
	int64_t left = SLICE_ROWS, before = 0, after = 0, page = 0;
	size_t at = e->at;
	/* IMMEDIATE takes the write lock at once: one that began as a reader could find, at its
	 * first write, that it must be rolled back. */
	sw_status rc = sw_sql_exec(w->conn, "BEGIN IMMEDIATE", "delete a sweep", err);

	if (rc != SW_OK)
		return rc;
	if ((rc = sw_sql_int(w->conn, "PRAGMA page_size", &page, err)) == SW_OK)
		rc = sw_sql_int(w->conn, "PRAGMA freelist_count", &before, err);
	while (rc == SW_OK && left > 0 && at < end) {
		rc = erase_rows(w->conn, e, at, &left, err);
		/* Rows left to remove mean that the table gave fewer than were asked for: it is
		 * empty. */
		at += left > 0; /* it is empty */
	}
	if (rc == SW_OK)
		rc = sw_sql_int(w->conn, "PRAGMA freelist_count", &after, err);
	if (rc == SW_OK)
		rc = sw_sql_exec(w->conn, "COMMIT", "delete a sweep", err);
	if (rc != SW_OK)
		return sw_writer_undo(w, rc, err);
	/* Only after the commit: a slice that is rolled back leaves the erasure where it stood. */
	e->at = at;
	e->done = at == end;
	/* Pages of the free list: the file itself becomes smaller with sw_writer_shrink(). */
	e->freed += (after - before) * page;
	return SW_OK;
}
