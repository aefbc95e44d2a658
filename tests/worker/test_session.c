/* tests/worker/test_session.c — the session against a small daemon: a thread that plays a script.
 *
 * The daemon side reads lines, checks their order, and answers; it may hang up or refuse. Both ends
 * meet only through the socket, so there is nothing to wait for but it. */
#include "base/fault.h"
#include "proto/json.h"
#include "worker/session.h"
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct daemon {
	char path[64];
	int listener, fd;
	FILE *in;
	pthread_t thread;
	char problem[256]; /* what the daemon saw that it should not have */
	int wake[2];
} d;

static struct sw_session *s;

#define JOB                                                                                        \
	"{\"sweep\":1,\"trial\":7,\"attempt\":2,\"seed\":99,\"data_seed\":5,\"params\":{\"lr\":1}" \
	","                                                                                        \
	"\"resume_step\":0,\"trainer\":{\"epochs\":3},\"max_t\":null,\"metric\":\"val_loss\","     \
	"\"goal\":\"minimize\"}"

/* --- the daemon's side --- */

static void problem(const char *what, const char *got)
{
	if (!*d.problem)
		snprintf(d.problem, sizeof d.problem, "%s: %.180s", what, got ? got : "end");
}

static void listen_again(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	strcpy(at.sun_path, d.path);
	unlink(d.path);
	d.listener = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(d.listener, (struct sockaddr *)&at, sizeof at) || listen(d.listener, 4))
		problem("listen", d.path);
}

static void accept_one(void)
{
	d.fd = accept(d.listener, NULL, NULL);
	d.in = d.fd < 0 ? NULL : fdopen(dup(d.fd), "r");
}

static void hang_up(void)
{
	shutdown(d.fd, SHUT_RDWR);
	fclose(d.in);
	close(d.fd);
}

/* The next message, which must be a call of this method; logs are skipped. Returns its id, and a
 * number of its params in *n where key is given. */
static int expect(const char *method, const char *key, uint64_t *n)
{
	char line[4096];
	cJSON *m = NULL;
	int id = 0;

	do {
		cJSON_Delete(m);
		if (!d.in || !fgets(line, sizeof line, d.in)) {
			problem(method, NULL);
			return 0;
		}
		m = cJSON_Parse(line);
	} while (sw_json_get(m, "method") &&
		 strcmp(sw_json_get(m, "method")->valuestring, "worker.log") == 0);
	if (!m || strcmp(sw_json_get(m, "method")->valuestring, method) != 0)
		problem(method, line);
	else if (sw_json_get(m, "id"))
		id = sw_json_get(m, "id")->valueint;
	if (key && !sw_json_u64(sw_json_get(sw_json_get(m, "params"), key), n))
		problem(key, line);
	cJSON_Delete(m);
	return id;
}

static void say(const char *text)
{
	if (send(d.fd, text, strlen(text), MSG_NOSIGNAL) != (ssize_t)strlen(text))
		problem("write", text);
}

static void answer(int id, const char *result)
{
	char line[1024];

	snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":%s}\n", id, result);
	say(line);
}

static void refuse(int id, int code, const char *message)
{
	char line[512];

	snprintf(line, sizeof line,
		 "{\"jsonrpc\":\"2.0\",\"id\":%d,\"error\":{\"code\":%d,\"message\":\"%s\"}}\n", id,
		 code, message);
	say(line);
}

/* hello, then a trial */
static void give_job(void)
{
	accept_one();
	answer(expect("worker.hello", "slot", &(uint64_t){0}), "{\"ok\":true}");
	answer(expect("worker.next", NULL, NULL), "{}");
	answer(expect("worker.next", NULL, NULL), JOB);
}

/* A report with this seq must come; answered with the decision (NULL: not at all). */
static void take_report(uint64_t seq, const char *decision)
{
	char result[64];
	uint64_t n = 0;
	const int id = expect("worker.report", "seq", &n);

	if (n != seq)
		problem("seq", "another");
	snprintf(result, sizeof result, "{\"decision\":\"%s\"}", decision ? decision : "");
	if (decision)
		answer(id, result);
}

/* --- the worker's side --- */

static void start(void *(*script)(void *), unsigned away_ms)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_session_config config = {
		.worker = "w1", .slot = 3, .retry_ms = 1, .away_ms = away_ms};

	memset(&d, 0, sizeof d);
	snprintf(d.path, sizeof d.path, "/tmp/sw-session-%d", (int)getpid());
	listen_again();
	ck_assert_int_eq(pipe(d.wake), 0);
	config.socket = d.path;
	config.wake_fd = d.wake[0];
	ck_assert_int_eq(sw_session_create(&s, &config, &err), SW_OK);
	if (script)
		ck_assert_int_eq(pthread_create(&d.thread, NULL, script, NULL), 0);
}

static void stop(void)
{
	sw_session_destroy(s);
	s = NULL;
	if (d.thread)
		pthread_join(d.thread, NULL);
	ck_assert_str_eq(d.problem, "");
	close(d.listener);
	unlink(d.path);
}

