/* bench/lanes.c — how fast a device trains when several trials share it, each a lane: a thread, a
 * queue and an arena, as in a worker with --lanes; one data set for all (bench/lib/train_job.h).
 *
 *   bench_lanes [--device gpu:0] [--lanes 1,8,32,128] [--net lenet-cifar] [--batch 4]
 *               [--seconds 5] [--precision fp32] [--csv FILE]
 *
 * Training steps alone, on whole batches; a trial-epoch is 40,000 rows, as in Ray Tune's tutorial
 * on CIFAR-10. Wall time, from all lanes' start to the end of the last one's work. The CSV gets a
 * line a count of lanes: device, net, batch, precision, lanes, rows a second, trial-epochs a
 * second, times one lane (of this run; empty without). */
#include "base/memory.h"
#include "bench/lib/train_job.h"
#include "kernels/backend.h"
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EPOCH_ROWS 40000.0
#define WARM_STEPS 50 /* code loaded, the step recorded, clocks up */
#define LANES_MOST 1024

struct options {
	const char *device, *lanes, *net, *csv;
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

struct lane {
	struct run *run;
	pthread_t thread;
	struct train_job job;
	size_t steps;
	double ended;
	sw_status status;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

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
	while (l->status == SW_OK && now() < r->until) {
		l->status = train_job_step(&l->job);
		l->steps++;
	}
	if (l->status == SW_OK)
		l->status = r->ops->sync(l->job.q);
	l->ended = now();
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
		lane[i].steps = 0;
		lane[i].status = SW_OK;
		if (pthread_create(&lane[i].thread, NULL, lane_main, &lane[i]) != 0) {
			fprintf(stderr, "bench_lanes: no thread for lane %u\n", i);
			exit(1); /* the others wait for it */
		}
	}
	pthread_barrier_wait(&r->ready);
	began = now();
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

static double measure(struct run *r, unsigned n)
{
	const struct options *o = r->options;
	struct lane *lane = sw_calloc(n, sizeof *lane);
	struct sw_err err = SW_ERR_INIT;
	sw_status status = lane ? SW_OK : SW_NOMEM;
	double rate = -1;
	unsigned made = 0;

	while (status == SW_OK && made < n) {
		status = train_job_make_on(&lane[made].job, r->ops, o->precision,
					   made ? &lane[0].job : NULL, o->net, o->batch, &err);
		made += status == SW_OK;
	}
	if (status == SW_OK)
		rate = timed(r, lane, n);
	else
		(void)complain("a lane", status, &err);
	while (made > 0)
		train_job_free(&lane[--made].job);
	free(lane);
	return rate;
}

static int all(struct run *r)
{
	const struct options *o = r->options;
	FILE *csv = o->csv ? fopen(o->csv, "a") : NULL;
	char about[128], times[32];
	double one = 0;

	if (o->csv && !csv) {
		fprintf(stderr, "bench_lanes: %s: %s\n", o->csv, strerror(errno));
		return 1;
	}
	r->ops->describe(about, sizeof about);
	for (char *c = about; *c; c++)
		*c = *c == ',' ? ';' : *c;
	printf("%s, %s, batch %zu, %s\n%8s %14s %16s %10s\n", about, o->net, o->batch,
	       sw_precision_name(o->precision), "lanes", "rows/s", "trial-epochs/s", "one lane x");
	for (const char *at = o->lanes; *at;) {
		char *end;
		const unsigned long n = strtoul(at, &end, 10);
		double rate;

		at = *end == ',' ? end + 1 : end;
		rate = n >= 1 && n <= LANES_MOST && (*end == ',' || !*end) ? measure(r, (unsigned)n)
									   : -1;
		if (rate < 0) {
			if (csv)
				fclose(csv);
			return 1;
		}
		one = n == 1 ? rate : one;
		times[0] = '\0';
		if (one > 0)
			snprintf(times, sizeof times, "%.2f", rate / one);
		printf("%8lu %14.0f %16.3f %10s\n", n, rate, rate / EPOCH_ROWS, times);
		fflush(stdout);
		if (csv)
			fprintf(csv, "%s,%s,%zu,%s,%lu,%.0f,%.4f,%s\n", about, o->net, o->batch,
				sw_precision_name(o->precision), n, rate, rate / EPOCH_ROWS, times);
	}
	return csv && fclose(csv) != 0;
}

static bool precision_read(const char *text, enum sw_precision *out)
{
	for (*out = SW_FP32; *out <= SW_BF16; ++*out)
		if (strcmp(sw_precision_name(*out), text) == 0)
			return true;
	return false;
}

int main(int argc, char **argv)
{
	static const struct option names[] = {{"device", required_argument, NULL, 'd'},
					      {"lanes", required_argument, NULL, 'l'},
					      {"net", required_argument, NULL, 'n'},
					      {"batch", required_argument, NULL, 'b'},
					      {"seconds", required_argument, NULL, 's'},
					      {"precision", required_argument, NULL, 'p'},
					      {"csv", required_argument, NULL, 'c'},
					      {NULL, 0, NULL, 0}};
	struct options o = {.device = "gpu:0",
			    .lanes = "1,8,32,128",
			    .net = "lenet-cifar",
			    .batch = 4,
			    .seconds = 5};
	struct run r = {.options = &o};
	struct sw_err err = SW_ERR_INIT;
	bool known = true;
	int c;

	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (c == 'd')
			o.device = optarg;
		else if (c == 'l')
			o.lanes = optarg;
		else if (c == 'n')
			o.net = optarg;
		else if (c == 'b')
			o.batch = (size_t)strtoul(optarg, NULL, 10);
		else if (c == 's')
			o.seconds = strtod(optarg, NULL);
		else if (c == 'c')
			o.csv = optarg;
		else if (c == 'p')
			known = precision_read(optarg, &o.precision);
		else
			known = false;
		if (!known)
			break;
	}
	if (!known || optind != argc || o.batch == 0 || !(o.seconds > 0)) {
		fputs("usage: bench_lanes [--device gpu:0] [--lanes 1,8,32,128] [--net NAME] "
		      "[--batch N] [--seconds S] [--precision fp32|tf32|bf16] [--csv FILE]\n",
		      stderr);
		return 2;
	}
	if (sw_backend_open(o.device, 1, &r.ops, &err) != SW_OK)
		return complain(o.device, SW_NOT_FOUND, &err);
	return all(&r);
}
