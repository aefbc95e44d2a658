/*
 * trainer/data/csv.h — the rows of a CSV file (RFC 4180: quotes, doubled quotes, CRLF), one after
 * the other, to look at, to train on and to predict on.
 *
 * Text      UTF-8, or Latin-1 where it is said to be. gzip is seen by its first bytes, and what
 *           else packs files is refused by them. Empty lines are skipped (but of one column), a
 *           byte order mark too, and blanks around cells, also around quotes.
 * Separator Comma, semicolon, tab or bar: the one that cuts the first rows into most cells, of
 *           those that cut all of them into as many; or that of them which a first
 *           line "sep=;" names.
 * Memory    A block of the file, or a row where that is longer, up to 16 MiB. Nothing a cell.
 * Limits    65,536 columns. All rows have as many cells as the first.
 * Errors    SW_NOT_FOUND, SW_IO, SW_TOO_BIG, SW_NOMEM, SW_INVALID with the line (from 1); err->ptr
 *           is "/path".
 * Cost      One pass over the bytes.
 */
#ifndef SW_TRAINER_DATA_CSV_H
#define SW_TRAINER_DATA_CSV_H

#include "trainer/data/file.h"
#include "trainer/data/texts.h"
#include <stdbool.h>

struct sw_csv_packed; /* of a gzip file */

struct sw_csv_reader {
	struct sw_data_file file;     /* fd 0: stdin, which is not closed */
	struct sw_csv_packed *packed; /* NULL: it is not compressed */
	bool latin1;
	char separator;
	char *text;           /* a block of the file, and a newline behind it */
	size_t len, size, at; /* of it; its room; the next row */
	bool end;             /* of the file */
	size_t line;          /* at which the row in `cell` began */
	size_t next_line;
	struct sw_csv_cell *cell; /* into text, until the next row; each ends with a NUL */
	size_t cells, cap;
	size_t columns;        /* of the first row */
	struct sw_texts names; /* the header's, each with its column's number; or none */
};

/* path "-": standard input. The first row is in cell, and none is SW_INVALID. Closed by the caller,
 * also after a failure. */
SW_NODISCARD sw_status sw_csv_open(struct sw_csv_reader *c, const char *path, bool latin1,
				   struct sw_err *err);
/* The row in cell is the header: a name that two columns have is refused, if it is one of `taken`
 * (NULL: all are). */
SW_NODISCARD sw_status sw_csv_names(struct sw_csv_reader *c, const struct sw_texts *taken,
				    struct sw_err *err);
/* Reads the next row, into cell; cells 0: the file has ended. */
SW_NODISCARD sw_status sw_csv_next(struct sw_csv_reader *c, struct sw_err *err);
void sw_csv_close(struct sw_csv_reader *c);

/* The name of a column, or NULL. */
static inline const char *sw_csv_name(const struct sw_csv_reader *c, size_t column)
{
	return c->names.n ? sw_texts_text(&c->names, column) : NULL;
}
/* The place of the column that a data set names: name NULL: index, from the end if it is negative.
 * key: "label", for the line; "path": the model takes the column. Of a reader that has its
 * names. */
SW_NODISCARD sw_status sw_csv_find(const struct sw_csv_reader *r, const char *name, long index,
				   const char *key, size_t *out, struct sw_err *err);
/* "\"a\"" of a header, else the column's number. Returns out. */
const char *sw_csv_column_show(const struct sw_csv_reader *c, size_t column, char out[48]);
/* "x.csv: line 7, column "a": "b" is not a number" */
sw_status sw_csv_bad_cell(const struct sw_csv_reader *c, size_t column, struct sw_err *err);

#endif