static const struct sw_job *next(void)
{
	const struct sw_job *job;

	ck_assert_msg(sw_session_next(s, &job), "%s", sw_session_why(s));
	ck_assert_uint_eq(job->trial, 7);
	ck_assert_uint_eq(job->attempt, 2);
	return job;
}

/* "Trains" until the session says to drop. */
static void until_dropped(void)
{
	while (sw_session_go_on(s))
		usleep(100);
}

static void *whole_script(void *arg)
{
	give_job();
	take_report(1, "continue");
	take_report(2, "continue");
	answer(expect("worker.tell", "trial", &(uint64_t){0}), "{\"trial\":7}");
	refuse(expect("worker.next", NULL, NULL), -32006, "go away");
	return arg;
}

START_TEST(session_runs_a_trial_from_next_to_tell)
{
	const struct sw_job *job;

	start(whole_script, 10000);
	job = next();
	ck_assert_uint_eq(job->seed, 99);
	ck_assert_uint_eq(job->max_t, 0);
	ck_assert_ptr_nonnull(sw_json_get(job->params, "lr"));
	sw_session_log(s, "started %s", "here");
	ck_assert(sw_session_report(s, 1, "{\"a\":1}"));
	ck_assert(sw_session_report(s, 2, "{\"a\":2}"));
	sw_session_finish(s, "COMPLETED", NULL);
	ck_assert(!sw_session_next(s, &job));
	ck_assert_int_eq(sw_session_ended(s), SW_SESSION_REFUSED);
	ck_assert_str_eq(sw_session_why(s), "the daemon gives no trial: go away");
	stop();
}
END_TEST

/* How a daemon may end a trial, and what the session says of it. */
static const char *const ends[] = {"decision stop", "decision pause", "the daemon stopped it",
				   "report refused: fenced", "report refused: gone"};

static void *end_script(void *arg)
{
	const int kind = *(int *)arg;
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
	return NULL;
}

static int end_kind;

static void *end_thread(void *arg)
{
	(void)arg;
	return end_script(&end_kind);
}

START_TEST(session_drops_the_trial_when_told)
{
	end_kind = _i;
	start(end_thread, 10000);
	next();
	(void)sw_session_report(s, 1, "{}"); /* the answer may be here already */
	until_dropped();
	ck_assert_str_eq(sw_session_dropped(s), ends[_i]);
	sw_session_release(s);
	next();
	stop();
}
END_TEST

static void *reconnect_script(void *arg)
{
	uint64_t trial = 0;
	int id;

	give_job();
	take_report(1, "continue");
	take_report(2, NULL); /* read, and never answered */
	hang_up();
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
	return arg;
}

START_TEST(session_reconnects_and_sends_again_what_was_not_answered)
{
	start(reconnect_script, 10000);
	next();
	for (uint64_t step = 1; step <= 5; step++) {
		ck_assert(sw_session_report(s, step, "{}"));
		ck_assert(sw_session_go_on(s));
	}
	sw_session_finish(s, "COMPLETED", NULL);
	ck_assert_int_eq(sw_session_ended(s), SW_SESSION_OPEN);
	stop();
}
END_TEST

static void *disowned_script(void *arg)
{
	give_job();
	hang_up();
	accept_one();
	answer(expect("worker.hello", "trial", &(uint64_t){0}), "{\"ok\":true,\"run\":false}");
	answer(expect("worker.next", NULL, NULL), JOB);
	return arg;
}

START_TEST(session_drops_a_trial_that_is_no_longer_its_own)
{
	start(disowned_script, 10000);
	next();
	until_dropped();
	ck_assert_str_eq(sw_session_dropped(s), "no longer this worker's");
	sw_session_release(s);
	next();
	stop();
}
END_TEST

static void *busy_script(void *arg)
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
	return arg;
}

START_TEST(session_sends_again_in_order_when_the_daemon_was_busy)
{
	start(busy_script, 10000);
	next();
	ck_assert(sw_session_report(s, 1, "{}"));
	ck_assert(sw_session_report(s, 2, "{}"));
	sw_session_finish(s, "COMPLETED", NULL);
	ck_assert_int_eq(sw_session_ended(s), SW_SESSION_OPEN);
	stop();
}
END_TEST

static void *invalid_script(void *arg)
{
	char line[1024] = "";

	give_job();
	refuse(expect("worker.report", NULL, NULL), -32602, "no such metric");
	if (!fgets(line, sizeof line, d.in) ||
	    !strstr(line, "\"FAILED\",\"cause\":\"report refused: no such metric\""))
		problem("tell", line);
	say("{\"jsonrpc\":\"2.0\",\"method\":\"worker.exit\"}\n");
	return arg;
}

START_TEST(session_tells_failed_when_a_report_is_invalid)
{
	start(invalid_script, 10000);
	next();
	(void)sw_session_report(s, 1, "{}");
	until_dropped();
	sw_session_finish(s, "COMPLETED", NULL);
	ck_assert_int_eq(sw_session_ended(s), SW_SESSION_EXIT);
	stop();
}
END_TEST

static void *refused_script(void *arg)
{
	accept_one();
	refuse(expect("worker.hello", NULL, NULL), -32006, "unknown worker w1");
	return arg;
}

