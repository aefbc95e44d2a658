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
#include "bench/lib/flags.h"
#include "bench/lib/server.h"
#include "bench/lib/stats.h"
#include "bench/lib/table.h"
#include <assert.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
	size_t n, window;
	const char *csv;
	const char *dir;
};

struct result {
	double per_s, p50_us, p99_us;
};

/* per_s: of n; v: seconds of each of `of`, sorted here. */
static void sum_up(struct result *out, size_t n, double took, double *v, size_t of)
{
	*out = (struct result){.per_s = (double)n / took,
			       .p50_us = bench_quantile(v, of, 500) * 1e6,
			       .p99_us = bench_quantile(v, of, 990) * 1e6};
}

/* --- many requests in flight --- */

/* A lane has one request in flight and makes its next one when the answer has come. sweepd answers
 * a connection in the order of its requests, so lanes take turns. Of a driven sweep each lane asks
 * for a trial, reports once, tells its end, and asks again. */
struct flight {
	long sweep; /* 0: each request is daemon.info */
	struct lane {
		enum { ASK, REPORT, TELL, STAGES } stage;
		long trial;
	} * lane; /* [lanes] */
	struct sent {
		double at;
		size_t lane;
	} * ring; /* [lanes]: requests without an answer, oldest first */
	size_t lanes, first, n;
};

static size_t request(const struct flight *f, size_t lane, char line[BENCH_LINE])
{
	const struct lane *const at = &f->lane[lane];
	const char *method = "trial.ask";
	char params[BENCH_LINE / 2];

	if (f->sweep == 0)
		return (size_t)snprintf(
			line, BENCH_LINE,
			"{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"daemon.info\"}", lane);
	switch (at->stage) {
	case REPORT:
		method = "trial.report";
		(void)snprintf(params, sizeof params,
			       "\"sweep\":%ld,\"trial\":%ld,\"attempt\":1,\"seq\":1,\"step\":1,"
			       "\"metrics\":{\"loss\":0.%ld}",
			       f->sweep, at->trial, at->trial);
		break;
	case TELL:
		method = "trial.tell";
		(void)snprintf(params, sizeof params,
			       "\"sweep\":%ld,\"trial\":%ld,\"attempt\":1,\"state\":\"COMPLETED\"",
			       f->sweep, at->trial);
		break;
	default:
		(void)snprintf(params, sizeof params, "\"sweep\":%ld,\"count\":1", f->sweep);
	}
	return bench_request(line, BENCH_LINE, method, params);
}

/* -1: that is no answer to the lane's request. */
static int take(const struct flight *f, size_t lane, const char *line)
{
	struct lane *const at = &f->lane[lane];

	if (strstr(line, "\"error\"") != NULL)
		return -1;
	if (f->sweep == 0)
		return 0;
	if (at->stage == ASK) {
		at->trial = (long)bench_number(line, "\"trial\":");
		if (at->trial < 1)
			return -1;
	}
	at->stage = (at->stage + 1) % STAGES;
	return 0;
}

static void issue(struct bench_client *c, struct flight *f, size_t lane)
{
	char line[BENCH_LINE];

	bench_client_put(c, line, request(f, lane, line));
	f->ring[(f->first + f->n++) % f->lanes] = (struct sent){bench_now(), lane};
}

static int fly(struct bench_client *c, struct flight *f, size_t n, double *latency)
{
	size_t issued = 0;

	for (; issued < f->lanes && issued < n; issued++)
		issue(c, f, issued);
	if (bench_client_flush(c) != 0)
		return -1;
	for (size_t done = 0; f->n > 0; done++) {
		const char *line = bench_client_line(c);
		const struct sent sent = f->ring[f->first];

		f->first = (f->first + 1) % f->lanes;
		f->n--;
		latency[done] = bench_now() - sent.at;
		if (line == NULL || take(f, sent.lane, line) != 0) {
			(void)fprintf(stderr, "unexpected answer: %.300s\n",
				      line != NULL ? line : "(none)");
			return -1;
		}
		if (issued < n) {
			issue(c, f, sent.lane);
			issued++;
		}
		if (!bench_client_ready(c) && bench_client_flush(c) != 0)
			return -1;
	}
	return 0;
}

/* n requests by a window of lanes. */
static int measure(struct bench_client *c, long sweep, size_t n, size_t window, struct result *out)
{
	struct flight f = {.sweep = sweep,
			   .lane = calloc(window, sizeof *f.lane),
			   .ring = calloc(window, sizeof *f.ring),
			   .lanes = window};
	double *const latency = calloc(n, sizeof *latency);

	assert(latency != NULL && f.lane != NULL && f.ring != NULL);
	const double from = bench_now();
	const int rc = fly(c, &f, n, latency);

	if (rc == 0)
		sum_up(out, n, bench_now() - from, latency, n);
	free(latency);
	free(f.lane);
	free(f.ring);
	return rc;
}

