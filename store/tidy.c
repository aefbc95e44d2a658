/* store/tidy.c — what the writer does between changes: the file gives back pages that are free, and
 * after a while without any the log is cut. A change that comes meanwhile waits for one slice. */
#include "store/internal.h"

/* In a slice: a few ms. Fewer free ones are left for the next rows. */
#define SLICE_PAGES 256

/* There is another try. */
static sw_status but_for_room(sw_status rc)
{
	return rc == SW_FULL || rc == SW_BUSY ? SW_OK : rc;
}

sw_status sw_writer_shrink(struct sw_writer *w, bool *more, struct sw_err *err)
{
	int64_t pages = 0;
	sw_status rc = sw_sql_int(w->conn, "PRAGMA freelist_count", &pages, err);

	*more = false;
	/* A vacuum moves pages from the end of the file: each is written through the log, so a
	 * little at a time. */
	if (rc == SW_OK && pages >= SLICE_PAGES) {
		rc = sw_sql_exec(w->conn, "PRAGMA incremental_vacuum(256)", "shrink the file", err);
		*more = rc == SW_OK;
	}
	return but_for_room(rc);
}

sw_status sw_writer_cut(struct sw_writer *w, struct sw_err *err)
{
	if (w->wal_pages == 0)
		return SW_OK;
	/* A reader holds the log, and the writer does not wait for it. */
	(void)sqlite3_busy_timeout(w->conn, 0);
	const int code =
		sqlite3_wal_checkpoint_v2(w->conn, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	const sw_status rc = code == SQLITE_OK ? SW_OK : sw_sql_err(err, w->conn, "cut the log");
	(void)sqlite3_busy_timeout(w->conn, SW_BUSY_MS);
	if (rc == SW_OK)
		sw_writer_log_cut(w);
	return but_for_room(rc);
}
