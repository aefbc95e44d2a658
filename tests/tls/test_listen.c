/* tests/tls/test_listen.c — the port: who gets in, who does not, and what that costs the others. */
#include "tests/run.h"
#include "tests/tls/peers.h"
#include "tests/walk.h"
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

static struct sw_tls_dial *good;
static int here, there; /* the ends of good's connection */

static void setup(void)
{
	(void)signal(SIGPIPE, SIG_IGN); /* of what stands for a peer here */
	listener_up(0);
	good = dial_up("good-1.0", key_of_good);
	here = dial_connect(good);
	there = until_joined(1).fds[0];
	ck_assert_str_eq(heard().identity, "good-1.0");
}

static void teardown(void)
{
	close(here);
	close(there);
	sw_tls_dial_close(good);
	listener_down();
}

static void still_good(void)
{
	say(here, "to you\n");
	expect(there, "to you\n");
	say(there, "and back\n");
	expect(here, "and back\n");
}

TEST(tls_link_carries_all_both_ways_and_then_the_end)
{
	const size_t n = 5000000;

	still_good();
	for (int i = 0; i < 2; i++) {
		const int from = i ? there : here, to = i ? here : there;

		for (size_t done = 0; done < n;) {
			const size_t part = stuff(from, 100000);

			ck_assert_uint_eq(part, 100000);
			done += drain(to, part);
		}
	}
	say(here, "the last words");
	close(here);
	expect(there, "the last words");
	expect_end(there);
	here = dial_connect(good); /* the next one has a connection of its own */
	close(there);
	there = until_joined(2).fds[1];
	still_good();
	close(there);
	expect_end(here);
}

struct stranger {
	const char *identity;
	bool others_key;
	int version;      /* 0: no TLS */
	const char *text; /* then */
	const char *why;
};

#define IDENTITY_64 "0123456789012345678901234567890123456789012345678901234567890123"

static const struct stranger strangers[] = {
	{NULL, false, TLS1_3_VERSION, NULL, "it shows no key"},
	{"good-1.0", true, TLS1_3_VERSION, NULL, "its key is wrong (good-1.0)"},
	{"other-1.0", false, TLS1_3_VERSION, NULL, "its key is wrong (other-1.0)"},
	{"nobody-1.0", false, TLS1_3_VERSION, NULL, "its identity is unknown (nobody-1.0)"},
	{"good-1.0\n", false, TLS1_3_VERSION, NULL, "its identity is unknown"},
	{IDENTITY_64, false, TLS1_3_VERSION, NULL, "its identity is unknown"},
	{NULL, false, TLS1_2_VERSION, NULL, "it offers no TLS 1.3"},
	{NULL, false, 0, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "it speaks HTTP, not TLS"},
	{NULL, false, 0, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sweep.submit\"}\n",
	 "it speaks no TLS"},
	{NULL, false, 0, "\x16\x03\x01\x40", "it closed before the handshake ended"},
	{NULL, false, 0, "\x16\x03\x01\xff\xff ...", "it speaks no TLS"},
	{NULL, false, 0, "", "it closed before the handshake ended"},
};

TEST_ROWS(tls_stranger_is_refused_with_one_line, strangers)
{
	const struct stranger *s = &strangers[_i];

	if (s->version != 0) {
		ck_assert(!shake(s->identity, s->others_key ? key_of_other : key_of_good,
				 s->version));
	} else {
		const int fd = tcp_connect();

		say(fd, s->text);
		shutdown(fd, SHUT_WR);
		until_refused(1);
		close(fd);
	}
	until_refused(1);
	still_good();
	ck_assert_str_eq(heard().why, s->why);
	ck_assert_int_eq(strncmp(heard().from, "127.0.0.1:", 10), 0);
	ck_assert_uint_eq(heard().refused, 1);
	ck_assert_uint_eq(heard().joined, 1);
}

TEST(tls_thousand_half_open_ones_hold_nobody_up)
{
	struct rlimit files;
	int fds[1000];

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
	for (int i = 0; i < 1000; i++)
		fds[i] = tcp_connect();
	/* behind all of them; and in front of them the one that is there */
	const int next = dial_connect(good);

	still_good();
	const struct heard now = until_joined(2);

	say(next, "I am in\n");
	expect(now.fds[1], "I am in\n");
	close(next);
	close(now.fds[1]);
	for (int i = 0; i < 1000; i++)
		close(fds[i]);
	ck_assert_uint_eq(until_refused(1000).refused, 1000);
	still_good();
}

TEST(tls_those_that_come_and_go_are_never_many)
{
	listener_hold(true); /* at its first refusal: the others are there by then */
	for (int i = 0; i < 900; i++)
		close(tcp_connect());
	listener_hold(false);
	const struct heard now = until_refused(900);

	/* 64 that shake hands, and 64 of a round's events and of its new ones that have failed */
	ck_assert_msg(now.open_most < 250, "%u descriptors", now.open_most);
	still_good();
}

TEST(tls_half_open_one_has_ten_seconds)
{
	const int fd = tcp_connect();

	ck_assert_str_eq(until_refused(1).why, "no handshake within 10 s");
	expect_end(fd);
	close(fd);
	still_good();
}

