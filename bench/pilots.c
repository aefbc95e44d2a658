/*
 * bench/pilots.c — pilots of a cluster beside local workers: decisions a second, and sweepd's cost.
 *
 *   local    so many CPU slots, each with a process of its own
 *   pilots   so many jobs of an executor that is a few lines of shell; this process plays all of
 *            them, each by the file that sweepd wrote for it and over a TLS link of its own
 *
 * Nothing is trained: a worker says hello, asks, reports at ASHA's rungs until it is told to stop,
 * and asks again. A first sweep holds each of them until all are there: that is the ramp. Then it
 * is stopped, and the second one is measured until its last trial has ended. The workers of both
 * rows, and the other ends of the links, compute on the same machine as sweepd.
 */
#include "base/log.h"
#include "bench/lib/flags.h"
#include "bench/lib/server.h"
#include "bench/lib/table.h"
#include "tls/dial.h"
#include <assert.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HOLDS     1 /* the number of the sweep that holds all; the other one is 2 */
#define MAX_T     27
#define MOST      1000
#define A_BATCH   50  /* jobs of a submission */
#define LIST_S    10  /* between two lists */
#define LONGEST_S 600 /* that is waited */
#define TRIES     100 /* of a link */

struct options {
	size_t n, trials;
	const char *csv, *dir;
};

static char self[PATH_MAX];

