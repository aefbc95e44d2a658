/* store/read_trial.c — trials and their attempts. */
#include "store/columns.h"

bool sw_give_trial(struct sw_cols *c, void *arg)
{
	struct sw_give *g = arg;
	struct sw_row_trial row;
	int i = 0;

	SW_GET_ROW(SW_TABLE_TRIAL)
	/* as they are asked for: not always those of the last report */
	SW_GET(INT, step)
	SW_GET(REAL_OPT, value)
	SW_GET(TEXT_OPT, metrics)
	SW_GET(INT, heard_ms)
	if (!row.has_best_value)
		row.best_step = 0;
	g->n++;
	return c->bad == 0 && g->trial(&row, g->arg);
}

#define TRIAL_ROWS                                                                                 \
	"SELECT " SW_TRIAL_COLS("t.step", "t.value",                                               \
				SW_TRIAL_OF("r.metrics")) " FROM trial t WHERE t.sweep = ?1"

sw_status sw_read_trials(struct sw_db *db, int64_t sweep, const char *state, int64_t after,
			 int64_t limit, sw_row_trial_cb *cb, void *arg, struct sw_err *err)
{
	static const char any[] = TRIAL_ROWS " AND t.trial > ?2 ORDER BY t.trial LIMIT ?3";
	static const char one[] = TRIAL_ROWS
		" AND t.trial > ?2 AND t.state = ?4 ORDER BY t.trial LIMIT ?3";
	struct sw_give g = {.trial = cb, .arg = arg};
	sqlite3_stmt *q;
	sw_status rc =
		sw_db_query(db, state == NULL ? any : one, SW_INTS(sweep, after, limit), &q, err);

	if (rc != SW_OK)
		return rc;
	if (state != NULL && sqlite3_bind_text(q, 4, state, -1, SQLITE_TRANSIENT) != SQLITE_OK)
		return sw_sql_err(err, db->conn, "bind a query");
	return sw_db_run(db, q, "trial", sw_give_trial, &g, err);
}

sw_status sw_read_trial(struct sw_db *db, int64_t sweep, int64_t trial, sw_row_trial_cb *cb,
			void *arg, struct sw_err *err)
{
	static const char sql[] = TRIAL_ROWS " AND t.trial = ?2";
	struct sw_give g = {.trial = cb, .arg = arg};
	sw_status rc = sw_db_rows(db, sql, SW_INTS(sweep, trial), "trial", sw_give_trial, &g, err);

	if (rc == SW_OK && g.n == 0)
		rc = sw_err_set(err, SW_NOT_FOUND, "there is no trial %lld", (long long)trial);
	return rc;
}

static bool give_attempt(struct sw_cols *c, void *arg)
{
	const struct sw_give *g = arg;
	struct sw_row_attempt row;
	int i = 0;

	SW_GET_ROW(SW_TABLE_ATTEMPT)
	return c->bad == 0 && g->attempt(&row, g->arg);
}

#define ATTEMPT_ROWS "SELECT " SW_NAMES(SW_TABLE_ATTEMPT) " FROM attempt WHERE sweep = ?1"

sw_status sw_read_attempts(struct sw_db *db, int64_t sweep, int64_t trial, sw_row_attempt_cb *cb,
			   void *arg, struct sw_err *err)
{
	static const char sql[] = ATTEMPT_ROWS " AND trial = ?2 ORDER BY attempt";
	struct sw_give g = {.attempt = cb, .arg = arg};

	return sw_db_rows(db, sql, SW_INTS(sweep, trial), "attempt", give_attempt, &g, err);
}

sw_status sw_read_attempt(struct sw_db *db, int64_t sweep, int64_t trial, int64_t attempt,
			  sw_row_attempt_cb *cb, void *arg, struct sw_err *err)
{
	static const char sql[] = ATTEMPT_ROWS " AND trial = ?2 AND attempt = ?3";
	struct sw_give g = {.attempt = cb, .arg = arg};

	return sw_db_rows(db, sql, SW_INTS(sweep, trial, attempt), "attempt", give_attempt, &g,
			  err);
}

sw_status sw_read_sweep_attempts(struct sw_db *db, int64_t sweep, sw_row_attempt_cb *cb, void *arg,
				 struct sw_err *err)
{
	static const char sql[] = ATTEMPT_ROWS " ORDER BY trial, attempt";
	struct sw_give g = {.attempt = cb, .arg = arg};

	return sw_db_rows(db, sql, SW_INTS(sweep), "attempt", give_attempt, &g, err);
}

static bool give_use(struct sw_cols *c, void *arg)
{
	*(struct sw_row_use *)arg = (struct sw_row_use){
		.attempts = sw_col_int(c, 0), .ms = sw_col_int(c, 1), .gpu_ms = sw_col_int(c, 2)};
	return true;
}

sw_status sw_read_use(struct sw_db *db, int64_t sweep, struct sw_row_use *out, struct sw_err *err)
{
	static const char sql[] =
		"SELECT count(*), coalesce(sum(max(ended_ms - started_ms, 0)), 0),"
		" CAST(coalesce(sum(max(ended_ms - started_ms, 0) * (gpu <> 0) * share), 0) AS"
		" INTEGER)"
		" FROM attempt WHERE sweep = ?1 AND slot >= 0 AND ended_ms > 0";

	*out = (struct sw_row_use){.attempts = 0};
	return sw_db_rows(db, sql, SW_INTS(sweep), "attempt", give_use, out, err);
}
