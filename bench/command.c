/*
 * bench/command.c — programs per second: trials that are a program which does nothing.
 *
 *   spawn    the program started and waited for, so many at once: what the machine can do
 *   command  a sweep of it: started by workers, three reports, each answered after its commit
 *
 * The program is this one. Both rows are of the same run, so they share machine and file system.
 */
#include "bench/lib/flags.h"
#include "bench/lib/load.h"
#include "bench/lib/server.h"
#include "bench/lib/table.h"
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REPORTS 3

extern char **environ;

struct options {
	size_t n, slots, rounds;
	const char *csv, *dir;
};

/* --- the program --- */

static int program(void)
{
	const char *const name = getenv("SWEEPD_METRICS_FD");
	const int fd = name != NULL ? atoi(name) : -1;
	char line[256];

	for (int step = 1; fd >= 0 && step <= REPORTS; step++) {
		const int n =
			snprintf(line, sizeof line, "{\"step\": %d, \"loss\": 0.%d}\n", step, step);

		if (write(fd, line, (size_t)n) != n || read(fd, line, sizeof line) <= 0)
			return 1;
	}
	return 0;
}

/* --- the rows --- */

static int spawn_all(const char *self, size_t n, size_t slots)
{
	char *const argv[] = {(char *)self, "--program", NULL};
	int status;

	for (size_t started = 0, ended = 0; ended < n;) {
		pid_t pid;

		if (started < n && started - ended < slots) {
			if (posix_spawn(&pid, self, NULL, NULL, argv, environ) != 0)
				return -1;
			started++;
			continue;
		}
		if (wait(&status) < 0 || status != 0)
			return -1;
		ended++;
	}
	return 0;
}

static const char *state_of(struct bench_client *c, long sweep)
{
	char line[BENCH_LINE];
	const int n = snprintf(line, sizeof line,
			       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sweep.get\","
			       "\"params\":{\"sweep\":%ld}}",
			       sweep);
	const char *answer = bench_request(c, line, (size_t)n);

	return answer != NULL ? strstr(answer, "\"state\":\"") : NULL;
}

static int sweep_all(struct bench_client *c, const char *self, const char *cwd, size_t n)
{
	const struct timespec pause = {.tv_nsec = 5 * 1000000};
	char spec[2 * PATH_MAX + 512];
	const char *state;

	(void)snprintf(spec, sizeof spec,
		       "{\"name\":\"bench\",\"method\":\"random\",\"seed\":1,\"run_cap\":%zu,"
		       "\"metric\":{\"name\":\"loss\",\"goal\":\"minimize\"},"
		       "\"parameters\":{\"x\":{\"min\":0.0,\"max\":1.0}},"
		       "\"command\":[\"%s\",\"--program\"],\"run\":{\"cwd\":\"%s\"}}",
		       n, self, cwd);
	const long sweep = bench_submit(c, spec);

	if (sweep <= 0)
		return -1;
	while ((state = state_of(c, sweep)) != NULL && strncmp(state + 9, "RUNNING", 7) == 0)
		(void)nanosleep(&pause, NULL);
	return state != NULL && strncmp(state + 9, "COMPLETED", 9) == 0 ? 0 : -1;
}

/* Each round measures both, one after the other; a row is its best round. */
static int measure(const struct options *o, struct bench_rig *rig, double best[2])
{
	char self[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (n < 0)
		return -1;
	self[n] = '\0';
	/* not measured: the workers start, and files are read for the first time */
	if (sweep_all(&rig->c, self, rig->dir, 4 * o->slots) != 0)
		return -1;
	for (size_t i = 0; i < o->rounds; i++) {
		double from = bench_now();

		if (spawn_all(self, o->n, o->slots) != 0)
			return -1;
		const double alone = (double)o->n / (bench_now() - from);

		from = bench_now();
		if (sweep_all(&rig->c, self, rig->dir, o->n) != 0)
			return -1;
		const double swept = (double)o->n / (bench_now() - from);

		best[0] = alone > best[0] ? alone : best[0];
		best[1] = swept > best[1] ? swept : best[1];
	}
	return 0;
}

static int print(const struct options *o, const double best[2])
{
	static const char *const names[] = {"what", "at once", "programs/s", "of spawn", NULL};
	struct bench_table *const t = bench_table_create(names);

	for (int i = 0; i < 2; i++) {
		bench_table_row(t, i == 0 ? "spawn" : "command");
		bench_table_number(t, 1, (double)o->slots, 0);
		bench_table_number(t, 2, best[i], 0);
		bench_table_number(t, 3, best[i] / best[0], 3);
	}
	const int rc = bench_table_end(t, o->csv);

	printf("command: %.0f programs/s (%d reports each, %zu slots on %ld cores)\n", best[1],
	       REPORTS, o->slots, sysconf(_SC_NPROCESSORS_ONLN));
	return rc;
}

int main(int argc, char **argv)
{
	struct options o = {.n = 1000, .slots = 8, .rounds = 3, .dir = "."};
	const struct bench_flag flags[] = {
		{"n", BENCH_COUNT, &o.n, 1, 1e6, .help = "N  programs of each round (1000)"},
		{"slots", BENCH_COUNT, &o.slots, 1, 256, .help = "N  at once (8)"},
		{"rounds", BENCH_COUNT, &o.rounds, 1, 100, .help = "N  the best is shown (3)"},
		{"dir", BENCH_TEXT, &o.dir,
		 .help = "DIR  where the database goes: the file system that is measured (.)"},
		{"csv", BENCH_TEXT, &o.csv, .help = "FILE  the rows"},
		{.name = NULL}};
	double best[2] = {0, 0};
	struct bench_rig rig;
	char devices[32];

	if (argc == 2 && strcmp(argv[1], "--program") == 0)
		return program();
	if (bench_flags_read("command", flags, argc, argv) != 0)
		return 2;
	(void)snprintf(devices, sizeof devices, "cpu:%zu", o.slots);
	int rc = bench_rig_open(&rig, o.dir, devices);

	if (rc == 0)
		rc = measure(&o, &rig, best);
	if (rc != 0)
		(void)fprintf(stderr, "the programs did not all run\n");
	if (bench_rig_close(&rig) != 0)
		rc = -1;
	return rc == 0 && print(&o, best) == 0 ? 0 : 1;
}
