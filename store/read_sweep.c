/* store/read_sweep.c — sweeps, counts of their trials by state, and slots. */
#include "store/internal.h"

static bool give_sweep(struct sw_cols *c, void *arg)
{
	const struct sw_give *g = arg;
	const struct sw_row_sweep row = {
		.sweep = sw_col_int(c, 0),
		.name = sw_col_text_opt(c, 1),
		.spec = sw_col_text(c, 2),
		.state = sw_col_text(c, 3),
		.cause = sw_col_text_opt(c, 4),
		.metric = sw_col_text_opt(c, 5),
		.method = sw_col_text_opt(c, 6),
		.seed = sw_col_int(c, 7),
		.maximize = sw_col_bool(c, 8),
		.driven = sw_col_bool(c, 9),
		.run_cap = sw_col_int(c, 10),
		.created_ms = sw_col_int(c, 11),
		.ended_ms = sw_col_int(c, 12),
		.uid = sw_col_int(c, 13),
		.bytes = sw_col_int(c, 14),
		.data_bytes = sw_col_int(c, 15),
		.data_sum = sw_col_int(c, 16),
		.gone = (enum sw_gone)sw_col_int(c, 17),
		.kept = sw_col_int(c, 18),
		.tags = sw_col_text_opt(c, 19),
		.note = sw_col_text_opt(c, 20),
	};

	return c->bad == 0 && g->sweep(&row, g->arg);
}

sw_status sw_read_sweeps(struct sw_db *db, int64_t sweep, sw_row_sweep_cb *cb, void *arg,
			 struct sw_err *err)
{
	/* 0 is before the first number, so "all" is the whole range of the key. */
	static const char sql[] =
		"SELECT sweep, name, spec, state, cause, metric, method, seed, maximize, driven,"
		" run_cap, created_ms, ended_ms, uid, bytes, data_bytes, data_sum, gone, kept,"
		" tags, note FROM sweep"
		" WHERE sweep BETWEEN ?1 AND ?2 ORDER BY sweep";
	const int64_t range[] = {sweep == 0 ? INT64_MIN : sweep, sweep == 0 ? INT64_MAX : sweep};
	struct sw_give g = {.sweep = cb, .arg = arg};

	return sw_db_rows(db, sql, range, 2, "sweep", give_sweep, &g, err);
}

static bool give_gone(struct sw_cols *c, void *arg)
{
	*(enum sw_gone *)arg = (enum sw_gone)sw_col_int(c, 0);
	return false;
}

sw_status sw_read_gone(struct sw_db *db, int64_t sweep, enum sw_gone *out, struct sw_err *err)
{
	static const char sql[] = "SELECT gone FROM sweep WHERE sweep = ?1";

	*out = SW_GONE_NOT;
	return sw_db_rows(db, sql, SW_INTS(sweep), "sweep", give_gone, out, err);
}

static bool give_count(struct sw_cols *c, void *arg)
{
	const struct sw_give *g = arg;
	const char *state = sw_col_text(c, 0);
	const int64_t n = sw_col_int(c, 1);

	return c->bad == 0 && g->count(state, n, g->arg);
}

sw_status sw_read_counts(struct sw_db *db, int64_t sweep, sw_row_count_cb *cb, void *arg,
			 struct sw_err *err)
{
	static const char sql[] = "SELECT state, count(*) FROM trial WHERE sweep = ?1"
				  " GROUP BY state ORDER BY state";
	struct sw_give g = {.count = cb, .arg = arg};

	return sw_db_rows(db, sql, SW_INTS(sweep), "trial", give_count, &g, err);
}

static bool give_slot(struct sw_cols *c, void *arg)
{
	const struct sw_give *g = arg;
	const struct sw_row_slot row = {
		.slot = sw_col_int(c, 0),
		.device = sw_col_text_opt(c, 1),
		.worker = sw_col_text_opt(c, 2),
		.handle = sw_col_text_opt(c, 3),
	};

	return c->bad == 0 && g->slot(&row, g->arg);
}

sw_status sw_read_slots(struct sw_db *db, sw_row_slot_cb *cb, void *arg, struct sw_err *err)
{
	static const char sql[] = "SELECT slot, device, worker, handle FROM slot ORDER BY slot";
	struct sw_give g = {.slot = cb, .arg = arg};

	return sw_db_rows(db, sql, NULL, 0, "slot", give_slot, &g, err);
}
