/*
 * bench/endurance.c — a long sweep over the socket: does the last thousand trials take longer than
 * the first?
 *
 * A driven sweep of each method by ask, report and tell, a window of them in flight on one
 * connection, each answered after its commit. Times are of each thousand trials; a thousand is
 * short on a shared machine, so the medians of the first and the last ten stand beside them, and
 * the daemon's computing time, which waits for no disk and for nobody else.
 */
#include "bench/lib/client.h"
#include "bench/lib/scratch.h"
#include "bench/lib/server.h"
#include "bench/lib/table.h"
#include <assert.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCK        1000
#define LINE         512
#define WINDOW_MAX   256
#define BLOCKS_ASIDE 10

struct options {
	size_t trials, window;
	const char *csv, *dir;
};

struct lane {
	int stage; /* 0 ask, 1 report, 2 tell */
	long trial;
	double value;
};

static int submit(struct bench_client *c, const char *method, size_t trials, long *sweep)
{
	char line[1024];
	const int n = snprintf(
		line, sizeof line,
		"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"sweep.submit\",\"params\":{\"spec\":{"
		"\"method\":\"%s\",\"seed\":1,\"metric\":{\"name\":\"loss\"},\"run_cap\":%zu,"
		"\"parameters\":{\"lr\":{\"distribution\":\"log_uniform_values\",\"min\":1e-4,"
		"\"max\":0.1},\"batch_size\":{\"values\":[16,32,64]},"
		"\"units\":{\"distribution\":\"pow2\",\"min\":16,\"max\":512},"
		"\"momentum\":{\"min\":0.0,\"max\":0.99},\"decay\":{\"min\":0.0,\"max\":1.0},"
		"\"layers\":{\"min\":1,\"max\":6}}}}}",
		method, trials);
	const char *answer, *at;

	bench_client_put(c, line, (size_t)n);
	if (bench_client_flush(c) != 0 || (answer = bench_client_line(c)) == NULL)
		return -1;
	at = strstr(answer, "\"sweep\":");
	*sweep = at != NULL ? strtol(at + strlen("\"sweep\":"), NULL, 10) : 0;
	if (*sweep < 1)
		(void)fprintf(stderr, "unexpected answer: %.300s\n", answer);
	return *sweep < 1 ? -1 : 0;
}

static void put_request(struct bench_client *c, long sweep, const struct lane *l)
{
	char line[LINE];
	int n;

	if (l->stage == 0)
		n = snprintf(line, sizeof line,
			     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"trial.ask\",\"params\":{"
			     "\"sweep\":%ld}}",
			     sweep);
	else if (l->stage == 1)
		n = snprintf(
			line, sizeof line,
			"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"trial.report\",\"params\":{"
			"\"sweep\":%ld,\"trial\":%ld,\"attempt\":1,\"seq\":1,\"step\":1,"
			"\"metrics\":{\"loss\":%.17g}}}",
			sweep, l->trial, l->value);
	else
		n = snprintf(line, sizeof line,
			     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"trial.tell\",\"params\":{"
			     "\"sweep\":%ld,\"trial\":%ld,\"attempt\":1,\"state\":\"COMPLETED\"}}",
			     sweep, l->trial);
	bench_client_put(c, line, (size_t)n);
}

static double number_after(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	return at != NULL ? strtod(at + strlen(key), NULL) : 0;
}

/* A value that depends on the parameters, so that a model has something to learn. */
static int take_answer(struct lane *l, const char *line)
{
	if (strstr(line, "\"error\"") != NULL)
		return -1;
	if (l->stage == 0) {
		const double m = number_after(line, "\"momentum\":"),
			     d = number_after(line, "\"decay\":");

		l->trial = (long)number_after(line, "\"trial\":");
		l->value = (m - 0.7) * (m - 0.7) + (d - 0.2) * (d - 0.2) +
			   number_after(line, "\"lr\":");
		if (l->trial < 1)
			return -1;
	}
	l->stage = (l->stage + 1) % 3;
	return 0;
}

/* Of the i-th thousand tells. */
struct block {
	double seconds, computing; /* computing: the daemon's, all threads */
};

