/* bench/lib/cells_print.c — cells as tables and as CSV. */
#include "bench/lib/cells.h"
#include "bench/lib/stats.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void print_cells(const struct bench_cells *c, size_t parallel, struct bench_table *t)
{
	static const char *const names[] = {"subject", "sampler", "trials", "25% [quartiles]",
					    "50%",     "100%",    "ms",     "worst ms"};

	bench_table_init(t, names, sizeof names / sizeof *names);
	for (size_t i = 0; i < c->n; i++) {
		const struct bench_cell *cell = &c->cell[i];
		char text[48];

		if (cell->parallel != parallel)
			continue;
		(void)bench_table_row(t, c->subject[cell->subject].o->name);
		bench_table_text(t, 1, bench_sampler_names[cell->kind]);
		bench_table_number(t, 2, (double)c->subject[cell->subject].n, 0);
		for (size_t at = 0; at < BENCH_CHECKPOINTS; at++) {
			bench_stat_text(cell->regret[at], text);
			bench_table_text(t, 3 + at, text);
		}
		bench_table_number(t, 6, cell->suggest_ms, 3);
		bench_table_number(t, 7, cell->suggest_max_ms, 1);
	}
	bench_table_print(t);
}

static void print_ranks(const struct bench_cells *c, size_t parallel, struct bench_table *t)
{
	static const char *const names[] = {"mean rank of the medians", "25%", "50%", "100%"};

	bench_table_init(t, names, sizeof names / sizeof *names);
	for (int k = 0; k < SW_SAMPLER_KIND_N; k++) {
		const enum sw_sampler_kind kind = (enum sw_sampler_kind)k;

		if (isnan(bench_cells_rank(c, kind, parallel, 0)))
			continue;
		(void)bench_table_row(t, bench_sampler_names[k]);
		for (size_t at = 0; at < BENCH_CHECKPOINTS; at++)
			bench_table_number(t, 1 + at, bench_cells_rank(c, kind, parallel, at), 2);
	}
	bench_table_print(t);
}

void bench_cells_print(const struct bench_cells *c, size_t parallel)
{
	struct bench_table *t = malloc(sizeof *t);

	assert(t != NULL);
	printf("\n%zu at a time, %zu seeds from %zu: median and quartiles\n", parallel,
	       c->options->seeds, (size_t)c->options->seed_from);
	print_cells(c, parallel, t);
	putchar('\n');
	print_ranks(c, parallel, t);
	free(t);
}

static void csv_row(const struct bench_cells *c, const struct bench_cell *cell,
		    struct bench_table *t)
{
	char text[BENCH_CELL];

	(void)bench_table_row(t, c->subject[cell->subject].o->name);
	bench_table_text(t, 1, bench_sampler_names[cell->kind]);
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

/* One line a run: subject,sampler,parallel,seed and the truth of the best after each trial. */
static int write_curves(const struct bench_cells *c, const char *path)
{
	FILE *f = fopen(path, "w");

	if (f == NULL) {
		perror(path);
		return -1;
	}
	for (size_t i = 0; i < c->n * c->options->seeds; i++) {
		const struct bench_cell *cell = &c->cell[i / c->options->seeds];
		const struct bench_subject *s = &c->subject[cell->subject];

		(void)fprintf(f, "%s,%s,%zu,%zu", s->o->name, bench_sampler_names[cell->kind],
			      cell->parallel,
			      (size_t)c->options->seed_from + i % c->options->seeds);
		for (size_t k = 0; k < s->n; k++)
			(void)fprintf(f, ",%.6g", c->run[i].curve[k]);
		(void)fputc('\n', f);
	}
	return fclose(f) == 0 ? 0 : -1;
}

int bench_cells_csv(const struct bench_cells *c)
{
	static const char *const names[] = {
		"subject", "sampler", "parallel", "trials", "seeds", "25 q1",  "25", "25 q3",
		"50 q1",   "50",      "50 q3",    "100 q1", "100",   "100 q3", "ms", "worst ms"};
	struct bench_table *t = malloc(sizeof *t);
	int rc;

	assert(t != NULL);
	bench_table_init(t, names, sizeof names / sizeof *names);
	for (size_t i = 0; i < c->n; i++)
		csv_row(c, &c->cell[i], t);
	rc = bench_table_csv(t, c->options->csv);
	if (rc == 0 && c->options->curves != NULL)
		rc = write_curves(c, c->options->curves);
	free(t);
	return rc;
}
