/*
 * bench/hostile.c — what others notice while one client misbehaves.
 *
 * A calm client asks for sweep.get of a big sweep every 2 ms on one connection, and another reports
 * to a trial of its own (a commit each); for a while alone, then while a process of its own
 * attacks. An attack holds if the 99th percentile of both stays below the bar. All of it on local
 * sockets, each attack for --seconds; what it sends is bounded.
 */
#include "bench/lib/client.h"
#include "bench/lib/flood.h"
#include "bench/lib/scratch.h"
#include "bench/lib/server.h"
#include "bench/lib/table.h"
#include <assert.h>
#include <getopt.h>
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
#define LINE     (1 << 20)
#define BATCH    1000

struct options {
	size_t trials;
	double seconds;
	const char *csv, *dir, *only;
};

struct rig {
	const char *socket;
	pid_t pid;
	struct bench_client c;
	long big, own, open, trial; /* sweeps: read by all, reported to, asked of without end */
	long seq;
	char *line; /* [LINE + 1] of the attack */
	size_t len;
};

/* --- requests --- */

static void add(struct rig *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(struct rig *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	const int n = vsnprintf(r->line + r->len, LINE - r->len, fmt, ap);
	va_end(ap);
	assert(n >= 0 && (size_t)n < LINE - r->len);
	r->len += (size_t)n;
}

static void begin(struct rig *r, const char *method)
{
	r->len = 0;
	add(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{", method);
}

static const char *ask(struct rig *r)
{
	bench_client_put(&r->c, r->line, r->len);
	const char *line = bench_client_flush(&r->c) == 0 ? bench_client_line(&r->c) : NULL;
	if (line == NULL || strstr(line, "\"error\"") != NULL) {
		(void)fprintf(stderr, "unexpected answer: %.300s\n",
			      line != NULL ? line : "(none)");
		exit(1);
	}
	return line;
}

static long number_after(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	return at != NULL ? strtol(at + strlen(key), NULL, 10) : 0;
}

static void begin_spec(struct rig *r, const char *method)
{
	begin(r, method);
	add(r, "\"spec\":{\"method\":\"random\",\"seed\":1,\"metric\":{\"name\":\"y\"},"
	       "\"run_cap\":100000000,\"parameters\":{\"x\":{\"min\":0.0,\"max\":1.0},"
	       "\"y\":{\"min\":0.0,\"max\":1.0}");
}

static long submit(struct rig *r)
{
	begin_spec(r, "sweep.submit");
	add(r, "}}}}");
	return number_after(ask(r), "\"sweep\":");
}

static void put(struct rig *r)
{
	bench_client_put(&r->c, r->line, r->len);
}

/* Trials with a report and an end each. */
static void fill(struct rig *r, size_t n)
{
	for (size_t at = 1; at <= n; at += BATCH) {
		begin(r, "trial.ask");
		add(r, "\"sweep\":%ld,\"count\":%d}}", r->big, BATCH);
		(void)ask(r);
		for (size_t k = at; k < at + BATCH; k += 100) {
			for (size_t i = k; i < k + 100; i++) {
				begin(r, "trial.report");
				add(r,
				    "\"sweep\":%ld,\"trial\":%zu,\"attempt\":1,\"seq\":1,\"step\":"
				    "1,"
				    "\"metrics\":{\"y\":%zu}}}",
				    r->big, i, i * 7919 % 10007);
				put(r);
				begin(r, "trial.tell");
				add(r,
				    "\"sweep\":%ld,\"trial\":%zu,\"attempt\":1,\"state\":"
				    "\"COMPLETED\"}}",
				    r->big, i);
				put(r);
			}
			if (bench_client_flush(&r->c) != 0)
				exit(1);
			for (int i = 0; i < 200; i++)
				(void)bench_client_line(&r->c);
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
	char line[256];
	int n;

	if (k->reports)
		n = snprintf(
			line, sizeof line,
			"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"trial.report\",\"params\":{"
			"\"sweep\":%ld,\"trial\":%ld,\"attempt\":1,\"seq\":%ld,\"step\":%ld,"
			"\"metrics\":{\"y\":0.5}}}",
			k->rig->own, k->rig->trial, k->rig->seq, k->rig->seq);
	else
		n = snprintf(line, sizeof line,
			     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sweep.get\",\"params\":{"
			     "\"sweep\":%ld}}",
			     k->rig->big);
	k->rig->seq += k->reports;
	(void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
	const double from = bench_now();
	for (;;) {
		bench_client_put(c, line, (size_t)n);
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

	if (bench_client_connect(&c, k->rig->socket) != 0)
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
	begin(r, "trial.list");
	add(r, "\"sweep\":%ld,\"limit\":1000}}", r->big);
}

static void make_best(struct rig *r)
{
	begin(r, "sweep.best");
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
	const struct bench_flood f = {.socket = r->socket,
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

	(void)bench_table_row(t, name);
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
	bench_server_rest(r->pid); /* an attack is over when its work is */
}

static int run(const struct options *o, const struct bench_scratch *s)
{
	static const char *const names[] = {
		"others, ms",      "get calm p50", "p99",        "get p50", "p99", "max",
		"report calm p50", "p99",          "report p50", "p99",     "max", "holds"};
	struct rig r = {.socket = s->socket, .seq = 1, .line = malloc(LINE + 1)};
	struct bench_table *t = malloc(sizeof *t);
	struct outcome out = {.rows = 0};
	int rc = -1;

	assert(t != NULL && r.line != NULL);
	bench_table_init(t, names, sizeof names / sizeof *names);
	r.pid = bench_sweepd_start(s->dir, s->socket);
	if (bench_client_connect(&r.c, s->socket) == 0) {
		r.big = submit(&r);
		r.own = submit(&r);
		r.open = submit(&r);
		begin(&r, "trial.ask");
		add(&r, "\"sweep\":%ld}}", r.own);
		r.trial = number_after(ask(&r), "\"trial\":");
		fill(&r, o->trials);
		for (size_t i = 0; i < ATTACKS; i++)
			if (o->only == NULL || strstr(attacks[i].name, o->only) != NULL)
				run_one(&r, &attacks[i], o, t, &out);
		rc = 0;
	}
	bench_client_close(&r.c);
	if (bench_server_stop(r.pid) != 0)
		rc = -1;
	if (rc == 0) {
		bench_table_print(t);
		rc = bench_table_csv(t, o->csv);
		printf("hostile: %.1f ms (p99 of others' sweep.get or trial.report, the worst "
		       "attack; "
		       "%zu of %zu within %.0f)\n",
		       out.worst, out.held, out.rows, BAR_MS);
	}
	free(t);
	free(r.line);
	return rc;
}

static int usage(void)
{
	(void)fprintf(stderr,
		      "usage: bench_hostile [--seconds S] [--trials N] [--only WORDS] [--dir DIR] "
		      "[--csv FILE]\n"
		      "  --seconds S   of each attack (default 3)\n"
		      "  --trials N    of the sweep that all read (default 100000)\n"
		      "  --only WORDS  attacks whose name has these words in it\n");
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option known[] = {
		{"seconds", required_argument, NULL, 's'}, {"trials", required_argument, NULL, 'n'},
		{"only", required_argument, NULL, 'o'},    {"csv", required_argument, NULL, 'c'},
		{"dir", required_argument, NULL, 'd'},     {NULL, 0, NULL, 0}};
	struct options o = {.trials = 100000, .seconds = 3, .dir = "."};
	struct bench_scratch s;
	int c, rc;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (c == 's')
			o.seconds = strtod(optarg, NULL);
		else if (c == 'n')
			o.trials = (size_t)strtol(optarg, NULL, 10);
		else if (c == 'o')
			o.only = optarg;
		else if (c == 'c')
			o.csv = optarg;
		else if (c == 'd')
			o.dir = optarg;
		else
			return usage();
	}
	if (optind != argc || !(o.seconds > 0 && o.seconds <= 60) || o.trials < BATCH ||
	    o.trials > 1000000)
		return usage();
	if (bench_scratch_make(&s, o.dir) != 0)
		return 1;
	rc = run(&o, &s);
	bench_scratch_remove(&s);
	return rc == 0 ? 0 : 1;
}
