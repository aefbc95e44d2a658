#include "bench/lib/cells.h"
#include "bench/lib/jobs.h"
#include "bench/lib/stats.h"
#include "sched/sweep/samplers.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Trials after which checkpoint `at` stands. */
static size_t checkpoint(size_t n, size_t at)
{
	static const size_t percent[BENCH_CHECKPOINTS] = {25, 50, 100};

	assert(at < BENCH_CHECKPOINTS);
	return (n * percent[at] + 99) / 100;
}

/* --- which cells there are --- */

/* In the order of the table. */
static void lay_out(struct bench_cells *c)
{
	const struct bench_counts *const modes = &c->options->parallel;

	c->cell = calloc(c->n_subjects * SW_SAMPLER_KIND_N * modes->n + 1, sizeof *c->cell);
	assert(c->cell != NULL);
	for (size_t m = 0; m < modes->n; m++)
		for (size_t s = 0; s < c->n_subjects; s++)
			for (enum sw_sampler_kind k = 0; k < SW_SAMPLER_KIND_N; k++)
				if (bench_sampled(c->options, k))
					c->cell[c->n++] = (struct bench_cell){
						.subject = s, .kind = k, .parallel = modes->v[m]};
}

/* --- the runs --- */

static void run_one(void *ctx, size_t i, void *result)
{
	const struct bench_cells *c = ctx;
	/* seeds outside, so that the first rows of progress are all of the samplers */
	const struct bench_cell *cell = &c->cell[i / c->options->seeds];
	const struct bench_subject *s = &c->subject[cell->subject];
	const struct bench_plan plan = {.objective = s->o,
					.kind = cell->kind,
					.seed = c->options->seed_from + i % c->options->seeds,
					.n = s->n,
					.parallel = cell->parallel};

	bench_trials_run(&plan, result);
}

/* Quartiles over the seeds of the regret after `told` (from 1) trials. */
static void set_regret(const struct bench_cells *c, const struct bench_cell *cell, size_t told,
		       double q[3])
{
	const size_t seeds = c->options->seeds;
	const struct bench_outcome *run = c->run + (size_t)(cell - c->cell) * seeds;
	const struct bench_objective *o = c->subject[cell->subject].o;
	double v[BENCH_MAX_SEEDS];

	assert(told >= 1 && told <= c->subject[cell->subject].n && seeds <= BENCH_MAX_SEEDS);
	for (size_t i = 0; i < seeds; i++)
		v[i] = (run[i].curve[told - 1] - o->optimum) / o->scale;
	bench_stat_quartiles(v, seeds, q);
}

/* 0, or -1 when a run failed. */
static int summarise(struct bench_cells *c, struct bench_cell *cell)
{
	const struct bench_subject *s = &c->subject[cell->subject];
	const struct bench_outcome *run = c->run + (size_t)(cell - c->cell) * c->options->seeds;
	double total = 0, told = 0;

	for (size_t i = 0; i < c->options->seeds; i++) {
		if (*run[i].error != '\0') {
			(void)fprintf(stderr, "%s on %s, seed %zu, after %zu trials: %s\n",
				      sw_samplers_name(cell->kind), s->o->name,
				      (size_t)c->options->seed_from + i, run[i].told, run[i].error);
			return -1;
		}
		total += run[i].suggest_s;
		told += (double)run[i].told;
		cell->suggest_max_ms = fmax(cell->suggest_max_ms, run[i].suggest_max_s * 1e3);
	}
	cell->suggest_ms = total / told * 1e3;
	for (size_t at = 0; at < BENCH_CHECKPOINTS; at++)
		set_regret(c, cell, checkpoint(s->n, at), cell->regret[at]);
	return 0;
}

int bench_cells_run(struct bench_cells *c, const char *what)
{
	const size_t seeds = c->options->seeds;
	int rc = 0;

	lay_out(c);
	if (c->n == 0) {
		(void)fprintf(stderr, "nothing to run\n");
		return -1;
	}
	c->run = bench_jobs_run(c->n * seeds, sizeof *c->run, c->options->jobs, run_one, c, what);
	if (c->run == NULL)
		return -1;
	for (size_t i = 0; i < c->n; i++)
		if (summarise(c, &c->cell[i]) != 0)
			rc = -1;
	return rc;
}

void bench_cells_fini(struct bench_cells *c)
{
	for (size_t i = 0; i < c->n_subjects; i++)
		bench_objective_destroy(c->subject[i].o);
	bench_jobs_free(c->run, c->n * c->options->seeds, sizeof *c->run);
	free(c->cell);
}