static void nap(void)
{
	(void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

/* --- a worker --- */

struct player {
	struct bench_client c;
	char id[65];
	long slot;
	const char *more; /* of its hello, JSON */
};

/* 0 once it was let in. What is refused at the port, or is not there yet, is tried again. */
static int join(struct player *p, const char *path)
{
	char params[BENCH_LINE];

	(void)snprintf(params, sizeof params,
		       "\"worker\":\"%s\",\"slot\":%ld,\"version\":\"" SW_VERSION "\"%s", p->id,
		       p->slot, p->more);
	for (int i = 0; i < TRIES; i++) {
		if (bench_client_connect(&p->c, path) == 0 &&
		    bench_call(&p->c, "worker.hello", params) != NULL)
			return 0;
		bench_client_close(&p->c);
		nap();
	}
	(void)fprintf(stderr, "slot %ld: it was not let in\n", p->slot);
	return -1;
}

static bool train(struct player *p, long sweep, long trial)
{
	const double luck = (double)(trial * 2654435761L % 10007) / 10007;
	char of[96], params[BENCH_LINE];
	int seq = 0;

	(void)snprintf(of, sizeof of, "\"sweep\":%ld,\"trial\":%ld,\"attempt\":1", sweep, trial);
	for (int step = 1; step <= MAX_T; step *= 3) {
		(void)snprintf(params, sizeof params,
			       "%s,\"seq\":%d,\"step\":%d,\"metrics\":{\"val_loss\":%g}", of, ++seq,
			       step, luck + 1.0 / step);
		const char *answer = bench_call(&p->c, "worker.report", params);

		if (answer == NULL || strstr(answer, "\"continue\"") == NULL)
			return answer != NULL;
	}
	(void)snprintf(params, sizeof params, "%s,\"state\":\"COMPLETED\"", of);
	return bench_call(&p->c, "worker.tell", params) != NULL;
}

static void play(struct player *p)
{
	const char *answer;
	bool goes_on = true;

	while (goes_on && (answer = bench_call(&p->c, "worker.next", "")) != NULL) {
		const long sweep = (long)bench_number(answer, "\"sweep\":");

		if (sweep == HOLDS) /* until worker.stop */
			goes_on = bench_client_line(&p->c) != NULL;
		else if (sweep != 0)
			goes_on = train(p, sweep, (long)bench_number(answer, "\"trial\":"));
	}
}

/* This program as sweepd's worker: `--socket PATH --slot N ...`, its id on standard input; or
 * `check`, which the true one does. */
static int worker(char **argv)
{
	struct player p = {.more = ""};

	if (strcmp(argv[1], "check") == 0) {
		(void)memcpy(strrchr(self, '/'), "/sweep-worker", sizeof "/sweep-worker");
		(void)execv(self, argv);
		return 127;
	}
	p.slot = strtol(argv[4], NULL, 10);
	if (scanf("%64s", p.id) != 1 || join(&p, argv[2]) != 0)
		return 1;
	play(&p);
	return 0;
}

/* --- the cluster --- */

static const char executor[] =
	"#!/bin/sh\n"
	"case $1 in\n"
	"submit)\n"
	"	seq -f \"$SWEEPD_JOB_NAME.%g\" 0 $(($2 - 1)) >batch\n"
	"	cat batch >>jobs\n"
	"	sed 's/^/id-/' batch\n"
	"	sed \"s,^,$SWEEPD_JOB_DIR/,\" batch >began ;;\n" /* a FIFO: play_jobs() */
	"list) sed 's/.*/id-& & running n1/' jobs ;;\n"
	"esac\n";

static struct cluster {
	pthread_t jobs, pilot[MOST];
	size_t n;
	int began; /* the FIFO, and no end of it before it is closed here */
} cluster;

static void *pilot(void *path)
{
	struct player p = {.more = ",\"node\":\"n1\""};
	struct sw_tls_dial *dial = NULL;
	struct sw_err err = SW_ERR_INIT;
	unsigned char key[32] = {0};
	char host[256], name[64], hex[65];
	unsigned port;
	FILE *const told = fopen(path, "r");

	free(path);
	assert(told != NULL);
	const int got = fscanf(told, "dial %255s %u name %63s key %64s worker %64s slot %ld", host,
			       &port, name, hex, p.id, &p.slot);
	(void)fclose(told);
	assert(got == 6);
	for (int i = 0; i < 32; i++)
		(void)sscanf(hex + 2 * i, "%2hhx", &key[i]);
	if (sw_tls_dial(&dial, host, port, name, key, &err) != SW_OK)
		(void)fprintf(stderr, "%s: %s\n", name, err.msg);
	else if (join(&p, sw_tls_dial_path(dial)) == 0) {
		play(&p);
		(void)bench_call(&p.c, "worker.bye", "\"cause\":\"it was told to end\"");
		bench_client_close(&p.c);
	}
	sw_tls_dial_close(dial);
	return NULL;
}

/* The files of new jobs, a line each; an empty one ends it. */
static void *play_jobs(void *unused)
{
	FILE *const from = fdopen(cluster.began, "r");
	char line[PATH_MAX];

	(void)unused;
	assert(from != NULL);
	while (fgets(line, sizeof line, from) != NULL && line[0] != '\n') {
		line[strcspn(line, "\n")] = '\0';
		assert(cluster.n < MOST);
		const int rc =
			pthread_create(&cluster.pilot[cluster.n++], NULL, pilot, strdup(line));
		assert(rc == 0);
	}
	for (size_t i = 0; i < cluster.n; i++)
		(void)pthread_join(cluster.pilot[i], NULL);
	(void)fclose(from);
	return NULL;
}

static void write_file(const char *name, const char *text, mode_t mode)
{
	FILE *const f = fopen(name, "w");

	assert(f != NULL);
	(void)fputs(text, f);
	const int rc = fclose(f) | chmod(name, mode);
	assert(rc == 0);
}

/* In the working folder, which is the executor's too. */
static void open_cluster(void)
{
	struct rlimit files;

	/* seven descriptors a pilot */
	(void)getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
	write_file("fake", executor, 0700);
	write_file("jobs", "", 0600);
	write_file("options", "listen = 127.0.0.1:0\naddress = 127.0.0.1\nidle = 1\n", 0600);
	int rc = mkfifo("began", 0600);
	assert(rc == 0);
	cluster.began = open("began", O_RDWR | O_CLOEXEC);
	assert(cluster.began >= 0);
	rc = pthread_create(&cluster.jobs, NULL, play_jobs, NULL);
	assert(rc == 0);
	(void)setenv("SWEEPD_EXECUTORS", ".", 1);
}

/* Pilots that have no trial are told to go. */
static void close_cluster(void)
{
	const ssize_t n = write(cluster.began, "\n", 1);

	assert(n == 1);
	(void)pthread_join(cluster.jobs, NULL);
}

/* --- a row --- */

struct cost {
	double wall_s, cpu_s, mib, reports;
};

struct result {
	double began_s;        /* before sweepd was started */
	struct cost ramp, end; /* once all are there; once all is over */
	double submits, lists;
};

static int look(struct bench_rig *rig, struct cost *out)
{
	const char *stats = bench_call(&rig->c, "daemon.stats", "");
	unsigned long user = 0, system = 0;
	long pages = 0;
	char path[64];

	if (stats == NULL)
		return -1;
	(void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)rig->pid);
	FILE *const f = fopen(path, "r");
	const int n = f == NULL ? 0
				: fscanf(f,
					 "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu "
					 "%lu %*d %*d %*d %*d %*d %*d %*u %*u %ld",
					 &user, &system, &pages);
	if (f != NULL)
		(void)fclose(f);
	*out = (struct cost){bench_now(), (double)(user + system) / (double)sysconf(_SC_CLK_TCK),
			     (double)pages * (double)sysconf(_SC_PAGESIZE) / (1024 * 1024),
			     bench_number(stats, "\"reports\":")};
	return n == 3 ? 0 : -1;
}

static long submit(struct bench_client *c, const char *name, size_t trials)
{
	char spec[2 * BENCH_LINE];

	(void)snprintf(spec, sizeof spec,
		       "{\"name\":\"%s\",\"method\":\"random\",\"seed\":1,\"run_cap\":%zu,"
		       "\"metric\":{\"name\":\"val_loss\",\"goal\":\"minimize\"},"
		       "\"parameters\":{\"lr\":{\"min\":0.001,\"max\":0.1}},"
		       "\"early_terminate\":{\"type\":\"asha\",\"max_t\":%d},"
		       "\"trainer\":{\"dataset\":{\"name\":\"wine\"},\"epochs\":%d,"
		       "\"model\":[{\"linear\":3}],\"loss\":\"cross_entropy\"}}",
		       name, trials, MAX_T, MAX_T);
	return bench_submit(c, spec);
}

static bool all_run(const char *info, size_t n)
{
	return (size_t)bench_number(info, "\"running\":") >= n;
}

static bool is_over(const char *sweep, size_t n)
{
	const char *state = strstr(sweep, "\"state\":\"");

	(void)n;
	return state != NULL && strncmp(state + 9, "COMPLETED", 9) == 0;
}

static int wait_for(bool (*so)(const char *answer, size_t n), size_t n, struct bench_client *c,
		    const char *method, const char *params)
{
	const double end = bench_now() + LONGEST_S;
	const char *answer;

	while ((answer = bench_call(c, method, params)) != NULL && bench_now() < end) {
		if (so(answer, n))
			return 0;
		nap();
	}
	(void)fprintf(stderr, "%d s were not enough: %.300s\n", LONGEST_S,
		      answer != NULL ? answer : "");
	return -1;
}

static int measure(const struct options *o, struct bench_rig *rig, struct result *r)
{
	struct bench_client *c = &rig->c;

	if (submit(c, "holds", o->n) != HOLDS ||
	    wait_for(all_run, o->n, c, "daemon.info", "") != 0 ||
	    submit(c, "measured", o->trials) != 2 || look(rig, &r->ramp) != 0 ||
	    bench_call(c, "sweep.cancel", "\"sweep\":1") == NULL ||
	    wait_for(is_over, 0, c, "sweep.get", "\"sweep\":2") != 0 || look(rig, &r->end) != 0)
		return -1;
	const char *devices = bench_call(c, "device.list", "");
	if (devices == NULL)
		return -1;
	r->submits = bench_number(devices, "\"submits\":");
	r->lists = bench_number(devices, "\"lists\":");
	return 0;
}

static int run(const struct options *o, bool pilots, struct result *r)
{
	char n[24], devices[32];
	struct bench_rig rig;
	int rc = bench_rig_make(&rig, o->dir);

	(void)snprintf(n, sizeof n, "%zu", o->n);
	(void)snprintf(devices, sizeof devices, "cpu:%zu", o->n);
	const char *const args[] = {"--devices",
				    pilots ? "none" : devices,
				    pilots ? "--executor" : NULL,
				    "fake",
				    "--max-workers",
				    n,
				    "--executor-options",
				    "options",
				    NULL};
	const int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (rc != 0 || chdir(rig.dir) != 0)
		return -1;
	if (pilots)
		open_cluster();
	r->began_s = bench_now();
	rc = bench_rig_start(&rig, args);
	if (rc == 0)
		rc = measure(o, &rig, r);
	if (pilots && rc == 0)
		close_cluster();
	if (fchdir(here) != 0 || bench_rig_close(&rig) != 0)
		rc = -1;
	(void)close(here);
	return rc;
}

static int print(const struct options *o, const struct result r[2])
{
	struct bench_table *const t =
		bench_table_create("workers|number|ramp s|its CPU s|decisions|a second|CPU s|"
				   "us of each|MiB|submits|lists");
	double us[2];

	for (int i = 0; i < 2; i++) {
		const struct cost *ramp = &r[i].ramp, *end = &r[i].end;
		const double made = end->reports - ramp->reports, cpu_s = end->cpu_s - ramp->cpu_s;

		us[i] = 1e6 * cpu_s / made;
		bench_table_cells(t, 0, "%s|%zu|%.1f|%.2f|%.0f|%.0f|%.2f|%.1f|%.1f|%.0f|%.0f",
				  i == 0 ? "local" : "pilots", o->n, ramp->wall_s - r[i].began_s,
				  ramp->cpu_s, made, made / (end->wall_s - ramp->wall_s), cpu_s,
				  us[i], end->mib, r[i].submits, r[i].lists);
	}
	const int rc = bench_table_end(t, o->csv);
	const bool few = r[1].submits <= ceil((double)o->n / A_BATCH) &&
			 r[1].lists <= (r[1].end.wall_s - r[1].began_s) / LIST_S + 1;

	(void)printf("pilots: %.0f us of sweepd's CPU a decision of %zu pilots (local workers: "
		     "%.0f; %s than a submit for 50 pilots and a list in 10 s)\n",
		     us[1], o->n, us[0], few ? "not more" : "MORE");
	return rc;
}

int main(int argc, char **argv)
{
	struct options o = {.n = 500, .trials = 20000, .dir = "."};
	const struct bench_flag flags[] = {
		{"n", BENCH_COUNT, &o.n, 1, MOST, .help = "N  workers (500)"},
		{"trials", BENCH_COUNT, &o.trials, 1, 1e7, .help = "N  that are measured (20000)"},
		{"dir", BENCH_TEXT, &o.dir,
		 .help = "DIR  where the databases go: the file system that is measured (.)"},
		{"csv", BENCH_TEXT, &o.csv, .help = "FILE  the rows"},
		{.name = NULL}};
	struct result r[2] = {{.began_s = 0}};
	struct sw_err err = SW_ERR_INIT;
	const ssize_t len = readlink("/proc/self/exe", self, sizeof self - 16);

	assert(len > 0);
	if (argc > 1 && (strcmp(argv[1], "--socket") == 0 || strcmp(argv[1], "check") == 0))
		return worker(argv);
	if (bench_flags_read("pilots", flags, argc, argv) != 0)
		return 2;
	(void)setenv("SWEEPD_WORKER", self, 1);
	if (sw_log_open(NULL, SW_LOG_WARN, &err) != SW_OK) /* not each link that was dialled */
		return 1;
	for (int i = 0; i < 2; i++)
		if (run(&o, i == 1, &r[i]) != 0)
			return 1;
	return print(&o, r) == 0 ? 0 : 1;
}
