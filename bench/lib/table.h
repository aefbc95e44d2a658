/*
 * bench/lib/table.h — what a bench prints: a table of rows, the same as CSV, and one figure.
 *
 * Memory   create/end. Asserts instead of errors: a bench has nobody to tell.
 */
#ifndef SW_BENCH_LIB_TABLE_H
#define SW_BENCH_LIB_TABLE_H

#include "base/status.h"
#include <stddef.h>

#define BENCH_MAX_COLUMNS 20
#define BENCH_MAX_ROWS    1024
#define BENCH_CELL        48

struct bench_table; /* opaque */

/* names: of the columns, "subject|trials|50%". */
struct bench_table *bench_table_create(const char *names);
/* Sets the cells from this column on, as printf() writes them with a '|' between two. Column 0
 * starts a row; the cells that are not set stay empty. */
void bench_table_cells(struct bench_table *t, size_t column, const char *format, ...)
	SW_PRINTF(3, 4);

/* To a file; path NULL: nothing. 0, or -1 with a line on stderr. */
int bench_table_csv(const struct bench_table *t, const char *path);
/* Prints it, unless it has no rows, aligned, the first column to the left; writes it as
 * bench_table_csv() does; frees it. 0, or -1 with a line on stderr. */
int bench_table_end(struct bench_table *t, const char *csv);

/* Seconds, monotonic. */
double bench_now(void);
/* Seconds that this process has computed, all threads: what bench_now() says on an idle machine,
 * for one thread that never waits. */
double bench_cpu_now(void);

#endif
