/* tests/store/test_migrate.c — files of every earlier version come up to this one, their rows as
 * they were; a program that knows less refuses the file. */
#include "store/internal.h"
#include "tests/run.h"
#include "tests/store/fixture.h"

extern const char sw_schema_sql[], sw_schema_2_sql[], sw_schema_3_sql[], sw_schema_4_sql[],
	sw_schema_5_sql[], sw_schema_6_sql[], sw_schema_7_sql[], sw_schema_8_sql[],
	sw_schema_9_sql[], sw_schema_10_sql[], sw_schema_11_sql[], sw_schema_12_sql[],
	sw_schema_13_sql[], sw_schema_14_sql[], sw_schema_15_sql[];

static const char *const steps[] = {
	sw_schema_sql,    sw_schema_2_sql,  sw_schema_3_sql,  sw_schema_4_sql,  sw_schema_5_sql,
	sw_schema_6_sql,  sw_schema_7_sql,  sw_schema_8_sql,  sw_schema_9_sql,  sw_schema_10_sql,
	sw_schema_11_sql, sw_schema_12_sql, sw_schema_13_sql, sw_schema_14_sql, sw_schema_15_sql};

/* A sweep, a trial that was lost once, its reports and an event: what version 1 had. */
static const char rows_1[] =
	"INSERT INTO sweep VALUES (1, 'old', '{\"metrics\":[]}', 'RUNNING', NULL, 'loss', 'random',"
	" 7, 0, 0, 40, 5, 0, 1000);"
	"INSERT INTO sweep VALUES (2, 'one metric', 'no JSON', 'RUNNING', NULL, 'loss', 'random',"
	" 7, 0, 0, 40, 5, 0, 1000);"
	"INSERT INTO trial VALUES (2, 1, 'RUNNING', NULL, 1, 1, 0.5, 5, 6, 0, 1.5, '{}');"
	"INSERT INTO report VALUES (2, 1, 1, 1, 2, 1, 10, 0.5, 0, 'continue', '{\"loss\":0.5}'),"
	" (2, 1, 1, 2, 3, 2, 11, NULL, 1, 'stop', '{\"loss\":\"nan\"}');"
	"INSERT INTO trial VALUES (1, 1, 'RUNNING', NULL, 2, 2, 0.5, 5, 6, 0, 1.5, '{\"lr\":1}');"
	"INSERT INTO attempt VALUES (1, 1, 1, 1, 0, 6, 7, 'LOST', 'signal:9'),"
	" (1, 1, 2, 5, 0, 8, 0, 'RUNNING', NULL);"
	"INSERT INTO report VALUES (1, 1, 1, 1, 2, 1, 10, 0.25, 0, 'continue', '{\"loss\":0.25}'),"
	" (1, 1, 1, 2, 3, 9, 11, 0.125, 0, 'continue', NULL),"
	" (1, 1, 2, 1, 6, 2, 12, 0.5, 0, 'stop', '{\"loss\":0.5}');"
	"INSERT INTO decision VALUES (1, 1, 2, 1, 2, 'stop', 0, 4, 3, 1, 0.4, 0.5);"
	"INSERT INTO event VALUES (1, 1, 'ask', 1, 1, NULL, NULL, 0, 6, 1000);"
	"INSERT INTO log VALUES (1, 1, 1, 1, 6, 'hello');"
	"INSERT INTO slot VALUES (0, 'cpu:0', 'w', 'pid:1');";
static const char rows_2[] = "INSERT INTO suggestion VALUES (1, 1, 3, '{}');"
			     "INSERT INTO sampler VALUES (1, 1, '00ff');"
			     "INSERT INTO prior VALUES (1, 1, '{}', '[1]');";

static const char rows_6[] = "INSERT INTO prepared VALUES (1, 2, 9, 0, '{}', '{}', '');";

static void make_version(const struct fixture *f, int64_t version)
{
	struct sw_err err = SW_ERR_INIT;
	sqlite3 *conn;

	ck_assert_int_eq(sqlite3_open(f->path, &conn), SQLITE_OK);
	const int64_t filled = version < 2 ? version : 2; /* the versions whose rows stand above */
	ck_assert_msg(sw_schema_migrate(conn, f->path, steps, filled, &err) == SW_OK, "%s",
		      err.msg);
	ck_assert_msg(sw_sql_exec(conn, rows_1, "fill", &err) == SW_OK, "%s", err.msg);
	if (version >= 2)
		ck_assert_msg(sw_sql_exec(conn, rows_2, "fill", &err) == SW_OK, "%s", err.msg);
	ck_assert_msg(sw_schema_migrate(conn, f->path, steps, version, &err) == SW_OK, "%s",
		      err.msg);
	if (version >= 6 && version < 8)
		ck_assert_msg(sw_sql_exec(conn, rows_6, "fill", &err) == SW_OK, "%s", err.msg);
	ck_assert_int_eq(sqlite3_close(conn), SQLITE_OK);
}