/* A fresh sweep without end, so that every ask is answered with a trial. */
static int measure_driven(struct bench_client *c, size_t n, size_t window, struct result *out)
{
	const long sweep = bench_submit(
		c, "{\"name\":\"bench\",\"method\":\"random\",\"seed\":1,"
		   "\"metric\":{\"name\":\"loss\",\"goal\":\"minimize\"},"
		   "\"parameters\":{\"lr\":{\"distribution\":\"log_uniform_values\",\"min\":1e-4,"
		   "\"max\":0.1},\"batch_size\":{\"values\":[16,32,64]},"
		   "\"momentum\":{\"min\":0.0,\"max\":0.99}},\"run_cap\":100000000,"
		   "\"early_terminate\":{\"type\":\"asha\",\"max_t\":27}}");

	return sweep > 0 ? measure(c, sweep, n, window, out) : -1;
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
	sum_up(out, n, bench_now() - from, commit, commits);
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
	bench_table_cells(t, 0, "%s|%zu|%.0f|%.1f|%.1f|%.3f|%.2f", what, window, r->per_s,
			  r->p50_us, r->p99_us, r->per_s / echo->per_s, r->per_s / insert->per_s);
}

/* Index 0: one at a time; 1: a window in flight. */
struct results {
	struct result echo[2], info[2], driven[2], insert[2];
};

static int run_loads(const struct options *o, struct bench_client *echo, struct bench_rig *rig,
		     struct results *r)
{
	const size_t window[2] = {1, o->window};

	for (int i = 0; i < 2; i++) {
		const size_t committed = 3 * (i == 0 ? o->n / 10 + 1 : o->n);

		if (measure(echo, 0, o->n, window[i], &r->echo[i]) != 0 ||
		    measure(&rig->c, 0, o->n, window[i], &r->info[i]) != 0 ||
		    measure_driven(&rig->c, committed, window[i], &r->driven[i]) != 0 ||
		    measure_inserts(rig->dir, committed, window[i], &r->insert[i]) != 0)
			return -1;
	}
	return 0;
}

static int print(const struct options *o, const struct results *r)
{
	const size_t window[2] = {1, o->window};
	struct bench_table *const t =
		bench_table_create("what|window|per second|p50 us|p99 us|of echo|of insert");

	for (int i = 0; i < 2; i++) {
		row(t, "libuv echo", window[i], &r->echo[i], &r->echo[i], &r->insert[i]);
		row(t, "daemon.info", window[i], &r->info[i], &r->echo[i], &r->insert[i]);
		row(t, "ask+report+tell", window[i], &r->driven[i], &r->echo[i], &r->insert[i]);
		row(t, "SQLite insert", window[i], &r->insert[i], &r->echo[i], &r->insert[i]);
	}
	const int rc = bench_table_end(t, o->csv);

	puts("(SQLite: rows per second, and the time of a commit of `window` rows)");
	printf("rpc: %.0f requests/s (ask, report and tell, %zu in flight, each answered after its "
	       "commit)\n",
	       r->driven[1].per_s, o->window);
	return rc;
}

static int run(const struct options *o, struct bench_rig *rig, struct results *r)
{
	struct bench_client echo = {.fd = -1};
	char path[sizeof rig->sockets + 8];
	int rc = -1;

	(void)snprintf(path, sizeof path, "%s/e", rig->sockets);
	const pid_t pid = bench_echo_start(path);

	if (bench_client_connect(&echo, path) == 0)
		rc = run_loads(o, &echo, rig, r);
	else
		(void)fprintf(stderr, "the echo server did not start\n");
	bench_client_close(&echo);
	(void)bench_server_stop(pid);
	return rc;
}

int main(int argc, char **argv)
{
	struct options o = {.n = 20000, .window = 64, .dir = "."};
	const struct bench_flag flags[] = {
		{"n", BENCH_COUNT, &o.n, 1, 1e7,
		 .help = "N  requests of each pipelined row (20000)"},
		{"window", BENCH_COUNT, &o.window, 1, 256, .help = "W  requests in flight (64)"},
		{"dir", BENCH_TEXT, &o.dir,
		 .help = "DIR  where the databases go: the file system that is measured (.)"},
		{"csv", BENCH_TEXT, &o.csv, .help = "FILE  the rows"},
		{.name = NULL}};
	struct results r = {.echo = {{0}}};
	struct bench_rig rig;

	if (bench_flags_read("rpc", flags, argc, argv) != 0)
		return 2;
	int rc = bench_rig_make(&rig, o.dir);

	if (rc == 0)
		rc = bench_rig_start(&rig, (const char *[]){"--devices", "none", NULL});
	if (rc == 0)
		rc = run(&o, &rig, &r);
	if (bench_rig_close(&rig) != 0)
		rc = -1;
	return rc == 0 && print(&o, &r) == 0 ? 0 : 1;
}
