/* store/read_sweep.c — sweeps, counts of their trials by state, and slots. */
#include "store/columns.h"

static bool give_sweep(struct sw_cols *c, void *arg)
{
	const struct sw_give *g = arg;
	struct sw_row_sweep row;
	int i = 0;

	SW_GET_ROW(SW_TABLE_SWEEP)
	return c->bad == 0 && g->sweep(&row, g->arg);
}

sw_status sw_read_sweeps(struct sw_db *db, int64_t sweep, sw_row_sweep_cb *cb, void *arg,
			 struct sw_err *err)
{
	/* 0 is before the first number, so "all" is the whole range of the key. */
	static const char sql[] =
		"SELECT " SW_NAMES(SW_TABLE_SWEEP) " FROM sweep"
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
	struct sw_row_slot row;
	int i = 0;

	SW_GET_ROW(SW_TABLE_SLOT)
	return c->bad == 0 && g->slot(&row, g->arg);
}

sw_status sw_read_slots(struct sw_db *db, sw_row_slot_cb *cb, void *arg, struct sw_err *err)
{
	static const char sql[] = "SELECT " SW_NAMES(SW_TABLE_SLOT) " FROM slot ORDER BY slot";
	struct sw_give g = {.slot = cb, .arg = arg};

	return sw_db_rows(db, sql, NULL, 0, "slot", give_slot, &g, err);
}
