/*
 * bench/comm.c — bytes per second of a sum among ranks, beside memcpy.
 *
 *   shm        sw_comm_sum of floats: each rank gives so many bytes and gets the sum of all
 *   step       lenet-cifar at batch 128: one rank alone, and ranks that share each batch
 *   memcpy     all ranks copy as many bytes at the same time, each its own, in the same round
 *
 * Each rank is a process on a core of its own, as far as there are cores. A round makes each sum
 * and each copy once or, if that is short, as often as 4 MiB need; a row shows the best of its
 * rounds.
 */
#include "worker/comm/comm.h"
#include "bench/lib/flags.h"
#include "bench/lib/table.h"
#include "bench/lib/train_job.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEAST  ((size_t)1024)
#define MOST   ((size_t)64 * 1024 * 1024)
#define FIGURE ((size_t)256 * 1024) /* about what lenet-cifar has of gradients */
#define STEPS  15                   /* in a row: ranks of one core take turns */
#define ENOUGH ((size_t)4 * 1024 * 1024)

static struct options {
	size_t rounds;
	struct bench_counts ranks;
	const char *csv;
} o = {.rounds = 15, .ranks = {.v = {2, 4}, .n = 2}};

static struct {
	unsigned ranks;
	double gb, of_copy;
} figure; /* of the first row of such a size */

static struct step {
	char transport[8];
	unsigned ranks;
	double s;
} step[1 + 2 * BENCH_MAX_COUNTS];
static size_t steps;

struct best {
	double sum, copy; /* seconds */
};

static void fail(const char *what)
{
	(void)fprintf(stderr, "comm: %s\n", what);
	exit(1);
}

static void must(sw_status rc, const struct sw_comm *c)
{
	if (rc != SW_OK)
		fail(sw_comm_why(c));
}

static struct best measure(struct sw_comm *c, size_t bytes)
{
	const size_t n = bytes / sizeof(float), times = bytes < ENOUGH ? ENOUGH / bytes : 1;
	float *p = calloc(n, sizeof *p), *q = malloc(bytes);
	struct best best = {1e9, 1e9};

	if (p == NULL || q == NULL)
		fail("no memory");
	memset(q, 0, bytes);
	for (size_t round = 0; round < o.rounds + 1; round++) { /* the first meets cold pages */
		must(sw_comm_barrier(c), c);
		double from = bench_now();
		for (size_t k = 0; k < times; k++)
			must(sw_comm_sum(c, SW_COMM_F32, p, n, sw_comm_world(c)), c);
		const double sum = (bench_now() - from) / (double)times;
		must(sw_comm_barrier(c), c);
		from = bench_now();
		for (size_t k = 0; k < times; k++) {
			memcpy(q, p, bytes);
			__asm__ volatile("" ::"r"(q) : "memory");
		}
		const double copy = (bench_now() - from) / (double)times;

		if (round > 0 && sum < best.sum)
			best.sum = sum;
		if (round > 0 && copy < best.copy)
			best.copy = copy;
	}
	free(p);
	free(q);
	return best;
}

static void print_row(struct bench_table *t, const struct sw_comm_seat *at, size_t bytes,
		      unsigned cores, struct best best)
{
	const double sum = best.sum, copy = best.copy;

	if (bytes == FIGURE && figure.ranks == 0) {
		figure.ranks = at->world;
		figure.gb = (double)bytes / sum / 1e9;
		figure.of_copy = sum / copy;
	}
	bench_table_row(t, at->transport);
	bench_table_number(t, 1, at->world, 0);
	bench_table_number(t, 2, (double)bytes, 0);
	bench_table_number(t, 3, 1e6 * sum, 1);
	bench_table_number(t, 4, (double)bytes / sum / 1e9, 3);
	bench_table_number(t, 5, (double)bytes / copy / 1e9, 3);
	bench_table_number(t, 6, sum / copy, 2);
	bench_table_text(t, 7, at->world > cores ? "more ranks than cores" : "");
}

