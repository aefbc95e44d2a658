/* store/read_plot.c — what plots are made of: all trials of a sweep in few columns, and runs. */
#include "store/internal.h"

static bool give_point(struct sw_cols *c, void *arg)
{
	const struct sw_give *g = arg;
	struct sw_row_point row = {
		.trial = sw_col_int(c, 0),
		.state = sw_col_text(c, 1),
		.step = sw_col_int(c, 2),
		.json = sw_col_text_opt(c, 4),
	};

	row.best_value = sw_col_real_opt(c, 3, &row.has_best_value);
	return c->bad == 0 && g->point(&row, g->arg);
}

#define POINT_ROWS(json)                                                                           \
	"SELECT trial, state, step, best_value, " json                                             \
	" FROM trial t WHERE sweep = ?1 ORDER BY trial"

sw_status sw_read_points(struct sw_db *db, int64_t sweep, enum sw_points with, sw_row_point_cb *cb,
			 void *arg, struct sw_err *err)
{
	static const char *const sql[] = {POINT_ROWS("NULL"), POINT_ROWS("params"),
					  POINT_ROWS("CASE WHEN " SW_STANDS " THEN standing END")};
	struct sw_give g = {.point = cb, .arg = arg};

	return sw_db_rows(db, sql[with], SW_INTS(sweep), "trial", give_point, &g, err);
}

static bool give_expected(struct sw_cols *c, void *arg)
{
	const struct sw_give *g = arg;
	const struct sw_row_suggestion row = {
		.trial = sw_col_int(c, 0), .mean = sw_col_real(c, 1), .sd = sw_col_real(c, 2)};

	return c->bad == 0 && g->suggestion(&row, g->arg);
}

sw_status sw_read_suggestions(struct sw_db *db, int64_t sweep, sw_row_suggestion_cb *cb, void *arg,
			      struct sw_err *err)
{
	static const char sql[] =
		"SELECT trial, CAST(why ->> 'mean' AS REAL), CAST(why ->> 'sd' AS REAL)"
		" FROM suggestion WHERE sweep = ?1"
		" AND why ->> 'acquisition' = 'expected_improvement' ORDER BY trial";
	struct sw_give g = {.suggestion = cb, .arg = arg};

	return sw_db_rows(db, sql, SW_INTS(sweep), "suggestion", give_expected, &g, err);
}

static bool give_run(struct sw_cols *c, void *arg)
{
	const struct sw_give *g = arg;
	const struct sw_row_attempt row = {
		.trial = sw_col_int(c, 0),
		.slot = sw_col_int(c, 1),
		.started_ms = sw_col_int(c, 2),
		.ended_ms = sw_col_int(c, 3),
		.state = sw_col_text(c, 4),
		.cause = sw_col_text_opt(c, 5),
	};

	return c->bad == 0 && g->attempt(&row, g->arg);
}

sw_status sw_read_runs(struct sw_db *db, int64_t sweep, sw_row_attempt_cb *cb, void *arg,
		       struct sw_err *err)
{
	static const char sql[] = "SELECT trial, slot, started_ms, ended_ms, state, cause"
				  " FROM attempt WHERE sweep = ?1 AND slot >= 0 ORDER BY trial";
	struct sw_give g = {.attempt = cb, .arg = arg};

	return sw_db_rows(db, sql, SW_INTS(sweep), "attempt", give_run, &g, err);
}
