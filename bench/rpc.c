/*
 * bench/rpc.c — round trips per second over the socket, beside what they cannot beat.
 *
 *   echo            a libuv server that sends back what it gets: the socket and the loop alone
 *   daemon.info     the same with parsing, dispatch and an answer
 *   ask+report+tell a driven sweep: each request is answered after its commit (fsync)
 *   insert          SQLite alone, WAL and synchronous=FULL, one row a commit or a window of them
 *
 * One connection; "window" requests are in flight at once. Every row of one run is measured against
 * the same machine, file system and client code. Latency is from the write to the answer's line.
 */
#include "bench/lib/client.h"
#include "bench/lib/scratch.h"
#include "bench/lib/server.h"
#include "bench/lib/table.h"
#include <assert.h>
#include <getopt.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES ((size_t)512)

struct options {
	size_t n, window;
	const char *csv;
	const char *dir;
};

/* Makes the next request of a lane, and takes its answer. */
struct load {
	size_t (*make)(struct load *l, size_t lane, char line[LINE_MAX_BYTES]);
	int (*take)(struct load *l, size_t lane, const char *line);
	struct driven_lane *lanes; /* driven alone */
	long sweep;
};

struct result {
	double per_s, p50_us, p99_us;
};

/* --- the measuring loop --- */

struct flight {
	double *sent, *latency;
	size_t *lane;
	size_t issued, done;
};

static void issue(struct bench_client *c, struct load *l, struct flight *f, size_t lane)
{
	char line[LINE_MAX_BYTES];
	const size_t len = l->make(l, lane, line);

	bench_client_put(c, line, len);
	f->lane[f->issued] = lane;
	f->sent[f->issued++] = bench_now();
}

static int fly(struct bench_client *c, struct load *l, struct flight *f, size_t n, size_t window)
{
	while (f->issued < window && f->issued < n)
		issue(c, l, f, f->issued);
	if (bench_client_flush(c) != 0)
		return -1;
	while (f->done < n) {
		const char *line = bench_client_line(c);
		const size_t lane = f->lane[f->done];

		if (line == NULL)
			return -1;
		f->latency[f->done] = bench_now() - f->sent[f->done];
		f->done++;
		if (l->take(l, lane, line) != 0) {
			(void)fprintf(stderr, "unexpected answer: %.300s\n", line);
			return -1;
		}
		if (f->issued < n)
			issue(c, l, f, lane);
		if (!bench_client_ready(c) && bench_client_flush(c) != 0)
			return -1;
	}
	return 0;
}

static int measure(struct bench_client *c, struct load *l, size_t n, size_t window,
		   struct result *out)
{
	struct flight f = {.sent = calloc(n, sizeof *f.sent),
			   .latency = calloc(n, sizeof *f.latency),
			   .lane = calloc(n, sizeof *f.lane)};
	int rc = -1;

	assert(n > 0 && f.sent != NULL && f.latency != NULL && f.lane != NULL);
	const double from = bench_now();
	if (fly(c, l, &f, n, window) == 0) {
		out->per_s = (double)n / (bench_now() - from);
		bench_sort(f.latency, n);
		out->p50_us = bench_quantile(f.latency, n, 500) * 1e6;
		out->p99_us = bench_quantile(f.latency, n, 990) * 1e6;
		rc = 0;
	}
	free(f.sent);
	free(f.latency);
	free(f.lane);
	return rc;
}

/* --- the loads --- */

static size_t make_info(struct load *l, size_t lane, char line[LINE_MAX_BYTES])
{
	(void)l;
	return (size_t)snprintf(line, LINE_MAX_BYTES,
				"{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"daemon.info\"}",
				lane);
}

static int take_any(struct load *l, size_t lane, const char *line)
{
	(void)l;
	(void)lane;
	return strstr(line, "\"error\"") == NULL ? 0 : -1;
}

enum stage { ASK, REPORT, TELL };

struct driven_lane {
	enum stage stage;
	long trial;
};

static size_t make_driven(struct load *l, size_t lane, char line[LINE_MAX_BYTES])
{
	const struct driven_lane *at = &l->lanes[lane];
	int n = 0;

	switch (at->stage) {
	case ASK:
		n = snprintf(line, LINE_MAX_BYTES,
			     "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"trial.ask\","
			     "\"params\":{\"sweep\":%ld,\"count\":1}}",
			     lane, l->sweep);
		break;
	case REPORT:
		n = snprintf(line, LINE_MAX_BYTES,
			     "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"trial.report\","
			     "\"params\":{\"sweep\":%ld,\"trial\":%ld,\"attempt\":1,\"seq\":1,"
			     "\"step\":1,\"metrics\":{\"loss\":0.%ld}}}",
			     lane, l->sweep, at->trial, at->trial);
		break;
	case TELL:
		n = snprintf(line, LINE_MAX_BYTES,
			     "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"trial.tell\","
			     "\"params\":{\"sweep\":%ld,\"trial\":%ld,\"attempt\":1,"
			     "\"state\":\"COMPLETED\"}}",
			     lane, l->sweep, at->trial);
		break;
	}
	return (size_t)n;
}

