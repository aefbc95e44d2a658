/*
 * bench/train.c — samples a second of training on the CPU, beside numpy and PyTorch.
 *
 * It does what a trial of the worker does: its data set loaded, its net, a step after the other
 * (bench/lib/train_job.h). numpy and PyTorch, where a Python has them (bench/train_peer.py), take
 * turns with it within the same run.
 *
 * With one core times are the process's CPU time, with more the clock's; of each the best of
 * several rounds, which take turns: what else the machine does lowers no figure by much, and the
 * same ones. More cores also take turns with one, by the clock: "of one core" is the median of the
 * pairs' ratios, and its quartiles. Without --threads one core is measured and, where there are as
 * many, two.
 */
#include "bench/lib/client.h"
#include "bench/lib/flags.h"
#include "bench/lib/stats.h"
#include "bench/lib/table.h"
#include "bench/lib/train_job.h"
#include "kernels/cpu/threads.h"
#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 5
#define PAIRS  8 /* of each round: one core, then all */

/* --- a peer --- */

/* Another implementation of the nets: a Python process that waits for its turn
 * (bench/train_peer.py). */
struct peer {
	pid_t pid; /* 0: there is none */
	struct bench_client c;
	char name[80]; /* "numpy 2.4.6" */
	char why[200]; /* when there is none */
};

static void become(const char *what, const char *python, unsigned threads, int end)
{
	static const char *const pools[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
					    "MKL_NUM_THREADS"};
	char n[16];

	snprintf(n, sizeof n, "%u", threads);
	for (size_t i = 0; i < sizeof pools / sizeof *pools; i++)
		setenv(pools[i], n, 1);
	if (dup2(end, 0) >= 0 && dup2(end, 1) >= 0)
		execlp(python, python, "bench/train_peer.py", what, n, (char *)NULL);
	_exit(127);
}

static void peer_stop(struct peer *p)
{
	bench_client_close(&p->c);
	if (p->pid > 0)
		(void)waitpid(p->pid, NULL, 0);
	p->pid = 0;
}

/* what: "numpy" or "torch", in this Python (NULL: none was named). */
static void peer_start(struct peer *p, const char *what, const char *python, unsigned threads)
{
	int ends[2]; /* ours, and the peer's */

	*p = (struct peer){.c = {.fd = -1}};
	snprintf(p->why, sizeof p->why, "no Python is named for it");
	if (!python || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return;
	fflush(stdout);
	p->pid = fork();
	if (p->pid == 0)
		become(what, python, threads, ends[1]);
	close(ends[1]);
	p->c.fd = ends[0];
	const char *line = p->pid > 0 ? bench_client_line(&p->c) : NULL;

	if (line && *line != '-') {
		snprintf(p->name, sizeof p->name, "%.79s", line);
		return;
	}
	snprintf(p->why, sizeof p->why, "%s: %.120s", python, line ? line + 2 : "cannot be run");
	peer_stop(p);
}

/* Samples a second of so many seconds of steps; 0: it has no such net, or has gone. */
static double peer_rate(struct peer *p, const char *net, size_t batch, double seconds)
{
	char turn[64];
	const int n = snprintf(turn, sizeof turn, "%s %zu %g", net, batch, seconds);

	if (p->pid <= 0)
		return 0;
	bench_client_put(&p->c, turn, (size_t)n);
	const char *rate = bench_client_flush(&p->c) == 0 ? bench_client_line(&p->c) : NULL;

	return rate ? strtod(rate, NULL) : 0;
}

/* --- what is measured --- */

enum { NUMPY, TORCH, PEERS };

struct options {
	double seconds;
	size_t threads; /* 0: one, and two */
	const char *csv, *python[PEERS];
};

/* must: times PyTorch's rate on one core; 0: nothing is asked */
static const struct {
	const char *net;
	size_t batch;
	double must;
} runs[] = {
	{"lenet-cifar", 2, 0},  {"lenet-cifar", 4, 5},     {"lenet-cifar", 8, 0},
	{"lenet-cifar", 16, 0}, {"lenet-cifar", 128, 2.5}, {"mlp", 2, 20},
	{"mlp", 16, 10},        {"mlp", 128, 0},
};
#define RUNS (sizeof runs / sizeof *runs)

struct result {
	bool done;
	unsigned threads;
	double flops, gemm, rate, peer[PEERS]; /* samples a second */
	double of_one[ROUNDS * PAIRS];         /* times the rate of one core, with more */
};

static double seconds(unsigned threads)
{
	return threads > 1 ? bench_now() : bench_cpu_now();
}

/* The machine's own limit: GFLOP/s of a large product. */
static double sgemm_rate(unsigned threads)
{
	enum { N = 1024 };
	float *m = calloc((size_t)3 * N * N, sizeof *m);
	double best = 0;

	if (!m)
		return 0;
	for (int i = 0; i < 2 * N * N; i++)
		m[i] = (float)(i % 13) * 0.1f;
	for (int round = 0; round < ROUNDS; round++) {
		const double began = seconds(threads);

		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1.0f, m, N,
			    m + N * N, N, 0.0f, m + (size_t)2 * N * N, N);
		best = fmax(best, 2.0 * N * N * N / (seconds(threads) - began) * 1e-9);
	}
	free(m);
	return best;
}

