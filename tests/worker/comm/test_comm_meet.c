/* tests/worker/comm/test_comm_meet.c — ranks find each other whoever else knocks, and a meeting that
 * fails leaves nothing. */
#include "base/fault.h"
#include "tests/worker/comm/gang.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

static sw_status one_sum(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	int64_t n = 1 + (int64_t)sw_comm_rank(c);
	const sw_status rc = sw_comm_sum(c, SW_COMM_I64, &n, 1, sw_comm_world(c));

	(void)ctx;
	if (rc == SW_OK && n != sw_comm_world(c) * (sw_comm_world(c) + 1) / 2)
		GANG_BAD(me, "the sum is %ld", (long)n);
	return rc;
}

/* --- strangers --- */

static int knock(const struct sw_comm_place *at)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_port = htons((uint16_t)atoi(strchr(at->at, ':') + 1));
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	return fd;
}

/* More silent ones than are listened to, some who talk at length, and one who says that it is rank 1:
 * all before rank 1. */
START_TEST(strangers_are_dropped_and_hold_up_nobody)
{
	static char noise[4096];
	struct sw_err err = SW_ERR_INIT;
	struct sw_comm_place place;
	struct sw_comm *c;
	struct gang g = {.world = 2};
	int silent[48], talks[3];
	char byte;

	memset(noise, 'x', sizeof noise);
	g.rank = mmap(NULL, 3 * sizeof *g.rank, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	ck_assert_int_eq(sw_comm_meet(&g.place, "tcp", 2, &err), SW_OK);
	for (size_t i = 0; i < ROWS(silent); i++)
		silent[i] = knock(&g.place);
	for (size_t i = 0; i < ROWS(talks); i++) {
		talks[i] = knock(&g.place);
		ck_assert_int_gt(send(talks[i], noise, i * 2000 + 60, MSG_NOSIGNAL), 0);
	}
	gang_fork(&g, 0, one_sum, NULL);
	place = g.place;
	place.rank = 1;
	place.secret[SW_COMM_SECRET_N - 1] ^= 1;
	ck_assert_int_eq(sw_comm_open(&c, &place, &err), SW_PEER_LOST);
	ck_assert_ptr_null(c);
	ck_assert_str_eq(err.msg, "rank 0 of 2 has ended");
	gang_fork(&g, 1, one_sum, NULL);
	close(g.place.fd);
	gang_wait(&g);
	gang_check(&g, 0, SW_OK, "");
	gang_check(&g, 1, SW_OK, "");
	for (size_t i = 0; i < ROWS(talks); i++) { /* it has heard nothing of us */
		ck_assert_int_le(recv(talks[i], &byte, 1, 0), 0);
		close(talks[i]);
	}
	for (size_t i = 0; i < ROWS(silent); i++)
		close(silent[i]);
	gang_fini(&g);
}
END_TEST

/* --- places that are none --- */

START_TEST(place_that_is_none_is_refused)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_comm_place at, other;
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
	err = (struct sw_err)SW_ERR_INIT;
	other = (struct sw_comm_place){
		.rank = 1, .world = 2, .fd = -1, .transport = "tcp", .at = "127.0.0.1"};
	ck_assert_int_eq(sw_comm_open(&c, &other, &err), SW_INVALID);
	ck_assert_str_eq(err.msg, "no address of rank 0: 127.0.0.1");
}
END_TEST

/* --- each failure in turn --- */

#ifdef SW_FAULTS
/* The lead's call and that of a rank alone. */
START_TEST(meeting_survives_each_failure)
{
	const enum sw_fault_kind kind = (enum sw_fault_kind)(_i / 2);
	const size_t fds = gang_fds();
	unsigned nth = 1;

	for (bool fired = true; fired; nth++) {
		struct sw_err err = SW_ERR_INIT;
		struct sw_comm_place at;
		struct sw_comm *c = NULL;

		sw_fault_arm(kind, nth, false);
		sw_status rc = sw_comm_meet(&at, transports[_i % 2], 1, &err);
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
END_TEST

/* Rank 1 of 2 meets each failure: it says so, and rank 0 knows that it is lost. */
START_TEST(rank_that_cannot_open_is_lost)
{
	const enum sw_fault_kind kind = (enum sw_fault_kind)(_i / 2);
	bool fails = true;

	setenv("SWEEPD_COMM_SILENT_MS", "1000", 1);
	for (unsigned nth = 1; fails; nth++) {
		struct sw_err err = SW_ERR_INIT;
		struct gang g = {.world = 2};

		g.rank = mmap(NULL, 2 * sizeof *g.rank, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		ck_assert_int_eq(sw_comm_meet(&g.place, transports[_i % 2], 2, &err), SW_OK);
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
END_TEST
#endif

SUITE(tcase)
{
	tcase_add_test(tcase, strangers_are_dropped_and_hold_up_nobody);
	tcase_add_test(tcase, place_that_is_none_is_refused);
#ifdef SW_FAULTS
	tcase_add_loop_test(tcase, meeting_survives_each_failure, 0, 2 * SW_FAULT_KIND_N);
	tcase_add_loop_test(tcase, rank_that_cannot_open_is_lost, 0, 2 * SW_FAULT_KIND_N);
#endif
}
