/*
 * store/read_history.c — a sweep's events and reports in the order in which they happened.
 *
 * Two ranges, each in order of ev (event by its key, report by report_by_ev, which covers what is
 * read, unless the metrics are read as well), merged as they stream: O(n), nothing held.
 */
#include "store/columns.h"

struct side {
	sqlite3_stmt *q;
	struct sw_cols c;
	const char *what;
	int ev_column;
	bool live; /* on a row; ev is its number */
	int64_t ev;
};

static sw_status advance_side(struct sw_db *db, struct side *s, struct sw_err *err)
{
	const int step = sqlite3_step(s->q);

	s->live = step == SQLITE_ROW;
	if (s->live) {
		s->ev = sw_col_int(&s->c, s->ev_column);
		return s->c.bad != 0 ? sw_db_bad_row(err, s->what, s->c.bad) : SW_OK;
	}
	return step == SQLITE_DONE ? SW_OK : sw_sql_err(err, db->conn, s->what);
}

#define EVENT_ROWS "SELECT " SW_NAMES(SW_TABLE_EVENT) " FROM event"

static void event_of(struct sw_cols *c, struct sw_row_event *out)
{
	struct sw_row_event row;
	int i = 0;

	SW_GET_ROW(SW_TABLE_EVENT)
	*out = row;
}

typedef bool history_cb(const struct sw_row_event *event, const struct sw_row_report *report,
			void *arg);

static sw_status merge_sides(struct sw_db *db, struct side *events, struct side *reports,
			     history_cb *cb, void *arg, struct sw_err *err)
{
	sw_status rc;

	if ((rc = advance_side(db, events, err)) != SW_OK ||
	    (rc = advance_side(db, reports, err)) != SW_OK)
		return rc;
	while (events->live || reports->live) {
		/* Numbers are given once over both tables, so equal ones are damage; either order
		 * shows it. */
		const bool take_event = events->live &&
					(!reports->live || events->ev <= reports->ev);
		struct side *s = take_event ? events : reports;
		struct sw_row_event event;
		struct sw_row_report report;

		if (take_event)
			event_of(&s->c, &event);
		else
			sw_col_report(&s->c, &report);
		if (s->c.bad != 0)
			return sw_db_bad_row(err, s->what, s->c.bad);
		if (!cb(take_event ? &event : NULL, take_event ? NULL : &report, arg))
			return SW_OK;
		if ((rc = advance_side(db, s, err)) != SW_OK)
			return rc;
	}
	return SW_OK;
}

sw_status sw_read_history(struct sw_db *db, int64_t sweep, bool metrics, history_cb *cb, void *arg,
			  struct sw_err *err)
{
	static const char events_sql[] = EVENT_ROWS " WHERE sweep = ?1 ORDER BY ev";
	static const char reports_sql[] = "SELECT " SW_REPORT_COLS
					  ", NULL FROM report r INDEXED BY report_by_ev"
					  " WHERE sweep = ?1 ORDER BY ev";
	static const char metrics_sql[] = "SELECT " SW_REPORT_COLS
					  ", r.metrics FROM report r INDEXED BY report_by_ev"
					  " WHERE sweep = ?1 ORDER BY ev";
	struct side events = {.what = "event", .ev_column = 1};
	struct side reports = {.what = "report", .ev_column = 4};
	sw_status rc;

	rc = sw_db_query(db, events_sql, SW_INTS(sweep), &events.q, err);
	if (rc != SW_OK)
		return rc;
	/* Without the metrics the index alone is read (report_by_ev): a replay of a million reports
	 * touches no other page. */
	rc = sw_db_query(db, metrics ? metrics_sql : reports_sql, SW_INTS(sweep), &reports.q, err);
	if (rc != SW_OK)
		return rc;
	events.c.q = events.q;
	reports.c.q = reports.q;
	rc = merge_sides(db, &events, &reports, cb, arg, err);
	(void)sqlite3_reset(events.q); /* repeats the step's code */
	(void)sqlite3_reset(reports.q);
	return rc;
}

static bool give_event(struct sw_cols *c, void *arg)
{
	const struct sw_give *g = arg;
	struct sw_row_event row;

	event_of(c, &row);
	return c->bad == 0 && g->event(&row, g->arg);
}

sw_status sw_read_edits(struct sw_db *db, int64_t sweep, sw_row_event_cb *cb, void *arg,
			struct sw_err *err)
{
	static const char sql[] = EVENT_ROWS
		" INDEXED BY event_edits WHERE sweep = ?1 AND kind = 'edit' ORDER BY ev";
	struct sw_give g = {.event = cb, .arg = arg};

	return sw_db_rows(db, sql, SW_INTS(sweep), "event", give_event, &g, err);
}

sw_status sw_read_enqueued(struct sw_db *db, int64_t sweep, int64_t k, sw_row_event_cb *cb,
			   void *arg, struct sw_err *err)
{
	static const char sql[] = EVENT_ROWS
		" INDEXED BY event_enqueued WHERE sweep = ?1 AND kind = 'enqueue' ORDER BY"
		" ev LIMIT 1 OFFSET ?2";
	struct sw_give g = {.event = cb, .arg = arg};

	return sw_db_rows(db, sql, SW_INTS(sweep, k - 1), "event", give_event, &g, err);
}