const struct bench_cell *bench_cells_find(const struct bench_cells *c, size_t subject,
					  enum sw_sampler_kind kind, size_t parallel)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->cell[i].subject == subject && c->cell[i].kind == kind &&
		    c->cell[i].parallel == parallel)
			return &c->cell[i];
	return NULL;
}

double bench_cells_rank(const struct bench_cells *c, enum sw_sampler_kind kind, size_t parallel,
			size_t at)
{
	double sum = 0, n = 0;

	for (size_t s = 0; s < c->n_subjects; s++) {
		double median[SW_SAMPLER_KIND_N], rank[SW_SAMPLER_KIND_N];

		for (int k = 0; k < SW_SAMPLER_KIND_N; k++) {
			const struct bench_cell *cell =
				bench_cells_find(c, s, (enum sw_sampler_kind)k, parallel);
			median[k] = cell != NULL ? cell->regret[at][1] : (double)NAN;
		}
		bench_stat_ranks(median, SW_SAMPLER_KIND_N, rank);
		if (!isnan(rank[kind])) {
			sum += rank[kind];
			n++;
		}
	}
	return n > 0 ? sum / n : (double)NAN;
}

/* --- as tables and as CSV --- */

static void print_cells(const struct bench_cells *c, size_t parallel)
{
	static const char *const names[] = {"subject", "sampler", "trials", "25% [quartiles]",
					    "50%",     "100%",    "ms",     "worst ms",
					    NULL};
	struct bench_table *const t = bench_table_create(names);

	for (size_t i = 0; i < c->n; i++) {
		const struct bench_cell *cell = &c->cell[i];

		if (cell->parallel != parallel)
			continue;
		bench_table_cells(t, 0, "%s|%s|%zu", c->subject[cell->subject].o->name,
				  sw_samplers_name(cell->kind), c->subject[cell->subject].n);
		for (size_t at = 0; at < BENCH_CHECKPOINTS; at++)
			bench_stat_cell(t, 3 + at, cell->regret[at]);
		bench_table_cells(t, 6, "%.3f|%.1f", cell->suggest_ms, cell->suggest_max_ms);
	}
	(void)bench_table_end(t, NULL);
}

static void print_ranks(const struct bench_cells *c, size_t parallel)
{
	static const char *const names[] = {"mean rank of the medians", "25%", "50%", "100%", NULL};
	struct bench_table *const t = bench_table_create(names);

	for (int k = 0; k < SW_SAMPLER_KIND_N; k++) {
		const enum sw_sampler_kind kind = (enum sw_sampler_kind)k;

		if (isnan(bench_cells_rank(c, kind, parallel, 0)))
			continue;
		bench_table_cells(t, 0, "%s", sw_samplers_name(kind));
		for (size_t at = 0; at < BENCH_CHECKPOINTS; at++)
			bench_table_cells(t, 1 + at, "%.2f",
					  bench_cells_rank(c, kind, parallel, at));
	}
	(void)bench_table_end(t, NULL);
}

void bench_cells_print(const struct bench_cells *c, size_t parallel)
{
	printf("\n%zu at a time, %zu seeds from %zu: median and quartiles\n", parallel,
	       c->options->seeds, (size_t)c->options->seed_from);
	print_cells(c, parallel);
	putchar('\n');
	print_ranks(c, parallel);
}

static void csv_row(const struct bench_cells *c, const struct bench_cell *cell,
		    struct bench_table *t)
{
	bench_table_cells(t, 0, "%s|%s|%zu|%zu|%zu", c->subject[cell->subject].o->name,
			  sw_samplers_name(cell->kind), cell->parallel, c->subject[cell->subject].n,
			  c->options->seeds);
	for (size_t at = 0; at < BENCH_CHECKPOINTS; at++)
		bench_table_cells(t, 5 + 3 * at, "%.4g|%.4g|%.4g", cell->regret[at][0],
				  cell->regret[at][1], cell->regret[at][2]);
	bench_table_cells(t, 14, "%.4f|%.2f", cell->suggest_ms, cell->suggest_max_ms);
}

int bench_cells_csv(const struct bench_cells *c)
{
	static const char *const names[] = {"subject",  "sampler", "parallel", "trials", "seeds",
					    "25 q1",    "25",      "25 q3",    "50 q1",  "50",
					    "50 q3",    "100 q1",  "100",      "100 q3", "ms",
					    "worst ms", NULL};
	struct bench_table *const t = bench_table_create(names);

	for (size_t i = 0; i < c->n; i++)
		csv_row(c, &c->cell[i], t);
	const int rc = bench_table_csv(t, c->options->csv);

	free(t);
	return rc;
}
