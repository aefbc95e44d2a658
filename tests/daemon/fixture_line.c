/* tests/daemon/fixture_line.c — what clients and workers say in a story, as requests. */
#include "tests/daemon/fixture_peer.h"
#include "tests/daemon/fixture_world.h"

/* How the words after a verb become parameters: a letter a word, the last ones may be missing.
 * t trial, a attempt, q seq, s step, v value of the metric, e state, n count, w wait_s, r run_cap,
 * b rank, c cause, x text, p params, j more keys (these four take the rest); o another metric and
 * k a checkpoint take none. S: the sweep. */
static const struct verb {
	const char *word, *client, *worker, *args;
} verbs[] = {
	{"ask", "trial.ask", NULL, "Snw"},
	{"report", "trial.report", "worker.report", "Staqsv"},
	{"keep", "trial.report", "worker.report", "Staqsvk"},
	{"note", "trial.report", "worker.report", "Staqso"},
	{"beat", "trial.heartbeat", NULL, "Sta"},
	{"tell", "trial.tell", "worker.tell", "Staec"},
	{"final", "trial.tell", NULL, "Staevs"},
	{"enqueue", "trial.enqueue", NULL, "Sp"},
	{"retry", "trial.retry", NULL, "St"},
	{"cancel-trial", "trial.cancel", NULL, "St"},
	{"trial", "trial.get", NULL, "St"},
	{"rows", "trial.list", NULL, "S"},
	{"get", "sweep.get", NULL, "S"},
	{"pause", "sweep.pause", NULL, "S"},
	{"resume", "sweep.resume", NULL, "S"},
	{"cancel", "sweep.cancel", NULL, "S"},
	{"extend", "sweep.extend", NULL, "Sr"},
	{"edit", "sweep.edit", NULL, "Sj"},
	{"watch", "sweep.watch", NULL, "S"},
	{"devices", "device.list", NULL, ""},
	{"stats", "daemon.stats", NULL, ""},
	{"drain", "daemon.drain", NULL, ""},
	{"next", NULL, "worker.next", ""},
	{"refuses", NULL, "worker.next", "f"},
	{"log", NULL, "worker.log", "Stax"},
	{"bye", NULL, "worker.bye", "b"},
};

static void add_arg(struct fixture_text *t, char letter, const char *word, const char *rest)
{
	static const char *const keys[] = {"t trial", "a attempt", "q seq",     "s step",
					   "n count", "w wait_s",  "r run_cap", "b rank"};

	for (size_t i = 0; i < ROWS(keys); i++)
		if (keys[i][0] == letter)
			fixture_say(t, ",'%s':%s", keys[i] + 2, word);
	if (letter == 'v')
		fixture_say(t, ",'metrics':{'loss':%s%s%s}", strchr(word, 'n') ? "'" : "", word,
			    strchr(word, 'n') ? "'" : ""); /* nan, inf, -inf */
	else if (letter == 'e')
		fixture_say(t, ",'state':'%s'", word);
	else if (strchr("cfx", letter))
		fixture_say(t, ",'%s':'%s'",
			    letter == 'c'   ? "cause"
			    : letter == 'f' ? "refused"
					    : "text",
			    rest);
	else if (letter == 'p')
		fixture_say(t, ",'params':%s", rest);
	else if (letter == 'j')
		fixture_say(t, ",%s", rest);
}

static const char *params_of(const struct verb *v, int sweep, const char *words)
{
	static struct fixture_text t;
	char word[100];
	int used = 0;

	t.n = 0;
	fixture_say(&t, "%s", "");
	for (const char *a = v->args; *a != '\0'; a++) {
		if (*a == 'S') {
			fixture_say(&t, ",'sweep':%d", sweep);
		} else if (*a == 'o') {
			fixture_say(&t, ",'metrics':{'other':1}");
		} else if (*a == 'k') {
			fixture_say(&t, ",'checkpoint':true");
		} else if (sscanf(words, "%99s%n", word, &used) == 1) {
			add_arg(&t, *a, word, words + strspn(words, " "));
			words += used;
		}
	}
	if (t.n == 0)
		return "{}";
	t.s[0] = '{';
	fixture_say(&t, "}");
	return t.s;
}

