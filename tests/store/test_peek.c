/* tests/store/test_peek.c — a file opened to be looked at: what it is, what it leaves untouched. */
#include "store/peek.h"
#include "tests/run.h"
#include "tests/store/fixture.h"
#include "tests/walk.h"
#include <sys/stat.h>

static bool count_trial(const struct sw_row_trial *row, void *arg)
{
	(void)row;
	(*(int64_t *)arg)++;
	return true;
}

static int64_t trials_in(struct sw_db *db)
{
	struct sw_err err = SW_ERR_INIT;
	int64_t n = 0;

	ck_assert_msg(sw_read_trials(db, 1, NULL, 0, -1, count_trial, &n, &err) == SW_OK, "%s",
		      err.msg);
	return n;
}

static struct sw_db *peek(const char *path)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_db *db = NULL;

	ck_assert_msg(sw_peek_open(&db, path, &err) == SW_OK, "%s", err.msg);
	ck_assert_msg(sw_peek_begin(db, &err) == SW_OK, "%s", err.msg);
	return db;
}

static bool is_there(const char *tail)
{
	char path[128];
	struct stat st;

	(void)snprintf(path, sizeof path, "%s%s", f.path, tail);
	return stat(path, &st) == 0;
}

TEST(peek_of_a_store_in_use_is_a_snapshot_and_stops_no_commit)
{
	struct sw_err err = SW_ERR_INIT;

	fixture_begin();
	struct sw_db *db = peek(f.dir);
	ck_assert_int_eq(trials_in(db), 1);
	struct sw_tx *tx = tx_new();
	put_trial(tx, 1, 2);
	commit_now(tx);
	ck_assert_int_eq(trials_in(db), 1);
	ck_assert_int_eq(sw_peek_end(db, &err), SW_OK);
	ck_assert_int_eq(sw_peek_begin(db, &err), SW_OK);
	ck_assert_int_eq(trials_in(db), 2);
	ck_assert_int_eq(sw_peek_end(db, &err), SW_OK);
	sw_peek_close(db);
}

TEST(peek_of_a_file_alone_leaves_nothing_beside_it)
{
	struct sw_err err = SW_ERR_INIT;

	fixture_begin();
	fixture_close();
	ck_assert(!is_there("-wal"));
	struct sw_db *db = peek(f.path);
	ck_assert_int_eq(trials_in(db), 1);
	ck_assert(!is_there("-wal") && !is_there("-shm"));
	ck_assert_int_eq(sw_peek_end(db, &err), SW_OK);
	sw_peek_close(db);
	ck_assert(!is_there("-wal") && !is_there("-shm"));
}

/* It is read without locks then, so what was read may be of two moments. */
TEST(peek_of_a_file_alone_that_is_opened_meanwhile_says_so)
{
	struct sw_err err = SW_ERR_INIT;

	fixture_begin();
	fixture_close();
	struct sw_db *db = peek(f.path);
	fixture_open();
	ck_assert_int_eq(sw_peek_end(db, &err), SW_CONFLICT);
	ck_assert_ptr_nonnull(strstr(err.msg, "somebody else"));
	sw_peek_close(db);
}

static void write_file(const char *path, const char *bytes, size_t n)
{
	FILE *file = fopen(path, "wb");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(bytes, 1, n, file), n);
	ck_assert_int_eq(fclose(file), 0);
}

TEST(peek_of_what_is_no_store_is_refused)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_db *db;

	ck_assert_int_eq(sw_peek_open(&db, f.dir, &err), SW_NOT_FOUND);
	ck_assert_ptr_null(db);
	err = (struct sw_err)SW_ERR_INIT;
	write_file(f.path, "", 0);
	ck_assert_int_eq(sw_peek_open(&db, f.path, &err), SW_IO);
	ck_assert_ptr_nonnull(strstr(err.msg, "cut short"));
	err = (struct sw_err)SW_ERR_INIT;
	write_file(f.path, "no database at all, whatever its name", 37);
	ck_assert_int_eq(sw_peek_open(&db, f.path, &err), SW_IO);
	ck_assert_ptr_null(db);
	ck_assert_ptr_nonnull(strstr(err.msg, f.path));
	sw_peek_close(NULL);
}

static bool keep_attempt(const struct sw_row_attempt *row, void *arg)
{
	*(int64_t *)arg = row->ev;
	return true;
}

static bool keep_decision(const struct sw_row_decision *row, void *arg)
{
	*(int64_t *)arg = row->rung;
	return true;
}

TEST(peek_finds_one_row_and_what_belongs_to_none)
{
	const struct sw_row_attempt attempt = {
		.sweep = 1, .trial = 1, .attempt = 2, .ev = 7, .state = "RUNNING"};
	struct sw_row_decision decision = {.sweep = 1,
					   .trial = 1,
					   .attempt = 1,
					   .seq = 3,
					   .rung = 9,
					   .verdict = "stop",
					   .value = 0.5};
	struct sw_err err = SW_ERR_INIT;
	int64_t got = 0;

	fixture_begin();
	struct sw_tx *tx = tx_new();
	sw_tx_attempt_start(tx, &attempt);
	put_report(tx, 1, 3, 0.5);
	sw_tx_decision(tx, &decision);
	commit_now(tx);
	struct sw_db *db = peek(f.path);
	ck_assert_int_eq(sw_peek_events(db, 1, &got, &err), SW_OK);
	ck_assert_int_eq(got, 3);
	ck_assert_int_eq(sw_read_attempt(db, 1, 1, 2, keep_attempt, &got, &err), SW_OK);
	ck_assert_int_eq(got, 7);
	ck_assert_int_eq(sw_read_attempt(db, 1, 1, 3, keep_attempt, &got, &err), SW_OK);
	ck_assert_int_eq(got, 7); /* there is none: no call */
	ck_assert_int_eq(sw_read_report_decisions(db, 1, 1, 1, 3, keep_decision, &got, &err),
			 SW_OK);
	ck_assert_int_eq(got, 9);
	got = 0;
	ck_assert_int_eq(sw_read_stray_decision(db, 1, keep_decision, &got, &err), SW_OK);
	ck_assert_int_eq(got, 0);
	ck_assert_int_eq(sw_peek_end(db, &err), SW_OK);
	tx = tx_new();
	decision.seq = 4;
	decision.rung = 27;
	sw_tx_decision(tx, &decision);
	commit_now(tx);
	ck_assert_int_eq(sw_peek_begin(db, &err), SW_OK);
	ck_assert_int_eq(sw_read_stray_decision(db, 1, keep_decision, &got, &err), SW_OK);
	ck_assert_int_eq(got, 27);
	sw_peek_close(db);
}

TEST(peek_without_memory_is_refused_cleanly)
{
	fixture_begin();
	fixture_close();
	WALK (SW_FAULT_MALLOC, 1) {
		struct sw_err err = SW_ERR_INIT;
		struct sw_db *db;

		walk_arm();
		const sw_status rc = sw_peek_open(&db, f.dir, &err);
		const unsigned fired = walk_disarm();
		ck_assert_int_eq(rc, fired > 0 ? SW_NOMEM : SW_OK);
		ck_assert_int_eq(err.code, rc);
		ck_assert_int_eq(db == NULL, fired > 0);
		sw_peek_close(db);
	}
}

RUN_TESTS(fixture_init, fixture_fini)
