/* tests/worker/link/test_session.c — the session against a small daemon: trials from next to
 * tell. */
#include "proto/silence.h"
#include "tests/worker/link/session_daemon.h"
#include <stdatomic.h>

TEST(session_runs_a_trial_from_next_to_tell)
{
	const struct sw_job *job;

	start(whole_script, 10000);
	job = next();
	ck_assert_uint_eq(job->seed, 99);
	ck_assert_uint_eq(job->max_t, 0);
	ck_assert_ptr_nonnull(sw_json_get(job->params, "lr"));
	sw_session_log(s, "started %s", "here");
	ck_assert(sw_session_report(s, 1, "{\"a\":1}", false));
	ck_assert(sw_session_report(s, 2, "{\"a\":2}", false));
	sw_session_finish(s, "COMPLETED", NULL);
	ck_assert(!sw_session_next(s, &job));
	ck_assert_int_eq(sw_session_ended(s), SW_SESSION_REFUSED);
	ck_assert_str_eq(sw_session_why(s), "the daemon gives no trial: go away");
}

/* How a daemon may end a trial, and what the session says of it. */
static const char *const ends[] = {"decision stop", "decision pause", "the daemon stopped it",
				   "report refused: fenced", "report refused: gone"};

static int kind; /* the row */

static void end_script(void)
{
	int id;

	give_job();
	if (kind < 2) {
		take_report(1, kind ? "pause" : "stop");
	} else if (kind == 2) {
		/* another attempt's stop is not ours */
		say("{\"jsonrpc\":\"2.0\",\"method\":\"worker.stop\",\"params\":{\"sweep\":1,"
		    "\"trial\":7,\"attempt\":1}}\n");
		take_report(1, "continue");
		say("{\"jsonrpc\":\"2.0\",\"method\":\"worker.stop\",\"params\":{\"sweep\":1,"
		    "\"trial\":7,\"attempt\":2}}\n");
	} else {
		id = expect("worker.report", NULL, NULL);
		refuse(id, kind == 3 ? -32002 : -32001, kind == 3 ? "fenced" : "gone");
	}
	/* no tell: the next trial at once */
	answer(expect("worker.next", NULL, NULL), JOB);
}

TEST_ROWS(session_drops_the_trial_when_told, ends)
{
	kind = _i;
	start(end_script, 10000);
	next();
	(void)sw_session_report(s, 1, "{}", false); /* the answer may be here already */
	until_dropped();
	ck_assert_str_eq(sw_session_dropped(s), ends[_i]);
	sw_session_release(s);
	next();
}

static atomic_bool hung_up;

static void reconnect_script(void)
{
	uint64_t trial = 0;
	int id;

	give_job();
	id = expect("worker.report", NULL, NULL);
	take_report(2, NULL); /* read, and never answered */
	answer(id, "{\"decision\":\"continue\"}");
	hang_up();
	atomic_store(&hung_up, true);
	close(d.listener);
	listen_again(); /* as a new daemon makes it: the same path, another file */
	accept_one();
	id = expect("worker.hello", "trial", &trial);
	if (trial != 7)
		problem("hello", "names no trial");
	answer(id, "{\"ok\":true,\"run\":true}");
	for (uint64_t seq = 2; seq <= 5; seq++)
		take_report(seq, "continue");
	answer(expect("worker.tell", NULL, NULL), "{}");
}

TEST(session_reconnects_and_sends_again_what_was_not_answered)
{
	start(reconnect_script, 10000);
	next();
	for (uint64_t step = 1; step <= 5; step++) {
		/* What the daemon had answered is read, though the next report cannot be sent. */
		while (step == 3 && !atomic_load(&hung_up))
			usleep(100);
		ck_assert(sw_session_report(s, step, "{}", false));
	}
	sw_session_finish(s, "COMPLETED", NULL);
	ck_assert_int_eq(sw_session_ended(s), SW_SESSION_OPEN);
}

static void disowned_script(void)
{
	give_job();
	hang_up();
	accept_one();
	answer(expect("worker.hello", "trial", &(uint64_t){0}), "{\"ok\":true,\"run\":false}");
	answer(expect("worker.next", NULL, NULL), JOB);
}

