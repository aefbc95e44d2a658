/* store/col.c — a row that is being read, column by column. By its value, which is looked up once:
 * a connection is only one thread's at a time. */
#include "store/internal.h"
#include <math.h>

static void mark_bad(struct sw_cols *c, int i)
{
	/* The first bad column is the one to name: those behind it may have moved with it. */
	if (c->bad == 0)
		c->bad = i + 1;
}

int64_t sw_col_int(struct sw_cols *c, int i)
{
	sqlite3_value *v = sqlite3_column_value(c->q, i);

	/* STRICT tables hold no other type, so this is damage, or a file that somebody has
	 * edited. */
	if (sqlite3_value_type(v) != SQLITE_INTEGER) {
		mark_bad(c, i);
		return 0;
	}
	return sqlite3_value_int64(v);
}

int64_t sw_col_int_opt(struct sw_cols *c, int i)
{
	return sqlite3_column_type(c->q, i) == SQLITE_NULL ? 0 : sw_col_int(c, i);
}

double sw_col_real(struct sw_cols *c, int i)
{
	sqlite3_value *column = sqlite3_column_value(c->q, i);
	const double v = sqlite3_value_double(column);

	/* No infinity was ever stored (sw_tx_real()), and NULL, not NaN, is the store's word for no
	 * number. */
	if (sqlite3_value_type(column) != SQLITE_FLOAT || !isfinite(v)) {
		mark_bad(c, i);
		return 0;
	}
	return v;
}

double sw_col_real_opt(struct sw_cols *c, int i, bool *has)
{
	*has = sqlite3_column_type(c->q, i) != SQLITE_NULL;
	return *has ? sw_col_real(c, i) : 0;
}

const char *sw_col_text_opt(struct sw_cols *c, int i)
{
	sqlite3_value *v = sqlite3_column_value(c->q, i);
	const int type = sqlite3_value_type(v);
	const char *s = NULL;

	if (type == SQLITE_NULL)
		return NULL;
	if (type == SQLITE_TEXT)
		s = (const char *)sqlite3_value_text(v);
	if (s == NULL) /* another type, or no memory */
		mark_bad(c, i);
	return s;
}

const char *sw_col_text(struct sw_cols *c, int i)
{
	const char *s = sw_col_text_opt(c, i);

	if (s == NULL) {
		mark_bad(c, i);
		return "";
	}
	return s;
}
