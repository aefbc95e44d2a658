/* store/tidy.c — what the writer does while nobody writes: the file gives back pages that are free,
 * and the log is cut. A write that comes meanwhile waits for one slice of it. */
#include "store/internal.h"

/* In a slice: a few ms. Fewer free ones are left for the next rows. */
#define SLICE_PAGES 256

/* Whoever reads holds the log; the writer does not wait for them, it comes again. */
static sw_status cut_log(struct sw_writer *w, struct sw_err *err)
{
	(void)sqlite3_busy_timeout(w->conn, 0);
	const int code =
		sqlite3_wal_checkpoint_v2(w->conn, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	const sw_status rc = code == SQLITE_OK ? SW_OK : sw_sql_err(err, w->conn, "cut the log");
	(void)sqlite3_busy_timeout(w->conn, SW_BUSY_MS);
	if (rc == SW_OK)
		sw_writer_log_cut(w);
	return rc;
}

sw_status sw_writer_tidy(struct sw_writer *w, bool *more, struct sw_err *err)
{
	int64_t pages = 0;
	sw_status rc = SW_OK;

	*more = false;
	if (w->shrinks)
		rc = sw_sql_int(w->conn, "PRAGMA freelist_count", &pages, err);
	if (rc == SW_OK && pages >= SLICE_PAGES) {
		*more = true;
		rc = sw_sql_exec(w->conn, "PRAGMA incremental_vacuum(256)", "shrink the file", err);
	} else if (rc == SW_OK && w->wal_pages > 0) {
		rc = cut_log(w, err);
	}
	if (rc != SW_FULL && rc != SW_BUSY)
		return rc;
	*more = false; /* after the next change there is another try */
	return SW_OK;
}
