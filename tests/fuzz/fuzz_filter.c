/* Any bytes as a filter, and behind a line break as an order: one line that says what is wrong, or
 * SQL with as many values as it names. */
#include "store/filter.h"
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A table with the columns that a filter may name. */
static sqlite3 *open_table(void)
{
	char sql[512] = "CREATE TABLE t (params, best_value";
	sqlite3 *db;

	for (size_t i = 0; sw_filter_columns[i] != NULL; i++)
		(void)snprintf(sql + strlen(sql), sizeof sql - strlen(sql), ", \"%s\"",
			       sw_filter_columns[i]);
	(void)strcat(sql, ")");
	if (sqlite3_open(":memory:", &db) != SQLITE_OK ||
	    sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		abort();
	return db;
}

static void check_sql(const struct sw_filter *f)
{
	static sqlite3 *db;
	sqlite3_stmt *stmt = NULL;
	struct sw_buf sql;

	if (db == NULL)
		db = open_table();
	sw_buf_init(&sql, (size_t)1 << 20);
	(void)sw_buf_addf(&sql, "SELECT 1 FROM t WHERE %s ORDER BY %s",
			  f->where.len != 0 ? f->where.data : "1",
			  f->order.len != 0 ? f->order.data : "1");
	if (sqlite3_prepare_v2(db, sql.data, (int)sql.len, &stmt, NULL) != SQLITE_OK ||
	    (size_t)sqlite3_bind_parameter_count(stmt) > f->n_values)
		abort();
	(void)sqlite3_finalize(stmt);
	sw_buf_fini(&sql);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sw_filter_param params[] = {
		{"lr", "$.\"lr\""}, {"opt.wd", "$.\"opt\".\"wd\""}, {"a b", "$.\"a b\""}};
	static const struct sw_filter_names names = {
		.metric = "loss", .params = params, .n_params = 3};
	struct sw_err err = SW_ERR_INIT;
	struct sw_filter f;
	char unknown[128], *text = malloc(size + 1), *sort;

	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	sort = strchr(text, '\n');
	if (sort != NULL)
		*sort++ = '\0';
	const sw_status rc = sw_filter_parse(&f, text, sort, &names, unknown, &err);
	if (rc == SW_OK)
		check_sql(&f);
	else if (err.code != rc || err.msg[0] == '\0' || strchr(err.msg, '\n') != NULL)
		abort();
	sw_filter_fini(&f);
	free(text);
	return 0;
}