/* 0: it failed. */
static double job_rate(struct train_job *job, unsigned threads, double s)
{
	const double began = seconds(threads);
	double took;
	size_t steps = 0;

	do {
		for (int i = 0; i < 8; i++, steps++)
			if (train_job_step(job) != SW_OK)
				return 0;
		took = seconds(threads) - began;
	} while (took < s);
	return (double)(steps * job->net.at.batch) / took;
}

/* Without measuring anew whether they are faster. */
static void cores_use(unsigned n)
{
	sw_cpu_threads_set(n);
	openblas_set_num_threads((int)n);
}

/* One core and several in turns: other load falls on both. */
static double pairs_rate(struct train_job *job, unsigned threads, double s, double *of_one)
{
	double best = 0;

	for (int i = 0; i < PAIRS; i++) {
		cores_use(1);
		const double one = job_rate(job, threads, s / PAIRS);

		cores_use(threads);
		const double all = job_rate(job, threads, s / PAIRS);

		if (one <= 0 || all <= 0)
			return 0;
		of_one[i] = all / one;
		best = fmax(best, all);
	}
	return best;
}

/* All in turns. The pools of threads of others spin for a while after their work: they are given
 * time to come to rest where cores are shared. */
static bool run(const struct options *o, size_t i, struct peer *peers, struct result *r)
{
	const double s = o->seconds / ROUNDS;
	struct sw_err err = SW_ERR_INIT;
	struct train_job job;
	bool good = true;

	if (train_job_make(&job, &sw_ops_cpu, SW_FP32, NULL, runs[i].net, runs[i].batch, &err) !=
	    SW_OK) {
		fprintf(stderr, "no net %s of batch %zu: %s\n", runs[i].net, runs[i].batch,
			err.msg);
		return false;
	}
	r->flops = job.flops;
	sw_ops_cpu_threads(r->threads);
	for (int round = 0; good && round < ROUNDS; round++) {
		const double rate = r->threads == 1 ? job_rate(&job, 1, s)
						    : pairs_rate(&job, r->threads, s,
								 &r->of_one[round * PAIRS]);

		good = rate > 0;
		r->rate = fmax(r->rate, rate);
		for (int k = 0; k < PEERS; k++) {
			const double of = peer_rate(&peers[k], runs[i].net, runs[i].batch, s);

			r->peer[k] = fmax(r->peer[k], of);
			if (of > 0 && r->threads > 1)
				usleep(300000);
		}
	}
	r->done = good;
	if (!good)
		fprintf(stderr, "a step of %s, batch %zu, failed\n", runs[i].net, runs[i].batch);
	train_job_free(&job);
	return good;
}

static void row_add(struct bench_table *t, const char *of, size_t i, const struct result *r,
		    double rate)
{
	bench_table_cells(t, 0, "%s|%s|%zu|%u|%.0f|%.2f|%.2f", of, runs[i].net, runs[i].batch,
			  r->threads, rate, rate * r->flops * 1e-9, r->gemm);
}

