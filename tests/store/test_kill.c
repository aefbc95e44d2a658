/* tests/store/test_kill.c — kill -9 in the middle of writing: what was acknowledged is there. */
#include "store/read.h"
#include "tests/run.h"
#include "tests/store/fixture.h"
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct ack {
	int fd;
	int64_t seq;
};

/* In the child: tells the parent which report is safe. */
static void on_done(void *arg)
{
	struct ack *a = arg;

	if (write(a->fd, &a->seq, sizeof a->seq) != sizeof a->seq)
		_exit(2);
	free(a);
}

/* Writes reports from seq on until killed, at most 300 commits on their way at a time. */
static void write_for_ever(int fd, int64_t seq)
{
	unsigned seen = 0;

	fixture_open();
	for (;; seq++) {
		struct sw_tx *tx = tx_new();
		struct ack *a = malloc(sizeof *a);

		*a = (struct ack){fd, seq};
		put_report(tx, 1, seq, (double)seq);
		if (sw_store_commit(f.store, tx, on_done, a) != SW_OK)
			_exit(3);
		sw_store_poll(f.store);
		while (sw_store_queued(f.store) > 300) {
			(void)fixture_sleep(&seen);
			sw_store_poll(f.store);
		}
	}
}

struct found {
	int64_t n;
	bool in_order; /* 1, 2, 3 ... without a gap, each with its own value */
	sw_status rc;
	struct sw_err err;
};

static bool on_report(const struct sw_row_report *r, void *arg)
{
	struct found *found = arg;

	found->n++;
	found->in_order = found->in_order && r->seq == found->n && r->value == (double)r->seq;
	return true;
}

static void find_all(struct sw_db *db, void *arg)
{
	struct found *found = arg;

	found->rc = sw_read_reports(db, 1, 1, 0, 0, -1, on_report, found, &found->err);
}

static struct found reports_in(void)
{
	struct found found = {.in_order = true};

	sw_store_read_now(f.store, find_all, &found);
	ck_assert_msg(found.rc == SW_OK, "%s", found.err.msg);
	return found;
}

/* Kills a writer once it has acknowledged at least want; the last report that it acknowledged. */
static int64_t run_and_kill(int64_t from, int64_t want)
{
	int64_t last = from - 1, seq;
	int fds[2], how;

	ck_assert_int_eq(pipe(fds), 0);
	const pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		(void)close(fds[0]);
		write_for_ever(fds[1], from);
	}
	(void)close(fds[1]);
	while (last - from + 1 < want) {
		ck_assert_int_eq(read(fds[0], &seq, sizeof seq), sizeof seq);
		ck_assert_int_eq(seq, last + 1);
		last = seq;
	}
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	ck_assert_int_eq(waitpid(child, &how, 0), child);
	ck_assert_int_eq(WTERMSIG(how), SIGKILL);
	while (read(fds[0], &seq, sizeof seq) == sizeof seq)
		last = seq; /* acknowledged before the end, too */
	(void)close(fds[0]);
	return last;
}

TEST(killed_writer_loses_nothing_it_acknowledged)
{
	uint64_t x = 99;
	int64_t n = 0;

	fixture_begin();
	for (int round = 0; round < 25; round++) {
		fixture_close();
		x = x * 6364136223846793005U + 1442695040888963407U;
		const int64_t last = run_and_kill(n + 1, 1 + (int64_t)((x >> 40) % 900));
		fixture_open();
		const struct found found = reports_in();
		ck_assert_int_ge(found.n, last);
		ck_assert(found.in_order);
		n = found.n;
	}
}

TEST(log_cut_anywhere_leaves_whole_transactions)
{
	uint64_t x = 7;
	char wal[128];
	struct stat st;

	snprintf(wal, sizeof wal, "%s-wal", f.path);
	fixture_open();
	struct sw_tx *tx = tx_new();
	put_sweep(tx, 1);
	put_trial(tx, 1, 1);
	commit_now(tx);
	fixture_close();
	for (int round = 0, n = 0; round < 10; round++) {
		const int64_t last = run_and_kill(n + 1, 200);
		ck_assert_int_eq(stat(wal, &st), 0);
		x = x * 6364136223846793005U + 1442695040888963407U;
		ck_assert_int_eq(truncate(wal, (off_t)((x >> 33) % (uint64_t)st.st_size)), 0);
		fixture_open();
		const struct found found = reports_in();
		ck_assert(found.in_order);
		ck_assert_int_ge(found.n, n);
		ck_assert_int_le(found.n, last + 301);
		n = (int)found.n;
		fixture_close();
	}
}

SUITE(tcase)
{
	tcase_add_checked_fixture(tcase, fixture_init, fixture_fini);
	tcase_set_timeout(tcase, 240);
}
