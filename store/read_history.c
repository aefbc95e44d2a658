/*
 * store/read_history.c — a sweep's events and reports in the order in which they happened.
 *
 * Two ranges, each in order of ev (event by its key, report by report_by_ev, which covers what is
 * read, unless the metrics are read as well), merged as they stream: O(n), nothing held.
 */
#include "store/internal.h"

struct side {
	sqlite3_stmt *q;
	struct sw_cols c;
	const char *what;
	bool live; /* on a row; ev is its number */
	int64_t ev;
};

static sw_status advance_side(struct sw_db *db, struct side *s, int ev_column, struct sw_err *err)
{
	const int step = sqlite3_step(s->q);

	s->live = step == SQLITE_ROW;
	if (s->live) {
		s->ev = sw_col_int(&s->c, ev_column);
		return s->c.bad != 0 ? sw_db_bad_row(err, s->what, s->c.bad) : SW_OK;
	}
	return step == SQLITE_DONE ? SW_OK : sw_sql_err(err, db->conn, s->what);
}

static void event_of(struct sw_cols *c, int64_t sweep, struct sw_row_event *row)
{
	*row = (struct sw_row_event){
		.sweep = sweep,
		.ev = sw_col_int(c, 0),
		.kind = sw_col_text(c, 1),
		.trial = sw_col_int(c, 2),
		.attempt = sw_col_int(c, 3),
		.state = sw_col_text_opt(c, 4),
		.cause = sw_col_text_opt(c, 5),
		.run_cap = sw_col_int(c, 6),
		.time_ms = sw_col_int(c, 7),
		.uid = sw_col_int(c, 8),
	};
}

static void report_of(struct sw_cols *c, int64_t sweep, struct sw_row_report *row)
{
	*row = (struct sw_row_report){
		.sweep = sweep,
		.ev = sw_col_int(c, 0),
		.trial = sw_col_int(c, 1),
		.attempt = sw_col_int(c, 2),
		.seq = sw_col_int(c, 3),
		.step = sw_col_int(c, 4),
		.time_ms = sw_col_int(c, 5),
		.diverged = sw_col_bool(c, 7),
		.verdict = sw_col_text(c, 8),
		.checkpoint = sw_col_bool(c, 10),
	};
	row->value = sw_col_real_opt(c, 6, &row->has_value);
	row->metrics = sw_col_text_opt(c, 9);
}

typedef bool history_cb(const struct sw_row_event *event, const struct sw_row_report *report,
			void *arg);

static sw_status merge_sides(struct sw_db *db, int64_t sweep, struct side *events,
			     struct side *reports, history_cb *cb, void *arg, struct sw_err *err)
{
	sw_status rc;

	if ((rc = advance_side(db, events, 0, err)) != SW_OK ||
	    (rc = advance_side(db, reports, 0, err)) != SW_OK)
		return rc;
	while (events->live || reports->live) {
		const bool take_event = events->live &&
					(!reports->live || events->ev <= reports->ev);
		struct side *s = take_event ? events : reports;
		struct sw_row_event event;
		struct sw_row_report report;

		if (take_event)
			event_of(&s->c, sweep, &event);
		else
			report_of(&s->c, sweep, &report);
		if (s->c.bad != 0)
			return sw_db_bad_row(err, s->what, s->c.bad);
		if (!cb(take_event ? &event : NULL, take_event ? NULL : &report, arg))
			return SW_OK;
		if ((rc = advance_side(db, s, 0, err)) != SW_OK)
			return rc;
	}
	return SW_OK;
}

sw_status sw_read_history(struct sw_db *db, int64_t sweep, bool metrics, history_cb *cb, void *arg,
			  struct sw_err *err)
{
	static const char events_sql[] =
		"SELECT ev, kind, trial, attempt, state, cause, run_cap, time_ms, uid"
		" FROM event WHERE sweep = ?1 ORDER BY ev";
	static const char reports_sql[] =
		"SELECT ev, trial, attempt, seq, step, time_ms, value, diverged, verdict, NULL,"
		" checkpoint FROM report INDEXED BY report_by_ev WHERE sweep = ?1 ORDER BY ev";
	static const char metrics_sql[] =
		"SELECT ev, trial, attempt, seq, step, time_ms, value, diverged, verdict, metrics,"
		" checkpoint FROM report INDEXED BY report_by_ev WHERE sweep = ?1 ORDER BY ev";
	struct side events = {.what = "event"}, reports = {.what = "report"};
	sw_status rc;

	rc = sw_db_query(db, SW_Q_HISTORY_EVENTS, events_sql, &sweep, 1, &events.q, err);
	if (rc != SW_OK)
		return rc;
	rc = sw_db_query(db, metrics ? SW_Q_HISTORY_METRICS : SW_Q_HISTORY_REPORTS,
			 metrics ? metrics_sql : reports_sql, &sweep, 1, &reports.q, err);
	if (rc != SW_OK)
		return rc;
	events.c.q = events.q;
	reports.c.q = reports.q;
	rc = merge_sides(db, sweep, &events, &reports, cb, arg, err);
	(void)sqlite3_reset(events.q); /* repeats the step's code */
	(void)sqlite3_reset(reports.q);
	return rc;
}

struct give_event {
	sw_row_event_cb *cb;
	void *arg;
	int64_t sweep;
};

static bool give_event(struct sw_cols *c, void *arg)
{
	const struct give_event *g = arg;
	struct sw_row_event row;

	event_of(c, g->sweep, &row);
	return c->bad == 0 && g->cb(&row, g->arg);
}

sw_status sw_read_edits(struct sw_db *db, int64_t sweep, sw_row_event_cb *cb, void *arg,
			struct sw_err *err)
{
	static const char sql[] =
		"SELECT ev, kind, trial, attempt, state, cause, run_cap, time_ms, uid"
		" FROM event INDEXED BY event_edits WHERE sweep = ?1 AND kind = 'edit' ORDER BY ev";
	struct give_event g = {cb, arg, sweep};

	return sw_db_rows(db, SW_Q_EDITS, sql, &sweep, 1, "event", give_event, &g, err);
}

sw_status sw_read_enqueued(struct sw_db *db, int64_t sweep, int64_t k, sw_row_event_cb *cb,
			   void *arg, struct sw_err *err)
{
	static const char sql[] =
		"SELECT ev, kind, trial, attempt, state, cause, run_cap, time_ms, uid"
		" FROM event INDEXED BY event_enqueued WHERE sweep = ?1 AND kind = 'enqueue' ORDER "
		"BY ev LIMIT 1 OFFSET ?2";
	const int64_t ints[] = {sweep, k - 1};
	struct give_event g = {cb, arg, sweep};

	return sw_db_rows(db, SW_Q_ENQUEUED, sql, ints, 2, "event", give_event, &g, err);
}