TEST(session_drops_a_trial_that_is_no_longer_its_own)
{
	start(disowned_script, 10000);
	next();
	until_dropped();
	ck_assert_str_eq(sw_session_dropped(s), "no longer this worker's");
	sw_session_release(s);
	next();
}

static void busy_script(void)
{
	int first;

	give_job();
	first = expect("worker.report", NULL, NULL);
	const int second = expect("worker.report", NULL, NULL);

	refuse(first, -32004, "disk full");
	refuse(second, -32602, "seq 2 comes before seq 1");
	take_report(1, "continue");
	take_report(2, "continue");
	answer(expect("worker.tell", NULL, NULL), "{}");
}

TEST(session_sends_again_in_order_when_the_daemon_was_busy)
{
	start(busy_script, 10000);
	next();
	ck_assert(sw_session_report(s, 1, "{}", false));
	ck_assert(sw_session_report(s, 2, "{}", false));
	sw_session_finish(s, "COMPLETED", NULL);
	ck_assert_int_eq(sw_session_ended(s), SW_SESSION_OPEN);
}

static void invalid_script(void)
{
	char line[1024] = "";

	give_job();
	refuse(expect("worker.report", NULL, NULL), -32602, "no such metric");
	if (!fgets(line, sizeof line, d.in) ||
	    !strstr(line, "\"FAILED\",\"cause\":\"report refused: no such metric\""))
		problem("tell", line);
	say("{\"jsonrpc\":\"2.0\",\"method\":\"worker.exit\"}\n");
}

TEST(session_tells_failed_when_a_report_is_invalid)
{
	start(invalid_script, 10000);
	next();
	(void)sw_session_report(s, 1, "{}", false);
	until_dropped();
	sw_session_finish(s, "COMPLETED", NULL);
	ck_assert_int_eq(sw_session_ended(s), SW_SESSION_EXIT);
}

static size_t heard; /* while it trained: one more may be on its way when it ends */

static void listen_script(void)
{
	char line[8];

	give_job();
	while (d.beats < 3 && fgets(line, sizeof line, d.in))
		if (strcmp(line, "\n") == 0)
			d.beats++;
		else
			problem("a line", line);
	heard = d.beats;
	say("{\"jsonrpc\":\"2.0\",\"method\":\"worker.exit\"}\n");
}

TEST(session_of_a_worker_that_has_nothing_to_say_sends_empty_lines)
{
	setenv("SWEEPD_SILENT_MS", "6", 1);
	start(listen_script, 10000);
	next();
	until_dropped(); /* it trains, and reports nothing */
	ck_assert_int_eq(sw_session_ended(s), SW_SESSION_EXIT);
	stop();
	ck_assert_uint_eq(heard, 3);
	unsetenv("SWEEPD_SILENT_MS");
}

TEST(silence_has_a_limit_of_a_minute)
{
	static const char *const none[] = {"", "0", "-1", "x", "60001"};

	unsetenv("SWEEPD_SILENT_MS");
	ck_assert_int_eq(sw_silent_us(), 60000000);
	for (size_t i = 0; i < ROWS(none); i++) {
		setenv("SWEEPD_SILENT_MS", none[i], 1);
		ck_assert_int_eq(sw_silent_us(), 60000000);
	}
	setenv("SWEEPD_SILENT_MS", "2500", 1);
	ck_assert_int_eq(sw_silent_us(), 2500000);
	unsetenv("SWEEPD_SILENT_MS");
}

static bool answered; /* by the daemon; the socket orders it before what the session then knows */

static void settle_script(void)
{
	cJSON *m;
	int id;

	give_job();
	answer(expect("worker.report", "seq", &(uint64_t){0}), "{\"decision\":\"continue\"}");
	id = expect_message("worker.report", &m);
	if (!cJSON_IsTrue(sw_json_get(sw_json_get(m, "params"), "checkpoint")))
		problem("checkpoint", "not said");
	cJSON_Delete(m);
	__atomic_store_n(&answered, true, __ATOMIC_SEQ_CST);
	answer(id, "{\"decision\":\"continue\"}");
	take_report(3, "pause");
}