static int take_driven(struct load *l, size_t lane, const char *line)
{
	struct driven_lane *at = &l->lanes[lane];

	if (strstr(line, "\"error\"") != NULL)
		return -1;
	if (at->stage == ASK) {
		const char *trial = strstr(line, "\"trial\":");

		at->trial = trial != NULL ? strtol(trial + strlen("\"trial\":"), NULL, 10) : 0;
		if (at->trial < 1)
			return -1;
	}
	at->stage = at->stage == TELL ? ASK : at->stage + 1;
	return 0;
}

/* A fresh sweep without end, so that every ask is answered with a trial. */
static int submit(struct bench_client *c, long *sweep)
{
	static const char request[] =
		"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"sweep.submit\",\"params\":{\"spec\":{"
		"\"name\":\"bench\",\"method\":\"random\",\"seed\":1,"
		"\"metric\":{\"name\":\"loss\",\"goal\":\"minimize\"},"
		"\"parameters\":{\"lr\":{\"distribution\":\"log_uniform_values\",\"min\":1e-4,"
		"\"max\":0.1},\"batch_size\":{\"values\":[16,32,64]},"
		"\"momentum\":{\"min\":0.0,\"max\":0.99}},\"run_cap\":100000000,"
		"\"early_terminate\":{\"type\":\"asha\",\"max_t\":27}}}}";
	const char *line, *at;

	bench_client_put(c, request, sizeof request - 1);
	if (bench_client_flush(c) != 0 || (line = bench_client_line(c)) == NULL)
		return -1;
	at = strstr(line, "\"sweep\":");
	*sweep = at != NULL ? strtol(at + strlen("\"sweep\":"), NULL, 10) : 0;
	if (*sweep < 1)
		(void)fprintf(stderr, "unexpected answer: %.300s\n", line);
	return *sweep < 1 ? -1 : 0;
}

/* --- SQLite alone --- */

static int sql(sqlite3 *db, const char *text)
{
	char *message = NULL;

	if (sqlite3_exec(db, text, NULL, NULL, &message) == SQLITE_OK)
		return 0;
	(void)fprintf(stderr, "sqlite: %s\n", message != NULL ? message : "no memory");
	sqlite3_free(message);
	return -1;
}

static int insert_rows(sqlite3 *db, sqlite3_stmt *insert, size_t n, size_t group, double *commit)
{
	for (size_t i = 0; i < n; i += group) {
		const double from = bench_now();

		if (sql(db, "BEGIN IMMEDIATE") != 0)
			return -1;
		for (size_t k = i; k < i + group && k < n; k++) {
			const size_t id = group * n + k; /* no two groups' ids meet */

			(void)sqlite3_bind_int64(insert, 1, (sqlite3_int64)id);
			(void)sqlite3_bind_double(insert, 2, (double)k / (double)n);
			if (sqlite3_step(insert) != SQLITE_DONE || sqlite3_reset(insert) != 0)
				return -1;
		}
		if (sql(db, "COMMIT") != 0)
			return -1;
		commit[i / group] = bench_now() - from;
	}
	return 0;
}

static int measure_inserts(const char *dir, size_t n, size_t group, struct result *out)
{
	char path[PATH_MAX + 16];
	sqlite3 *db = NULL;
	sqlite3_stmt *insert = NULL;
	const size_t commits = (n + group - 1) / group;
	double *commit = calloc(commits, sizeof *commit);
	int rc = -1;

	assert(commit != NULL);
	(void)snprintf(path, sizeof path, "%s/insert.db", dir);
	if (sqlite3_open(path, &db) != SQLITE_OK ||
	    sql(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
		    "CREATE TABLE IF NOT EXISTS report(id INTEGER PRIMARY KEY, value REAL,"
		    " metrics TEXT)") != 0 ||
	    sqlite3_prepare_v2(db,
			       "INSERT INTO report VALUES(?, ?, '{\"val_loss\":0.5,\"step\":1}')",
			       -1, &insert, NULL) != SQLITE_OK)
		goto out;
	const double from = bench_now();
	if (insert_rows(db, insert, n, group, commit) != 0)
		goto out;
	out->per_s = (double)n / (bench_now() - from);
	bench_sort(commit, commits);
	out->p50_us = bench_quantile(commit, commits, 500) * 1e6;
	out->p99_us = bench_quantile(commit, commits, 990) * 1e6;
	rc = 0;
out:
	(void)sqlite3_finalize(insert);
	(void)sqlite3_close(db);
	free(commit);
	return rc;
}

/* --- the run --- */

/* A row, with the same window's echo and inserts as the measure of it. */
static void row(struct bench_table *t, const char *what, size_t window, const struct result *r,
		const struct result *echo, const struct result *insert)
{
	(void)bench_table_row(t, what);
	bench_table_number(t, 1, (double)window, 0);
	bench_table_number(t, 2, r->per_s, 0);
	bench_table_number(t, 3, r->p50_us, 1);
	bench_table_number(t, 4, r->p99_us, 1);
	bench_table_number(t, 5, r->per_s / echo->per_s, 3);
	bench_table_number(t, 6, r->per_s / insert->per_s, 2);
}

