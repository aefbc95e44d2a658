/* tests/daemon/fixture_peer.c — clients and workers of a story: requests out, answers in short
 * words.
 *
 *   trial.ask      "1.1", "2.3@9" (attempt 3, from the checkpoint of step 9), "4.1<2" (a child of
 *                  2), "1.1 to 20.1", "1.1 3.1 to 21.1" (every second); "none, busy" without one
 *   worker.next    "gets 1/2.1" (sweep 1, trial 2, attempt 1), "@9" as above; "nothing"; of a
 *                  program also "runs train.py in /home to /logs/1/2.log", of a trainer's gang
 *                  "on 4 ranks", and of a pipeline "in 2 stages of 8 parts"
 *   sweep.get      "RUNNING: 2 RUNNING, 1 PENDING", its cause in brackets
 *   sweep.watch    "snapshot RUNNING: 1 RUNNING, 2 COMPLETED" (trial by trial); of what changed
 *                  "update RUNNING: 1 RUNNING"
 *   an error       "refused -32001 /seq: the line"
 */
#include "tests/daemon/fixture_peer.h"
#include "tests/daemon/fixture_world.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#define LINE_MAX_BYTES ((size_t)4 << 20)
#define ASKED          600
#define SWEEPS         4

struct fixture_peer {
	char name[12];
	int fd; /* -1: not connected */
	bool deaf;
	char *in;
	size_t in_n;
	char *out; /* what the socket has not taken yet */
	size_t out_n;
	char asked[ASKED][24]; /* methods whose answers are to come; "": shown as it comes */
	size_t asked_n;
	long long next[SWEEPS]; /* by sweep: the `next` of its last sweep.watch */
};

static struct fixture_peer peers[FIXTURE_PEERS];

/* --- words for answers --- */

static const char *text_of(const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	return cJSON_IsString(v) ? v->valuestring : "";
}

static long long number_of(const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	return cJSON_IsNumber(v) ? (long long)v->valuedouble : 0;
}

static void say_trial(struct fixture_text *t, const cJSON *v)
{
	fixture_say(t, "%lld.%lld", number_of(v, "trial"), number_of(v, "attempt"));
	if (number_of(v, "resume_step") != 0)
		fixture_say(t, "@%lld", number_of(v, "resume_step"));
	if (number_of(v, "parent") != 0)
		fixture_say(t, "<%lld", number_of(v, "parent"));
}

static bool is_plain(const cJSON *v, long long trial)
{
	return v != NULL && number_of(v, "trial") == trial && number_of(v, "attempt") == 1 &&
	       number_of(v, "resume_step") == 0 && number_of(v, "parent") == 0;
}

/* Many first attempts whose numbers rise evenly are "1.1 to 20.1", "1.1 3.1 to 21.1". */
static void show_ask(struct fixture_text *t, const cJSON *r)
{
	const cJSON *trials = cJSON_GetObjectItemCaseSensitive(r, "trials");

	if (trials == NULL || trials->child == NULL)
		fixture_say(t, "none, %s", text_of(r, "reason"));
	for (const cJSON *v = trials != NULL ? trials->child : NULL; v != NULL; v = v->next) {
		const long long first = number_of(v, "trial");
		const long long step = number_of(v->next, "trial") - first;
		const cJSON *last = v;
		long long n = 0;

		fixture_say(t, "%s", v != trials->child ? " " : "");
		say_trial(t, v);
		while (is_plain(v, first) && is_plain(last->next, first + step * (n + 1))) {
			last = last->next;
			n++;
		}
		if (n < 6)
			continue;
		if (step > 1)
			fixture_say(t, " %lld.1", first + step);
		fixture_say(t, " to ");
		say_trial(t, last);
		v = last;
	}
}

