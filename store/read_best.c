/* store/read_best.c — the best trials, under each meaning of a trial's value. */
#include "store/internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum scope { SCOPE_LAST, SCOPE_ALL, SCOPE_AVG, SCOPE_LAST_N };

#define LAST_N_MAX 1000

/* "last-N-avg", N from 1 to 1000 without sign, space or leading zero. */
static bool parse_last_n(const char *s, int64_t *n)
{
	int64_t v = 0;

	if (strncmp(s, "last-", 5) != 0 || s[5] == '0')
		return false;
	const char *p = s + 5;
	for (; *p >= '0' && *p <= '9' && v <= LAST_N_MAX; p++)
		v = 10 * v + (*p - '0');
	*n = v;
	return v >= 1 && v <= LAST_N_MAX && strcmp(p, "-avg") == 0;
}

static sw_status parse_scope(const char *s, enum scope *scope, int64_t *n, struct sw_err *err)
{
	*n = 0;
	if (strcmp(s, "last") == 0)
		*scope = SCOPE_LAST;
	else if (strcmp(s, "all") == 0)
		*scope = SCOPE_ALL;
	else if (strcmp(s, "avg") == 0)
		*scope = SCOPE_AVG;
	else if (parse_last_n(s, n))
		*scope = SCOPE_LAST_N;
	else
		return sw_err_at(err, SW_INVALID, "/scope",
				 "scope \"%s\" is not one of \"last\", \"all\", \"avg\", "
				 "\"last-N-avg\" (N from 1 to %d)",
				 s, LAST_N_MAX);
	return SW_OK;
}

/* Over one trial t. */
static const char *value_sql(enum scope scope)
{
	switch (scope) {
	case SCOPE_LAST:
		return "t.value";
	case SCOPE_ALL:
		return "t.best_value";
	case SCOPE_AVG:
		return "(SELECT avg(r.value)" SW_CURVE ")";
	case SCOPE_LAST_N:
		return "(SELECT avg(v) FROM (SELECT r.value AS v" SW_CURVE
		       " AND r.value IS NOT NULL ORDER BY r.attempt DESC, r.seq DESC LIMIT ?3))";
	}
	return "NULL";
}

/* A row is of one report: the best, or the last that carried the metric. A mean is of none. */
static const char *columns_sql(enum scope scope)
{
	switch (scope) {
	case SCOPE_LAST:
		return SW_TRIAL_COLS(SW_TRIAL_OF("r.step"), "b.v", SW_TRIAL_OF("r.metrics"));
	case SCOPE_ALL:
		return SW_TRIAL_COLS("t.best_step", "b.v", SW_TRIAL_BEST_METRICS);
	case SCOPE_AVG:
	case SCOPE_LAST_N:
		break;
	}
	return SW_TRIAL_COLS("t.step", "b.v", "'{}'");
}

/* First the numbers of the best (the sorter holds two numbers a trial), then their rows. A mean
 * that overflows has no place: BETWEEN is false for it, as for NULL. */
static const char best_sql[] =
	"WITH best AS MATERIALIZED (SELECT trial, v FROM (SELECT t.trial, %s AS v FROM trial t"
	" WHERE t.sweep = ?1 AND t.state NOT IN ('FAILED', 'INFEASIBLE'))"
	" WHERE v BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308"
	" ORDER BY v %s, trial LIMIT ?2) SELECT %s FROM best b CROSS JOIN trial t"
	" ON t.sweep = ?1 AND t.trial = b.trial ORDER BY b.v %s, b.trial";

sw_status sw_read_best(struct sw_db *db, int64_t sweep, bool maximize, const char *scope, int64_t n,
		       sw_row_trial_cb *cb, void *arg, struct sw_err *err)
{
	const char *order = maximize ? "DESC" : "ASC";
	struct sw_give g = {.trial = cb, .arg = arg};
	int64_t ints[] = {sweep, n, 0};
	char sql[2000];
	enum scope s = SCOPE_LAST;
	const sw_status rc = parse_scope(scope, &s, &ints[2], err);

	if (rc != SW_OK)
		return rc;
	const int len =
		snprintf(sql, sizeof sql, best_sql, value_sql(s), order, columns_sql(s), order);
	if (len < 0 || (size_t)len >= sizeof sql)
		return sw_err_set(err, SW_INTERNAL, "the query for the best trials is too long");
	const enum sw_query id = (enum sw_query)(SW_Q_BEST + 2 * (int)s + maximize);
	return sw_db_rows(db, id, sql, ints, s == SCOPE_LAST_N ? 3 : 2, "trial", sw_give_trial, &g,
			  err);
}
