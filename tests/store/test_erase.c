/* tests/store/test_erase.c — a deleted sweep's rows go, in slices, and nothing else; then the file
 * and its log shrink. */
#include "store/internal.h"
#include "tests/run.h"
#include "tests/store/fixture.h"
#include <sys/stat.h>

static const char *const tables[] = {"trial", "attempt", "report", "decision",
				     "log",   "event",   "prior",  "suggestion"};
#define TABLES_N (sizeof tables / sizeof tables[0])
#define KEPT     7

/* A sweep with so many reports in each of so many trials, and rows in each table. */
static void put_all(int64_t sweep, int64_t trials, int64_t reports)
{
	const char *metrics =
		"{\"loss\":0.125,\"words\":\"so that a row takes the room of a usual one\"}";
	const struct sw_row_sampler sampler = {.sweep = sweep, .trial = 1, .state = "00"};
	const struct sw_row_prior prior = {.sweep = sweep, .n = 1, .params = "{}", .y = "[1]"};
	struct sw_tx *tx = tx_new();
	int64_t ev = 1;

	put_sweep(tx, sweep);
	sw_tx_sampler(tx, &sampler);
	sw_tx_prior(tx, &prior);
	for (int64_t t = 1; t <= trials; t++) {
		const struct sw_row_attempt attempt = {
			.sweep = sweep, .trial = t, .attempt = 1, .state = "RUNNING", .share = 1};
		const struct sw_row_event event = {
			.sweep = sweep, .ev = ev++, .kind = "ask", .trial = t};
		const struct sw_row_log log = {.sweep = sweep, .trial = t, .line = "hello"};
		const struct sw_row_suggestion why = {.sweep = sweep, .trial = t, .why = "{}"};

		put_trial(tx, sweep, t);
		sw_tx_attempt_start(tx, &attempt);
		sw_tx_event(tx, &event);
		sw_tx_log(tx, &log);
		sw_tx_suggestion(tx, &why);
		for (int64_t seq = 1; seq <= reports; seq++) {
			const struct sw_row_report row = {.sweep = sweep,
							  .trial = t,
							  .attempt = 1,
							  .seq = seq,
							  .ev = ev++,
							  .step = seq,
							  .metrics = metrics,
							  .verdict = "continue"};
			const struct sw_row_decision judged = {.sweep = sweep,
							       .trial = t,
							       .attempt = 1,
							       .seq = seq,
							       .verdict = "stop"};

			sw_tx_report(tx, &row);
			sw_tx_decision(tx, &judged);
		}
	}
	commit_now(tx);
}

/* Rows of a sweep in a table, by a reader of the test's own; trial 0: of any. */
static int64_t count_rows(const char *table, int64_t sweep, int64_t trial)
{
	struct sw_err err = SW_ERR_INIT;
	sqlite3 *conn = NULL;
	char sql[200];
	int64_t n = -1;

	ck_assert_int_eq(sw_file_connect(&conn, f.path, f.path, SQLITE_OPEN_READONLY, &err), SW_OK);
	(void)snprintf(sql, sizeof sql, "SELECT count(*) FROM %s WHERE sweep = %d%s%.0d", table,
		       (int)sweep, trial != 0 ? " AND trial = " : "", (int)trial);
	ck_assert_msg(sw_sql_int(conn, sql, &n, &err) == SW_OK, "%s", err.msg);
	(void)sqlite3_close(conn);
	return n;
}

struct erased {
	unsigned n;
	int64_t bytes;
};

static void on_erased(void *arg, int64_t bytes)
{
	struct erased *e = arg;

	e->n++;
	e->bytes = bytes;
}

static int64_t erase_now(int64_t sweep, int64_t kept)
{
	struct erased e = {0};

	ck_assert_int_eq(sw_store_erase(f.store, sweep, kept, on_erased, &e), SW_OK);
	fixture_wait(&e.n, 1);
	return e.bytes;
}

TEST(erased_sweep_has_no_rows_and_its_neighbours_have_all_of_theirs)
{
	fixture_open();
	for (int64_t sweep = 1; sweep <= 3; sweep++)
		put_all(sweep, 12, 100);
	ck_assert_int_gt(erase_now(2, 0), 100 * 1000);
	for (size_t i = 0; i < TABLES_N; i++) {
		ck_assert_int_eq(count_rows(tables[i], 2, 0), 0);
		ck_assert_int_gt(count_rows(tables[i], 1, 0), 0);
		ck_assert_int_eq(count_rows(tables[i], 1, 0), count_rows(tables[i], 3, 0));
	}
	ck_assert_int_eq(count_rows("report", 3, 0), 1200);
	ck_assert_int_eq(count_rows("sampler", 2, 0), 0);
	ck_assert_int_eq(count_rows("sweep", 2, 0), 1);
	ck_assert_int_eq(erase_now(2, 0), 0); /* again: there is nothing to do */
}

