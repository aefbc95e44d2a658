#include "bench/lib/table.h"
#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct bench_table {
	size_t n_columns, n_rows;
	char cells[1 + BENCH_MAX_ROWS][BENCH_MAX_COLUMNS][BENCH_CELL]; /* the first row: names */
};

/* The text is cut at each '|', into cells of the last row. The column behind them. */
static size_t set_cells(struct bench_table *t, size_t column, char *text)
{
	const char *cell;

	while ((cell = strsep(&text, "|")) != NULL) {
		assert(column < BENCH_MAX_COLUMNS);
		(void)snprintf(t->cells[t->n_rows][column++], BENCH_CELL, "%s", cell);
	}
	return column;
}

struct bench_table *bench_table_create(const char *names)
{
	struct bench_table *const t = calloc(1, sizeof *t);
	char text[BENCH_MAX_COLUMNS * BENCH_CELL];

	assert(t != NULL);
	(void)snprintf(text, sizeof text, "%s", names);
	t->n_columns = set_cells(t, 0, text);
	return t;
}

void bench_table_cells(struct bench_table *t, size_t column, const char *format, ...)
{
	char text[BENCH_MAX_COLUMNS * BENCH_CELL];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	t->n_rows += column == 0;
	assert(t->n_rows >= 1 && t->n_rows <= BENCH_MAX_ROWS);
	const size_t end = set_cells(t, column, text);

	assert(end <= t->n_columns);
}

static void print(const struct bench_table *t)
{
	int width[BENCH_MAX_COLUMNS] = {0};

	for (size_t r = 0; r <= t->n_rows; r++)
		for (size_t c = 0; c < t->n_columns; c++)
			if ((int)strlen(t->cells[r][c]) > width[c])
				width[c] = (int)strlen(t->cells[r][c]);
	for (size_t r = 0; r <= t->n_rows; r++) {
		printf("%-*s", width[0], t->cells[r][0]);
		for (size_t c = 1; c < t->n_columns; c++)
			printf("  %*s", width[c], t->cells[r][c]);
		putchar('\n');
	}
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
	for (size_t r = 0; r <= t->n_rows; r++) {
		for (size_t c = 0; c < t->n_columns; c++) {
			const char *const cell = t->cells[r][c];
			const char *const quote = strchr(cell, ',') != NULL ? "\"" : "";

			(void)fprintf(f, "%s%s%s%s", c > 0 ? "," : "", quote, cell, quote);
		}
		(void)fputc('\n', f);
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

static double seconds(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double bench_now(void)
{
	return seconds(CLOCK_MONOTONIC);
}

double bench_cpu_now(void)
{
	return seconds(CLOCK_PROCESS_CPUTIME_ID);
}
