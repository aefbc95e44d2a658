/*
 * bench/handout.c — how long an ask takes when its suggestion waits already, for a bayes sweep with
 * n results; beside what an ask costs that is answered after its commit (random), a request
 * without a commit (daemon.info), and a libuv echo.
 *
 * The history is put there by trial.enqueue, ask and tell. Before each timed ask one result is
 * told, and the daemon is left alone until it computes no more: the queue is fresh then. The rest
 * of the time between a tell and the next fresh suggestion is bench/ask's matter; here it is the
 * column "tell to fresh", through the socket.
 */
#include "bench/lib/client.h"
#include "bench/lib/scratch.h"
#include "bench/lib/server.h"
#include "bench/lib/table.h"
#include <assert.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ASKS   24
#define D_MAX  20
#define BATCH  200
#define MANY   16
#define GOAL_S 100e-6

struct options {
	size_t most;
	const char *csv, *dir;
};

struct link {
	struct bench_client c;
	pid_t pid;
	unsigned long long random;
};

struct outcome {
	double worst;
	size_t cells, within;
};

/* --- requests --- */

static void put(struct link *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct link *l, const char *fmt, ...)
{
	char line[4096];
	va_list ap;

	va_start(ap, fmt);
	const int n = vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	assert(n > 0 && (size_t)n < sizeof line);
	bench_client_put(&l->c, line, (size_t)n);
}

static const char *answer(struct link *l)
{
	const char *line = bench_client_flush(&l->c) == 0 ? bench_client_line(&l->c) : NULL;

	if (line == NULL || strstr(line, "\"error\"") != NULL) {
		(void)fprintf(stderr, "unexpected answer: %.300s\n",
			      line != NULL ? line : "(none)");
		exit(1);
	}
	return line;
}

static double draw(struct link *l)
{
	l->random = l->random * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(l->random >> 11) * 0x1p-53;
}

static long number_after(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	return at != NULL ? strtol(at + strlen(key), NULL, 10) : 0;
}

static long submit(struct link *l, const char *method, size_t d)
{
	char params[2048];
	size_t n = 0;

	for (size_t i = 0; i < d; i++)
		n += (size_t)snprintf(params + n, sizeof params - n,
				      "%s\"x%zu\":{\"min\":0.0,\"max\":1.0}", i > 0 ? "," : "", i);
	put(l,
	    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"sweep.submit\",\"params\":{\"spec\":{"
	    "\"method\":\"%s\",\"seed\":1,\"metric\":{\"name\":\"y\"},\"run_cap\":1000000,"
	    "\"suggest_wait_ms\":60000,\"parameters\":{%s}}}}",
	    method, params);
	return number_after(answer(l), "\"sweep\":");
}

static void put_tell(struct link *l, long sweep, long trial)
{
	const double v = draw(l) + draw(l);

	put(l,
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"trial.tell\",\"params\":{\"sweep\":%ld,"
	    "\"trial\":%ld,\"attempt\":1,\"state\":\"COMPLETED\",\"metrics\":{\"y\":%.6f}}}",
	    sweep, trial, v);
}

static void put_ask(struct link *l, long sweep, size_t count)
{
	put(l,
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"trial.ask\",\"params\":{\"sweep\":%ld,"
	    "\"count\":%zu}}",
	    sweep, count);
}

/* n trials of our own, told; *told counts up to n. */
static void fill(struct link *l, long sweep, size_t d, size_t *told, size_t n)
{
	while (*told < n) {
		const size_t batch = n - *told < BATCH ? n - *told : BATCH;

		for (size_t k = 0; k < batch; k++) {
			char params[1024];
			size_t at = 0;

			for (size_t i = 0; i < d; i++)
				at += (size_t)snprintf(params + at, sizeof params - at,
						       "%s\"x%zu\":%.9f", i > 0 ? "," : "", i,
						       draw(l));
			put(l,
			    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"trial.enqueue\",\"params\":"
			    "{"
			    "\"sweep\":%ld,\"params\":{%s}}}",
			    sweep, params);
		}
		for (size_t k = 0; k < batch; k++)
			(void)answer(l);
		put_ask(l, sweep, batch);
		(void)answer(l);
		for (size_t k = 0; k < batch; k++)
			put_tell(l, sweep, (long)(*told + k + 1));
		for (size_t k = 0; k < batch; k++)
			(void)answer(l);
		*told += batch;
	}
}

