/*
 * bench/endurance.c — a long sweep over the socket: its last thousand trials against its first.
 *
 * A driven sweep of each method by ask, report and tell, a window of them in flight on one
 * connection, each answered after its commit. Times are of each thousand trials; a thousand is
 * short on a shared machine, so the medians of the first and the last ten stand beside them, and
 * the daemon's computing time, which waits for no disk and for nobody else.
 */
#include "bench/lib/flags.h"
#include "bench/lib/load.h"
#include "bench/lib/server.h"
#include "bench/lib/table.h"
#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BLOCK        1000
#define WINDOW_MAX   256
#define BLOCKS_ASIDE 10

struct options {
	size_t trials, window;
	const char *csv, *dir;
};

/* Of a thousand tells. */
struct block {
	double seconds, computing; /* computing: the daemon's, all threads */
};

struct course {
	clockid_t daemon;
	size_t told;
	double from, computed; /* when the block began */
	struct block *block;
};

static double clock_of(clockid_t clock)
{
	struct timespec t = {.tv_sec = 0};

	(void)clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void begin_block(struct course *k)
{
	k->from = bench_now();
	k->computed = clock_of(k->daemon);
}

static void count_tell(void *ctx)
{
	struct course *const k = ctx;

	if (++k->told % BLOCK != 0)
		return;
	k->block[k->told / BLOCK - 1] =
		(struct block){bench_now() - k->from, clock_of(k->daemon) - k->computed};
	begin_block(k);
}

/* A value that depends on the parameters, so that a model has something to learn. */
static void loss_of(const char *answer, long trial, char out[32])
{
	const double m = bench_number_after(answer, "\"momentum\":") - 0.7;
	const double d = bench_number_after(answer, "\"decay\":") - 0.2;

	(void)trial;
	(void)snprintf(out, 32, "%.17g", m * m + d * d + bench_number_after(answer, "\"lr\":"));
}

static int drive(struct bench_client *c, const char *method, const struct options *o,
		 struct course *k)
{
	struct bench_driven_lane lanes[WINDOW_MAX] = {{0}};
	struct bench_driven d = {
		.left = o->trials, .value = loss_of, .told = count_tell, .ctx = k, .lane = lanes};
	const struct bench_load load = bench_driven_load(&d);
	char spec[1024];

	(void)snprintf(
		spec, sizeof spec,
		"{\"method\":\"%s\",\"seed\":1,\"metric\":{\"name\":\"loss\"},"
		"\"run_cap\":%zu,\"parameters\":{"
		"\"lr\":{\"distribution\":\"log_uniform_values\",\"min\":1e-4,\"max\":0.1},"
		"\"batch_size\":{\"values\":[16,32,64]},"
		"\"units\":{\"distribution\":\"pow2\",\"min\":16,\"max\":512},"
		"\"momentum\":{\"min\":0.0,\"max\":0.99},\"decay\":{\"min\":0.0,\"max\":1.0},"
		"\"layers\":{\"min\":1,\"max\":6}}}",
		method, o->trials);
	d.sweep = bench_submit(c, spec);
	if (d.sweep < 0)
		return -1;
	begin_block(k);
	return bench_load_run(c, &load, 3 * o->trials, o->window, NULL);
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
	struct block *const block = calloc(n, sizeof *block);
	struct course course = {.daemon = daemon, .block = block};
	double total = 0;

	assert(block != NULL && n > 0);
	if (drive(c, method, o, &course) != 0) {
		free(block);
		return -1;
	}
	const struct block *const end = block + n - aside;
	const double first = median_of(block, aside, false), last = median_of(end, aside, false),
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
	free(block);
	return 0;
}

static int run(const struct options *o, struct bench_rig *rig, struct bench_table *t, double *worst)
{
	static const char *const methods[] = {"random", "tpe"};
	double ratio = 0;
	clockid_t daemon;
	int rc = 0;

	if (clock_getcpuclockid(rig->pid, &daemon) != 0) {
		(void)fprintf(stderr, "sweepd, process %ld, is gone\n", (long)rig->pid);
		return -1;
	}
	for (size_t i = 0; rc == 0 && i < sizeof methods / sizeof *methods; i++) {
		rc = measure(&rig->c, methods[i], o, daemon, t, &ratio);
		*worst = ratio > *worst ? ratio : *worst;
	}
	return rc;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"method",        "trials",       "trials/s",
					    "first 1000 ms", "last 1000 ms", "last of first",
					    "first 10, ms",  "last 10, ms",  "median of median",
					    "computing, ms", "of computing", NULL};
	struct options o = {.trials = 100000, .window = 64, .dir = "."};
	const struct bench_flag flags[] = {
		{"trials", BENCH_COUNT, &o.trials, BLOCK, 1e7, .help = "N  of each sweep (100000)"},
		{"window", BENCH_COUNT, &o.window, 1, WINDOW_MAX,
		 .help = "W  requests in flight (64)"},
		{"dir", BENCH_TEXT, &o.dir, .help = "DIR  where the database goes (.)"},
		{"csv", BENCH_TEXT, &o.csv, .help = "FILE  the rows"},
		{.name = NULL}};
	struct bench_rig rig;
	double worst = 0;

	if (bench_flags_read("endurance", flags, argc, argv) != 0)
		return 2;
	struct bench_table *const t = bench_table_create(names);
	int rc = bench_rig_open(&rig, o.dir, "none");

	if (rc == 0)
		rc = run(&o, &rig, t, &worst);
	if (bench_rig_close(&rig) != 0)
		rc = -1;
	if (bench_table_end(t, rc == 0 ? o.csv : NULL) != 0 || rc != 0)
		return 1;
	printf("endurance: %.2f (time of a thousand trials at the end over that at the beginning, "
	       "medians of ten, the worse of random and tpe)\n",
	       worst);
	return 0;
}