static void show_next(struct fixture_text *t, const cJSON *r)
{
	if (number_of(r, "trial") == 0) {
		fixture_say(t, "nothing");
		return;
	}
	fixture_say(t, "gets %lld/", number_of(r, "sweep"));
	say_trial(t, r);
	const cJSON *command = cJSON_GetObjectItem(r, "command");
	if (command == NULL && number_of(r, "ranks") != 0)
		fixture_say(t, " on %lld ranks", number_of(r, "ranks"));
	if (cJSON_GetObjectItem(r, "stages") != NULL)
		fixture_say(t, " in %lld stages of %lld parts", number_of(r, "stages"),
			    number_of(r, "microbatches"));
	if (command == NULL)
		return;
	fixture_say(t, " runs %s in %s", cJSON_GetArrayItem(command, 0)->valuestring,
		    text_of(cJSON_GetObjectItem(r, "run"), "cwd"));
	fixture_say(t, " to %s", strstr(text_of(r, "log"), "/logs/"));
}

static void show_hello(struct fixture_text *t, const cJSON *r)
{
	fixture_say(t, "%s", cJSON_IsTrue(cJSON_GetObjectItem(r, "run")) ? "goes on" : "welcome");
}

static void show_decision(struct fixture_text *t, const cJSON *r)
{
	fixture_say(t, "%s", text_of(r, "decision"));
	if (number_of(r, "until") != 0)
		fixture_say(t, " until %lld", number_of(r, "until"));
}

static void show_trial_state(struct fixture_text *t, const cJSON *r)
{
	fixture_say(t, "%lld %s", number_of(r, "trial"), text_of(r, "state"));
	if (text_of(r, "cause")[0] != '\0')
		fixture_say(t, " (%s)", text_of(r, "cause"));
}

static void show_rows(struct fixture_text *t, const cJSON *r)
{
	const cJSON *trials = cJSON_GetObjectItemCaseSensitive(r, "trials"), *v;

	cJSON_ArrayForEach (v, trials) {
		char *value = cJSON_PrintUnformatted(cJSON_GetObjectItem(v, "value"));
		char *metrics = cJSON_PrintUnformatted(cJSON_GetObjectItem(v, "metrics"));

		fixture_say(t, "%s%lld %s at %lld: %s %s, from %lld",
			    v != trials->child ? "; " : "", number_of(v, "trial"),
			    text_of(v, "state"), number_of(v, "step"), value, metrics,
			    number_of(v, "resume_step"));
		free(value);
		free(metrics);
	}
}

static void show_counts(struct fixture_text *t, const cJSON *r)
{
	const cJSON *v;
	bool any = false;

	fixture_say(t, "%s", text_of(r, "state"));
	cJSON_ArrayForEach (v, cJSON_GetObjectItemCaseSensitive(r, "counts")) {
		if (v->valuedouble == 0)
			continue;
		fixture_say(t, "%s%g %s", any ? ", " : ": ", v->valuedouble, v->string);
		any = true;
	}
	if (text_of(r, "cause")[0] != '\0')
		fixture_say(t, " (%s)", text_of(r, "cause"));
}

static void show_front(struct fixture_text *t, const cJSON *v)
{
	const cJSON *front = cJSON_GetObjectItemCaseSensitive(v, "pareto");

	if (cJSON_IsObject(front))
		fixture_say(t, ", %lld on the front", number_of(front, "trials"));
}

static void show_best(struct fixture_text *t, const cJSON *r)
{
	if (cJSON_GetObjectItemCaseSensitive(r, "trials")->child == NULL)
		fixture_say(t, "none");
	show_rows(t, r);
	show_front(t, r);
}

static void show_list(struct fixture_text *t, const cJSON *r)
{
	const cJSON *sweeps = cJSON_GetObjectItemCaseSensitive(r, "sweeps"), *v;

	cJSON_ArrayForEach (v, sweeps) {
		fixture_say(t, "%s%lld ", v != sweeps->child ? "; " : "", number_of(v, "sweep"));
		show_counts(t, v);
		show_front(t, v);
	}
	fixture_say(t, "; %lld older", number_of(r, "older"));
}