/* --- what is timed --- */

static double median(double *v, size_t n)
{
	bench_sort(v, n);
	return bench_quantile(v, n, 500);
}

static double time_ask(struct link *l, long sweep, long *trial)
{
	const double from = bench_now();

	put_ask(l, sweep, 1);
	const char *line = answer(l);
	const double took = bench_now() - from;
	*trial = number_after(line, "\"trial\":");
	return took;
}

/* Median of asks whose suggestion waits: the second of two in a row, so that it is not the waking
 * of an idle machine that is timed. A trial runs all the while: then two suggestions are held
 * ready. */
static double prepared(struct link *l, long sweep, size_t *told)
{
	double took[ASKS];
	long held = 0, first = 0, second = 0;

	(void)time_ask(l, sweep, &held);
	for (size_t k = 0; k < ASKS; k++) {
		bench_server_rest(l->pid);
		(void)time_ask(l, sweep, &first);
		took[k] = time_ask(l, sweep, &second);
		put_tell(l, sweep, first);
		(void)answer(l);
		put_tell(l, sweep, second);
		(void)answer(l);
		*told += 2;
	}
	put_tell(l, sweep, held);
	(void)answer(l);
	*told += 1;
	return median(took, ASKS);
}

/* Trials of one answer, in order. */
static void take_trials(const char *line, long trial[MANY])
{
	for (size_t k = 0; k < MANY; k++) {
		line = line != NULL ? strstr(line, "\"trial\":") : NULL;
		trial[k] = line != NULL ? number_after(line, "\"trial\":") : 0;
		line = line != NULL ? line + 1 : NULL;
		assert(trial[k] > 0);
	}
}

/* The same for asks of MANY, a suggestion: with as many trials running as many are held ready. */
static double prepared_many(struct link *l, long sweep, size_t *told)
{
	double took[ASKS / 2];
	long running[MANY], next[MANY];

	put_ask(l, sweep, MANY);
	take_trials(answer(l), running);
	for (size_t k = 0; k < ASKS / 2; k++) {
		bench_server_rest(l->pid);
		const double from = bench_now();
		put_ask(l, sweep, MANY);
		const char *line = answer(l);
		took[k] = (bench_now() - from) / MANY;
		take_trials(line, next);
		for (size_t i = 0; i < MANY; i++)
			put_tell(l, sweep, running[i]);
		for (size_t i = 0; i < MANY; i++)
			(void)answer(l);
		memcpy(running, next, sizeof running);
		*told += MANY;
	}
	for (size_t i = 0; i < MANY; i++)
		put_tell(l, sweep, running[i]);
	for (size_t i = 0; i < MANY; i++)
		(void)answer(l);
	*told += MANY;
	return median(took, ASKS / 2);
}

/* Median of asks that follow a tell at once, and so wait for the model. */
static double fresh(struct link *l, long sweep, size_t *told)
{
	double took[ASKS];
	long trial = 0;

	for (size_t k = 0; k < ASKS; k++) {
		took[k] = time_ask(l, sweep, &trial);
		put_tell(l, sweep, trial);
		(void)answer(l);
		*told += 1;
	}
	return median(took, ASKS);
}

static double plain(struct link *l)
{
	double took[ASKS * 10];

	for (size_t k = 0; k < ASKS * 10; k++) {
		const double from = bench_now();

		put(l, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"daemon.info\"}");
		(void)answer(l);
		took[k] = bench_now() - from;
	}
	return median(took, ASKS * 10);
}

/* --- the run --- */

static void base_row(struct bench_table *t, const char *what, double v)
{
	bench_table_row(t, what);
	bench_table_number(t, 3, v * 1e6, 0);
}

