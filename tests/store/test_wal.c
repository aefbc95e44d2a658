/* tests/store/test_wal.c — the walk over a log against SQLite itself: what it drops is told, and
 * nothing is told of a log of which nothing is lost. */
#include "store/wal.h"
#include "tests/folder.h"
#include "tests/run.h"
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#define PAGE  4096
#define FRAME (24 + PAGE)
#define ROW_N 40

static char dir[64], live[96], copy[96], copy_wal[112];
static sqlite3 *db;

static void sql(const char *text)
{
	ck_assert_msg(sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK, "%s: %s", text,
		      sqlite3_errmsg(db));
}

static void setup(void)
{
	(void)snprintf(dir, sizeof dir, "%s/sweepd-wal-XXXXXX", folder_of_tests());
	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(live, sizeof live, "%s/live", dir);
	(void)snprintf(copy, sizeof copy, "%s/copy", dir);
	(void)snprintf(copy_wal, sizeof copy_wal, "%s-wal", copy);
	ck_assert_int_eq(sqlite3_open(live, &db), SQLITE_OK);
	sql("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (x);"
	    "PRAGMA wal_checkpoint(TRUNCATE)");
}

static void teardown(void)
{
	char command[128];

	ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
	(void)snprintf(command, sizeof command, "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}

/* Commits of one to four frames, a row each. */
static void put_rows(int n)
{
	char text[128];

	for (int i = 0; i < n; i++) {
		(void)snprintf(text, sizeof text, "INSERT INTO t VALUES (randomblob(%d))",
			       1 + i % 4 * 3000);
		sql(text);
	}
}

/* The files as kill -9 would leave them now. */
static void copy_files(void)
{
	char command[600];

	(void)snprintf(command, sizeof command, "rm -f %s*; cp %s %s && cp %s-wal %s-wal", copy,
		       live, copy, live, copy);
	ck_assert_int_eq(system(command), 0);
}

/* The rows that SQLite finds in the copy, which is another one then. */
static int rows_found(void)
{
	sqlite3_stmt *q;
	sqlite3 *conn;

	ck_assert_int_eq(sqlite3_open(copy, &conn), SQLITE_OK);
	ck_assert_int_eq(sqlite3_prepare_v2(conn, "SELECT count(*) FROM t", -1, &q, NULL),
			 SQLITE_OK);
	ck_assert_int_eq(sqlite3_step(q), SQLITE_ROW);
	const int n = sqlite3_column_int(q, 0);
	ck_assert_int_eq(sqlite3_finalize(q), SQLITE_OK);
	ck_assert_int_eq(sqlite3_close(conn), SQLITE_OK);
	return n;
}

static off_t wal_size(void)
{
	struct stat st;

	ck_assert_int_eq(stat(copy_wal, &st), 0);
	return st.st_size;
}

/* mask 0: a hole. */
static void change(off_t at, size_t n, unsigned char mask)
{
	unsigned char bytes[3 * FRAME] = {0};
	const int fd = open(copy_wal, O_RDWR);

	ck_assert_uint_le(n, sizeof bytes);
	if (mask != 0) {
		ck_assert_int_eq(pread(fd, bytes, n, at), (ssize_t)n);
		for (size_t i = 0; i < n; i++)
			bytes[i] ^= mask;
	}
	ck_assert_int_eq(pwrite(fd, bytes, n, at), (ssize_t)n);
	(void)close(fd);
}

/* What SQLite drops is told but for commits whose last frame is among the damaged ones. */
static void check_told(const char *what, long at, int damaged)
{
	const struct sw_wal_lost lost = sw_wal_walk(copy_wal);
	const int gone = ROW_N - rows_found();

	ck_assert_msg(lost.commits <= gone && lost.commits >= gone - damaged,
		      "%s at %ld: %lld told, %d gone", what, at, (long long)lost.commits, gone);
	ck_assert_int_ge(lost.frames, lost.commits);
	ck_assert_int_eq(lost.found, ROW_N - gone);
}

TEST(log_with_a_flipped_byte_tells_what_is_lost)
{
	uint64_t x = 5;
	int told = 0;

	put_rows(ROW_N);
	for (int i = 0; i < 300; i++) {
		copy_files();
		x = x * 6364136223846793005U + 1442695040888963407U;
		/* A third in the header, and one in a frame's own. */
		const uint64_t r = x >> 33;
		const off_t at = i % 3 == 0   ? (off_t)(r % 32)
				 : i % 3 == 1 ? 32 + (off_t)(r % 30) * FRAME + (off_t)(r / 30 % 24)
					      : (off_t)(r % (uint64_t)wal_size());
		if (at >= 4 && at < 8)
			continue; /* SQLite refuses a log of another version */
		change(at, 1, (unsigned char)(1U << (x >> 8 & 7)));
		told += sw_wal_walk(copy_wal).commits > 0;
		check_told("flip", at, 1);
	}
	ck_assert_int_gt(told, 200);
}

TEST(log_with_a_hole_tells_what_is_lost)
{
	put_rows(ROW_N);
	copy_files();
	for (off_t at = 0, size = wal_size(); at + 3 * FRAME < size; at += 2999) {
		copy_files();
		const size_t n = 1 + (size_t)(at * 7 % (3 * FRAME));
		change(at, n, 0);
		check_told("hole", at, (int)(n / FRAME) + 2);
	}
}

TEST(log_names_the_first_bad_frame_and_counts_the_rest)
{
	put_rows(10);
	sql("CREATE TABLE u (x)");
	copy_files();
	const int64_t n = (wal_size() - 32) / FRAME;
	change(32 + 4 * FRAME + 100, 1, 1);
	const struct sw_wal_lost lost = sw_wal_walk(copy_wal);
	ck_assert_int_eq(lost.frame, 5);
	ck_assert_int_eq(lost.frames, n - 5);
	copy_files();
	change(24, 8, 1); /* the header's checksum */
	ck_assert_int_eq(sw_wal_walk(copy_wal).frame, 0);
	ck_assert_int_eq(sw_wal_walk(copy_wal).frames, n);
	ck_assert_int_eq(sw_wal_walk(copy_wal).commits, 11);
	copy_files();
	change(3, 1, 1); /* its order of bytes */
	ck_assert_int_eq(sw_wal_walk(copy_wal).commits, 11);
}

TEST(log_that_ends_early_tells_how_many_commits_were_found)
{
	put_rows(ROW_N);
	copy_files();
	for (off_t size = wal_size(); size > 0; size -= 4099) {
		copy_files();
		ck_assert_int_eq(truncate(copy_wal, size), 0);
		const struct sw_wal_lost lost = sw_wal_walk(copy_wal);
		ck_assert_int_eq(lost.commits, 0);
		ck_assert_int_eq(lost.found, rows_found());
		ck_assert(lost.rest >= 0 && lost.rest <= size);
	}
	copy_files();
	ck_assert_int_eq(truncate(copy_wal, 0), 0);
	ck_assert_int_eq(sw_wal_walk(copy_wal).commits, 0);
	ck_assert_int_eq(unlink(copy_wal), 0);
	ck_assert_int_eq(sw_wal_walk(copy_wal).commits, 0);
}

TEST(log_of_a_new_run_says_nothing_of_the_old_frames_behind)
{
	put_rows(ROW_N);
	sql("PRAGMA wal_checkpoint(RESTART)");
	put_rows(3);
	copy_files();
	ck_assert_int_gt(wal_size(), 32 + 20 * FRAME); /* they are there */
	ck_assert_int_eq(rows_found(), ROW_N + 3);
	copy_files();
	ck_assert_int_eq(sw_wal_walk(copy_wal).commits, 0);
	/* damage is told all the same, and only what is this run's */
	change(32 + 50, 1, 1);
	ck_assert_int_eq(sw_wal_walk(copy_wal).frame, 1);
	ck_assert_int_eq(sw_wal_walk(copy_wal).commits, 2);
}

TEST(log_says_nothing_of_a_commit_that_was_cut_short_and_written_over)
{
	put_rows(5);
	/* More than the cache holds goes to the log before its end, which never comes. */
	sql("PRAGMA cache_size = 5; BEGIN; WITH RECURSIVE n(i) AS (SELECT 1 UNION"
	    " SELECT i + 1 FROM n WHERE i < 100) INSERT INTO t SELECT randomblob(3000) FROM n;"
	    " ROLLBACK");
	put_rows(2);
	copy_files();
	ck_assert_int_gt(wal_size(), 32 + 50 * FRAME); /* what was rolled back is there */
	ck_assert_int_eq(sw_wal_walk(copy_wal).commits, 0);
	/* nor where the end of that commit was begun: a frame's header without its page */
	change(wal_size() - FRAME + 7, 1, 1);
	ck_assert_int_eq(sw_wal_walk(copy_wal).commits, 0);
	ck_assert_int_eq(rows_found(), 7);
}

SUITE(tcase)
{
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 240);
}
