/* store/read_filter.c — the trials that a filter takes, in the order that was asked for. */
#include "store/columns.h"
#include "store/filter.h"

static bool give_number(struct sw_cols *c, void *arg)
{
	const struct sw_give *g = arg;

	return g->number(sw_col_int(c, 0), g->arg);
}

/* A query whose text is the filter's: prepared for this once. After the filter's values come ints,
 * ?N of each being n_values + 1 and on. */
static sw_status run(struct sw_db *db, const struct sw_filter *f, const struct sw_buf *sql,
		     const int64_t *ints, size_t n_ints, sw_db_give_fn *give, void *arg,
		     struct sw_err *err)
{
	sqlite3_stmt *q = NULL;
	int failed = SQLITE_OK;

	if (db->broken.code != SW_OK)
		return sw_err_set(err, db->broken.code, "%s", db->broken.msg);
	if (sql->failed != SW_OK)
		return sw_err_set(err, sql->failed, "out of memory");
	failed = sqlite3_prepare_v2(db->conn, sql->data, (int)sql->len, &q, NULL);
	for (size_t i = 0; i < f->n_values && failed == SQLITE_OK; i++)
		failed = f->values[i].kind == SW_FILTER_NUMBER
				 ? sqlite3_bind_double(q, (int)i + 1, f->values[i].number)
				 : sqlite3_bind_text(q, (int)i + 1, f->values[i].text, -1,
						     SQLITE_TRANSIENT);
	for (size_t i = 0; i < n_ints && failed == SQLITE_OK; i++)
		failed = sqlite3_bind_int64(q, (int)(f->n_values + i) + 1, ints[i]);
	const sw_status rc = failed == SQLITE_OK ? sw_db_run(db, q, "trial", give, arg, err)
						 : sw_sql_err(err, db->conn, "filter");
	(void)sqlite3_finalize(q);
	return rc;
}

sw_status sw_read_matching(struct sw_db *db, int64_t sweep, const struct sw_filter *f,
			   sw_row_number_cb *cb, void *arg, struct sw_err *err)
{
	struct sw_give g = {.number = cb, .arg = arg};
	struct sw_buf sql;

	sw_buf_init(&sql, (size_t)1 << 18);
	(void)sw_buf_addf(&sql,
			  "SELECT t.trial FROM trial t WHERE t.sweep = ?%zu AND (%s)"
			  " ORDER BY t.trial",
			  f->n_values + 1, f->where.data);
	const sw_status rc = run(db, f, &sql, SW_INTS(sweep), give_number, &g, err);
	sw_buf_fini(&sql);
	return rc;
}

static bool take_total(struct sw_cols *c, void *arg)
{
	*(int64_t *)arg = sw_col_int(c, 0);
	return true;
}

sw_status sw_read_filtered(struct sw_db *db, int64_t sweep, const struct sw_filter *f, int64_t skip,
			   int64_t limit, sw_row_trial_cb *cb, void *arg, int64_t *total,
			   struct sw_err *err)
{
	struct sw_give g = {.trial = cb, .arg = arg};
	const char *order = f->order.len > 0 ? f->order.data : "t.trial";
	const char *way = f->descending ? "DESC" : "ASC";
	struct sw_buf sql;

	sw_buf_init(&sql, (size_t)1 << 18);
	(void)sw_buf_addf(&sql, "SELECT count(*) FROM trial t WHERE t.sweep = ?%zu AND (%s)",
			  f->n_values + 1, f->where.data);
	sw_status rc = run(db, f, &sql, SW_INTS(sweep), take_total, total, err);
	sw_buf_clear(&sql);
	/* First the numbers, so that an order that an index has sorts nothing, and another one
	 * holds no more than the rows up to the window's end. A trial without the value comes
	 * last, whichever way. */
	(void)sw_buf_addf(
		&sql,
		"WITH page AS MATERIALIZED (SELECT t.trial AS trial FROM trial t WHERE t.sweep ="
		" ?%zu AND (%s) ORDER BY %s %s NULLS LAST, t.trial LIMIT ?%zu OFFSET ?%zu)"
		" SELECT " SW_TRIAL_COLS(
			"t.step", "t.value",
			SW_TRIAL_OF("r.metrics")) " FROM page p"
						  " CROSS JOIN trial t ON t.sweep = ?%zu AND "
						  "t.trial = p.trial ORDER BY %s %s NULLS LAST, "
						  "t.trial",
		f->n_values + 1, f->where.data, order, way, f->n_values + 2, f->n_values + 3,
		f->n_values + 1, order, way);
	if (rc == SW_OK)
		rc = run(db, f, &sql, SW_INTS(sweep, limit, skip), sw_give_trial, &g, err);
	sw_buf_fini(&sql);
	return rc;
}
