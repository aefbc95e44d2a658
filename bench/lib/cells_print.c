/* bench/lib/cells_print.c — cells as tables and as CSV. */
#include "bench/lib/cells.h"
#include "bench/lib/stats.h"
#include "sched/sweep/samplers.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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
		bench_table_row(t, c->subject[cell->subject].o->name);
		bench_table_text(t, 1, sw_samplers_name(cell->kind));
		bench_table_number(t, 2, (double)c->subject[cell->subject].n, 0);
		for (size_t at = 0; at < BENCH_CHECKPOINTS; at++)
			bench_stat_cell(t, 3 + at, cell->regret[at]);
		bench_table_number(t, 6, cell->suggest_ms, 3);
		bench_table_number(t, 7, cell->suggest_max_ms, 1);
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
		bench_table_row(t, sw_samplers_name(kind));
		for (size_t at = 0; at < BENCH_CHECKPOINTS; at++)
			bench_table_number(t, 1 + at, bench_cells_rank(c, kind, parallel, at), 2);
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
	char text[BENCH_CELL];

	bench_table_row(t, c->subject[cell->subject].o->name);
	bench_table_text(t, 1, sw_samplers_name(cell->kind));
	bench_table_number(t, 2, (double)cell->parallel, 0);
	bench_table_number(t, 3, (double)c->subject[cell->subject].n, 0);
	bench_table_number(t, 4, (double)c->options->seeds, 0);
	for (size_t at = 0; at < BENCH_CHECKPOINTS; at++) {
		for (size_t q = 0; q < 3; q++) {
			(void)snprintf(text, sizeof text, "%.4g", cell->regret[at][q]);
			bench_table_text(t, 5 + 3 * at + q, text);
		}
	}
	bench_table_number(t, 14, cell->suggest_ms, 4);
	bench_table_number(t, 15, cell->suggest_max_ms, 2);
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
