/*
 * bench/store_layout.c — metrics of a report: one JSON text, or rows of (report, name, value)?
 *
 * Both layouts take the same reports (4 metrics each) in the same order, committed in groups as the
 * store does (WAL, synchronous=FULL), and then give the curves of 200 trials back. Usage:
 * bench_store_layout [--reports N] [--group N] [--dir DIR] [--csv FILE]
 */
#include "base/clock.h"
#include <inttypes.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define METRICS 4
#define RUNNING 64  /* trials that report in turn */
#define LENGTH  100 /* reports of a trial */
#define CURVES  200

static const char *const names[METRICS] = {"train_loss", "val_loss", "val_accuracy",
					   "samples_per_s"};

struct result {
	double inserts_per_s, rows_read_per_s, mb;
};

static bool run(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return true;
	fprintf(stderr, "store_layout: %s: %s\n", sql, sqlite3_errmsg(db));
	return false;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *q = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) != SQLITE_OK)
		fprintf(stderr, "store_layout: %s: %s\n", sql, sqlite3_errmsg(db));
	return q;
}

static const char base_sql[] =
	"PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
	"PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = 4000;"
	"CREATE TABLE report (trial INTEGER NOT NULL, seq INTEGER NOT NULL, step INTEGER NOT NULL,"
	" value REAL, metrics TEXT, PRIMARY KEY (trial, seq)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE metric (trial INTEGER NOT NULL, seq INTEGER NOT NULL, name INTEGER NOT NULL,"
	" value REAL, PRIMARY KEY (trial, seq, name)) STRICT, WITHOUT ROWID;";

static double metric_of(int64_t i, int k)
{
	return (double)((i * 2654435761 + k * 40503) & 0xfffff) / 1048576.0;
}

/* Report i: RUNNING trials take turns until each has LENGTH reports, then come the next ones. */
static bool insert(sqlite3_stmt *report, sqlite3_stmt *metric, bool json, int64_t i)
{
	const int64_t trial = i / (RUNNING * LENGTH) * RUNNING + i % RUNNING;
	const int64_t seq = i / RUNNING % LENGTH + 1;
	char text[256];
	int len = 0;
	bool ok = true;

	sqlite3_bind_int64(report, 1, trial);
	sqlite3_bind_int64(report, 2, seq);
	sqlite3_bind_int64(report, 3, seq);
	sqlite3_bind_double(report, 4, metric_of(i, 1));
	if (json) {
		for (int k = 0; k < METRICS; k++)
			len += snprintf(text + len, sizeof text - (size_t)len, "%c\"%s\":%.17g",
					k == 0 ? '{' : ',', names[k], metric_of(i, k));
		len += snprintf(text + len, sizeof text - (size_t)len, "}");
		sqlite3_bind_text(report, 5, text, len, SQLITE_STATIC);
	}
	ok = sqlite3_step(report) == SQLITE_DONE;
	sqlite3_reset(report);
	for (int k = 0; !json && ok && k < METRICS; k++) {
		sqlite3_bind_int64(metric, 1, trial);
		sqlite3_bind_int64(metric, 2, seq);
		sqlite3_bind_int64(metric, 3, k); /* the name's number: the thrifty form */
		sqlite3_bind_double(metric, 4, metric_of(i, k));
		ok = sqlite3_step(metric) == SQLITE_DONE;
		sqlite3_reset(metric);
	}
	return ok;
}

static bool insert_all(sqlite3 *db, bool json, int64_t reports, int64_t group)
{
	sqlite3_stmt *report = prepare(db, "INSERT INTO report VALUES (?1, ?2, ?3, ?4, ?5)");
	sqlite3_stmt *metric = prepare(db, "INSERT INTO metric VALUES (?1, ?2, ?3, ?4)");
	bool ok = report != NULL && metric != NULL;

	for (int64_t i = 0; ok && i < reports; i++) {
		if (i % group == 0)
			ok = run(db, "BEGIN IMMEDIATE");
		ok = ok && insert(report, metric, json, i);
		if (ok && (i % group == group - 1 || i == reports - 1))
			ok = run(db, "COMMIT");
	}
	sqlite3_finalize(report);
	sqlite3_finalize(metric);
	return ok;
}

/* The reports of one trial with all their metrics as JSON text, which is what a reply carries. */
static int64_t read_curve(sqlite3_stmt *report, sqlite3_stmt *metric, bool json, int64_t trial,
			  size_t *bytes)
{
	char text[256];
	int64_t n = 0;

	sqlite3_bind_int64(report, 1, trial);
	if (!json)
		sqlite3_bind_int64(metric, 1, trial);
	while (sqlite3_step(report) == SQLITE_ROW) {
		if (json) {
			*bytes += strlen((const char *)sqlite3_column_text(report, 3));
		} else {
			int len = 0;
			for (int k = 0; k < METRICS && sqlite3_step(metric) == SQLITE_ROW; k++)
				len += snprintf(text + len, sizeof text - (size_t)len,
						"%c\"%s\":%.17g", k == 0 ? '{' : ',',
						names[sqlite3_column_int(metric, 0) % METRICS],
						sqlite3_column_double(metric, 1));
			*bytes += (size_t)len + 1;
		}
		n++;
	}
	sqlite3_reset(report);
	sqlite3_reset(metric);
	return n;
}

