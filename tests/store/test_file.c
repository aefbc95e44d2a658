/* tests/store/test_file.c — the file itself: private, versioned, and refused when it is not
 * right. */
#include "store/internal.h"
#include "tests/run.h"
#include "tests/store/fixture.h"
#include <fcntl.h>
#include <sys/stat.h>

TEST(file_is_private_whatever_the_umask)
{
	static const char *const suffixes[] = {"", "-wal", "-shm"};
	struct stat st;
	char name[128];

	(void)umask(0);
	fixture_begin();
	for (size_t i = 0; i < 3; i++) {
		snprintf(name, sizeof name, "%s%s", f.path, suffixes[i]);
		ck_assert_msg(stat(name, &st) == 0, "%s", name);
		ck_assert_msg((st.st_mode & 0777) == 0600, "%s: %o", name, st.st_mode & 0777);
	}
	fixture_close();
	ck_assert_int_eq(chmod(f.path, 0644), 0); /* a copy put back by hand */
	fixture_open();
	ck_assert_int_eq(stat(f.path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
}

/* A store with rows, closed: one file. */
static void begin_closed(void)
{
	fixture_begin();
	for (int64_t i = 1; i <= 300; i++) {
		struct sw_tx *tx = tx_new();
		put_report(tx, 1, i, 1);
		commit_now(tx);
	}
	fixture_close();
}

static void raw_sql(const char *sql)
{
	sqlite3 *conn;

	ck_assert_int_eq(sqlite3_open(f.path, &conn), SQLITE_OK);
	ck_assert_msg(sqlite3_exec(conn, sql, NULL, NULL, NULL) == SQLITE_OK, "%s",
		      sqlite3_errmsg(conn));
	ck_assert_int_eq(sqlite3_close(conn), SQLITE_OK);
}

static void write_at(off_t at, const void *bytes, size_t n)
{
	const int fd = open(f.path, O_RDWR | O_CREAT, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert(pwrite(fd, bytes, n, at) == (ssize_t)n);
	(void)close(fd);
}

static void damage_garbage(void)
{
	write_at(0, "this is a text file, not a database, and long enough", 52);
}

static void damage_empty(void)
{
	ck_assert_int_eq(truncate(f.path, 0), 0);
}

static void damage_half(void)
{
	struct stat st;

	ck_assert_int_eq(stat(f.path, &st), 0);
	ck_assert_int_eq(truncate(f.path, st.st_size / 2), 0);
}

static void damage_pages(void)
{
	char junk[4096];

	memset(junk, 0x5a, sizeof junk);
	for (off_t page = 1; page < 6; page++)
		write_at(page * 4096, junk, sizeof junk);
}

static void damage_directory(void)
{
	ck_assert_int_eq(unlink(f.path), 0);
	ck_assert_int_eq(mkdir(f.path, 0700), 0);
}

static void damage_no_folder(void)
{
	ck_assert_int_eq(unlink(f.path), 0);
	ck_assert_int_eq(rmdir(f.dir), 0);
}

/* What all that is damaged is answered with. */
#define REMEDY                                                                                     \
	"put a backup back in the place of sweepd.db, sweepd.db-wal and sweepd.db-shm, or remove " \
	"all three to begin anew"

static const struct {
	const char *name;
	const char *sql; /* NULL: damage() does it */
	void (*damage)(void);
	sw_status rc;
	const char *says;
} damages[] = {
	{"another version",
	 "PRAGMA user_version = 2; UPDATE meta SET value = '9.8.7' WHERE key = 'program'", NULL,
	 SW_CONFLICT,
	 " was written by sweepd 9.8.7 (schema 2), and this is sweepd " SW_VERSION
	 " (schema 1): use that one, or another state folder"},
	{"another version without meta", "PRAGMA user_version = 16; DROP TABLE meta", NULL,
	 SW_CONFLICT, " was written by sweepd of another version (schema 16), and this is "},
	{"versions differ", "UPDATE meta SET value = 12 WHERE key = 'schema'", NULL, SW_IO,
	 "it says schema 1 and schema 12"},
	{"version row gone", "DELETE FROM meta", NULL, SW_IO, "no number there"},
	{"version row of text", "UPDATE meta SET value = 'one' WHERE key = 'schema'", NULL, SW_IO,
	 "no number there"},
	{"version negative", "PRAGMA user_version = -1", NULL, SW_IO, "not a sweepd database"},
	{"another program's", "PRAGMA application_id = 1", NULL, SW_IO, "not a sweepd database"},
	{"table gone", "DROP TABLE report", NULL, SW_IO, "no such table: report"},
	{"text file", NULL, damage_garbage, SW_IO, "not a sweepd database"},
	{"cut to nothing", NULL, damage_empty, SW_IO, "is empty: it was cut short; " REMEDY},
	{"cut in half", NULL, damage_half, SW_DAMAGED, "damaged (sqlite 11); " REMEDY},
	{"pages overwritten", NULL, damage_pages, SW_DAMAGED, REMEDY},
	{"a directory", NULL, damage_directory, SW_IO, "not a file"},
	{"no folder", NULL, damage_no_folder, SW_IO, "No such file"},
};

TEST_ROWS(file_that_is_not_right_is_refused_with_a_line, damages)
{
	struct sw_err err = SW_ERR_INIT;

	begin_closed();
	if (damages[_i].sql)
		raw_sql(damages[_i].sql);
	else
		damages[_i].damage();
	const sw_status rc = fixture_try_open(&err);
	ck_assert_msg(rc == damages[_i].rc, "%s: %d %s", damages[_i].name, rc, err.msg);
	ck_assert_msg(strstr(err.msg, damages[_i].says) != NULL, "%s: %s", damages[_i].name,
		      err.msg);
	ck_assert_ptr_null(f.store);
	(void)rmdir(f.path);
}

static bool on_report(const struct sw_row_report *r, void *arg)
{
	(void)arg;
	return strlen(r->verdict) < 1U << 20; /* it can be read to its end */
}

static bool on_trial(const struct sw_row_trial *r, void *arg)
{
	(void)arg;
	return strlen(r->params) < 1U << 20;
}

static bool on_history(const struct sw_row_event *e, const struct sw_row_report *r, void *arg)
{
	(void)arg;
	return (e == NULL) != (r == NULL);
}

/* Any answer is right as long as it is an answer. */
static void read_all(struct sw_db *db, void *arg)
{
	struct sw_err err[4] = {SW_ERR_INIT, SW_ERR_INIT, SW_ERR_INIT, SW_ERR_INIT};
	const sw_status rc[4] = {
		sw_read_reports(db, 1, 1, 0, 0, -1, on_report, NULL, &err[0]),
		sw_read_trials(db, 1, NULL, 0, -1, on_trial, NULL, &err[1]),
		sw_read_history(db, 1, false, on_history, NULL, &err[2]),
		sw_read_best(db, 1, false, "avg", 3, on_trial, NULL, &err[3]),
	};

	for (size_t i = 0; i < 4; i++)
		ck_assert_int_eq(rc[i] != SW_OK, err[i].msg[0] != '\0');
	(*(unsigned *)arg)++;
}

TEST(file_with_a_flipped_byte_is_refused_or_read)
{
	struct stat st;
	uint64_t x = 12345;
	unsigned refused = 0, read = 0;

	begin_closed();
	ck_assert_int_eq(stat(f.path, &st), 0);
	for (int i = 0; i < 200; i++) {
		struct sw_err err = SW_ERR_INIT;
		unsigned char was, now;

		x = x * 6364136223846793005U + 1442695040888963407U;
		/* Every other one in the first page, where the header is. */
		const off_t at = (off_t)((x >> 33) % (i % 2 ? 4096 : (uint64_t)st.st_size));
		const int fd = open(f.path, O_RDONLY);
		ck_assert_int_eq(pread(fd, &was, 1, at), 1);
		(void)close(fd);
		now = (unsigned char)(was ^ (1U << (x >> 20 & 7)));
		write_at(at, &now, 1);
		if (fixture_try_open(&err) == SW_OK) {
			sw_store_read_now(f.store, read_all, &read);
			fixture_close();
		} else {
			ck_assert_str_ne(err.msg, "");
			refused++;
		}
		write_at(at, &was, 1);
	}
	ck_assert_uint_gt(refused, 10);
	ck_assert_uint_gt(read, 10);
}

static int64_t version_of(sqlite3 *conn)
{
	struct sw_err err = SW_ERR_INIT;
	int64_t v = -1;

	ck_assert_int_eq(sw_sql_int(conn, "PRAGMA user_version", &v, &err), SW_OK);
	return v;
}

TEST(schema_goes_up_step_by_step_and_whole_steps_only)
{
	static const char *const steps[] = {
		("CREATE TABLE meta (key TEXT PRIMARY KEY, value ANY) STRICT;"
		 "CREATE TABLE a (x); INSERT INTO a VALUES (1)"),
		"UPDATE a SET x = x * 10; CREATE TABLE b (y)",
		"UPDATE a SET x = x + 5; INSERT INTO nowhere VALUES (1)",
	};
	struct sw_err err = SW_ERR_INIT;
	int64_t x = 0;
	sqlite3 *conn;

	ck_assert_int_eq(sqlite3_open(":memory:", &conn), SQLITE_OK);
	ck_assert_int_eq(sw_schema_migrate(conn, "P", steps, 1, &err), SW_OK);
	ck_assert_int_eq(version_of(conn), 1);
	ck_assert_int_eq(sw_schema_migrate(conn, "P", steps, 2, &err), SW_OK);
	ck_assert_int_eq(version_of(conn), 2);
	ck_assert_int_eq(sw_schema_migrate(conn, "P", steps, 2, &err), SW_OK); /* nothing to do */
	ck_assert_int_eq(sw_schema_migrate(conn, "P", steps, 3, &err), SW_IO);
	ck_assert_ptr_nonnull(strstr(err.msg, "bring P to schema 3: no such table: nowhere"));
	ck_assert_int_eq(version_of(conn), 2);
	err = (struct sw_err)SW_ERR_INIT;
	ck_assert_int_eq(sw_sql_int(conn, "SELECT x FROM a", &x, &err), SW_OK);
	ck_assert_int_eq(x, 10);
	ck_assert_int_eq(sw_schema_migrate(conn, "P", steps, 1, &err), SW_CONFLICT);
	ck_assert_int_eq(sqlite3_close(conn), SQLITE_OK);
}

/* As the first step after version 1 will be. A program without it changes nothing. */
TEST(file_of_version_1_comes_up_to_a_planted_2_with_its_rows)
{
	static const char *const steps[] = {
		sw_schema_sql, "ALTER TABLE report ADD COLUMN planted INTEGER NOT NULL DEFAULT 7"};
	struct sw_err err = SW_ERR_INIT;
	int64_t sum = 0;
	sqlite3 *conn;

	begin_closed();
	ck_assert_int_eq(sqlite3_open(f.path, &conn), SQLITE_OK);
	ck_assert_msg(sw_schema_migrate(conn, f.path, steps, 2, &err) == SW_OK, "%s", err.msg);
	ck_assert_int_eq(sw_sql_int(conn, "SELECT sum(planted) FROM report", &sum, &err), SW_OK);
	ck_assert_int_eq(sum, INT64_C(7) * 300);
	ck_assert_int_eq(sqlite3_close(conn), SQLITE_OK);
	ck_assert_int_eq(fixture_try_open(&err), SW_CONFLICT);
	ck_assert_ptr_nonnull(strstr(err.msg, "sweepd " SW_VERSION " (schema 2), and this is"));
	ck_assert_int_eq(sqlite3_open(f.path, &conn), SQLITE_OK);
	ck_assert_int_eq(version_of(conn), 2);
	ck_assert_int_eq(sqlite3_close(conn), SQLITE_OK);
}

TEST(replay_reads_one_index_and_no_table)
{
	static const char plan[] =
		"EXPLAIN QUERY PLAN SELECT ev, trial, attempt, seq, step, time_ms, value, diverged,"
		" verdict, NULL, checkpoint FROM report INDEXED BY report_by_ev WHERE sweep = 1"
		" ORDER BY ev";
	sqlite3_stmt *q = NULL;
	sqlite3 *conn;

	fixture_begin();
	fixture_close();
	ck_assert_int_eq(sqlite3_open(f.path, &conn), SQLITE_OK);
	ck_assert_int_eq(sqlite3_prepare_v2(conn, plan, -1, &q, NULL), SQLITE_OK);
	ck_assert_int_eq(sqlite3_step(q), SQLITE_ROW);
	const char *detail = (const char *)sqlite3_column_text(q, 3);
	ck_assert_msg(detail != NULL && strstr(detail, "COVERING INDEX report_by_ev") != NULL, "%s",
		      detail);
	ck_assert_int_eq(sqlite3_step(q), SQLITE_DONE);
	(void)sqlite3_finalize(q);
	ck_assert_int_eq(sqlite3_close(conn), SQLITE_OK);
}

TEST(creation_cut_short_leaves_nothing_in_the_way)
{
	char fresh[128];
	struct stat st;

	snprintf(fresh, sizeof fresh, "%s.new", f.path);
	const int fd = open(fresh, O_CREAT | O_WRONLY, 0644);
	ck_assert_int_eq(write(fd, "half", 4), 4);
	(void)close(fd);
	fixture_open();
	ck_assert_int_ne(stat(fresh, &st), 0);
}

SUITE(tcase)
{
	tcase_add_checked_fixture(tcase, fixture_init, fixture_fini);
	tcase_set_timeout(tcase, 240);
}