START_TEST(session_refused_at_hello_ends)
{
	const struct sw_job *job;

	start(refused_script, 10000);
	ck_assert(!sw_session_next(s, &job));
	ck_assert_int_eq(sw_session_ended(s), SW_SESSION_REFUSED);
	ck_assert_str_eq(sw_session_why(s), "the daemon refuses this worker: unknown worker w1");
	stop();
}
END_TEST

static void *garbage_script(void *arg)
{
	accept_one();
	(void)expect("worker.hello", NULL, NULL);
	say("this is no JSON\n");
	return arg;
}

START_TEST(session_with_a_peer_that_speaks_otherwise_ends)
{
	const struct sw_job *job;

	start(garbage_script, 10000);
	ck_assert(!sw_session_next(s, &job));
	ck_assert_int_eq(sw_session_ended(s), SW_SESSION_BROKEN);
	stop();
}
END_TEST

START_TEST(session_without_a_daemon_gives_up_only_when_it_waits)
{
	const struct sw_job *job;

	start(NULL, 5);
	close(d.listener);
	unlink(d.path);
	ck_assert(sw_session_go_on(s)); /* training would go on */
	ck_assert(!sw_session_next(s, &job));
	ck_assert_int_eq(sw_session_ended(s), SW_SESSION_LOST);
	ck_assert_ptr_nonnull(strstr(sw_session_why(s), "no daemon at /tmp/"));
	stop();
}
END_TEST

static void *leave_script(void *arg)
{
	give_job();
	take_report(1, "continue");
	hang_up();
	close(d.listener);
	return arg;
}

START_TEST(session_spools_until_full_then_waits_and_gives_up)
{
	uint64_t kept = 0;

	start(leave_script, 50);
	next();
	while (sw_session_report(s, kept + 1, "{}"))
		ck_assert_uint_le(++kept, SW_SESSION_SPOOL + 1);
	/* the first was answered; the rest waits */
	ck_assert_uint_ge(kept, SW_SESSION_SPOOL);
	ck_assert_int_eq(sw_session_ended(s), SW_SESSION_LOST);
	stop();
}
END_TEST

START_TEST(session_ends_at_once_when_woken)
{
	const struct sw_job *job;

	start(NULL, 10000);
	ck_assert_int_eq(write(d.wake[1], "", 1), 1);
	ck_assert(!sw_session_next(s, &job));
	ck_assert_int_eq(sw_session_ended(s), SW_SESSION_EXIT);
	stop();
}
END_TEST

#ifdef SW_FAULTS
START_TEST(session_without_memory_ends_cleanly_at_each_call)
{
	unsigned fired = 1;

	for (unsigned nth = 1; fired != 0; nth++) {
		struct sw_session_config config = {
			.worker = "w1", .retry_ms = 1, .away_ms = 10000, .wake_fd = -1};
		struct sw_err err = SW_ERR_INIT;
		const struct sw_job *job;
		sw_status status;

		ck_assert_uint_lt(nth, 200);
		memset(&d, 0, sizeof d);
		snprintf(d.path, sizeof d.path, "/tmp/sw-session-%d", (int)getpid());
		listen_again();
		config.socket = d.path;
		ck_assert_int_eq(pthread_create(&d.thread, NULL, whole_script, NULL), 0);
		sw_fault_arm(SW_FAULT_MALLOC, nth, false);
		status = sw_session_create(&s, &config, &err);
		if (status == SW_OK && sw_session_next(s, &job)) {
			sw_session_log(s, "a line, which may be lost");
			(void)sw_session_report(s, 1, "{\"a\":1}");
			(void)sw_session_report(s, 2, "{\"a\":2}");
			sw_session_finish(s, "FAILED", "some cause");
			ck_assert(!sw_session_next(s, &job));
		}
		fired = sw_fault_fired(SW_FAULT_MALLOC);
		sw_fault_arm(SW_FAULT_MALLOC, 0, false);
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
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("worker");
	TCase *tcase = tcase_create("session");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tcase);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, session_runs_a_trial_from_next_to_tell);
	tcase_add_loop_test(tcase, session_drops_the_trial_when_told, 0,
			    sizeof ends / sizeof *ends);
	tcase_add_test(tcase, session_reconnects_and_sends_again_what_was_not_answered);
	tcase_add_test(tcase, session_drops_a_trial_that_is_no_longer_its_own);
	tcase_add_test(tcase, session_sends_again_in_order_when_the_daemon_was_busy);
	tcase_add_test(tcase, session_tells_failed_when_a_report_is_invalid);
	tcase_add_test(tcase, session_refused_at_hello_ends);
	tcase_add_test(tcase, session_with_a_peer_that_speaks_otherwise_ends);
	tcase_add_test(tcase, session_without_a_daemon_gives_up_only_when_it_waits);
	tcase_add_test(tcase, session_spools_until_full_then_waits_and_gives_up);
	tcase_add_test(tcase, session_ends_at_once_when_woken);
#ifdef SW_FAULTS
	tcase_add_test(tcase, session_without_memory_ends_cleanly_at_each_call);
#endif
	srunner_run_all(runner, CK_ENV);
	const int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
