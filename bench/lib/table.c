#include "bench/lib/table.h"
#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct bench_table {
	const char *const *names;
	size_t n_columns, n_rows;
	char cells[BENCH_MAX_ROWS][BENCH_MAX_COLUMNS][BENCH_CELL];
};

struct bench_table *bench_table_create(const char *const *names)
{
	struct bench_table *const t = calloc(1, sizeof *t);

	assert(t != NULL);
	t->names = names;
	while (names[t->n_columns] != NULL)
		t->n_columns++;
	assert(t->n_columns <= BENCH_MAX_COLUMNS);
	return t;
}

void bench_table_row(struct bench_table *t, const char *first)
{
	assert(t->n_rows < BENCH_MAX_ROWS);
	t->n_rows++;
	bench_table_text(t, 0, first);
}

void bench_table_text(struct bench_table *t, size_t column, const char *text)
{
	assert(t->n_rows > 0 && column < t->n_columns);
	(void)snprintf(t->cells[t->n_rows - 1][column], BENCH_CELL, "%s", text);
}

void bench_table_number(struct bench_table *t, size_t column, double v, int digits)
{
	char text[BENCH_CELL];

	(void)snprintf(text, sizeof text, "%.*f", digits, v);
	bench_table_text(t, column, text);
}

static void print_cell(size_t column, int width, const char *text)
{
	if (column == 0)
		printf("%-*s", width, text);
	else
		printf("  %*s", width, text);
}

static void print(const struct bench_table *t)
{
	int width[BENCH_MAX_COLUMNS] = {0};

	for (size_t c = 0; c < t->n_columns; c++) {
		width[c] = (int)strlen(t->names[c]);
		for (size_t r = 0; r < t->n_rows; r++)
			if ((int)strlen(t->cells[r][c]) > width[c])
				width[c] = (int)strlen(t->cells[r][c]);
	}
	for (size_t c = 0; c < t->n_columns; c++)
		print_cell(c, width[c], t->names[c]);
	putchar('\n');
	for (size_t r = 0; r < t->n_rows; r++) {
		for (size_t c = 0; c < t->n_columns; c++)
			print_cell(c, width[c], t->cells[r][c]);
		putchar('\n');
	}
}

static void csv_cell(FILE *f, const char *text)
{
	const bool quote = strpbrk(text, ",\"\n") != NULL;

	if (quote)
		(void)fputc('"', f);
	for (; *text != '\0'; text++) {
		if (*text == '"')
			(void)fputc('"', f);
		(void)fputc(*text, f);
	}
	if (quote)
		(void)fputc('"', f);
}

int bench_table_csv(const struct bench_table *t, const char *path)
{
	FILE *const f = path != NULL ? fopen(path, "w") : NULL;

	if (path == NULL)
		return 0;
	if (f == NULL) {
		perror(path);
		return -1;
	}
	for (size_t c = 0; c < t->n_columns; c++) {
		csv_cell(f, t->names[c]);
		(void)fputc(c + 1 < t->n_columns ? ',' : '\n', f);
	}
	for (size_t r = 0; r < t->n_rows; r++)
		for (size_t c = 0; c < t->n_columns; c++) {
			csv_cell(f, t->cells[r][c]);
			(void)fputc(c + 1 < t->n_columns ? ',' : '\n', f);
		}
	const bool failed = ferror(f) != 0;

	if (fclose(f) != 0 || failed) {
		perror(path);
		return -1;
	}
	return 0;
}

int bench_table_end(struct bench_table *t, const char *csv)
{
	if (t->n_rows > 0)
		print(t);
	const int rc = bench_table_csv(t, csv);

	free(t);
	return rc;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void bench_sort(double *v, size_t n)
{
	qsort(v, n, sizeof *v, compare);
}

double bench_quantile(const double *sorted, size_t n, unsigned permille)
{
	assert(n > 0 && permille <= 1000);
	return sorted[(n - 1) * permille / 1000];
}

double bench_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double bench_cpu_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