static double clock_of(clockid_t clock)
{
	struct timespec t = {.tv_sec = 0};

	(void)clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int drive(struct bench_client *c, long sweep, const struct options *o, clockid_t daemon,
		 struct block *block)
{
	struct lane lanes[WINDOW_MAX] = {{0}};
	size_t asked = 0, told = 0, at = 0, lane = 0;
	double from = bench_now(), computed = clock_of(daemon);

	for (; asked < o->window && asked < o->trials; asked++)
		put_request(c, sweep, &lanes[asked]);
	if (bench_client_flush(c) != 0)
		return -1;
	/* Answers come in the order of the requests: lanes take turns. */
	while (told < o->trials) {
		struct lane *l = &lanes[lane];
		const char *line = bench_client_line(c);

		if (line == NULL || take_answer(l, line) != 0) {
			(void)fprintf(stderr, "unexpected answer: %.300s\n",
				      line != NULL ? line : "(none)");
			return -1;
		}
		if (l->stage == 0 && ++told % BLOCK == 0) {
			block[at++] =
				(struct block){bench_now() - from, clock_of(daemon) - computed};
			from = bench_now();
			computed = clock_of(daemon);
		}
		if (l->stage != 0 || asked++ < o->trials)
			put_request(c, sweep, l);
		else
			l->trial = -1; /* done */
		do
			lane = (lane + 1) % o->window;
		while (told < o->trials && lanes[lane].trial == -1);
		if (!bench_client_ready(c) && bench_client_flush(c) != 0)
			return -1;
	}
	return 0;
}

static double median_of(const struct block *v, size_t n, bool computing)
{
	double copy[BLOCKS_ASIDE];

	assert(n <= BLOCKS_ASIDE);
	for (size_t i = 0; i < n; i++)
		copy[i] = computing ? v[i].computing : v[i].seconds;
	bench_sort(copy, n);
	return bench_quantile(copy, n, 500);
}

static int measure(struct bench_client *c, const char *method, const struct options *o,
		   clockid_t daemon, struct bench_table *t, double *ratio)
{
	const size_t n = o->trials / BLOCK, aside = n < BLOCKS_ASIDE ? n : BLOCKS_ASIDE;
	struct block *block = calloc(n, sizeof *block);
	double total = 0;
	long sweep;
	int rc = -1;

	assert(block != NULL && n > 0);
	if (submit(c, method, o->trials, &sweep) == 0 && drive(c, sweep, o, daemon, block) == 0) {
		const struct block *const end = block + n - aside;
		const double first = median_of(block, aside, false),
			     last = median_of(end, aside, false),
			     computed = median_of(block, aside, true);

		for (size_t i = 0; i < n; i++)
			total += block[i].seconds;
		*ratio = last / first;
		bench_table_row(t, method);
		bench_table_number(t, 1, (double)o->trials, 0);
		bench_table_number(t, 2, (double)(n * BLOCK) / total, 0);
		bench_table_number(t, 3, block[0].seconds * 1e3, 0);
		bench_table_number(t, 4, block[n - 1].seconds * 1e3, 0);
		bench_table_number(t, 5, block[n - 1].seconds / block[0].seconds, 2);
		bench_table_number(t, 6, first * 1e3, 0);
		bench_table_number(t, 7, last * 1e3, 0);
		bench_table_number(t, 8, *ratio, 2);
		bench_table_number(t, 9, computed * 1e3, 0);
		bench_table_number(t, 10, median_of(end, aside, true) / computed, 2);
		rc = 0;
	}
	free(block);
	return rc;
}

static int run(const struct options *o, const struct bench_scratch *s)
{
	static const char *const names[] = {"method",        "trials",       "trials/s",
					    "first 1000 ms", "last 1000 ms", "last of first",
					    "first 10, ms",  "last 10, ms",  "median of median",
					    "computing, ms", "of computing"};
	static const char *const methods[] = {"random", "tpe"};
	struct bench_client c = {.fd = -1};
	struct bench_table *t = malloc(sizeof *t);
	const pid_t pid = bench_sweepd_start(s->dir, s->socket);
	double ratio = 0, worst = 0;
	clockid_t daemon;
	int rc = bench_client_connect(&c, s->socket);

	assert(t != NULL);
	if (rc == 0 && clock_getcpuclockid(pid, &daemon) != 0) {
		(void)fprintf(stderr, "sweepd, process %ld, is gone\n", (long)pid);
		rc = -1;
	}
	bench_table_init(t, names, sizeof names / sizeof *names);
	for (size_t i = 0; rc == 0 && i < sizeof methods / sizeof *methods; i++) {
		rc = measure(&c, methods[i], o, daemon, t, &ratio);
		worst = ratio > worst ? ratio : worst;
	}
	bench_client_close(&c);
	if (bench_server_stop(pid) != 0)
		rc = -1;
	if (rc == 0) {
		bench_table_print(t);
		rc = bench_table_csv(t, o->csv);
		printf("endurance: %.2f (time of a thousand trials at the end over that at the "
		       "beginning, medians of ten, the worse of random and tpe)\n",
		       worst);
	}
	free(t);
	return rc;
}

static int read_options(struct options *o, int argc, char **argv)
{
	static const struct option known[] = {
		{"trials", required_argument, NULL, 'n'}, {"window", required_argument, NULL, 'w'},
		{"csv", required_argument, NULL, 'c'},    {"dir", required_argument, NULL, 'd'},
		{"quick", no_argument, NULL, 'q'},        {NULL, 0, NULL, 0}};
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (c == 'n')
			o->trials = (size_t)strtol(optarg, NULL, 10);
		else if (c == 'w')
			o->window = (size_t)strtol(optarg, NULL, 10);
		else if (c == 'c')
			o->csv = optarg;
		else if (c == 'd')
			o->dir = optarg;
		else if (c == 'q')
			o->trials = 2000;
		else
			return -1;
	}
	return optind == argc && o->trials >= BLOCK && o->trials <= 10000000 && o->window >= 1 &&
			       o->window <= WINDOW_MAX
		       ? 0
		       : -1;
}

int main(int argc, char **argv)
{
	struct options o = {.trials = 100000, .window = 64, .dir = "."};
	struct bench_scratch s;
	int rc;

	if (read_options(&o, argc, argv) != 0) {
		(void)fprintf(stderr,
			      "usage: bench_endurance [--trials N] [--window W] [--dir DIR] "
			      "[--csv FILE] [--quick]\n");
		return 2;
	}
	if (bench_scratch_make(&s, o.dir) != 0)
		return 1;
	rc = run(&o, &s);
	bench_scratch_remove(&s);
	return rc == 0 ? 0 : 1;
}
