/* bench/train.c — samples a second of a training step on the CPU, entry by entry of kernels/ops.h:
 * the batch gathered, forward, loss, backward, optimizer step (SGD, momentum 0.9).
 *
 *   bench_train [--seconds S] [--threads N] [--net NAME] [--batch B] [--profile] [--peer PYTHON]
 *               [--csv FILE]
 *
 * Times are the process's CPU time (of one thread; with more, the clock's), the best of several
 * rounds: other work on the machine lowers no figure by much. --profile prints where a step's time
 * goes. --peer runs bench/train_peer.py, which prints the same figures for numpy and PyTorch where
 * that interpreter has them. */
#include "bench/lib/train_net.h"
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct options {
	double seconds;
	unsigned threads;
	const char *net, *peer, *csv;
	size_t batch;
	bool profile;
};

static const struct {
	const char *net;
	size_t batch;
} runs[] = {
	{"lenet-cifar", 2},   {"lenet-cifar", 4}, {"lenet-cifar", 8}, {"lenet-cifar", 16},
	{"lenet-cifar", 128}, {"mlp", 2},         {"mlp", 16},        {"mlp", 128},
};

static double seconds(const struct options *o)
{
	struct timespec t;

	clock_gettime(o->threads > 1 ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The machine's own limit: GFLOP/s of a large product. */
static double sgemm_rate(const struct options *o)
{
	enum { N = 1024 };
	float *m = calloc((size_t)3 * N * N, sizeof *m);
	double best = 0;

	if (!m)
		return 0;
	for (int i = 0; i < 2 * N * N; i++)
		m[i] = (float)(i % 13) * 0.1f;
	for (int round = 0; round < 5; round++) {
		const double began = seconds(o);

		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1.0f, m, N,
			    m + N * N, N, 0.0f, m + (size_t)2 * N * N, N);
		const double rate = 2.0 * N * N * N / (seconds(o) - began) * 1e-9;

		best = rate > best ? rate : best;
	}
	free(m);
	return best;
}

static bool run(const struct options *o, const char *name, size_t batch, double gemm, FILE *csv)
{
	struct train_net net;
	double best = 0;

	if (train_net_make(&net, name, batch) != SW_OK) {
		fprintf(stderr, "no net %s of batch %zu can be made\n", name, batch);
		return false;
	}
	for (int round = 0; round < 5; round++) {
		const double began = seconds(o);
		double took = 0;
		size_t steps = 0;

		while (took < o->seconds / 5) {
			for (int i = 0; i < 8; i++)
				train_net_step(&net, NULL);
			steps += 8;
			took = seconds(o) - began;
		}
		best = (double)(steps * batch) / took > best ? (double)(steps * batch) / took
							     : best;
	}
	printf("%-12s %6zu %8u %12.0f %10.1f %7.1f%%\n", name, batch, o->threads, best,
	       best * net.flops * 1e-9, 100 * best * net.flops * 1e-9 / gemm);
	if (csv)
		fprintf(csv, "sweepd,%s,%zu,%u,%.0f,%.2f,%.2f\n", name, batch, o->threads, best,
			best * net.flops * 1e-9, gemm);
	if (o->profile)
		train_net_profile(&net, 2000 / batch + 20);
	train_net_free(&net);
	fflush(stdout);
	return true;
}

static bool read_options(struct options *o, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *arg = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (strcmp(arg, "--profile") == 0) {
			o->profile = true;
			continue;
		}
		if (!value)
			return false;
		if (strcmp(arg, "--seconds") == 0)
			o->seconds = strtod(value, NULL);
		else if (strcmp(arg, "--threads") == 0)
			o->threads = (unsigned)strtoul(value, NULL, 10);
		else if (strcmp(arg, "--net") == 0)
			o->net = value;
		else if (strcmp(arg, "--batch") == 0)
			o->batch = strtoul(value, NULL, 10);
		else if (strcmp(arg, "--peer") == 0)
			o->peer = value;
		else if (strcmp(arg, "--csv") == 0)
			o->csv = value;
		else
			return false;
		i++;
	}
	return o->seconds > 0 && o->threads > 0;
}

/* The peers print rows of the same form. */
static bool run_peer(const struct options *o)
{
	char command[512];

	if (o->csv)
		snprintf(command, sizeof command, "'%s' bench/train_peer.py %u | tee -a '%s'",
			 o->peer, o->threads, o->csv);
	else
		snprintf(command, sizeof command, "'%s' bench/train_peer.py %u", o->peer,
			 o->threads);
	return system(command) == 0;
}

int main(int argc, char **argv)
{
	struct options o = {.seconds = 2, .threads = 1};
	FILE *csv = NULL;
	bool good = true;

	if (!read_options(&o, argc, argv)) {
		fprintf(stderr,
			"usage: %s [--seconds S] [--threads N] [--net NAME] [--batch B] "
			"[--profile] [--peer PYTHON] [--csv FILE]\n",
			argv[0]);
		return EXIT_FAILURE;
	}
	if (o.csv && !(csv = fopen(o.csv, "we"))) {
		perror(o.csv);
		return EXIT_FAILURE;
	}
	sw_ops_cpu_threads(o.threads);
	if (csv)
		fputs("of,net,batch,threads,samples_per_s,gflops,sgemm_gflops\n", csv);
	const double gemm = sgemm_rate(&o);

	printf("sgemm of 1024: %.1f GFLOP/s\n", gemm);
	printf("%-12s %6s %8s %12s %10s %8s\n", "net", "batch", "threads", "samples/s", "GFLOP/s",
	       "of sgemm");
	for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
		if ((o.net && strcmp(o.net, runs[i].net) != 0) ||
		    (o.batch && o.batch != runs[i].batch))
			continue;
		good = run(&o, runs[i].net, runs[i].batch, gemm, csv) && good;
	}
	if (csv)
		fclose(csv);
	if (o.peer)
		good = run_peer(&o) && good;
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
