/* tests/worker/comm/test_comm_meet.c — a place that is none is refused, and a meeting that fails
 * leaves nothing. */
#include "base/fault.h"
#include "tests/worker/comm/gang.h"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>

/* --- places that are none --- */

TEST(place_that_is_none_is_refused)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_comm_seat at, other;
	struct sw_comm *c;

	ck_assert_int_eq(sw_comm_meet(&at, "smoke", 2, &err), SW_UNSUPPORTED);
	ck_assert_str_eq(err.msg, "no transport is called smoke");
	err = (struct sw_err)SW_ERR_INIT;
	ck_assert_int_eq(sw_comm_meet(&at, "shm", 2, &err), SW_OK);
	other = at;
	other.world = 3;
	ck_assert_int_eq(sw_comm_open(&c, &other, &err), SW_INVALID);
	ck_assert_ptr_null(c);
	err = (struct sw_err)SW_ERR_INIT;
	other = at;
	other.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(sw_comm_open(&c, &other, &err), SW_INVALID);
	close(other.fd);
	close(at.fd);
}

TEST(meeting_without_a_descriptor_is_for_later)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_comm_seat at;
	struct rlimit own, none;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &own), 0);
	none = own;
	none.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ck_assert_int_eq(sw_comm_meet(&at, "shm", 2, &err), SW_BUSY);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &own), 0);
}

/* --- each failure in turn --- */

#ifdef SW_FAULTS
/* The lead's call and that of a rank alone. */
TEST_LOOP(meeting_survives_each_failure, 0, SW_FAULT_KIND_N)
{
	const enum sw_fault_kind kind = (enum sw_fault_kind)_i;
	const size_t fds = gang_fds();
	unsigned nth = 1;

	for (bool fired = true; fired; nth++) {
		struct sw_err err = SW_ERR_INIT;
		struct sw_comm_seat at;
		struct sw_comm *c = NULL;

		sw_fault_arm(kind, nth, false);
		sw_status rc = sw_comm_meet(&at, "shm", 1, &err);
		if (rc == SW_OK)
			rc = sw_comm_open(&c, &at, &err);
		fired = sw_fault_fired(kind) > 0;
		sw_fault_arm(kind, 0, false);
		ck_assert_int_eq(rc == SW_OK, !fired);
		ck_assert_int_eq(err.code, rc);
		ck_assert_int_eq(c != NULL, !fired);
		ck_assert_int_eq(*err.msg != '\0', fired);
		sw_comm_close(c);
		if (at.fd >= 0)
			close(at.fd);
		ck_assert_uint_eq(gang_fds(), fds);
	}
	ck_assert_uint_gt(nth, 2); /* or nothing was planted */
}

static sw_status one_sum(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	int64_t n = 1 + (int64_t)sw_comm_rank(c);
	const sw_status rc = sw_comm_sum(c, SW_COMM_I64, &n, 1, sw_comm_world(c));

	(void)ctx;
	if (rc == SW_OK && n != sw_comm_world(c) * (sw_comm_world(c) + 1) / 2)
		GANG_BAD(me, "the sum is %ld", (long)n);
	return rc;
}

/* Rank 1 of 2 meets each failure: it says so, and rank 0 knows that it is lost. */
TEST_LOOP(rank_that_cannot_open_is_lost, 0, SW_FAULT_KIND_N)
{
	const enum sw_fault_kind kind = (enum sw_fault_kind)_i;
	bool fails = true;

	setenv("SWEEPD_COMM_SILENT_MS", "1000", 1);
	for (unsigned nth = 1; fails; nth++) {
		struct sw_err err = SW_ERR_INIT;
		struct gang g = {.world = 2};

		g.rank = mmap(NULL, 2 * sizeof *g.rank, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		ck_assert_int_eq(sw_comm_meet(&g.place, "shm", 2, &err), SW_OK);
		gang_fork(&g, 0, one_sum, NULL);
		sw_fault_arm(kind, nth, false); /* the child inherits it */
		gang_fork(&g, 1, one_sum, NULL);
		sw_fault_arm(kind, 0, false);
		close(g.place.fd);
		gang_wait(&g);
		fails = g.rank[1].rc != SW_OK;
		gang_check(&g, 0, fails ? SW_PEER_LOST : SW_OK, NULL);
		gang_check(&g, 1, g.rank[1].rc, NULL);
		ck_assert_int_eq(*g.rank[1].why != '\0', fails);
		gang_fini(&g);
	}
}
#endif

RUN_TESTS(NULL, NULL)
