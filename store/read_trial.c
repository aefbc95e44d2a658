/* store/read_trial.c — trials and their attempts. */
#include "store/internal.h"

bool sw_give_trial(struct sw_cols *c, void *arg)
{
	struct sw_give *g = arg;
	struct sw_row_trial row = {
		.sweep = sw_col_int(c, 0),
		.trial = sw_col_int(c, 1),
		.state = sw_col_text(c, 2),
		.cause = sw_col_text_opt(c, 3),
		.params = sw_col_text(c, 4),
		.attempt = sw_col_int(c, 5),
		.step = sw_col_int(c, 6),
		.metrics = sw_col_text_opt(c, 8),
		.created_ms = sw_col_int(c, 9),
		.started_ms = sw_col_int(c, 10),
		.ended_ms = sw_col_int(c, 11),
		.seconds = sw_col_real(c, 12),
		.parent = sw_col_int(c, 13),
		.resume_step = sw_col_int(c, 14),
		.heard_ms = sw_col_int(c, 17),
		.left_out = sw_col_int(c, 18),
		.left_why = sw_col_text_opt(c, 19),
	};

	row.value = sw_col_real_opt(c, 7, &row.has_value);
	row.best_value = sw_col_real_opt(c, 16, &row.has_best);
	row.best_step = row.has_best ? sw_col_int(c, 15) : 0;
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
		rc = sw_err_set(err, SW_NOT_FOUND, "no trial %lld/%lld", (long long)sweep,
				(long long)trial);
	return rc;
}

static bool give_attempt(struct sw_cols *c, void *arg)
{
	const struct sw_give *g = arg;
	struct sw_row_attempt row = {
		.sweep = sw_col_int(c, 0),
		.trial = sw_col_int(c, 1),
		.attempt = sw_col_int(c, 2),
		.ev = sw_col_int(c, 3),
		.slot = sw_col_int(c, 4),
		.started_ms = sw_col_int(c, 5),
		.ended_ms = sw_col_int(c, 6),
		.state = sw_col_text(c, 7),
		.cause = sw_col_text_opt(c, 8),
		.resume_step = sw_col_int(c, 9),
		.gpu = sw_col_bool(c, 10),
		.share = sw_col_real(c, 11),
	};
	bool has;

	row.gpu_bytes = sw_col_real_opt(c, 12, &row.has_usage);
	row.gpu_util = sw_col_real_opt(c, 13, &has);
	row.joules = sw_col_real_opt(c, 14, &has);
	return c->bad == 0 && g->attempt(&row, g->arg);
}

#define ATTEMPT_ROWS                                                                               \
	"SELECT sweep, trial, attempt, ev, slot, started_ms, ended_ms, state, cause, resume_step," \
	" gpu, share, gpu_bytes, gpu_util, joules FROM attempt WHERE sweep = ?1"

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