/* Seconds a step, of the best round of some. c: NULL: alone. */
static double measure_step(struct sw_comm *c)
{
	struct sw_err err = SW_ERR_INIT;
	struct train_job job;
	double best = 1e9;

	if (train_job_make(&job, "lenet-cifar", 128, c, &err) != SW_OK)
		fail(err.msg);
	for (int round = 0; round < 12; round++) {
		const uint64_t before = job.net.step;

		if (c != NULL)
			must(sw_comm_barrier(c), c);
		const double from = bench_now();
		while (job.net.step < before + STEPS)
			if (train_job_step(&job) != SW_OK)
				fail("a step failed");
		if (c != NULL) /* the steps of all are done */
			must(sw_comm_barrier(c), c);
		const double s = (bench_now() - from) / (double)(job.net.step - before);
		best = s < best ? s : best;
	}
	train_job_free(&job);
	return best;
}

static void pin(unsigned core)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(core, &one);
	(void)sched_setaffinity(0, sizeof one, &one);
}

static void run_sums(const struct sw_comm_seat *at, struct sw_comm *c, unsigned cores,
		     struct bench_table *t)
{
	for (size_t bytes = LEAST; bytes <= MOST; bytes *= 4) {
		const struct best best = measure(c, bytes);

		if (at->rank == 0)
			print_row(t, at, bytes, cores, best);
	}
	const double s = measure_step(c);

	if (at->rank == 0) {
		struct step *k = &step[steps++];

		*k = (struct step){.ranks = at->world, .s = s};
		memcpy(k->transport, at->transport, sizeof k->transport);
	}
}

/* A rank's: rank 0 writes the rows. */
static void run(struct sw_comm_seat at, struct bench_table *t)
{
	const unsigned cores = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	struct sw_err err = SW_ERR_INIT;
	struct sw_comm *c;

	pin(at.rank % cores);
	if (sw_comm_open(&c, &at, &err) != SW_OK)
		fail(err.msg);
	run_sums(&at, c, cores, t);
	sw_comm_close(c);
}

static void measure_shm(unsigned world, struct bench_table *t)
{
	struct sw_comm_seat at;
	struct sw_err err = SW_ERR_INIT;
	cpu_set_t all;
	int status;

	(void)sched_getaffinity(0, sizeof all, &all);
	if (sw_comm_meet(&at, "shm", world, &err) != SW_OK)
		fail(err.msg);
	for (unsigned r = 1; r < world; r++) {
		const pid_t pid = fork();

		if (pid < 0)
			fail("no process");
		if (pid > 0)
			continue;
		at.rank = r;
		run(at, NULL);
		_exit(0);
	}
	run(at, t);
	(void)close(at.fd);
	for (unsigned r = 1; r < world; r++)
		if (wait(&status) < 0 || status != 0)
			fail("a rank failed");
	(void)sched_setaffinity(0, sizeof all, &all);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"transport",   "ranks",     "bytes", "us", "GB/s",
					    "memcpy GB/s", "of memcpy", "",      NULL};
	const struct bench_flag flags[] = {
		{"rounds", BENCH_COUNT, &o.rounds, 1, 1000,
		 .help = "N  of each size, the best is shown (15)"},
		{"ranks", BENCH_COUNTS, &o.ranks, 2, SW_COMM_WORLD_MAX, .help = "N,N  (2,4)"},
		{"csv", BENCH_TEXT, &o.csv, .help = "FILE  the rows"},
		{.name = NULL}};

	if (bench_flags_read("comm", flags, argc, argv) != 0)
		return 2;
	struct bench_table *const t = bench_table_create(names);
	cpu_set_t all;

	(void)sched_getaffinity(0, sizeof all, &all);
	pin(0);
	step[steps++] = (struct step){.transport = "alone", .ranks = 1, .s = measure_step(NULL)};
	(void)sched_setaffinity(0, sizeof all, &all);
	for (size_t i = 0; i < o.ranks.n; i++)
		measure_shm((unsigned)o.ranks.v[i], t);
	const int rc = bench_table_end(t, o.csv);

	for (size_t i = 0; i < steps; i++)
		printf("step  %-5s  %u ranks  %7.0f us  %.2f times as fast\n", step[i].transport,
		       step[i].ranks, 1e6 * step[i].s, step[0].s / step[i].s);
	printf("comm: %.1f GB/s (shm, %u ranks, %zu KiB: bytes of each rank; %.1f times as long as "
	       "a "
	       "memcpy of them)\n",
	       figure.gb, figure.ranks, FIGURE / 1024, figure.of_copy);
	return rc == 0 ? 0 : 1;
}