struct seen {
	unsigned sweeps, trials, attempts, reports, events, best, suggestions;
	int64_t resume_step, checkpoints;
};

static bool on_trial(const struct sw_row_trial *r, void *arg)
{
	struct seen *s = arg;

	s->trials++;
	s->resume_step = r->resume_step;
	ck_assert_int_eq(r->parent, 0);
	ck_assert_str_eq(r->params, "{\"lr\":1}");
	ck_assert_int_eq(r->attempt, 2);
	ck_assert_double_eq(r->seconds, 1.5);
	return true;
}

/* Of sweep 2: the metric was not finite at last. */
static bool on_diverged(const struct sw_row_trial *r, void *arg)
{
	(void)arg;
	ck_assert(!r->has_value && r->left_why == NULL);
	ck_assert_int_eq(r->step, 2);
	ck_assert_str_eq(r->metrics, "{\"loss\":\"nan\"}");
	return true;
}

static bool on_attempt(const struct sw_row_attempt *r, void *arg)
{
	((struct seen *)arg)->attempts++;
	ck_assert_int_eq(r->resume_step, 0);
	ck_assert_double_eq(r->share, 1); /* there were no parts before */
	ck_assert(!r->has_usage);
	return true;
}

static bool on_history(const struct sw_row_event *e, const struct sw_row_report *r, void *arg)
{
	struct seen *s = arg;

	s->events += e != NULL;
	s->reports += r != NULL;
	s->checkpoints += r != NULL && r->checkpoint > 0;
	return true;
}

static bool on_sweep(const struct sw_row_sweep *r, void *arg)
{
	((struct seen *)arg)->sweeps++;
	ck_assert_int_eq(r->gone, SW_GONE_NOT);
	return true;
}

static bool on_best(const struct sw_row_trial *r, void *arg)
{
	((struct seen *)arg)->best++;
	ck_assert_double_eq(r->value, 0.5); /* what the lost attempt reported does not count */
	ck_assert_int_eq(r->step, 2);
	ck_assert_str_eq(r->metrics, "{\"loss\":0.5}");
	return true;
}

static bool on_point(const struct sw_row_point *r, void *arg)
{
	if (arg != NULL)
		ck_assert_str_eq(r->json, "{\"loss\":0.5}");
	else
		ck_assert_ptr_null(r->json);
	return true;
}

static bool on_suggestion(const struct sw_row_suggestion *r, void *arg)
{
	((struct seen *)arg)->suggestions += r->why != NULL;
	return true;
}

static void look(struct sw_db *db, void *arg)
{
	struct sw_err err = SW_ERR_INIT;
	const bool read = sw_read_sweeps(db, 1, on_sweep, arg, &err) == SW_OK &&
			  sw_read_trials(db, 1, NULL, 0, -1, on_trial, arg, &err) == SW_OK &&
			  sw_read_trials(db, 2, NULL, 0, -1, on_diverged, arg, &err) == SW_OK &&
			  sw_read_attempts(db, 1, 1, on_attempt, arg, &err) == SW_OK &&
			  sw_read_history(db, 1, true, on_history, arg, &err) == SW_OK &&
			  sw_read_points(db, 1, SW_POINTS_METRICS, on_point, arg, &err) == SW_OK &&
			  sw_read_points(db, 2, SW_POINTS_METRICS, on_point, NULL, &err) == SW_OK &&
			  sw_read_best(db, 1, false, "all", 5, on_best, arg, &err) == SW_OK &&
			  sw_read_suggestion(db, 1, 1, on_suggestion, arg, &err) == SW_OK;

	ck_assert_msg(read, "%s", err.msg);
}

TEST_LOOP(file_of_an_earlier_version_comes_up_with_its_rows, 1, SW_STORE_SCHEMA_VERSION)
{
	const struct sw_row_report report = {.sweep = 1,
					     .trial = 1,
					     .attempt = 2,
					     .seq = 2,
					     .ev = 7,
					     .step = 3,
					     .verdict = "continue",
					     .checkpoint = 1};
	struct fixture f;
	struct seen s = {0}, then = {0};

	fixture_init(&f);
	make_version(&f, _i);
	fixture_open(&f);
	sw_store_read_now(f.store, look, &s);
	ck_assert_uint_eq(s.sweeps, 1);
	ck_assert_uint_eq(s.trials, 1);
	ck_assert_uint_eq(s.attempts, 2);
	ck_assert_uint_eq(s.reports, 3);
	ck_assert_uint_eq(s.events, 1);
	ck_assert_uint_eq(s.best, 1);
	ck_assert_uint_eq(s.suggestions, _i >= 2);
	ck_assert_int_eq(s.resume_step, 0);
	ck_assert_int_eq(s.checkpoints, 0);
	struct sw_tx *tx = tx_new();
	sw_tx_report(tx, &report);
	commit_now(&f, tx);
	fixture_close(&f);
	fixture_open(&f); /* a second time there is nothing to do */
	sw_store_read_now(f.store, look, &then);
	ck_assert_uint_eq(then.reports, 4);
	ck_assert_int_eq(then.checkpoints, 1);
	ck_assert_int_eq(then.resume_step, 3);
	fixture_fini(&f);
}

