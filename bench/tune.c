/*
 * bench/tune.c — real tuning: the built-in trainer on the data sets of data/, every sampler.
 *
 * Spaces of 5 to 7 parameters with logs, integers, powers of two, categories and conditions
 * (bench/lib/tuning.c); the loss has a heavy tail, and runs that diverge fail. One run of 100
 * trials is also one of 50: no sampler knows how long it goes on.
 *
 * Printed: the best loss after 25, 50 and 100% of the trials, median and quartiles; mean ranks, by
 * the medians and by the runs of one seed; and after how many trials bayes' median is where
 * random's ends. The loss of one training has luck in it, and the best of many has more than its
 * share: --again judges what was found instead, by training it again.
 */
#include "bench/lib/cells.h"
#include "bench/lib/stats.h"
#include "bench/lib/tuning.h"
#include "sched/sweep/samplers.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUDGETS 2

static const double percents[BENCH_CHECKPOINTS] = {0.25, 0.5, 1};

/* The budgets that are judged: half of the trials, and all. */
static size_t budget_of(const struct bench_subject *s, size_t i)
{
	return i == 0 ? s->n / 2 : s->n;
}

/* Mean over subjects and seeds of the rank among the samplers of that seed, after `told` trials. */
static double rank_by_run(const struct bench_cells *c, enum sw_sampler_kind kind, size_t budget,
			  double share)
{
	const size_t seeds = c->options->seeds, mode = c->options->parallel.v[0];
	double sum = 0, n = 0;

	for (size_t i = 0; i < c->n_subjects * seeds; i++) {
		const size_t s = i / seeds;
		const double told = ceil((double)budget_of(&c->subject[s], budget) * share);
		double v[SW_SAMPLER_KIND_N], rank[SW_SAMPLER_KIND_N];

		for (int k = 0; k < SW_SAMPLER_KIND_N; k++) {
			const struct bench_cell *cell =
				bench_cells_find(c, s, (enum sw_sampler_kind)k, mode);
			const size_t run =
				cell != NULL ? (size_t)(cell - c->cell) * seeds + i % seeds : 0;
			v[k] = cell != NULL ? c->run[run].curve[(size_t)told - 1] : (double)NAN;
		}
		bench_stat_ranks(v, SW_SAMPLER_KIND_N, rank);
		if (!isnan(rank[kind])) {
			sum += rank[kind];
			n++;
		}
	}
	return n > 0 ? sum / n : (double)NAN;
}

static void print_ranks(const struct bench_cells *c)
{
	static const char *const names[] = {"mean rank of the runs",
					    "25% of half",
					    "50%",
					    "100%",
					    "25% of all",
					    "50%",
					    "100%",
					    NULL};
	struct bench_table *const t = bench_table_create(names);

	for (int k = 0; k < SW_SAMPLER_KIND_N; k++) {
		const enum sw_sampler_kind kind = (enum sw_sampler_kind)k;

		if (isnan(rank_by_run(c, kind, 0, 1)))
			continue;
		bench_table_row(t, sw_samplers_name((enum sw_sampler_kind)k));
		for (size_t b = 0; b < BUDGETS; b++)
			for (size_t at = 0; at < BENCH_CHECKPOINTS; at++)
				bench_table_number(t, 1 + b * BENCH_CHECKPOINTS + at,
						   rank_by_run(c, kind, b, percents[at]), 2);
	}
	putchar('\n');
	(void)bench_table_end(t, NULL);
}

/* The first number of trials after which the median is at or below `loss`; 0: never. */
static size_t reaches(const struct bench_cells *c, const struct bench_cell *cell, double loss,
		      size_t n)
{
	for (size_t told = 1; told <= n; told++)
		if (bench_cells_at(c, cell, told, 0.5) <= loss)
			return told;
	return 0;
}

