/* tests/worker/link/session_daemon.h — a small daemon for the session's tests: a thread that plays
 * a script.
 *
 * The daemon side reads lines, checks their order, and answers; it may hang up or refuse. Both ends
 * meet only through the socket, so there is nothing to wait for but it. */
#ifndef SW_TESTS_WORKER_LINK_SESSION_DAEMON_H
#define SW_TESTS_WORKER_LINK_SESSION_DAEMON_H

#include "proto/json.h"
#include "tests/run.h"
#include "worker/link/session.h"
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

static struct daemon {
	char path[64];
	int listener, fd;
	FILE *in;
	pthread_t thread;
	void (*script)(void);
	char problem[256]; /* what the daemon saw that it should not have */
	char logs[4096];   /* the lines of worker.log, each with a newline */
	unsigned beats;    /* empty lines */
	int wake[2];
} d;

static struct sw_session *s;

#define JOB                                                                                        \
	"{\"sweep\":1,\"trial\":7,\"attempt\":2,\"seed\":99,\"data_seed\":5,\"params\":{\"lr\":1}" \
	","                                                                                        \
	"\"resume_step\":0,\"trainer\":{\"epochs\":3},\"max_t\":null,\"metric\":\"val_loss\","     \
	"\"goal\":\"minimize\"}"

/* --- the daemon's side --- */

static inline void problem(const char *what, const char *got)
{
	if (*d.problem)
		return;
	snprintf(d.problem, sizeof d.problem, "%s: %.180s", what, got ? got : "end");
	/* the worker gives up instead of waiting for what does not come */
	shutdown(d.fd, SHUT_RDWR);
	shutdown(d.listener, SHUT_RDWR);
}

static inline void listen_again(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	strcpy(at.sun_path, d.path);
	unlink(d.path);
	d.listener = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(d.listener, (struct sockaddr *)&at, sizeof at) || listen(d.listener, 4))
		problem("listen", d.path);
}

static inline void accept_one(void)
{
	d.fd = accept(d.listener, NULL, NULL);
	d.in = d.fd < 0 ? NULL : fdopen(dup(d.fd), "r");
}

static inline void hang_up(void)
{
	shutdown(d.fd, SHUT_RDWR);
	fclose(d.in);
	close(d.fd);
}

/* Is it a line for the log, whose text is kept, or a word of progress, which depends on time? */
static inline bool is_log(const cJSON *m)
{
	const cJSON *method = sw_json_get(m, "method");
	const cJSON *text = sw_json_get(sw_json_get(m, "params"), "text");
	const size_t n = strlen(d.logs);

	if (method && strcmp(method->valuestring, "worker.progress") == 0)
		return true;
	if (!method || strcmp(method->valuestring, "worker.log") != 0)
		return false;
	if (cJSON_IsString(text))
		snprintf(d.logs + n, sizeof d.logs - n, "%s\n", text->valuestring);
	return true;
}

/* The next message, which must be a call of this method; logs are kept aside, beats counted.
 * Returns its id, and the message in *out, which the caller deletes (NULL: nothing came). */
static inline int expect_message(const char *method, cJSON **out)
{
	char line[4096];
	cJSON *m = NULL;
	int id = 0;

	do {
		cJSON_Delete(m);
		*out = m = NULL;
		if (!d.in || !fgets(line, sizeof line, d.in)) {
			problem(method, NULL);
			return 0;
		}
		m = cJSON_Parse(line);
		d.beats += *line == '\n';
	} while (*line == '\n' || is_log(m));
	if (!m || !sw_json_get(m, "method") ||
	    strcmp(sw_json_get(m, "method")->valuestring, method) != 0)
		problem(method, line);
	else if (sw_json_get(m, "id"))
		id = sw_json_get(m, "id")->valueint;
	*out = m;
	return id;
}

/* The same, and a number of its params in *n where key is given. */
static inline int expect(const char *method, const char *key, uint64_t *n)
{
	cJSON *m;
	const int id = expect_message(method, &m);

	if (key && !sw_json_u64(sw_json_get(sw_json_get(m, "params"), key), n))
		problem(key, method);
	cJSON_Delete(m);
	return id;
}

static inline void say(const char *text)
{
	if (send(d.fd, text, strlen(text), MSG_NOSIGNAL) != (ssize_t)strlen(text))
		problem("write", text);
}

static inline void answer(int id, const char *result)
{
	char line[1200];

	snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":%s}\n", id, result);
	say(line);
}

static inline void refuse(int id, int code, const char *message)
{
	char line[512];

	snprintf(line, sizeof line,
		 "{\"jsonrpc\":\"2.0\",\"id\":%d,\"error\":{\"code\":%d,\"message\":\"%s\"}}\n", id,
		 code, message);
	say(line);
}

/* The trial must end so. cause: what its cause has in it; "": there is none; NULL: any. */
static inline void told(const char *state, const char *cause)
{
	cJSON *m;
	const int id = expect_message("worker.tell", &m);
	const cJSON *params = sw_json_get(m, "params");
	const char *end = cJSON_GetStringValue(sw_json_get(params, "state"));
	const char *why = cJSON_GetStringValue(sw_json_get(params, "cause"));

	if (!end || strcmp(end, state) != 0)
		problem("state", end);
	if (cause && (*cause ? !why || !strstr(why, cause) : why != NULL))
		problem("cause", why);
	cJSON_Delete(m);
	answer(id, "{}");
}

static inline void no_more(void)
{
	refuse(expect("worker.next", NULL, NULL), -32006, "no more");
}

/* hello, then a trial */
static inline void give_job(void)
{
	accept_one();
	answer(expect("worker.hello", "slot", &(uint64_t){0}), "{\"ok\":true}");
	answer(expect("worker.next", NULL, NULL), "{}");
	answer(expect("worker.next", NULL, NULL), JOB);
}

/* A report with this seq must come; answered with the decision (NULL: not at all). */
static inline void take_report(uint64_t seq, const char *decision)
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

static inline void *play_script(void *arg)
{
	d.script();
	return arg;
}

static inline void start(void (*script)(void), unsigned away_ms)
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
	d.script = script;
	if (script)
		ck_assert_int_eq(pthread_create(&d.thread, NULL, play_script, NULL), 0);
}

/* After a test; what started nothing has nothing to end. */
static inline void stop(void)
{
	if (*d.path == '\0')
		return;
	sw_session_destroy(s);
	s = NULL;
	if (d.thread)
		pthread_join(d.thread, NULL);
	ck_assert_str_eq(d.problem, "");
	close(d.listener);
	unlink(d.path);
	*d.path = '\0';
}

static inline const struct sw_job *next(void)
{
	const struct sw_job *job;

	ck_assert_msg(sw_session_next(s, &job), "%s", sw_session_why(s));
	ck_assert_uint_eq(job->trial, 7);
	ck_assert_uint_eq(job->attempt, 2);
	return job;
}

/* "Trains" until the session says to drop. */
static inline void until_dropped(void)
{
	while (sw_session_go_on(s))
		usleep(100);
}

static inline void whole_script(void)
{
	give_job();
	take_report(1, "continue");
	take_report(2, "continue");
	answer(expect("worker.tell", "trial", &(uint64_t){0}), "{\"trial\":7}");
	refuse(expect("worker.next", NULL, NULL), -32006, "go away");
}

#endif