TEST(kept_trial_stays_whole)
{
	fixture_open();
	put_all(1, 12, 100);
	(void)erase_now(1, KEPT);
	for (size_t i = 0; i < TABLES_N; i++) {
		const bool of_sweep = strcmp(tables[i], "event") == 0 ||
				      strcmp(tables[i], "prior") == 0;
		const int64_t all = count_rows(tables[i], 1, 0);

		ck_assert_int_eq(all, of_sweep ? 0 : count_rows(tables[i], 1, KEPT));
		ck_assert_int_eq(all > 0, !of_sweep);
	}
	ck_assert_int_eq(count_rows("report", 1, KEPT), 100);
}

TEST(erasure_that_a_close_cut_short_goes_on_when_it_is_begun_again)
{
	struct erased never = {0};

	fixture_open();
	put_all(1, 40, 200);
	ck_assert_int_eq(sw_store_erase(f.store, 1, 0, on_erased, &never), SW_OK);
	fixture_close();
	ck_assert_uint_eq(never.n, 0);
	fixture_open();
	(void)erase_now(1, 0);
	ck_assert_int_eq(count_rows("report", 1, 0), 0);
	ck_assert_int_eq(count_rows("trial", 1, 0), 0);
}

/* Writes go between the slices of an erasure, however many there are. */
TEST(erasure_ends_though_writes_never_do)
{
	struct erased e = {0};
	unsigned done = 0, sent = 0, seen = 0;

	fixture_open();
	put_all(1, 1, 1);
	put_all(2, 10, 40);
	ck_assert_int_eq(sw_store_erase(f.store, 2, 0, on_erased, &e), SW_OK);
	for (; e.n == 0; sw_store_poll(f.store)) {
		while (sent < done + 4) {
			struct sw_tx *tx = tx_new();

			put_report(tx, 1, 2 + (int64_t)sent++, 1);
			ck_assert_int_eq(sw_store_commit(f.store, tx, count_done, &done), SW_OK);
		}
		ck_assert(!fixture_sleep(&seen));
	}
	fixture_wait(&done, sent);
	ck_assert_int_eq(count_rows("report", 2, 0), 0);
	ck_assert_int_eq(count_rows("report", 1, 0), 1 + (int64_t)sent);
}

static int64_t size_of(const char *path, const char *suffix)
{
	char name[128];
	struct stat st;

	(void)snprintf(name, sizeof name, "%s%s", path, suffix);
	ck_assert_int_eq(stat(name, &st), 0);
	return st.st_size;
}

static void sleep_a_little(void)
{
	(void)usleep(5000); /* between two looks; the test's own limit ends it */
}

TEST(file_and_log_shrink_when_nobody_writes)
{
	fixture_open();
	put_all(1, 2, 10);
	put_all(2, 40, 400);
	while (size_of(f.path, "-wal") > 0) /* into the file, as soon as nobody writes */
		sleep_a_little();
	const int64_t before = size_of(f.path, "");
	const int64_t freed = erase_now(2, 0);

	ck_assert_int_gt(freed, before / 2);
	while (size_of(f.path, "-wal") > 0 || size_of(f.path, "") > before - freed + (2 << 20))
		sleep_a_little();
	ck_assert_int_eq(count_rows("report", 1, 0), 20);
	fixture_close();
	fixture_open(); /* which checks every page */
}

/* A daemon that is in use is never idle for long. */
TEST(file_shrinks_between_changes)
{
	unsigned done = 0, sent = 0;

	fixture_open();
	put_all(1, 1, 1);
	put_all(2, 40, 400);
	while (size_of(f.path, "-wal") > 0)
		sleep_a_little();
	const int64_t before = size_of(f.path, "");
	const int64_t freed = erase_now(2, 0);

	while (size_of(f.path, "") > before - freed + (2 << 20)) {
		struct sw_tx *tx = tx_new();

		put_report(tx, 1, 2 + (int64_t)sent++, 1);
		ck_assert_int_eq(sw_store_commit(f.store, tx, count_done, &done), SW_OK);
		fixture_wait(&done, sent);
		for (int i = 0; i < 5; i++)
			sleep_a_little();
	}
}

/* Each test of the store ends with a look at how many connections wrote (fixture_close()). This is
 * what it looks for. */
TEST(second_connection_that_writes_or_checkpoints_is_seen)
{
	static const char *const plants[] = {"UPDATE sweep SET name = 'x' WHERE sweep = 1",
					     "PRAGMA wal_checkpoint(PASSIVE)"};

	for (size_t i = 0; i < 2; i++) {
		struct sw_err err = SW_ERR_INIT;
		sqlite3 *other;

		fixture_begin();
		ck_assert_int_eq(count_rows("trial", 1, 0), 1);
		ck_assert_int_eq(atomic_load(&vfs_writers_most), 1); /* the test's reader is none */
		ck_assert_int_eq(sqlite3_open(f.path, &other), SQLITE_OK);
		ck_assert_int_eq(sw_sql_exec(other, plants[i], "plant", &err), SW_OK);
		ck_assert_int_eq(atomic_load(&vfs_writers_most), 2);
		ck_assert_int_eq(sqlite3_close(other), SQLITE_OK);
		atomic_store(&vfs_writers_most, 0);
		fixture_renew();
	}
}

SUITE(tcase)
{
	tcase_add_checked_fixture(tcase, fixture_init, fixture_fini);
	tcase_set_timeout(tcase, 240);
}