static void rows_add(struct bench_table *t, size_t i, const struct result *r,
		     const struct peer *peers)
{
	double quarter[3];

	row_add(t, "sweepd", i, r, r->rate);
	if (r->threads > 1) {
		bench_stat_quartiles(r->of_one, ROUNDS * PAIRS, quarter);
		bench_table_cells(t, 7, "%.2f [%.2f, %.2f]", quarter[1], quarter[0], quarter[2]);
	}
	for (int k = 0; k < PEERS; k++) {
		if (r->peer[k] <= 0)
			continue;
		row_add(t, peers[k].name, i, r, r->peer[k]);
		bench_table_cells(t, 8, "%.2f", r->rate / r->peer[k]);
	}
}

/* All runs with so many threads. */
static bool runs_all(const struct options *o, unsigned threads, struct result *r,
		     struct bench_table *t)
{
	static const char *const what[PEERS] = {"numpy", "torch"};
	struct peer peers[PEERS];
	bool good = true;

	sw_ops_cpu_threads(threads);
	const double gemm = sgemm_rate(threads);

	for (int k = 0; k < PEERS; k++) {
		peer_start(&peers[k], what[k], o->python[k], threads);
		if (peers[k].pid == 0)
			printf("%s left out: %s\n", what[k], peers[k].why);
	}
	for (size_t i = 0; i < RUNS; i++) {
		r[i].threads = threads;
		r[i].gemm = gemm;
		good = run(o, i, peers, &r[i]) && good;
		if (r[i].done)
			rows_add(t, i, &r[i], peers);
	}
	for (int k = 0; k < PEERS; k++)
		peer_stop(&peers[k]);
	return good;
}

/* The ratios that are asked for, and how many are reached. */
static void summary(const struct result *r)
{
	size_t asked = 0, kept = 0;

	for (size_t i = 0; i < RUNS; i++) {
		if (!r[i].done || r[i].threads != 1 || runs[i].must == 0 || r[i].peer[TORCH] <= 0)
			continue;
		const double ratio = r[i].rate / r[i].peer[TORCH];

		printf("%s, batch %zu: %.2f times PyTorch's rate (must: %g)\n", runs[i].net,
		       runs[i].batch, ratio, runs[i].must);
		asked++;
		kept += ratio >= runs[i].must;
	}
	if (asked)
		printf("train: %zu of %zu ratios (samples/s over PyTorch's, one core each, at "
		       "least "
		       "as asked)\n",
		       kept, asked);
	else if (r[1].done)
		printf("train: %.0f samples/s (lenet-cifar, batch 4, %u core%s; nothing to compare "
		       "with)\n",
		       r[1].rate, r[1].threads, r[1].threads > 1 ? "s" : "");
}

int main(int argc, char **argv)
{
	struct options o = {.seconds = 2};
	const struct bench_flag flags[] = {
		{"seconds", BENCH_REAL, &o.seconds, 0.01, 600, .help = "S  of each row (2)"},
		{"threads", BENCH_COUNT, &o.threads, 1, 64,
		 .help = "N  (one, and two where there are)"},
		{"numpy", BENCH_TEXT, &o.python[NUMPY], .help = "PYTHON  one with numpy"},
		{"torch", BENCH_TEXT, &o.python[TORCH], .help = "PYTHON  one with PyTorch"},
		{"csv", BENCH_TEXT, &o.csv, .help = "FILE  the rows"},
		{.name = NULL}};
	struct result one[RUNS] = {{0}}, more[RUNS] = {{0}};

	if (bench_flags_read("train", flags, argc, argv) != 0)
		return 2;
	struct bench_table *const t =
		bench_table_create("of|net|batch|cores|samples/s|GFLOP/s|sgemm|of one core|ratio");
	bool good = runs_all(&o, o.threads ? (unsigned)o.threads : 1, one, t);

	if (o.threads == 0 && sysconf(_SC_NPROCESSORS_ONLN) > 1)
		good = runs_all(&o, 2, more, t) && good;
	good = bench_table_end(t, o.csv) == 0 && good;
	printf("(sgemm: GFLOP/s of a product of 1024; ratio: sweepd's rate over that of this "
	       "row)\n");
	summary(one);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