TEST(session_settles_when_all_reports_are_answered)
{
	start(settle_script, 10000);
	next();
	ck_assert(sw_session_settle(s)); /* nothing to wait for */
	ck_assert(sw_session_report(s, 1, "{}", false));
	ck_assert(sw_session_report(s, 2, "{}", true));
	ck_assert(sw_session_settle(s));
	ck_assert(__atomic_load_n(&answered, __ATOMIC_SEQ_CST));
	ck_assert(sw_session_report(s, 3, "{}", false) || *sw_session_dropped(s));
	ck_assert(!sw_session_settle(s));
	ck_assert_str_eq(sw_session_dropped(s), "decision pause");
}

#define PATHS "\"checkpoint\":\"/c/3-9.ckpt\",\"checkpoint_dir\":\"/c\""
#define HEAD                                                                                       \
	"{\"sweep\":1,\"trial\":7,\"attempt\":2,\"seed\":99,\"data_seed\":5,\"params\":{},"        \
	"\"trainer\":{},"

/* Trials as the daemon may give them; why: what the worker says of one that it cannot read. */
static const struct {
	const char *job, *why;
} jobs[] = {
	{HEAD PATHS ",\"resume_step\":9,\"until\":27,\"checkpoint_every\":5,\"parent\":3}", NULL},
	{HEAD "\"resume_step\":0,\"checkpoint\":null,\"checkpoint_dir\":null,\"parent\":null}",
	 NULL},
	{HEAD "\"until\":\"9\"}", "\"until\" must be an integer of at least 0"},
	{"{\"sweep\":1}", "\"trial\" is missing"},
};
static int jobs_i;

static void jobs_script(void)
{
	accept_one();
	answer(expect("worker.hello", NULL, NULL), "{\"ok\":true}");
	answer(expect("worker.next", NULL, NULL), jobs[jobs_i].job);
}

TEST_ROWS(session_reads_where_a_trial_goes_on, jobs)
{
	const struct sw_job *job;

	jobs_i = _i;
	start(jobs_script, 10000);
	ck_assert_int_eq(sw_session_next(s, &job), jobs[_i].why == NULL);
	if (jobs[_i].why) {
		char why[200];

		snprintf(why, sizeof why, "the daemon gave a trial that cannot be read: %s",
			 jobs[_i].why);
		ck_assert_str_eq(sw_session_why(s), why);
	}
	if (_i == 0) {
		ck_assert_str_eq(job->checkpoint, "/c/3-9.ckpt");
		ck_assert_str_eq(job->checkpoint_dir, "/c");
		ck_assert_uint_eq(job->resume_step, 9);
		ck_assert_uint_eq(job->until, 27);
		ck_assert_uint_eq(job->checkpoint_every, 5);
		ck_assert_uint_eq(job->parent, 3);
	} else if (!jobs[_i].why) {
		ck_assert_ptr_null(job->checkpoint);
		ck_assert_ptr_null(job->checkpoint_dir);
		ck_assert_uint_eq(job->until + job->checkpoint_every + job->parent, 0);
	}
}

static void long_refusal_script(void)
{
	char line[1024] = "";

	give_job();
	if (!fgets(line, sizeof line, d.in) || !strstr(line, "\"refused\":\"x\xe2\x82\xac") ||
	    strstr(line, "\xef\xbf\xbd") || strstr(line, "ufffd"))
		problem("refused", line);
	say("{\"jsonrpc\":\"2.0\",\"method\":\"worker.exit\"}\n");
}

TEST(session_cuts_a_refusal_between_characters)
{
	const struct sw_job *job;
	char why[302] = "x"; /* each further character has 3 bytes */

	for (size_t i = 0; i < 300; i += 3)
		memcpy(why + 1 + i, "\xe2\x82\xac", 3);
	start(long_refusal_script, 10000);
	next();
	sw_session_refuse(s, why);
	ck_assert(!sw_session_next(s, &job));
}

RUN_TESTS(NULL, stop)