TEST_LOOP(program_that_knows_less_refuses_the_file, 1, SW_STORE_SCHEMA_VERSION)
{
	struct fixture f;
	struct sw_err err = SW_ERR_INIT;
	sqlite3 *conn;
	int64_t version = 0;

	fixture_begin(&f);
	fixture_close(&f);
	ck_assert_int_eq(sqlite3_open(f.path, &conn), SQLITE_OK);
	ck_assert_int_eq(sw_schema_migrate(conn, f.path, steps, _i, &err), SW_CONFLICT);
	char want[64];
	(void)snprintf(want, sizeof want, "(schema %d, this one knows %d)", SW_STORE_SCHEMA_VERSION,
		       _i);
	ck_assert_msg(strstr(err.msg, want) != NULL, "%s", err.msg);
	err = (struct sw_err)SW_ERR_INIT;
	ck_assert_int_eq(sw_sql_int(conn, "PRAGMA user_version", &version, &err), SW_OK);
	ck_assert_int_eq(version, SW_STORE_SCHEMA_VERSION);
	ck_assert_int_eq(sqlite3_close(conn), SQLITE_OK);
	fixture_open(&f); /* and left it as it was */
	fixture_fini(&f);
}

/* A migrated file and a new one have the same tables and indices. */
TEST(migrated_schema_is_that_of_a_new_file)
{
	static const char sum[] =
		"SELECT count(*) FROM main.sqlite_schema m"
		" JOIN fresh.sqlite_schema f ON f.name = m.name AND f.sql = m.sql";
	static const char total[] =
		"SELECT count(*) FROM fresh.sqlite_schema WHERE sql IS NOT NULL";
	struct fixture old, fresh;
	struct sw_err err = SW_ERR_INIT;
	char attach[160];
	int64_t same = 0, all = 0;
	sqlite3 *conn;

	fixture_init(&old);
	make_version(&old, 1);
	fixture_open(&old);
	fixture_close(&old);
	fixture_begin(&fresh);
	fixture_close(&fresh);
	ck_assert_int_eq(sqlite3_open(old.path, &conn), SQLITE_OK);
	(void)snprintf(attach, sizeof attach, "ATTACH '%s' AS fresh", fresh.path);
	ck_assert_int_eq(sw_sql_exec(conn, attach, "attach", &err), SW_OK);
	ck_assert_msg(sw_sql_int(conn, sum, &same, &err) == SW_OK, "%s", err.msg);
	ck_assert_int_eq(sw_sql_int(conn, total, &all, &err), SW_OK);
	ck_assert_int_gt(all, 10);
	ck_assert_int_eq(same, all);
	ck_assert_int_eq(sqlite3_close(conn), SQLITE_OK);
	fixture_fini(&old);
	fixture_fini(&fresh);
}

TEST(replay_reads_one_index_and_no_table)
{
	static const char plan[] =
		"EXPLAIN QUERY PLAN SELECT ev, trial, attempt, seq, step, time_ms, value, diverged,"
		" verdict, NULL, checkpoint FROM report INDEXED BY report_by_ev WHERE sweep = 1"
		" ORDER BY ev";
	struct fixture f;
	sqlite3_stmt *q = NULL;
	sqlite3 *conn;

	fixture_begin(&f);
	fixture_close(&f);
	ck_assert_int_eq(sqlite3_open(f.path, &conn), SQLITE_OK);
	ck_assert_int_eq(sqlite3_prepare_v2(conn, plan, -1, &q, NULL), SQLITE_OK);
	ck_assert_int_eq(sqlite3_step(q), SQLITE_ROW);
	const char *detail = (const char *)sqlite3_column_text(q, 3);
	ck_assert_msg(detail != NULL && strstr(detail, "COVERING INDEX report_by_ev") != NULL, "%s",
		      detail);
	ck_assert_int_eq(sqlite3_step(q), SQLITE_DONE);
	(void)sqlite3_finalize(q);
	ck_assert_int_eq(sqlite3_close(conn), SQLITE_OK);
	fixture_fini(&f);
}

RUN_TESTS(NULL, NULL)
