/* tests/worker/link/test_session_end.c — the session against a small daemon: what ends it. */
#include "tests/walk.h"
#include "tests/worker/link/session_daemon.h"

static void refused_script(void)
{
	accept_one();
	refuse(expect("worker.hello", NULL, NULL), -32006, "unknown worker w1");
}

TEST(session_refused_at_hello_ends)
{
	const struct sw_job *job;

	start(refused_script, 10000);
	ck_assert(!sw_session_next(s, &job));
	ck_assert_int_eq(sw_session_ended(s), SW_SESSION_REFUSED);
	ck_assert_str_eq(sw_session_why(s), "the daemon refuses this worker: unknown worker w1");
}

static void garbage_script(void)
{
	accept_one();
	(void)expect("worker.hello", NULL, NULL);
	say("this is no JSON\n");
}

TEST(session_with_a_peer_that_speaks_otherwise_ends)
{
	const struct sw_job *job;

	start(garbage_script, 10000);
	ck_assert(!sw_session_next(s, &job));
	ck_assert_int_eq(sw_session_ended(s), SW_SESSION_BROKEN);
}

TEST(session_without_a_daemon_gives_up_only_when_it_waits)
{
	const struct sw_job *job;

	start(NULL, 5);
	close(d.listener);
	unlink(d.path);
	ck_assert(sw_session_go_on(s)); /* training would go on */
	ck_assert(!sw_session_next(s, &job));
	ck_assert_int_eq(sw_session_ended(s), SW_SESSION_LOST);
	ck_assert_ptr_nonnull(strstr(sw_session_why(s), "no daemon at /tmp/"));
}

static void leave_script(void)
{
	give_job();
	take_report(1, "continue");
	hang_up();
	close(d.listener);
}

TEST(session_spools_until_full_then_waits_and_gives_up)
{
	uint64_t kept = 0;

	start(leave_script, 50);
	next();
	while (sw_session_report(s, kept + 1, "{}", false))
		ck_assert_uint_le(++kept, SW_SESSION_SPOOL + 1);
	/* the first was answered; the rest waits */
	ck_assert_uint_ge(kept, SW_SESSION_SPOOL);
	ck_assert_int_eq(sw_session_ended(s), SW_SESSION_LOST);
}

TEST(session_ends_at_once_when_woken)
{
	const struct sw_job *job;

	start(NULL, 10000);
	ck_assert_int_eq(write(d.wake[1], "", 1), 1);
	ck_assert(!sw_session_next(s, &job));
	ck_assert_int_eq(sw_session_ended(s), SW_SESSION_EXIT);
}

static void last_report_script(void)
{
	give_job();
	take_report(1, "continue");
	(void)expect("worker.bye", NULL, NULL);
}

TEST(session_woken_in_mid_trial_reports_and_takes_no_other)
{
	const struct sw_job *job;

	start(last_report_script, 10000);
	next();
	ck_assert_int_eq(write(d.wake[1], "", 1), 1);
	ck_assert(sw_session_go_on(s));
	ck_assert_int_gt(sw_session_leaving(s), 0);
	ck_assert(sw_session_report(s, 1, "{}", true));
	ck_assert(sw_session_settle(s));
	ck_assert(!sw_session_next(s, &job));
	ck_assert_int_eq(sw_session_ended(s), SW_SESSION_EXIT);
	ck_assert_int_eq(sw_session_leaving(s), 0);
	sw_session_bye(s, sw_session_why(s), 0);
}

static void given_back_script(void)
{
	cJSON *m;

	give_job();
	(void)expect_message("worker.next", &m);
	if (!sw_json_text(sw_json_get(m, "params"), "refused", NULL))
		problem("refused", "no");
	cJSON_Delete(m);
	(void)expect("worker.bye", NULL, NULL);
}

/* Its device does not let it go on: no next job is asked for, and the daemon has to know it. */
TEST(session_that_ends_gives_back_what_it_refused)
{
	start(given_back_script, 10000);
	next();
	sw_session_refuse(s, "no way between GPUs");
	sw_session_bye(s, "stuck", 0);
}

static void away_script(void)
{
	give_job();
	hang_up();
	close(d.listener);
}

TEST(session_woken_without_a_daemon_saves_nothing)
{
	start(away_script, 10000);
	next();
	ck_assert_int_eq(write(d.wake[1], "", 1), 1);
	until_dropped();
	ck_assert_int_eq(sw_session_ended(s), SW_SESSION_EXIT);
}

TEST(session_without_memory_ends_cleanly_at_each_call)
{
	WALK (SW_FAULT_MALLOC, 1) {
		struct sw_session_config config = {
			.worker = "w1", .retry_ms = 1, .away_ms = 10000, .wake_fd = -1};
		struct sw_err err = SW_ERR_INIT;
		const struct sw_job *job;
		sw_status status;

		memset(&d, 0, sizeof d);
		snprintf(d.path, sizeof d.path, "/tmp/sw-session-%d", (int)getpid());
		listen_again();
		config.socket = d.path;
		d.script = whole_script;
		ck_assert_int_eq(pthread_create(&d.thread, NULL, play_script, NULL), 0);
		walk_arm();
		status = sw_session_create(&s, &config, &err);
		if (status == SW_OK && sw_session_next(s, &job)) {
			sw_session_log(s, "a line, which may be lost");
			(void)sw_session_report(s, 1, "{\"a\":1}", false);
			(void)sw_session_report(s, 2, "{\"a\":2}", false);
			sw_session_finish(s, "FAILED", "some cause");
			ck_assert(!sw_session_next(s, &job));
		}
		const unsigned fired = walk_disarm();
		/* no failure, or that of the log line: the daemon's last word ended it */
		if (!fired)
			ck_assert_int_eq(sw_session_ended(s), SW_SESSION_REFUSED);
		else if (status == SW_OK)
			ck_assert_int_ne(sw_session_ended(s), SW_SESSION_OPEN);
		else
			ck_assert_ptr_null(s);
		sw_session_destroy(s);
		shutdown(d.listener, SHUT_RDWR); /* a daemon that still waits for us sees the end */
		pthread_join(d.thread, NULL);
		if (d.in)
			hang_up();
		close(d.listener);
		unlink(d.path);
	}
	*d.path = '\0';
}

RUN_TESTS(NULL, stop)
