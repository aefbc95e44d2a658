/*
 * trainer/data/data_csv.h — reads a CSV file (trainer/data/csv.h) into numbers and one label
 * column.
 *
 * Every feature must be a finite decimal number. A label that is named must be one column.
 * Limits   1 GiB, 2^31 - 1 rows.
 * Errors   As there, and with the column; err->ptr is "/path" or "/label", relative to the data
 *          set's object.
 * Cost     O(bytes).
 */
#ifndef SW_TRAINER_DATA_DATA_CSV_H
#define SW_TRAINER_DATA_DATA_CSV_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>

struct sw_data_csv_label {
	const char *name; /* a column of the header, or NULL: `index` says which */
	long index;       /* from 0; negative counts from the last column, -1 */
};

struct sw_data_csv {
	size_t rows, features; /* features: the columns without the label */
	float *x;              /* float[rows][features], each less its base */
	double *base;          /* double[features], of every `plane` of them one; NULL: 0 */
	char **label;          /* [rows], the text of each, which is freed with it */
	char **name;           /* [features + 1], the header's, into name_text; NULL: no header */
	size_t label_column;   /* of features + 1 */
	bool named_by_row;     /* the header looks like a row of data */
	char *name_text;
};

/* plane: how many columns have a base in common (trainer/data/file.h); 0: none has one. *out is
 * cleared on failure. */
SW_NODISCARD sw_status sw_data_csv_read(struct sw_data_csv *out, const char *path, bool header,
					struct sw_data_csv_label label, size_t plane,
					struct sw_err *err);
void sw_data_csv_fini(struct sw_data_csv *c);

#endif