/* How often bayes is where random ends by half of the trials; *of: out of how many. */
static size_t print_reach(const struct bench_cells *c, size_t *of)
{
	static const char *const names[] = {"bayes reaches random's end",
					    "trials",
					    "random's end",
					    "bayes there after",
					    "tpe",
					    "half or less",
					    NULL};
	const size_t mode = c->options->parallel.v[0];
	struct bench_table *const t = bench_table_create(names);
	size_t good = 0;

	for (size_t i = 0; i < c->n_subjects * BUDGETS; i++) {
		const size_t s = i / BUDGETS, n = budget_of(&c->subject[s], i % BUDGETS);
		const struct bench_cell *random = bench_cells_find(c, s, SW_SAMPLER_RANDOM, mode);
		const struct bench_cell *bayes = bench_cells_find(c, s, SW_SAMPLER_BAYES, mode);
		const struct bench_cell *tpe = bench_cells_find(c, s, SW_SAMPLER_TPE, mode);

		if (random == NULL || bayes == NULL)
			continue;
		const double end = bench_cells_at(c, random, n, 0.5);
		const size_t after = reaches(c, bayes, end, n);
		bench_table_row(t, c->subject[s].o->name);
		bench_table_number(t, 1, (double)n, 0);
		bench_table_number(t, 2, end, 4);
		bench_table_number(t, 3, (double)after, 0);
		if (tpe != NULL)
			bench_table_number(t, 4, (double)reaches(c, tpe, end, n), 0);
		bench_table_text(t, 5, after > 0 && 2 * after <= n ? "yes" : "no");
		good += after > 0 && 2 * after <= n;
		++*of;
	}
	if (*of > 0)
		puts("\nAfter how many trials; 0: not within them");
	(void)bench_table_end(t, NULL);
	return good;
}

static int add_subjects(struct bench_cells *c, struct bench_trainer *trainer)
{
	const size_t n = c->options->budget > 0 ? c->options->budget : 100;

	for (size_t i = 0; bench_tuning_name(i) != NULL; i++) {
		if (!bench_listed(c->options->subjects, bench_tuning_name(i)))
			continue;
		struct bench_objective *o =
			bench_objective_tuning(trainer, i, (unsigned)c->options->folds,
					       (unsigned)c->options->again, c->options->own_seeds);
		if (o == NULL)
			return -1;
		c->subject[c->n_subjects++] =
			(struct bench_subject){.o = o, .grid = bench_objective_grid(o, n), .n = n};
	}
	return 0;
}

static int run(struct bench_cells *c, struct bench_trainer *trainer)
{
	size_t of = 0;

	if (add_subjects(c, trainer) != 0 || bench_cells_run(c, "runs") != 0)
		return -1;
	for (size_t m = 0; m < c->options->parallel.n; m++)
		bench_cells_print(c, c->options->parallel.v[m]);
	print_ranks(c);
	const size_t good = print_reach(c, &of);
	if (bench_cells_csv(c) != 0)
		return -1;
	if (of > 0)
		printf("tune: %zu of %zu cases (data set and budget: bayes is where random ends in "
		       "half of its trials or fewer)\n",
		       good, of);
	else
		printf("tune: %zu cells (of sampler and data set, %zu seeds each)\n", c->n,
		       c->options->seeds);
	return 0;
}

int main(int argc, char **argv)
{
	struct bench_options o = {.seed_from = 1, .parallel = {{1}, 1}, .jobs = 1, .folds = 3};
	struct bench_cells *c = calloc(1, sizeof *c);
	struct bench_trainer *trainer = NULL;
	int rc = -1;

	assert(c != NULL);
	for (int k = 0; k < SW_SAMPLER_KIND_N; k++)
		o.sampler[k] = true;
	if (bench_options_read(
		    &o, "tune",
		    "data,samplers,seeds,parallel,trials,folds,own-seeds,again,jobs,csv,quick",
		    "A,B  of digits breast_cancer wine diabetes (default all)", NULL, argc,
		    argv) != 0) {
		free(c);
		return 2;
	}
	if (o.quick && o.subjects == NULL)
		o.subjects = "wine";
	if (o.quick && o.budget == 0)
		o.budget = 8;
	if (o.seeds == 0)
		o.seeds = o.quick ? 1 : 10;
	c->options = &o;
	trainer = bench_trainer_create();
	if (trainer != NULL)
		rc = run(c, trainer);
	bench_cells_fini(c);
	bench_trainer_destroy(trainer);
	free(c);
	return rc == 0 ? 0 : 1;
}