static void show_submit(struct fixture_text *t, const cJSON *r)
{
	fixture_say(t, "sweep %lld", number_of(r, "sweep"));
}

/* Many in a row in the same state are "1 to 20 RUNNING". */
static void show_trials(struct fixture_text *t, const cJSON *r)
{
	const cJSON *trials = cJSON_GetObjectItemCaseSensitive(r, "trials");

	fixture_say(t, "%s", text_of(r, "state"));
	for (const cJSON *v = trials != NULL ? trials->child : NULL; v != NULL; v = v->next) {
		const char *state = text_of(v, "state");
		const cJSON *last = v;
		long long n = 0;

		while (last->next != NULL && strcmp(text_of(last->next, "state"), state) == 0 &&
		       number_of(last->next, "trial") == number_of(v, "trial") + n + 1) {
			last = last->next;
			n++;
		}
		fixture_say(t, "%s%lld", v == trials->child ? ": " : ", ", number_of(v, "trial"));
		if (n >= 6) {
			fixture_say(t, " to %lld", number_of(last, "trial"));
			v = last;
		}
		fixture_say(t, " %s", state);
	}
}

static void show_watch(struct fixture_text *t, const cJSON *r)
{
	fixture_say(t, "%s ",
		    cJSON_IsTrue(cJSON_GetObjectItem(r, "reset")) ? "snapshot" : "update");
	show_trials(t, r);
}

static void show_all(struct fixture_text *t, const cJSON *r)
{
	char *text = cJSON_PrintUnformatted(r);
	size_t n = strlen(text);

	fixture_say(t, "%.300s%s", text, n > 300 ? "..." : "");
	free(text);
}

static void show_devices(struct fixture_text *t, const cJSON *r)
{
	const cJSON *slots = cJSON_GetObjectItemCaseSensitive(r, "slots"), *v;

	cJSON_ArrayForEach (v, slots) {
		fixture_say(t, "%s%s %s", v != slots->child ? ", " : "", text_of(v, "device"),
			    text_of(v, "state"));
		if (number_of(v, "trial") != 0)
			fixture_say(t, " %lld/%lld", number_of(v, "sweep"), number_of(v, "trial"));
		if (text_of(v, "cause")[0] != '\0')
			fixture_say(t, " (%s)", text_of(v, "cause"));
	}
}

static void show_ok(struct fixture_text *t, const cJSON *r)
{
	(void)r;
	fixture_say(t, "ok");
}

static void show_stats(struct fixture_text *t, const cJSON *r)
{
	fixture_say(t, "%lld requests, %lld connections", number_of(r, "requests"),
		    number_of(r, "connections"));
}

/* For an answer that is asked for because it is long. */
static void show_nothing(struct fixture_text *t, const cJSON *r)
{
	(void)t;
	(void)r;
}

static const struct {
	const char *method;
	void (*show)(struct fixture_text *t, const cJSON *result);
} answers[] = {
	{"trial.ask", show_ask},
	{"worker.next", show_next},
	{"worker.hello", show_hello},
	{"trial.report", show_decision},
	{"worker.report", show_decision},
	{"trial.heartbeat", show_decision},
	{"trial.tell", show_trial_state},
	{"worker.tell", show_trial_state},
	{"trial.get", show_trial_state},
	{"trial.list", show_rows},
	{"trial.enqueue", show_trial_state},
	{"trial.retry", show_trial_state},
	{"trial.cancel", show_trial_state},
	{"sweep.get", show_counts},
	{"sweep.best", show_best},
	{"sweep.list", show_list},
	{"device.list", show_devices},
	{"daemon.stats", show_stats},
	{"sweep.submit", show_submit},
	{"sweep.pause", show_counts},
	{"sweep.resume", show_counts},
	{"sweep.cancel", show_counts},
	{"sweep.extend", show_counts},
	{"sweep.watch", show_watch},
	{"worker.log", show_ok},
	{"worker.bye", show_ok},
	{"sweep.edit", show_ok},
	{"rpc.discover", show_nothing},
	{"daemon.drain", show_ok},
};

