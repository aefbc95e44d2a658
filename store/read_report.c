/* store/read_report.c — a trial's reports, the judgements made of them, its log lines. */
#include "store/columns.h"

#define REPORT_ROWS                                                                                \
	"SELECT " SW_REPORT_COLS ", r.metrics FROM report r WHERE r.sweep = ?1 AND r.trial = ?2"

void sw_col_report(struct sw_cols *c, struct sw_row_report *out)
{
	struct sw_row_report row = {.several = false};
	int i = 0;

	SW_GET_ROW(SW_TABLE_REPORT)
	SW_GET(TEXT_OPT, metrics)
	*out = row;
}

static bool give_report(struct sw_cols *c, void *arg)
{
	struct sw_give *g = arg;
	struct sw_row_report row;

	sw_col_report(c, &row);
	g->n++;
	return c->bad == 0 && g->report(&row, g->arg);
}

sw_status sw_read_reports(struct sw_db *db, int64_t sweep, int64_t trial, int64_t after_attempt,
			  int64_t after_seq, int64_t limit, sw_row_report_cb *cb, void *arg,
			  struct sw_err *err)
{
	static const char sql[] = REPORT_ROWS
		" AND (attempt, seq) > (?3, ?4) ORDER BY attempt, seq LIMIT ?5";
	struct sw_give g = {.report = cb, .arg = arg};

	return sw_db_rows(db, sql, SW_INTS(sweep, trial, after_attempt, after_seq, limit), "report",
			  give_report, &g, err);
}

sw_status sw_read_report(struct sw_db *db, int64_t sweep, int64_t trial, int64_t attempt,
			 int64_t seq, sw_row_report_cb *cb, void *arg, struct sw_err *err)
{
	static const char sql[] = REPORT_ROWS " AND attempt = ?3 AND seq = ?4";
	struct sw_give g = {.report = cb, .arg = arg};
	sw_status rc = sw_db_rows(db, sql, SW_INTS(sweep, trial, attempt, seq), "report",
				  give_report, &g, err);

	if (rc == SW_OK && g.n == 0)
		rc = sw_err_set(err, SW_NOT_FOUND,
				"no report %lld of attempt %lld of trial "
				"%lld/%lld",
				(long long)seq, (long long)attempt, (long long)sweep,
				(long long)trial);
	return rc;
}

sw_status sw_read_standing(struct sw_db *db, int64_t sweep, int64_t trial, sw_row_report_cb *cb,
			   void *arg, struct sw_err *err)
{
	static const char sql[] =
		"SELECT " SW_REPORT_COLS ", r.metrics FROM trial t JOIN report r"
		" ON r.sweep = t.sweep AND r.trial = t.trial AND (r.attempt, r.seq) ="
		" (SELECT r.attempt, r.seq" SW_STANDING ")"
		" WHERE t.sweep = ?1 AND t.trial = ?2 AND " SW_STANDS;
	struct sw_give g = {.report = cb, .arg = arg};

	return sw_db_rows(db, sql, SW_INTS(sweep, trial), "report", give_report, &g, err);
}

sw_status sw_read_curve(struct sw_db *db, int64_t sweep, int64_t trial, int64_t limit,
			sw_row_report_cb *cb, void *arg, struct sw_err *err)
{
	static const char sql[] = "SELECT " SW_REPORT_COLS
				  ", NULL FROM trial t JOIN report r ON " SW_CURVE_OF
				  " WHERE t.sweep = ?1 AND t.trial = ?2 AND r.value IS NOT NULL"
				  " ORDER BY r.attempt, r.seq LIMIT ?3";
	struct sw_give g = {.report = cb, .arg = arg};

	return sw_db_rows(db, sql, SW_INTS(sweep, trial, limit), "report", give_report, &g, err);
}

static bool give_decision(struct sw_cols *c, void *arg)
{
	const struct sw_give *g = arg;
	struct sw_row_decision row;
	int i = 0;

	SW_GET_ROW(SW_TABLE_DECISION)
	return c->bad == 0 && g->decision(&row, g->arg);
}

#define DECISION_ROWS "SELECT " SW_NAMES(SW_TABLE_DECISION) " FROM decision d WHERE sweep = ?1"

sw_status sw_read_decisions(struct sw_db *db, int64_t sweep, int64_t trial, sw_row_decision_cb *cb,
			    void *arg, struct sw_err *err)
{
	static const char sql[] = DECISION_ROWS " AND trial = ?2 ORDER BY attempt, seq, rung";
	struct sw_give g = {.decision = cb, .arg = arg};

	return sw_db_rows(db, sql, SW_INTS(sweep, trial), "decision", give_decision, &g, err);
}

sw_status sw_read_report_decisions(struct sw_db *db, int64_t sweep, int64_t trial, int64_t attempt,
				   int64_t seq, sw_row_decision_cb *cb, void *arg,
				   struct sw_err *err)
{
	static const char sql[] = DECISION_ROWS
		" AND trial = ?2 AND attempt = ?3 AND seq = ?4 ORDER BY rung";
	struct sw_give g = {.decision = cb, .arg = arg};

	return sw_db_rows(db, sql, SW_INTS(sweep, trial, attempt, seq), "decision", give_decision,
			  &g, err);
}

sw_status sw_read_stray_decision(struct sw_db *db, int64_t sweep, sw_row_decision_cb *cb, void *arg,
				 struct sw_err *err)
{
	static const char sql[] = DECISION_ROWS
		" AND NOT EXISTS (SELECT 1 FROM report r WHERE r.sweep = d.sweep"
		" AND r.trial = d.trial AND r.attempt = d.attempt AND r.seq = d.seq)"
		" ORDER BY trial, attempt, seq, rung LIMIT 1";
	struct sw_give g = {.decision = cb, .arg = arg};

	return sw_db_rows(db, sql, SW_INTS(sweep), "decision", give_decision, &g, err);
}

struct give_log {
	sw_row_log_cb *cb;
	void *arg;
	int64_t *next;
};

static bool give_log(struct sw_cols *c, void *arg)
{
	const struct give_log *g = arg;
	struct sw_row_log row;
	int i = 0;

	SW_GET_ROW(SW_TABLE_LOG)
	if (c->bad != 0)
		return false;
	*g->next = row.n;
	return g->cb(&row, g->arg);
}

sw_status sw_read_log(struct sw_db *db, int64_t sweep, int64_t trial, int64_t after, int64_t limit,
		      int64_t *next, sw_row_log_cb *cb, void *arg, struct sw_err *err)
{
	static const char sql[] = "SELECT " SW_NAMES(
		SW_TABLE_LOG) " FROM log"
			      " WHERE sweep = ?1 AND trial = ?2 AND n > ?3 ORDER BY n LIMIT ?4";
	struct give_log g = {cb, arg, next};

	*next = after;
	return sw_db_rows(db, sql, SW_INTS(sweep, trial, after, limit), "log", give_log, &g, err);
}
