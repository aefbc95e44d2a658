/*
 * bench/lanes.c — how fast a device trains when several trials share it, each in its lane.
 *
 * A lane is a thread, a queue and an arena, as in a worker with --lanes; one data set serves all
 * (bench/lib/train_job.h).
 *
 * Training steps alone, on whole batches; a trial-epoch is 40,000 rows, as in Ray Tune's tutorial
 * on CIFAR-10. Wall time, from all lanes' start to the end of the last one's work. Memory: MB of
 * all lanes as they were planned, and by how much the device's free memory fell between the first
 * lane and the end of the work. The CSV gets a line a count of lanes: device, net, batch,
 * precision, lanes, rows a second, trial-epochs a second, times one lane (of this run; empty
 * without), MB planned, MB taken.
 */
#include "base/memory.h"
#include "bench/lib/flags.h"
#include "bench/lib/table.h"
#include "bench/lib/train_job.h"
#include "kernels/backend.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EPOCH_ROWS 40000.0
#define WARM_STEPS 50 /* code loaded, the step recorded, clocks up */
#define LANES_MOST 1024
#define MB         1e6

struct options {
	const char *device, *net, *csv;
	struct bench_counts lanes;
	size_t batch;
	double seconds;
	enum sw_precision precision;
};

struct run {
	const struct options *options;
	const struct sw_ops *ops;
	pthread_barrier_t ready;
	double until;
};

/* Of so many lanes. */
struct result {
	double rate; /* rows a second */
	double planned_mb, taken_mb;
};

struct lane {
	struct run *run;
	pthread_t thread;
	struct train_job job;
	uint64_t steps;
	double ended;
	sw_status status;
};

static void *lane_main(void *arg)
{
	struct lane *l = arg;
	struct run *r = l->run;

	for (int i = 0; i < WARM_STEPS && l->status == SW_OK; i++)
		l->status = train_job_step(&l->job);
	if (l->status == SW_OK)
		l->status = r->ops->sync(l->job.q);
	pthread_barrier_wait(&r->ready);
	pthread_barrier_wait(&r->ready); /* r->until is set between the two */
	l->steps = l->job.net.step;
	while (l->status == SW_OK && bench_now() < r->until)
		l->status = train_job_step(&l->job);
	l->steps = l->job.net.step - l->steps;
	if (l->status == SW_OK)
		l->status = r->ops->sync(l->job.q);
	l->ended = bench_now();
	return NULL;
}

static int complain(const char *what, sw_status status, const struct sw_err *err)
{
	fprintf(stderr, "bench_lanes: %s: %s\n", what,
		err && *err->msg ? err->msg : sw_status_str(status));
	return 1;
}

/* Rows a second of n lanes; below 0: it failed, and said so. */
static double timed(struct run *r, struct lane *lane, unsigned n)
{
	double began, ended = 0, rows = 0;
	sw_status status = SW_OK;

	if (pthread_barrier_init(&r->ready, NULL, n + 1) != 0)
		return -1;
	for (unsigned i = 0; i < n; i++) {
		lane[i].run = r;
		lane[i].status = SW_OK;
		if (pthread_create(&lane[i].thread, NULL, lane_main, &lane[i]) != 0) {
			fprintf(stderr, "bench_lanes: no thread for lane %u\n", i);
			exit(1); /* the others wait for it */
		}
	}
	pthread_barrier_wait(&r->ready);
	began = bench_now();
	r->until = began + r->options->seconds;
	pthread_barrier_wait(&r->ready);
	for (unsigned i = 0; i < n; i++) {
		pthread_join(lane[i].thread, NULL);
		rows += (double)lane[i].steps * (double)r->options->batch;
		ended = lane[i].ended > ended ? lane[i].ended : ended;
		status = status == SW_OK ? lane[i].status : status;
	}
	pthread_barrier_destroy(&r->ready);
	if (status != SW_OK)
		(void)complain("a step", status, NULL);
	return status == SW_OK ? rows / (ended - began) : -1;
}

/* 0 where the device does not say. */
static double free_mb(const struct sw_ops *ops)
{
	size_t free_bytes, total;

	return ops->memory(&free_bytes, &total) == SW_OK ? (double)free_bytes / MB : 0;
}

