/* store/read_best.c — the best trials, under each meaning of a trial's value. */
#include "store/columns.h"
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

/* First the numbers of the best (the sorter holds two numbers a trial), then their rows. The value
 * is over one trial t. A mean that overflows has no place: BETWEEN is false for it, as for NULL. */
#define BEST(value, order, columns)                                                                \
	"WITH best AS MATERIALIZED (SELECT trial, v FROM (SELECT t.trial, " value                  \
	" AS v FROM trial t WHERE t.sweep = ?1 AND " SW_STANDS ")"                                 \
	" WHERE v BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308"                      \
	" ORDER BY v " order ", trial LIMIT ?2) SELECT " columns " FROM best b CROSS JOIN trial t" \
	" ON t.sweep = ?1 AND t.trial = b.trial ORDER BY b.v " order ", b.trial"
#define BOTH_WAYS(value, columns)                                                                  \
	{                                                                                          \
		BEST(value, "ASC", columns), BEST(value, "DESC", columns)                          \
	}
#define OF_NO_REPORT SW_TRIAL_COLS("t.step", "b.v", "'{}'")

/* By whether it maximizes. A row is of one report: the best, or the last that carried the metric. A
 * mean is of none. */
static const char *const best_sql[][2] = {
	[SCOPE_LAST] = BOTH_WAYS(
		"t.value", SW_TRIAL_COLS(SW_TRIAL_OF("r.step"), "b.v", SW_TRIAL_OF("r.metrics"))),
	[SCOPE_ALL] = BOTH_WAYS("t.best_value",
				SW_TRIAL_COLS("t.best_step", "b.v", SW_TRIAL_BEST_METRICS)),
	[SCOPE_AVG] =
		BOTH_WAYS("(SELECT avg(r.value)" SW_CURVE " AND r.diverged = 0)", OF_NO_REPORT),
	[SCOPE_LAST_N] = BOTH_WAYS("(SELECT avg(v) FROM (SELECT r.value AS v" SW_CURVE
				   " AND r.value IS NOT NULL AND r.diverged = 0"
				   " ORDER BY r.attempt DESC, r.seq DESC LIMIT ?3))",
				   OF_NO_REPORT),
};

sw_status sw_read_best(struct sw_db *db, int64_t sweep, bool maximize, const char *scope, int64_t n,
		       sw_row_trial_cb *cb, void *arg, struct sw_err *err)
{
	struct sw_give g = {.trial = cb, .arg = arg};
	int64_t ints[] = {sweep, n, 0};
	enum scope s = SCOPE_LAST;
	const sw_status rc = parse_scope(scope, &s, &ints[2], err);

	return rc != SW_OK ? rc
			   : sw_db_rows(db, best_sql[s][maximize], ints, s == SCOPE_LAST_N ? 3 : 2,
					"trial", sw_give_trial, &g, err);
}
