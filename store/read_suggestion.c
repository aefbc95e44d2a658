/* store/read_suggestion.c — how trials came about, and what the sampler needs to go on. */
#include "store/columns.h"

static bool give_suggestion(struct sw_cols *c, void *arg)
{
	struct sw_give *g = arg;
	const struct sw_row_suggestion row = {
		.sweep = sw_col_int(c, 0),
		.trial = sw_col_int(c, 1),
		.params = sw_col_text(c, 2),
		.known = sqlite3_column_type(c->q, 3) == SQLITE_NULL ? -1 : sw_col_int(c, 3),
		.why = sw_col_text_opt(c, 4),
	};

	g->n++;
	return c->bad == 0 && g->suggestion(&row, g->arg);
}

sw_status sw_read_suggestion(struct sw_db *db, int64_t sweep, int64_t trial,
			     sw_row_suggestion_cb *cb, void *arg, struct sw_err *err)
{
	static const char sql[] = "SELECT t.sweep, t.trial, t.params, s.known, s.why FROM trial t"
				  " LEFT JOIN suggestion s USING (sweep, trial)"
				  " WHERE t.sweep = ?1 AND t.trial = ?2";
	struct sw_give g = {.suggestion = cb, .arg = arg};
	sw_status rc =
		sw_db_rows(db, sql, SW_INTS(sweep, trial), "suggestion", give_suggestion, &g, err);

	if (rc == SW_OK && g.n == 0)
		rc = sw_err_set(err, SW_NOT_FOUND, "there is no trial %lld", (long long)trial);
	return rc;
}

static bool give_sampler(struct sw_cols *c, void *arg)
{
	const struct sw_give *g = arg;
	struct sw_row_sampler row;
	int i = 0;

	SW_GET_ROW(SW_TABLE_SAMPLER)
	return c->bad == 0 && g->sampler(&row, g->arg);
}

sw_status sw_read_sampler(struct sw_db *db, int64_t sweep, sw_row_sampler_cb *cb, void *arg,
			  struct sw_err *err)
{
	static const char sql[] =
		"SELECT " SW_NAMES(SW_TABLE_SAMPLER) " FROM sampler WHERE sweep = ?1";
	struct sw_give g = {.sampler = cb, .arg = arg};

	return sw_db_rows(db, sql, SW_INTS(sweep), "sampler", give_sampler, &g, err);
}

static bool give_prior(struct sw_cols *c, void *arg)
{
	const struct sw_give *g = arg;
	struct sw_row_prior row;
	int i = 0;

	SW_GET_ROW(SW_TABLE_PRIOR)
	return c->bad == 0 && g->prior(&row, g->arg);
}

sw_status sw_read_priors(struct sw_db *db, int64_t sweep, sw_row_prior_cb *cb, void *arg,
			 struct sw_err *err)
{
	static const char sql[] = "SELECT " SW_NAMES(SW_TABLE_PRIOR) " FROM prior"
								     " WHERE sweep = ?1 ORDER BY n";
	struct sw_give g = {.prior = cb, .arg = arg};

	return sw_db_rows(db, sql, SW_INTS(sweep), "prior", give_prior, &g, err);
}
