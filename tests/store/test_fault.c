/* tests/store/test_fault.c — a disk that is full waits and heals; one that fails ends the store. */
#include "base/fault.h"
#include "store/read.h"
#include "tests/run.h"
#include "tests/store/fixture.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>

static bool on_report(const struct sw_row_report *r, void *arg)
{
	(void)r;
	(*(int64_t *)arg)++;
	return true;
}

static void count_work(struct sw_db *db, void *arg)
{
	struct sw_err err = SW_ERR_INIT;
	int64_t n = 0;

	ck_assert_msg(sw_read_reports(db, 1, 1, 0, 0, -1, on_report, &n, &err) == SW_OK, "%s",
		      err.msg);
	*(int64_t *)arg = n;
}

static int64_t reports_in(void)
{
	int64_t n = -1;

	sw_store_read_now(f.store, count_work, &n);
	return n;
}

static void wait_stuck(void)
{
	for (unsigned seen = 0; sw_store_stuck(f.store) == NULL;)
		(void)fixture_sleep(&seen);
}

static void commit_report(int64_t seq, size_t text, unsigned *done)
{
	struct sw_tx *tx = tx_new();
	char *metrics = malloc(text + 1);

	ck_assert_ptr_nonnull(metrics);
	memset(metrics, 'x', text);
	metrics[text] = '\0';
	const struct sw_row_report row = {.sweep = 1,
					  .trial = 1,
					  .attempt = 1,
					  .seq = seq,
					  .verdict = "continue",
					  .metrics = metrics};
	sw_tx_report(tx, &row);
	free(metrics);
	ck_assert_int_eq(sw_store_commit(f.store, tx, count_done, done), SW_OK);
}

TEST(full_disk_waits_and_heals_with_nothing_lost)
{
	unsigned done = 0;
	int64_t seq = 0;
	static char block[65536];

	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("tmpfs", f.dir, "tmpfs", 0, "size=2m") != 0) {
		fprintf(stderr, "skipped full_disk_waits_and_heals_with_nothing_lost: mount: %s\n",
			strerror(errno));
		return;
	}
	fixture_open();
	struct sw_tx *tx = tx_new();
	put_sweep(tx, 1);
	put_trial(tx, 1, 1);
	commit_now(tx);

	char filler[128];
	snprintf(filler, sizeof filler, "%s/filler", f.dir);
	const int fd = open(filler, O_CREAT | O_WRONLY, 0600);
	ck_assert_int_ge(fd, 0);
	for (size_t n = sizeof block; n > 0; n /= 2)
		while (write(fd, block, n) == (ssize_t)n)
			;
	ck_assert_int_eq(errno, ENOSPC);
	while (seq < 40)
		commit_report(++seq, 5000, &done);
	wait_stuck();
	ck_assert_ptr_nonnull(strstr(sw_store_stuck(f.store), "no space left for "));
	sw_store_poll(f.store);
	const unsigned before = done;
	ck_assert_uint_lt(before, 40);
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	(void)close(fd);
	fixture_wait(&done, 40);
	ck_assert_ptr_null(sw_store_stuck(f.store));
	ck_assert_int_eq(f.fatal.code, SW_OK);
	ck_assert_int_eq(reports_in(), 40);
	fixture_close();
	fixture_open();
	ck_assert_int_eq(reports_in(), 40);
	fixture_close();
	ck_assert_int_eq(umount2(f.dir, MNT_DETACH), 0);
}