/* Index 0: one at a time; 1: a window in flight. */
struct results {
	struct result echo[2], info[2], driven[2], insert[2];
};

static int run_loads(const struct options *o, struct bench_client *echo,
		     struct bench_client *sweepd, const char *dir, struct results *r)
{
	const size_t window[2] = {1, o->window};

	for (int i = 0; i < 2; i++) {
		struct load info = {.make = make_info, .take = take_any};
		struct load driven = {.make = make_driven, .take = take_driven};
		const size_t committed = 3 * (i == 0 ? o->n / 10 + 1 : o->n);
		int rc;

		if (measure(echo, &info, o->n, window[i], &r->echo[i]) != 0 ||
		    measure(sweepd, &info, o->n, window[i], &r->info[i]) != 0 ||
		    submit(sweepd, &driven.sweep) != 0)
			return -1;
		driven.lanes = calloc(window[i], sizeof *driven.lanes);
		assert(driven.lanes != NULL);
		rc = measure(sweepd, &driven, committed, window[i], &r->driven[i]);
		free(driven.lanes);
		if (rc != 0 || measure_inserts(dir, committed, window[i], &r->insert[i]) != 0)
			return -1;
	}
	return 0;
}

static int print(const struct options *o, const struct results *r)
{
	static const char *const names[] = {"what",   "window",  "per second", "p50 us",
					    "p99 us", "of echo", "of insert"};
	const size_t window[2] = {1, o->window};
	struct bench_table *t = malloc(sizeof *t);
	int rc;

	assert(t != NULL);
	bench_table_init(t, names, sizeof names / sizeof *names);
	for (int i = 0; i < 2; i++) {
		row(t, "libuv echo", window[i], &r->echo[i], &r->echo[i], &r->insert[i]);
		row(t, "daemon.info", window[i], &r->info[i], &r->echo[i], &r->insert[i]);
		row(t, "ask+report+tell", window[i], &r->driven[i], &r->echo[i], &r->insert[i]);
		row(t, "SQLite insert", window[i], &r->insert[i], &r->echo[i], &r->insert[i]);
	}
	bench_table_print(t);
	puts("(SQLite: rows per second, and the time of a commit of `window` rows)");
	rc = bench_table_csv(t, o->csv);
	printf("rpc: %.0f requests/s (ask, report and tell, %zu in flight, each answered after its "
	       "commit)\n",
	       r->driven[1].per_s, o->window);
	free(t);
	return rc;
}

static int run(const struct options *o, const struct bench_scratch *s)
{
	struct bench_client echo = {.fd = -1}, sweepd = {.fd = -1};
	struct results r = {0};
	pid_t echo_pid, sweepd_pid;
	int rc = -1;

	echo_pid = bench_echo_start(s->echo);
	sweepd_pid = bench_sweepd_start(s->dir, s->socket);
	if (bench_client_connect(&echo, s->echo) != 0 ||
	    bench_client_connect(&sweepd, s->socket) != 0)
		(void)fprintf(stderr, "a server did not start\n");
	else
		rc = run_loads(o, &echo, &sweepd, s->dir, &r);
	bench_client_close(&echo);
	bench_client_close(&sweepd);
	(void)bench_server_stop(echo_pid);
	if (bench_server_stop(sweepd_pid) != 0) {
		(void)fprintf(stderr, "sweepd did not end cleanly, see %s/log\n", s->dir);
		rc = -1;
	}
	return rc == 0 ? print(o, &r) : -1;
}

static int usage(void)
{
	(void)fprintf(stderr,
		      "usage: bench_rpc [--n N] [--window W] [--dir DIR] [--csv FILE]\n"
		      "  --n N       requests of each pipelined row (default 20000)\n"
		      "  --window W  requests in flight (default 64)\n"
		      "  --dir DIR   where the databases go: the file system that is measured\n"
		      "              (default: the present folder)\n");
	return 2;
}

static int options(struct options *o, int argc, char **argv)
{
	static const struct option known[] = {{"n", required_argument, NULL, 'n'},
					      {"window", required_argument, NULL, 'w'},
					      {"csv", required_argument, NULL, 'c'},
					      {"dir", required_argument, NULL, 'd'},
					      {NULL, 0, NULL, 0}};
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		const long number = c == 'n' || c == 'w' ? strtol(optarg, NULL, 10) : 0;

		if ((c == 'n' || c == 'w') && (number < 1 || number > 10000000))
			return -1;
		if (c == 'n')
			o->n = (size_t)number;
		else if (c == 'w' && number <= 256)
			o->window = (size_t)number;
		else if (c == 'c')
			o->csv = optarg;
		else if (c == 'd')
			o->dir = optarg;
		else
			return -1;
	}
	return optind == argc ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct options o = {.n = 20000, .window = 64, .dir = "."};
	struct bench_scratch s;
	int rc;

	if (options(&o, argc, argv) != 0)
		return usage();
	if (bench_scratch_make(&s, o.dir) != 0)
		return 1;
	rc = run(&o, &s);
	bench_scratch_remove(&s);
	return rc == 0 ? 0 : 1;
}