TEST_LOOP(tls_peer_that_does_not_read_is_not_read_for, 0, 2)
{
	const size_t offered = (size_t)256 << 20;
	const int from = _i ? there : here, to = _i ? here : there;
	struct rusage before, after;

	getrusage(RUSAGE_SELF, &before);
	const size_t n = stuff(from, offered);

	getrusage(RUSAGE_SELF, &after);
	ck_assert_uint_lt(n, offered / 4); /* the sockets' own buffers, up to 10 MB */
	ck_assert_int_lt(after.ru_maxrss - before.ru_maxrss, 16 * 1024); /* KiB */
	const int next = dial_connect(good), end = until_joined(2).fds[1];

	say(next, "others go on\n");
	expect(end, "others go on\n");
	ck_assert_uint_eq(drain(to, n), n);
	still_good();
	close(next);
	close(end);
}

TEST(tls_cut_ends_one_identity_for_good)
{
	struct sw_tls_dial *other = dial_up("other-1.0", key_of_other);
	const int its = dial_connect(other), end = until_joined(2).fds[1];

	forget_good();
	sw_tls_cut(listener, "good-1.0");
	expect_end(there);
	expect_end(here);
	close(here);
	here = dial_connect(good);
	expect_end(here);
	ck_assert_str_eq(until_refused(1).why, "its identity is unknown (good-1.0)");
	say(its, "I stay\n");
	expect(end, "I stay\n");
	close(its);
	close(end);
	sw_tls_dial_close(other);
}

static void *close_good(void *arg)
{
	sw_tls_dial_close(good);
	return arg;
}

TEST(tls_dial_closes_when_the_last_words_have_gone)
{
	const size_t n = stuff(here, (size_t)64 << 20); /* all that the buffers hold */
	pthread_t thread;

	close(here);
	ck_assert_int_eq(pthread_create(&thread, NULL, close_good, NULL), 0);
	ck_assert_uint_eq(drain(there, n), n);
	expect_end(there);
	pthread_join(thread, NULL);
	good = NULL;
	here = -1;
}

TEST(tls_dial_goes_on_with_the_next_listener)
{
	const unsigned port = sw_tls_listener_port(listener);

	close(there);
	listener_down();
	expect_end(here);
	close(here);
	here = dial_connect(good);
	expect_end(here); /* nobody listens */
	close(here);
	listener_up(port);
	here = dial_connect(good);
	there = until_joined(2).fds[1];
	still_good();
}

TEST(tls_dial_trusts_no_certificate)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_tls_dial *d;
	struct impostor i = impostor_up();

	ck_assert_int_eq(sw_tls_dial(&d, "127.0.0.1", i.port, "good-1.0", key_of_good, &err),
			 SW_OK);
	const int fd = dial_connect(d);

	say(fd, "a secret\n");
	ck_assert_msg(!impostor_hears(&i), "it was told to one without the key");
	expect_end(fd);
	close(fd);
	sw_tls_dial_close(d);
}

TEST(tls_words_say_what_cannot_be_had)
{
	const struct sw_tls_events none = {0};
	struct sw_err err = SW_ERR_INIT;
	struct sw_tls_listener *l;
	struct sw_tls_dial *d;
	char line[80];

	snprintf(line, sizeof line, "cannot listen at 127.0.0.1:%u: Address already in use",
		 sw_tls_listener_port(listener));
	ck_assert_int_eq(
		sw_tls_listen(&l, "127.0.0.1", sw_tls_listener_port(listener), &none, NULL, &err),
		SW_IO);
	ck_assert_str_eq(err.msg, line);
	err = (struct sw_err)SW_ERR_INIT;
	ck_assert_int_eq(sw_tls_dial(&d, "localhost", 0, "good-1.0", key_of_good, &err),
			 SW_INVALID);
	ck_assert_int_eq(sw_tls_dial(&d, "localhost", 1, "good 1.0", key_of_good, NULL),
			 SW_INVALID);
	setenv("TMPDIR", "/no/such/folder", 1);
	err = (struct sw_err)SW_ERR_INIT;
	ck_assert_int_eq(sw_tls_dial(&d, "localhost", 1, "good-1.0", key_of_good, &err), SW_IO);
	ck_assert_int_eq(strncmp(err.msg, "no folder /no/such/folder/sweepd-", 33), 0);
}

TEST(tls_without_memory_is_an_error_and_leaves_nothing)
{
	const struct sw_tls_events none = {0};
	struct sw_tls_listener *l = NULL;
	struct sw_tls_dial *d = NULL;

	WALK (SW_FAULT_MALLOC, 1) {
		struct sw_err err = SW_ERR_INIT;

		walk_arm();
		const sw_status heard_rc = sw_tls_listen(&l, "127.0.0.1", 0, &none, NULL, &err);
		const sw_status dial_rc = sw_tls_dial(&d, "x", 1, "x", key_of_good, &err);
		const unsigned fired = walk_disarm();
		sw_tls_listener_close(l);
		sw_tls_dial_close(d);
		ck_assert_int_eq(heard_rc == SW_NOMEM || dial_rc == SW_NOMEM, fired != 0);
		ck_assert_int_eq(err.code, fired ? SW_NOMEM : SW_OK);
	}
}

RUN_TESTS(setup, teardown)
