/*
 * bench/hostile.c — what others notice while one client misbehaves.
 *
 * A calm client asks for sweep.get of a big sweep every 2 ms on one connection, and another reports
 * to a trial of its own (a commit each); for a while alone, then while a process of its own
 * attacks. An attack holds if the 99th percentile of both stays below the bar. All of it on local
 * sockets, each attack for --seconds; what it sends is bounded.
 */
#include "bench/lib/flags.h"
#include "bench/lib/flood.h"
#include "bench/lib/load.h"
#include "bench/lib/server.h"
#include "bench/lib/table.h"
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BAR_MS   25.0
#define PAUSE_NS 2000000L
#define MANY     100000 /* samples of one phase at most */
#define TEXT     (1 << 20)
#define BATCH    1000

struct options {
	size_t trials;
	double seconds;
	const char *csv, *dir, *only;
};

struct rig {
	struct bench_rig server;
	long big, own, open, trial; /* sweeps: read by all, reported to, asked of without end */
	long step;                  /* the next of the trial that is reported to */
	char *line;                 /* [TEXT + 1] of the attack */
	size_t len;
};

/* --- requests --- */

static void add(struct rig *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(struct rig *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	const int n = vsnprintf(r->line + r->len, TEXT - r->len, fmt, ap);
	va_end(ap);
	assert(n >= 0 && (size_t)n < TEXT - r->len);
	r->len += (size_t)n;
}

static void begin_request(struct rig *r, const char *method)
{
	r->len = 0;
	add(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{", method);
}

/* The answer; without one there is nothing to measure. */
static const char *request(struct rig *r, const char *line, size_t len)
{
	const char *const answer = bench_request(&r->server.c, line, len);

	if (answer == NULL)
		exit(1);
	return answer;
}

static void begin_spec(struct rig *r, const char *method)
{
	begin_request(r, method);
	add(r, "\"spec\":{\"method\":\"random\",\"seed\":1,\"metric\":{\"name\":\"y\"},"
	       "\"run_cap\":100000000,\"parameters\":{\"x\":{\"min\":0.0,\"max\":1.0},"
	       "\"y\":{\"min\":0.0,\"max\":1.0}");
}

static long submit(struct rig *r)
{
	begin_spec(r, "sweep.submit");
	add(r, "}}}}");
	return (long)bench_number_after(request(r, r->line, r->len), "\"sweep\":");
}

/* Trials with a report and an end each. */
static void fill(struct rig *r, size_t n)
{
	struct bench_client *const c = &r->server.c;
	char line[BENCH_LINE], value[32];

	for (size_t at = 1; at <= n; at += BATCH) {
		(void)request(r, line, bench_ask_text(line, r->big, BATCH));
		for (size_t k = at; k < at + BATCH; k += 100) {
			for (size_t i = k; i < k + 100; i++) {
				(void)snprintf(value, sizeof value, "%zu", i * 7919 % 10007);
				bench_client_put(
					c, line,
					bench_report_text(line, r->big, (long)i, 1, "y", value));
				bench_client_put(c, line, bench_tell_text(line, r->big, (long)i));
			}
			if (bench_client_flush(c) != 0)
				exit(1);
			for (int i = 0; i < 200; i++)
				(void)bench_client_line(c);
		}
	}
}

/* --- the calm ones --- */

struct calm {
	struct rig *rig;
	bool reports;
	double until;
	double *ms; /* [MANY] */
	size_t n;
};

static double pause_and_time(struct calm *k, struct bench_client *c)
{
	struct rig *const r = k->rig;
	char line[BENCH_LINE];
	size_t n;

	if (k->reports)
		n = bench_report_text(line, r->own, r->trial, r->step++, "y", "0.5");
	else
		n = (size_t)snprintf(line, sizeof line,
				     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sweep.get\","
				     "\"params\":{\"sweep\":%ld}}",
				     r->big);
	(void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
	const double from = bench_now();
	for (;;) {
		bench_client_put(c, line, n);
		const char *answer = bench_client_flush(c) == 0 ? bench_client_line(c) : NULL;

		if (answer != NULL && strstr(answer, "\"error\":") == NULL)
			return (bench_now() - from) * 1e3;
		/* Refused because too much waits: it tries again, and all of it counts. */
		if (answer == NULL || strstr(answer, "try again") == NULL) {
			(void)fprintf(stderr, "a calm client was refused: %.300s\n",
				      answer != NULL ? answer : "(closed)");
			exit(1);
		}
		(void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
	}
}

static void *be_calm(void *arg)
{
	struct calm *k = arg;
	struct bench_client c;

	if (bench_client_connect(&c, k->rig->server.socket) != 0)
		exit(1);
	while (bench_now() < k->until && k->n < MANY)
		k->ms[k->n++] = pause_and_time(k, &c);
	bench_client_close(&c);
	bench_sort(k->ms, k->n);
	return NULL;
}

/* Both at once, for so long. */
static void measure(struct rig *r, struct calm k[2], double seconds)
{
	pthread_t thread[2];

	for (int i = 0; i < 2; i++) {
		k[i] = (struct calm){.rig = r,
				     .reports = i == 1,
				     .until = bench_now() + seconds,
				     .ms = calloc(MANY, sizeof(double))};
		assert(k[i].ms != NULL);
		if (pthread_create(&thread[i], NULL, be_calm, &k[i]) != 0)
			exit(1);
	}
	for (int i = 0; i < 2; i++)
		(void)pthread_join(thread[i], NULL);
}

/* --- the attacks --- */

static void make_pages(struct rig *r)
{
	begin_request(r, "trial.list");
	add(r, "\"sweep\":%ld,\"limit\":1000}}", r->big);
}

static void make_best(struct rig *r)
{
	begin_request(r, "sweep.best");
	add(r, "\"sweep\":%ld,\"scope\":\"avg\"}}", r->big);
}

static void make_equality(struct rig *r)
{
	begin_spec(r, "sweep.validate");
	add(r, "},\"constraints\":[\"x + y == 1\"]}}}");
}

static void make_when(struct rig *r)
{
	begin_spec(r, "sweep.validate");
	for (int list = 0; list < 2; list++) {
		const int from = list == 0 ? 0 : 999;

		add(r,
		    list == 0 ? ",\"a\":{\"values\":[" : "]},\"b\":{\"value\":1,\"when\":{\"a\":[");
		for (int i = from; i < 9999; i++)
			add(r, "%s%d", i > from ? "," : "", 10000 + i);
	}
	add(r, "]}}}}}}");
}

static void make_values(struct rig *r)
{
	begin_spec(r, "sweep.validate");
	for (int p = 0; p < 9; p++) {
		add(r, ",\"p%d\":{\"values\":[0", p);
		for (int i = 1; i < 9999; i++)
			add(r, ",%d", i);
		add(r, "]}");
	}
	add(r, "}}}}");
}

static void make_keys(struct rig *r)
{
	begin_request(r, "daemon.info");
	for (int i = 0; i < 90000; i++)
		add(r, "%s\"k%d\":1", i > 0 ? "," : "", i);
	add(r, "}}");
}

static void make_asks(struct rig *r)
{
	r->len = 0;
	for (int i = 0; i < 60; i++)
		add(r,
		    "%s{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"trial.ask\",\"params\":{"
		    "\"sweep\":"
		    "%ld,\"count\":1000}}",
		    i == 0 ? "[" : ",", i, r->open);
	add(r, "]");
}

static void make_batch(struct rig *r)
{
	r->len = 0;
	for (int i = 0; i < 1000; i++)
		add(r, "%s{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"daemon.info\"}",
		    i == 0 ? "[" : ",", i);
	add(r, "]");
}

static void make_nothing(struct rig *r)
{
	r->len = 0;
}

static void make_half(struct rig *r)
{
	make_pages(r);
	add(r, "\n");
	const size_t n = r->len;
	add(r, "%.*s", (int)n / 2, r->line); /* and half of another */
}

static const struct attack {
	const char *name;
	void (*make)(struct rig *r);
	size_t conns, window, most;
	bool unread, churn;
} attacks[] = {
	{"256 pages of 1,000 trials in flight", make_pages, 1, 256, 0, false, false},
	{"256 bests by a mean in flight", make_best, 1, 256, 0, false, false},
	{"256 specs with an equality in flight", make_equality, 1, 256, 0, false, false},
	{"specs with a when of 9,000 values", make_when, 1, 16, 0, false, false},
	{"specs with 90,000 values", make_values, 1, 4, 0, false, false},
	{"requests of 90,000 keys", make_keys, 1, 4, 0, false, false},
	{"batches of 60 asks of 1,000", make_asks, 1, 2, 8, false, false},
	{"batches of 1,000 requests", make_batch, 1, 16, 0, false, false},
	{"pages unread on 120 connections", make_pages, 120, 256, 0, true, false},
	{"specs with an equality on 120", make_equality, 120, 256, 0, false, false},
	{"connections that come and go", make_nothing, 0, 0, 0, false, true},
	{"clients that die in mid-request", make_half, 0, 0, 0, false, true},
};

#define ATTACKS (sizeof attacks / sizeof *attacks)

static pid_t attack(const struct rig *r, const struct attack *a, double seconds)
{
	const double until = bench_now() + seconds;
	const struct bench_flood f = {.socket = r->server.socket,
				      .line = r->line,
				      .len = r->len,
				      .conns = a->conns,
				      .window = a->window,
				      .most = a->most,
				      .unread = a->unread};
	const pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit((a->churn ? bench_flood_churn(&f, until) : bench_flood(&f, until)) != 0);
	}
	return pid;
}

/* --- the run --- */

static double at_permille(const struct calm *k, unsigned permille)
{
	return bench_quantile(k->ms, k->n, permille);
}

struct outcome {
	size_t rows, held;
	double worst;
};

static void row(struct bench_table *t, const char *name, const struct calm before[2],
		const struct calm during[2], struct outcome *out)
{
	double worst = 0;
	size_t column = 1;

	bench_table_row(t, name);
	for (int i = 0; i < 2; i++) {
		const double p99 = at_permille(&during[i], 990);

		bench_table_number(t, column++, at_permille(&before[i], 500), 1);
		bench_table_number(t, column++, at_permille(&before[i], 990), 1);
		bench_table_number(t, column++, at_permille(&during[i], 500), 1);
		bench_table_number(t, column++, p99, 1);
		bench_table_number(t, column++, during[i].ms[during[i].n - 1], 0);
		worst = p99 > worst ? p99 : worst;
	}
	bench_table_text(t, column, worst <= BAR_MS ? "yes" : "NO");
	out->rows++;
	out->held += worst <= BAR_MS;
	out->worst = worst > out->worst ? worst : out->worst;
}

static void run_one(struct rig *r, const struct attack *a, const struct options *o,
		    struct bench_table *t, struct outcome *out)
{
	struct calm before[2], during[2];

	a->make(r);
	if (!a->churn)
		add(r, "\n");
	measure(r, before, o->seconds / 3);
	const pid_t pid = attack(r, a, o->seconds + 0.3);
	(void)nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
	measure(r, during, o->seconds);
	if (pid > 0) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
	}
	row(t, a->name, before, during, out);
	for (int i = 0; i < 2; i++) {
		free(before[i].ms);
		free(during[i].ms);
	}
	bench_server_rest(r->server.pid); /* an attack is over when its work is */
}

static void run(struct rig *r, const struct options *o, struct bench_table *t, struct outcome *out)
{
	char line[BENCH_LINE];

	r->big = submit(r);
	r->own = submit(r);
	r->open = submit(r);
	r->trial = (long)bench_number_after(request(r, line, bench_ask_text(line, r->own, 1)),
					    "\"trial\":");
	fill(r, o->trials);
	for (size_t i = 0; i < ATTACKS; i++)
		if (o->only == NULL || strstr(attacks[i].name, o->only) != NULL)
			run_one(r, &attacks[i], o, t, out);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {
		"others, ms", "get calm p50", "p99", "get p50", "p99",   "max", "report calm p50",
		"p99",        "report p50",   "p99", "max",     "holds", NULL};
	struct options o = {.trials = 100000, .seconds = 3, .dir = "."};
	const struct bench_flag flags[] = {
		{"seconds", BENCH_REAL, &o.seconds, 0.1, 60, .help = "S  of each attack (3)"},
		{"trials", BENCH_COUNT, &o.trials, BATCH, 1e6,
		 .help = "N  of the sweep that all read (100000)"},
		{"only", BENCH_TEXT, &o.only,
		 .help = "WORDS  attacks with these words in the name"},
		{"dir", BENCH_TEXT, &o.dir, .help = "DIR  where the database goes (.)"},
		{"csv", BENCH_TEXT, &o.csv, .help = "FILE  the rows"},
		{.name = NULL}};
	struct rig r = {.step = 1};
	struct outcome out = {.rows = 0};

	if (bench_flags_read("hostile", flags, argc, argv) != 0)
		return 2;
	r.line = malloc(TEXT + 1);
	assert(r.line != NULL);
	struct bench_table *const t = bench_table_create(names);
	int rc = bench_rig_open(&r.server, o.dir, "none");

	if (rc == 0)
		run(&r, &o, t, &out);
	if (bench_rig_close(&r.server) != 0)
		rc = -1;
	if (bench_table_end(t, rc == 0 ? o.csv : NULL) != 0 || rc != 0)
		return 1;
	printf("hostile: %.1f ms (p99 of others' sweep.get or trial.report, the worst attack; "
	       "%zu of %zu within %.0f)\n",
	       out.worst, out.held, out.rows, BAR_MS);
	free(r.line);
	return 0;
}