void fixture_submit(struct fixture_peer *p, const char *keys, bool trainer)
{
	static const char *const base[] = {"'metric':{'name':'loss','goal':'minimize'}",
					   "'method':'random'",
					   "'parameters':{'lr':{'min':0.1,'max':1}}"};
	struct fixture_text t = {.n = 0};
	char key[20];

	fixture_say(&t, "{'spec':{'seed':1");
	for (size_t i = 0; i < ROWS(base); i++) {
		/* without the quote at its end: "metrics" take the place of the metric, too */
		(void)snprintf(key, sizeof key, "%.*s", (int)strcspn(base[i], ":") - 1, base[i]);
		if (strstr(keys, key) == NULL)
			fixture_say(&t, ",%s", base[i]);
	}
	if (trainer)
		fixture_say(&t, ",'trainer':{'dataset':{'name':'wine'},'epochs':9,"
				"'model':[{'linear':3}],'loss':'cross_entropy'}");
	fixture_say(&t, "%s%s}}", *keys != '\0' ? "," : "", keys);
	fixture_peer_ask(p, "sweep.submit", t.s);
}

static void hello(struct fixture_peer *p, int slot, const char *words)
{
	long long s, t, a;
	char params[300], runs[100] = "", version[20] = SW_VERSION;

	(void)sscanf(words, " as %d", &slot);
	(void)sscanf(words, " of %19s", version);
	if (sscanf(words, "%lld%lld%lld", &s, &t, &a) == 3)
		(void)snprintf(runs, sizeof runs, ",'sweep':%lld,'trial':%lld,'attempt':%lld", s, t,
			       a);
	(void)snprintf(params, sizeof params, "{'worker':'%s','slot':%d,'version':'%s'%s}",
		       fixture_workers[slot].id, slot, version, runs);
	fixture_peer_ask(p, "worker.hello", params);
}

/* False: no such word. */
static bool say_special(struct fixture_peer *p, int slot, int sweep, const char *verb,
			const char *words)
{
	char method[40];
	int used = 0;

	if (strcmp(verb, "submit") == 0 || strcmp(verb, "train") == 0)
		fixture_submit(p, words, *verb == 't');
	else if (strcmp(verb, "hello") == 0)
		hello(p, slot, words);
	else if (strcmp(verb, "send") == 0)
		fixture_peer_send(p, words, strlen(words));
	else if (strcmp(verb, "closes") == 0)
		fixture_peer_close(p);
	else if (strcmp(verb, "deaf") == 0 || strcmp(verb, "hears") == 0)
		fixture_peer_deaf(p, *verb == 'd');
	else if (strcmp(verb, "follow") == 0)
		fixture_peer_follow(p, sweep, *words != '\0' ? words : "60");
	else if (strcmp(verb, "call") == 0 && sscanf(words, "%39s%n", method, &used) == 1)
		fixture_peer_ask(p, method, words + used);
	else
		return false;
	return true;
}

static void say_one(struct fixture_peer *p, int slot, char *verb, const char *words)
{
	char *at = strchr(verb, '@');
	const int sweep = at != NULL ? atoi(at + 1) : 1;

	if (at != NULL)
		*at = '\0';
	words += strspn(words, " ");
	if (say_special(p, slot, sweep, verb, words))
		return;
	for (size_t i = 0; i < ROWS(verbs); i++) {
		const char *method = slot >= 0 ? verbs[i].worker : verbs[i].client;

		if (strcmp(verbs[i].word, verb) == 0 && method != NULL) {
			fixture_peer_ask(p, method, params_of(&verbs[i], sweep, words));
			return;
		}
	}
	ck_abort_msg("no such verb: %s", verb);
}

struct fixture_peer *fixture_say_line(const char *line, const char *socket)
{
	char name[12], verb[20];
	int used, n = 1, slot = -1;

	ck_assert_int_eq(sscanf(line, "%11s%19s%n", name, verb, &used), 2);
	line += used;
	(void)sscanf(name, "w%d", &slot);
	if (strcmp(verb, "repeat") == 0) {
		ck_assert_int_eq(sscanf(line, "%d%19s%n", &n, verb, &used), 2);
		line += used;
	}
	struct fixture_peer *p = fixture_peer_of(name, socket);
	for (; n > 0; n--)
		say_one(p, slot, verb, line);
	return p;
}