static int measure(struct run *r, unsigned n, struct result *out)
{
	const struct options *o = r->options;
	struct lane *lane = sw_calloc(n, sizeof *lane);
	struct sw_err err = SW_ERR_INIT;
	sw_status status = lane ? SW_OK : SW_NOMEM;
	const double had = free_mb(r->ops);
	unsigned made = 0;

	*out = (struct result){.rate = -1};
	while (status == SW_OK && made < n) {
		status = train_job_make(&lane[made].job, r->ops, o->precision,
					made ? &lane[0].job : NULL, o->net, o->batch, &err);
		if (status == SW_OK) {
			const struct sw_layout *at = &lane[made++].job.net.at;

			out->planned_mb += (double)(at->bytes + at->library) / MB;
		}
	}
	if (status == SW_OK)
		out->rate = timed(r, lane, n);
	else
		(void)complain("a lane", status, &err);
	out->taken_mb = had - free_mb(r->ops);
	while (made > 0)
		train_job_free(&lane[--made].job);
	free(lane);
	return out->rate < 0;
}

/* times: one lane, or empty. */
static void tell(const struct options *o, const char *about, size_t n, const struct result *got,
		 const char *times, FILE *csv)
{
	printf("%8zu %14.0f %16.3f %10s %12.1f %12.1f\n", n, got->rate, got->rate / EPOCH_ROWS,
	       times, got->planned_mb, got->taken_mb);
	fflush(stdout);
	if (csv)
		fprintf(csv, "%s,%s,%zu,%s,%zu,%.0f,%.4f,%s,%.1f,%.1f\n", about, o->net, o->batch,
			sw_trainer_precision_name(o->precision), n, got->rate,
			got->rate / EPOCH_ROWS, times, got->planned_mb, got->taken_mb);
}

static int all(struct run *r)
{
	const struct options *o = r->options;
	FILE *csv = o->csv ? fopen(o->csv, "a") : NULL;
	char about[128], times[32];
	struct result got;
	double one = 0;
	int status = 0;

	if (o->csv && !csv) {
		fprintf(stderr, "bench_lanes: %s: %s\n", o->csv, strerror(errno));
		return 1;
	}
	r->ops->describe(about, sizeof about);
	for (char *c = about; *c; c++)
		*c = *c == ',' ? ';' : *c;
	printf("%s, %s, batch %zu, %s\n%8s %14s %16s %10s %12s %12s\n", about, o->net, o->batch,
	       sw_trainer_precision_name(o->precision), "lanes", "rows/s", "trial-epochs/s",
	       "one lane x", "planned MB", "taken MB");
	for (size_t i = 0; i < o->lanes.n && status == 0; i++) {
		const size_t n = o->lanes.v[i];

		status = measure(r, (unsigned)n, &got);
		one = n == 1 ? got.rate : one;
		times[0] = '\0';
		if (one > 0)
			snprintf(times, sizeof times, "%.2f", got.rate / one);
		if (status == 0)
			tell(o, about, n, &got, times, csv);
	}
	if (csv && fclose(csv) != 0) {
		fprintf(stderr, "bench_lanes: %s: %s\n", o->csv, strerror(errno));
		return 1;
	}
	return status;
}

static int precision_read(void *to, const char *text)
{
	enum sw_precision *const out = to;

	for (*out = SW_FP32; *out <= SW_BF16; ++*out)
		if (strcmp(sw_trainer_precision_name(*out), text) == 0)
			return 0;
	return -1;
}

int main(int argc, char **argv)
{
	struct options o = {.device = "gpu:0",
			    .lanes = {{1, 8, 32, 128}, 4},
			    .net = "lenet-cifar",
			    .batch = 4,
			    .seconds = 5};
	const struct bench_flag flags[] = {
		{"device", BENCH_TEXT, &o.device, .help = "NAME  cpu:0, gpu:1 (gpu:0)"},
		{"lanes", BENCH_COUNTS, &o.lanes, 1, LANES_MOST, .help = "N,N  (1,8,32,128)"},
		{"net", BENCH_TEXT, &o.net,
		 .help = "NAME  lenet-cifar, mlp, resnet18, resnet50 or transformer (lenet-cifar)"},
		{"batch", BENCH_COUNT, &o.batch, 1, 1e6, .help = "N  (4)"},
		{"seconds", BENCH_REAL, &o.seconds, 0.01, 600, .help = "S  (5)"},
		{"precision", BENCH_OWN, &o.precision, .read = precision_read,
		 .help = "fp32|tf32|bf16  (fp32)"},
		{"csv", BENCH_TEXT, &o.csv, .help = "FILE  the rows are appended"},
		{.name = NULL}};
	struct run r = {.options = &o};
	struct sw_err err = SW_ERR_INIT;

	if (bench_flags_read("lanes", flags, argc, argv) != 0)
		return 2;
	if (sw_backend_open(o.device, 1, &r.ops, &err) != SW_OK)
		return complain(o.device, SW_NOT_FOUND, &err);
	return all(&r);
}
