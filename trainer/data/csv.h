/*
 * trainer/data/csv.h — the rows of a CSV file (RFC 4180: quotes, doubled quotes, CRLF), one after
 * the other, to train on as to predict on.
 *
 * UTF-8. Empty lines are skipped, a byte order mark too. All rows have as many cells as the first.
 * Memory   A block of the file, or a row where that is longer, up to 16 MiB.
 * Limits   65,536 columns.
 * Errors   SW_NOT_FOUND, SW_IO, SW_TOO_BIG, SW_NOMEM, SW_INVALID with the line (from 1); err->ptr
 *          is "/path".
 */
#ifndef SW_TRAINER_DATA_CSV_H
#define SW_TRAINER_DATA_CSV_H

#include "trainer/data/file.h"
#include <stdbool.h>

struct sw_csv_reader {
	struct sw_data_file file; /* fd 0: stdin, which is not closed */
	char *text;               /* a block of the file */
	size_t len, size, at;     /* of it; its room; the next row */
	bool end;                 /* of the file */
	size_t line;              /* at which the row in `cell` began */
	size_t next_line;
	char **cell; /* into text, until the next row */
	size_t cells, cap;
	char **name;    /* the header's, or NULL; into name_text */
	size_t columns; /* of the first row */
	char *name_text;
};

/* path "-": standard input. The first row is in cell, and none is SW_INVALID. Closed by the caller,
 * also after a failure. */
SW_NODISCARD sw_status sw_csv_open(struct sw_csv_reader *c, const char *path, struct sw_err *err);
/* The row in cell is the header. */
SW_NODISCARD sw_status sw_csv_names(struct sw_csv_reader *c, struct sw_err *err);
/* Reads the next row, into cell; cells 0: the file has ended. */
SW_NODISCARD sw_status sw_csv_next(struct sw_csv_reader *c, struct sw_err *err);
void sw_csv_close(struct sw_csv_reader *c);

/* A whole text as a finite decimal number; no hexadecimal, no inf, spaces around it allowed. */
bool sw_csv_number(const char *text, double *out);
/* "x.csv: line 7, column "a": "b" is not a number" */
sw_status sw_csv_bad_cell(const struct sw_csv_reader *c, size_t column, struct sw_err *err);

#endif