static int64_t read_all(sqlite3 *db, bool json, int64_t n_trials)
{
	sqlite3_stmt *report = prepare(db, "SELECT seq, step, value, metrics FROM report"
					   " WHERE trial = ?1 ORDER BY seq");
	sqlite3_stmt *metric = prepare(db, "SELECT name, value FROM metric WHERE trial = ?1"
					   " ORDER BY seq, name");
	int64_t n = 0;
	size_t bytes = 0;

	for (int64_t t = 0; report != NULL && metric != NULL && t < CURVES; t++)
		n += read_curve(report, metric, json, t * 7 % n_trials, &bytes);
	sqlite3_finalize(report);
	sqlite3_finalize(metric);
	return bytes > 0 ? n : 0;
}

static bool measure(const char *dir, bool json, int64_t reports, int64_t group, struct result *out)
{
	char path[512], name[600];
	sqlite3 *db = NULL;
	struct stat st = {0};
	bool ok = false;

	snprintf(path, sizeof path, "%s/%s.db", dir, json ? "json" : "key_value");
	if (sqlite3_open(path, &db) != SQLITE_OK || !run(db, base_sql))
		goto out;
	int64_t t0 = sw_clock_mono_us();
	if (!insert_all(db, json, reports, group))
		goto out;
	int64_t t1 = sw_clock_mono_us();
	out->inserts_per_s = (double)reports * 1e6 / (double)(t1 - t0);
	t0 = sw_clock_mono_us();
	const int64_t n = read_all(db, json, reports / LENGTH);
	t1 = sw_clock_mono_us();
	out->rows_read_per_s = (double)n * 1e6 / (double)(t1 - t0);
	ok = n > 0 && run(db, "PRAGMA wal_checkpoint(TRUNCATE)");
	(void)stat(path, &st);
	out->mb = (double)st.st_size / 1e6;
out:
	(void)sqlite3_close(db);
	(void)unlink(path);
	snprintf(name, sizeof name, "%s-wal", path);
	(void)unlink(name);
	snprintf(name, sizeof name, "%s-shm", path);
	(void)unlink(name);
	return ok;
}

static void print_row(FILE *out, bool csv, const char *layout, const struct result *r)
{
	if (csv)
		fprintf(out, "%s,%.0f,%.0f,%.2f\n", layout, r->inserts_per_s, r->rows_read_per_s,
			r->mb);
	else
		fprintf(out, "%-10s %14.0f %16.0f %8.1f\n", layout, r->inserts_per_s,
			r->rows_read_per_s, r->mb);
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/sweepd-bench-XXXXXX";
	const char *where = NULL, *csv = NULL;
	int64_t reports = 200000, group = 1000;
	struct result r[2] = {{0}};

	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--reports") == 0)
			reports = strtoll(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--group") == 0)
			group = strtoll(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--dir") == 0)
			where = argv[i + 1];
		else if (strcmp(argv[i], "--csv") == 0)
			csv = argv[i + 1];
	}
	if (reports < RUNNING * LENGTH || group < 1 || (where == NULL && mkdtemp(dir) == NULL)) {
		fprintf(stderr, "store_layout: --reports from %d, --group from 1\n",
			RUNNING * LENGTH);
		return 2;
	}
	for (int json = 0; json < 2; json++)
		if (!measure(where == NULL ? dir : where, json == 1, reports, group, &r[json]))
			return 1;
	if (where == NULL)
		(void)rmdir(dir);
	printf("%" PRId64 " reports of %d metrics, %" PRId64 " a commit, synchronous=FULL\n",
	       reports, METRICS, group);
	printf("%-10s %14s %16s %8s\n", "layout", "inserts/s", "curve rows/s", "MB");
	print_row(stdout, false, "key-value", &r[0]);
	print_row(stdout, false, "json", &r[1]);
	FILE *f = csv == NULL ? NULL : fopen(csv, "w");
	if (f != NULL) {
		fprintf(f, "layout,inserts_per_s,curve_rows_per_s,mb\n");
		print_row(f, true, "key-value", &r[0]);
		print_row(f, true, "json", &r[1]);
		if (fclose(f) != 0)
			return 1;
	}
	printf("store_layout: %.2f x (JSON over key-value, inserts)\n",
	       r[1].inserts_per_s / r[0].inserts_per_s);
	return 0;
}