static void show_error(struct fixture_text *t, const cJSON *e)
{
	const char *pointer = text_of(cJSON_GetObjectItemCaseSensitive(e, "data"), "pointer");

	fixture_say(t, "refused %lld%s%s: %s", number_of(e, "code"), *pointer != '\0' ? " " : "",
		    pointer, text_of(e, "message"));
}

static void show_notification(struct fixture_text *t, const cJSON *v)
{
	const cJSON *params = cJSON_GetObjectItemCaseSensitive(v, "params");

	if (strcmp(text_of(v, "method"), "worker.stop") == 0) {
		fixture_say(t, "is told to stop %lld/", number_of(params, "sweep"));
		say_trial(t, params);
	} else {
		fixture_say(t, "%s ", text_of(v, "method"));
		show_all(t, params);
	}
}

static void show_answer(struct fixture_text *t, const char *method, const cJSON *v)
{
	const cJSON *result = cJSON_GetObjectItemCaseSensitive(v, "result");

	if (*method == '\0') {
		show_all(t, v);
		return;
	}
	if (result == NULL) {
		show_error(t, cJSON_GetObjectItemCaseSensitive(v, "error"));
		return;
	}
	for (size_t i = 0; i < ROWS(answers); i++)
		if (strcmp(answers[i].method, method) == 0) {
			answers[i].show(t, result);
			return;
		}
	show_all(t, result);
}

/* --- sockets --- */

struct fixture_peer *fixture_peer_of(const char *name, const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct fixture_peer *p = NULL;

	for (size_t i = 0; i < FIXTURE_PEERS && p == NULL; i++)
		if (peers[i].name[0] == '\0' || strcmp(peers[i].name, name) == 0)
			p = &peers[i];
	ck_assert_ptr_nonnull(p);
	if (p->name[0] != '\0' && p->fd >= 0)
		return p;
	free(p->in);
	free(p->out);
	*p = (struct fixture_peer){.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0)};
	(void)snprintf(p->name, sizeof p->name, "%s", name);
	(void)snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
	ck_assert_int_ge(p->fd, 0);
	ck_assert_msg(connect(p->fd, (const struct sockaddr *)&a, sizeof a) == 0, "%s: %s", path,
		      strerror(errno));
	return p;
}

/* True: some of what waits has gone. What the daemon has cut takes no more, which is for the
 * story to see. */
static bool send_rest(struct fixture_peer *p)
{
	const ssize_t n = p->fd >= 0 && p->out_n > 0 ? send(p->fd, p->out, p->out_n, MSG_NOSIGNAL)
						     : 0;

	if (n <= 0)
		return false;
	p->out_n -= (size_t)n;
	memmove(p->out, p->out + n, p->out_n);
	return true;
}

void fixture_peer_send(struct fixture_peer *p, const char *text, size_t n)
{
	p->out = realloc(p->out, p->out_n + n + 1);
	if (p->out == NULL)
		ck_abort_msg("out of memory");
	for (size_t i = 0; i < n; i++)
		p->out[p->out_n++] = text[i] == '\'' ? '"' : text[i] == '$' ? '\n' : text[i];
	fixture_moved = true;
}

/* Stories write JSON with ' for ", which nothing in them needs. */
void fixture_peer_ask(struct fixture_peer *p, const char *method, const char *params)
{
	char line[4000];
	const int n = snprintf(line, sizeof line,
			       "{'jsonrpc':'2.0','id':1,'method':'%s','params':%s}\n", method,
			       params);

	ck_assert(n > 0 && (size_t)n < sizeof line);
	ck_assert_uint_lt(p->asked_n, ASKED);
	(void)snprintf(p->asked[p->asked_n++], sizeof p->asked[0], "%s", method);
	fixture_peer_send(p, line, (size_t)n);
}