TEST(file_locked_by_another_waits_and_heals)
{
	sqlite3 *other;
	unsigned done = 0;

	fixture_begin();
	ck_assert_int_eq(sqlite3_open(f.path, &other), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	commit_report(1, 10, &done);
	wait_stuck();
	ck_assert_ptr_nonnull(strstr(sw_store_stuck(f.store), "another process holds "));
	ck_assert_uint_eq(done, 0);
	ck_assert_int_eq(sqlite3_close(other), SQLITE_OK);
	fixture_wait(&done, 1);
	ck_assert_ptr_null(sw_store_stuck(f.store));
	ck_assert_int_eq(reports_in(), 1);
	atomic_store(&vfs_writers_most, 0); /* there were two: a shell that should not be there */
}

#ifdef SW_FAULTS

TEST(full_at_each_write_commits_in_the_end)
{
	unsigned done = 0, fired = 1;
	int64_t seq = 0;

	fixture_begin();
	for (unsigned nth = 1; fired != 0; nth++) {
		ck_assert_uint_lt(nth, 100);
		fault_vfs_arm(FAULT_WRITE, SQLITE_FULL, nth, false);
		commit_report(++seq, 10, &done);
		fixture_wait(&done, (unsigned)seq);
		fired = fault_vfs_disarm();
		ck_assert_ptr_null(sw_store_stuck(f.store));
		ck_assert_int_eq(reports_in(), seq);
	}
	ck_assert_int_eq(f.fatal.code, SW_OK);
}

static void see_behind(struct sw_db *db, void *behind)
{
	*(bool *)behind = sw_read_behind(db);
}

TEST(stuck_store_acknowledges_nothing_until_there_is_space)
{
	unsigned done = 0;
	bool behind = false;

	fixture_begin();
	fault_vfs_arm(FAULT_WRITE, SQLITE_FULL, 1, true);
	for (int64_t seq = 1; seq <= 9; seq++)
		commit_report(seq, 10, &done);
	wait_stuck();
	sw_store_poll(f.store);
	ck_assert_uint_eq(done, 0);
	ck_assert_uint_eq(sw_store_queued(f.store), 9);
	sw_store_read_now(f.store, see_behind, &behind);
	ck_assert(behind);
	ck_assert_uint_gt(fault_vfs_disarm(), 0);
	fixture_wait(&done, 9);
	sw_store_read_now(f.store, see_behind, &behind);
	ck_assert(!behind);
	ck_assert_int_eq(reports_in(), 9);
}

TEST(quota_exceeded_waits_and_heals)
{
	unsigned done = 0;

	fixture_begin();
	atomic_store(&fault_vfs_quota, true);
	fault_vfs_arm(FAULT_WRITE, SQLITE_IOERR_WRITE, 1, true);
	commit_report(1, 10, &done);
	wait_stuck();
	ck_assert_uint_gt(fault_vfs_disarm(), 0);
	fixture_wait(&done, 1);
	ck_assert_int_eq(f.fatal.code, SW_OK);
	ck_assert_int_eq(reports_in(), 1);
}

TEST(close_of_a_stuck_store_gives_up_and_leaves_a_whole_file)
{
	unsigned done = 0;

	fixture_begin();
	commit_report(1, 10, &done);
	fixture_wait(&done, 1);
	fault_vfs_arm(FAULT_WRITE, SQLITE_FULL, 1, true);
	commit_report(2, 10, &done);
	fixture_close();
	ck_assert_uint_gt(fault_vfs_disarm(), 1); /* it was tried again */
	ck_assert_uint_eq(done, 1);
	fixture_open();
	ck_assert_int_eq(reports_in(), 1);
}

/* Until n commits are acknowledged or the store is dead. */
static void wait_settled(const unsigned *done, unsigned n)
{
	unsigned seen = 0;

	do
		sw_store_poll(f.store);
	while (*done < n && !fixture_sleep(&seen));
}

static const struct {
	const char *name;
	int ops, code;
	bool forever;
} failures[] = {
	{"write", FAULT_WRITE, SQLITE_IOERR_WRITE, false},
	{"write, and then every one", FAULT_WRITE, SQLITE_IOERR_WRITE, true},
	{"sync", FAULT_SYNC, SQLITE_IOERR_FSYNC, false},
	{"sync, and then every one", FAULT_SYNC, SQLITE_IOERR_FSYNC, true},
};

TEST_ROWS(io_failure_at_each_call_is_fatal_and_keeps_what_was_acknowledged, failures)
{
	unsigned fired = 1, walked = 0;

	for (unsigned nth = 1; fired != 0; nth++) {
		unsigned done = 0, asked = 0;

		ck_assert_uint_lt(nth, 100);
		fixture_begin();
		fault_vfs_arm(failures[_i].ops, failures[_i].code, nth, failures[_i].forever);
		for (; asked < 5; asked++) {
			struct sw_tx *tx = tx_new();
			put_report(tx, 1, asked + 1, 1);
			if (sw_store_commit(f.store, tx, count_done, &done) != SW_OK)
				break; /* dead already */
			wait_settled(&done, asked + 1);
		}
		fired = sw_fault_fired(SW_FAULT_IO);
		if (fired != 0) {
			sw_store_poll(f.store);
			fixture_wait_fatal();
			ck_assert_int_eq(f.fatal.code, SW_IO);
			struct sw_tx *tx = tx_new();
			ck_assert_int_eq(sw_store_commit(f.store, tx, NULL, NULL), SW_IO);
			walked++;
		}
		sw_store_poll(f.store);
		fixture_close();
		(void)fault_vfs_disarm();
		fixture_open();
		/* Acknowledged is there; the one in flight may be, whole. */
		const int64_t n = reports_in();
		ck_assert_msg(n >= done && n <= asked + 1, "%s %u: %lld rows, %u acknowledged",
			      failures[_i].name, nth, (long long)n, done);
		fixture_renew();
	}
	ck_assert_uint_gt(walked, 3);
}

TEST_LOOP(open_with_a_failure_at_each_call_says_so, 0, 4)
{
	static const struct {
		int ops, code;
		sw_status rc;
	} kinds[] = {
		{FAULT_WRITE, SQLITE_FULL, SW_FULL},
		{FAULT_WRITE, SQLITE_IOERR_WRITE, SW_IO},
		{FAULT_SYNC, SQLITE_IOERR_FSYNC, SW_IO},
		{FAULT_READ, SQLITE_IOERR_READ, SW_IO},
	};
	unsigned fired = 1, walked = 0;

	for (unsigned nth = 1; fired != 0; nth++) {
		struct sw_err err = SW_ERR_INIT;

		ck_assert_uint_lt(nth, 400);
		fault_vfs_arm(kinds[_i].ops, kinds[_i].code, nth, false);
		const sw_status rc = fixture_try_open(&err);
		fired = fault_vfs_disarm();
		/* SQLite itself survives some (a hint, a lost checkpoint); else it is this. */
		/* to the check of the whole file a page that cannot be read is damage */
		ck_assert_msg(rc == SW_OK || (fired && rc == kinds[_i].rc) ||
				      (kinds[_i].ops == FAULT_READ && rc == SW_DAMAGED),
			      "%u: %d %s", nth, rc, err.msg);
		ck_assert_int_eq(rc != SW_OK, err.msg[0] != '\0');
		walked += rc != SW_OK;
		if (rc != SW_OK)
			fixture_open(); /* nothing half-made is in the way */
		fixture_renew();
	}
	ck_assert_uint_gt(walked, 0);
}
#endif

SUITE(tcase)
{
	tcase_add_checked_fixture(tcase, fixture_init, fixture_fini);
	tcase_set_timeout(tcase, 240);
}