static void measure(struct link *l, struct link *echo, const struct options *o,
		    struct bench_table *t, struct outcome *out)
{
	static const size_t at[] = {30, 100, 300, 1000, 3000, 10000}, dims[] = {6, 20};
	size_t told = 0;

	base_row(t, "libuv echo", plain(echo));
	base_row(t, "daemon.info", plain(l));
	const double random = prepared(l, submit(l, "random", 6), &told);
	base_row(t, "ask, random", random);
	for (size_t k = 0; k < sizeof dims / sizeof *dims; k++) {
		const long sweep = submit(l, "bayes", dims[k]);

		told = 0;
		for (size_t i = 0; i < sizeof at / sizeof *at && at[i] <= o->most; i++) {
			fill(l, sweep, dims[k], &told, at[i]);
			const double ready = prepared(l, sweep, &told);

			bench_table_row(t, "ask, bayes");
			bench_table_number(t, 1, (double)dims[k], 0);
			bench_table_number(t, 2, (double)at[i], 0);
			bench_table_number(t, 3, ready * 1e6, 0);
			bench_table_number(t, 4, ready / random, 2);
			bench_table_number(t, 5, fresh(l, sweep, &told) * 1e3, 1);
			const double many = prepared_many(l, sweep, &told);
			bench_table_number(t, 6, many * 1e6, 0);
			out->cells++;
			out->within += ready <= GOAL_S;
			out->worst = ready > out->worst ? ready : out->worst;
		}
	}
}

static int run(const struct options *o, const struct bench_scratch *s)
{
	static const char *const names[] = {
		"what", "d", "n", "p50 us", "of random", "tell to fresh ms", "of 16, one us"};
	struct link l = {.c = {.fd = -1}, .random = 1}, echo = {.c = {.fd = -1}};
	struct bench_table *t = malloc(sizeof *t);
	struct outcome out = {.cells = 0};
	int rc = -1;

	assert(t != NULL);
	bench_table_init(t, names, sizeof names / sizeof *names);
	echo.pid = bench_echo_start(s->echo);
	l.pid = bench_sweepd_start(s->dir, s->socket);
	if (bench_client_connect(&echo.c, s->echo) == 0 &&
	    bench_client_connect(&l.c, s->socket) == 0) {
		measure(&l, &echo, o, t, &out);
		rc = 0;
	}
	bench_client_close(&echo.c);
	bench_client_close(&l.c);
	(void)bench_server_stop(echo.pid);
	if (bench_server_stop(l.pid) != 0)
		rc = -1;
	if (rc == 0) {
		bench_table_print(t);
		rc = bench_table_csv(t, o->csv);
		printf("handout: %.0f us (p50 of an ask whose suggestion waits, the worst n and d; "
		       "%zu of %zu within %.0f)\n",
		       out.worst * 1e6, out.within, out.cells, GOAL_S * 1e6);
	}
	free(t);
	return rc;
}

int main(int argc, char **argv)
{
	static const struct option known[] = {{"most", required_argument, NULL, 'n'},
					      {"csv", required_argument, NULL, 'c'},
					      {"dir", required_argument, NULL, 'd'},
					      {"quick", no_argument, NULL, 'q'},
					      {NULL, 0, NULL, 0}};
	struct options o = {.most = 10000, .dir = "."};
	struct bench_scratch s;
	bool good = true;
	int c, rc;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (c == 'n')
			o.most = (size_t)strtol(optarg, NULL, 10);
		else if (c == 'c')
			o.csv = optarg;
		else if (c == 'd')
			o.dir = optarg;
		else if (c == 'q')
			o.most = 30;
		else
			good = false;
	}
	if (!good || optind != argc) {
		(void)fprintf(stderr, "usage: bench_handout [--most N] [--dir DIR] [--csv FILE] "
				      "[--quick]\n");
		return 2;
	}
	if (bench_scratch_make(&s, o.dir) != 0)
		return 1;
	rc = run(&o, &s);
	bench_scratch_remove(&s);
	return rc == 0 ? 0 : 1;
}