void fixture_peer_follow(struct fixture_peer *p, int sweep, const char *wait_s)
{
	char params[100];

	ck_assert_int_lt(sweep, SWEEPS);
	(void)snprintf(params, sizeof params, "{'sweep':%d,'since':%lld,'wait_s':%s}", sweep,
		       p->next[sweep], wait_s);
	fixture_peer_ask(p, "sweep.watch", params);
}

static void note_next(struct fixture_peer *p, const cJSON *result)
{
	const long long sweep = number_of(result, "sweep");

	if (cJSON_GetObjectItem(result, "next") != NULL && sweep < SWEEPS)
		p->next[sweep] = number_of(result, "next");
}

static void take_line(struct fixture_peer *p, const char *line, bool named)
{
	cJSON *v = cJSON_Parse(line);
	struct fixture_text t = {.n = 0};

	t.s[0] = '\0';
	if (cJSON_GetObjectItemCaseSensitive(v, "method") != NULL) {
		show_notification(&t, v);
	} else if (p->asked_n > 0) {
		show_answer(&t, p->asked[0], v);
		note_next(p, cJSON_GetObjectItemCaseSensitive(v, "result"));
		memmove(p->asked, p->asked + 1, --p->asked_n * sizeof p->asked[0]);
	} else {
		fixture_say(&t, "%.200s", line);
	}
	cJSON_Delete(v);
	if (t.n > 0)
		fixture_happens("%s%s%s", named ? p->name : "", named ? " " : "", t.s);
}

static void take_lines(struct fixture_peer *p, bool named)
{
	char *end, *line = p->in;

	while ((end = memchr(line, '\n', p->in_n - (size_t)(line - p->in))) != NULL) {
		*end = '\0';
		take_line(p, line, named);
		line = end + 1;
	}
	p->in_n -= (size_t)(line - p->in);
	memmove(p->in, line, p->in_n);
}

static bool read_peer(struct fixture_peer *p, bool named)
{
	bool any = false;

	if (p->fd < 0 || p->deaf)
		return false;
	if (p->in == NULL && (p->in = malloc(LINE_MAX_BYTES)) == NULL)
		ck_abort_msg("out of memory");
	for (;;) {
		const ssize_t n = recv(p->fd, p->in + p->in_n, LINE_MAX_BYTES - p->in_n, 0);

		if (n < 0 && errno == EAGAIN)
			return any;
		any = true;
		if (n <= 0) {
			(void)close(p->fd);
			p->fd = -1;
			fixture_happens("%s%scut", named ? p->name : "", named ? " " : "");
			return true;
		}
		p->in_n += (size_t)n;
		take_lines(p, named);
	}
}

bool fixture_peers_read(const struct fixture_peer *speaker)
{
	bool any = false;

	for (size_t i = 0; i < FIXTURE_PEERS && peers[i].name[0] != '\0'; i++) {
		any = send_rest(&peers[i]) || any;
		any = read_peer(&peers[i], &peers[i] != speaker) || any;
	}
	return any;
}

void fixture_peer_deaf(struct fixture_peer *p, bool deaf)
{
	p->deaf = deaf;
}

void fixture_peer_close(struct fixture_peer *p)
{
	(void)send_rest(p);
	if (p->fd >= 0)
		(void)close(p->fd);
	p->fd = -1;
	fixture_moved = true;
}

void fixture_peer_leave(const char *name)
{
	for (size_t i = 0; i < FIXTURE_PEERS; i++)
		if (strcmp(peers[i].name, name) == 0)
			fixture_peer_close(&peers[i]);
}

void fixture_peers_close(void)
{
	for (size_t i = 0; i < FIXTURE_PEERS && peers[i].name[0] != '\0'; i++) {
		fixture_peer_close(&peers[i]);
		free(peers[i].in);
		free(peers[i].out);
		peers[i] = (struct fixture_peer){.fd = -1};
	}
}
