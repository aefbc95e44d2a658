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
#include "bench/lib/load.h"
#include "bench/lib/server.h"
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
	bench_sort(v, of);
	*out = (struct result){.per_s = (double)n / took,
			       .p50_us = bench_quantile(v, of, 500) * 1e6,
			       .p99_us = bench_quantile(v, of, 990) * 1e6};
}

static int measure(struct bench_client *c, const struct bench_load *l, size_t n, size_t window,
		   struct result *out)
{
	double *const latency = calloc(n, sizeof *latency);

	assert(latency != NULL);
	const double from = bench_now();
	const int rc = bench_load_run(c, l, n, window, latency);

	if (rc == 0)
		sum_up(out, n, bench_now() - from, latency, n);
	free(latency);
	return rc;
}

/* --- the loads --- */

static size_t make_info(void *ctx, size_t lane, char line[BENCH_LINE])
{
	(void)ctx;
	return (size_t)snprintf(line, BENCH_LINE,
				"{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"daemon.info\"}",
				lane);
}

static int take_any(void *ctx, size_t lane, const char *line)
{
	(void)ctx;
	(void)lane;
	return strstr(line, "\"error\"") == NULL ? 0 : -1;
}

/* A fresh sweep without end, so that every ask is answered with a trial. */
static int measure_driven(struct bench_client *c, size_t n, size_t window, struct result *out)
{
	struct bench_driven d = {.left = n};
	const struct bench_load load = bench_driven_load(&d);
	int rc = -1;

	d.lane = calloc(window, sizeof *d.lane);
	assert(d.lane != NULL);
	d.sweep = bench_submit(
		c, "{\"name\":\"bench\",\"method\":\"random\",\"seed\":1,"
		   "\"metric\":{\"name\":\"loss\",\"goal\":\"minimize\"},"
		   "\"parameters\":{\"lr\":{\"distribution\":\"log_uniform_values\",\"min\":1e-4,"
		   "\"max\":0.1},\"batch_size\":{\"values\":[16,32,64]},"
		   "\"momentum\":{\"min\":0.0,\"max\":0.99}},\"run_cap\":100000000,"
		   "\"early_terminate\":{\"type\":\"asha\",\"max_t\":27}}");
	if (d.sweep > 0)
		rc = measure(c, &load, n, window, out);
	free(d.lane);
	return rc;
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
	const struct bench_load info = {.make = make_info, .take = take_any};
	const size_t window[2] = {1, o->window};

	for (int i = 0; i < 2; i++) {
		const size_t committed = 3 * (i == 0 ? o->n / 10 + 1 : o->n);

		if (measure(echo, &info, o->n, window[i], &r->echo[i]) != 0 ||
		    measure(&rig->c, &info, o->n, window[i], &r->info[i]) != 0 ||
		    measure_driven(&rig->c, committed, window[i], &r->driven[i]) != 0 ||
		    measure_inserts(rig->dir, committed, window[i], &r->insert[i]) != 0)
			return -1;
	}
	return 0;
}

static int print(const struct options *o, const struct results *r)
{
	static const char *const names[] = {"what",   "window",  "per second", "p50 us",
					    "p99 us", "of echo", "of insert",  NULL};
	const size_t window[2] = {1, o->window};
	struct bench_table *const t = bench_table_create(names);

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
