/* worker/data/data_files.h — what the readers of one format share with those of rows to predict on
 * (worker/data/rows.h): headers and elements of .npy files, of IDX files, of raw ids, rows of
 * CSV. */
#ifndef SW_WORKER_DATA_DATA_FILES_H
#define SW_WORKER_DATA_DATA_FILES_H

#include "worker/data/data_raw.h"
#include "worker/data/npy.h"

/* --- data_npy.c --- */

#define DATA_NPY_AT_ONCE ((size_t)1 << 16) /* elements of a block */

struct sw_data_npy {
	struct sw_data_file f;
	struct sw_npy npy;
	size_t row; /* elements of one */
};

/* The header; the size of the file is what it says. Closed by the caller. */
SW_NODISCARD sw_status sw_data_npy_open(struct sw_data_npy *a, const char *path, const char *ptr,
					struct sw_err *err);
struct sw_shape sw_data_npy_shape(const struct sw_data_npy *a); /* of a row */
/* The next n elements, from element `first` of the file, as finite floats; out NULL: they are
 * checked alone. base: of every `plane` elements of a row one, or NULL. block:
 * double[DATA_NPY_AT_ONCE]. */
SW_NODISCARD sw_status sw_data_npy_floats(struct sw_data_npy *a, float *out, uint64_t first,
					  uint64_t n, double *base, size_t plane,
					  unsigned char *block, struct sw_err *err);

/* --- data_idx.c --- */

struct sw_data_idx {
	struct sw_data_file f;
	size_t dims;
	uint64_t dim[4];
};

/* The header, of images or labels; the size of the file is what it says. Closed by the caller. */
SW_NODISCARD sw_status sw_data_idx_open(struct sw_data_idx *x, const char *path, const char *ptr,
					bool labels, struct sw_err *err);
struct sw_shape sw_data_idx_shape(const struct sw_data_idx *x); /* of an image */

/* --- data_tokens.c --- */

#define DATA_IDS_AT_ONCE ((size_t)1 << 16)

struct sw_data_ids {
	struct sw_data_file f;
	size_t item; /* bytes of one */
	uint64_t n;
};

SW_NODISCARD sw_status sw_data_ids_open(struct sw_data_ids *s, const char *path, const char *ptr,
					bool wide, struct sw_err *err);
/* The next n ids, each below limit. out NULL: they are checked alone. *most: the largest so far.
 * block: uint32[DATA_IDS_AT_ONCE]. */
SW_NODISCARD sw_status sw_data_ids_read(struct sw_data_ids *s, int32_t *out, uint64_t n,
					uint32_t limit, const char *noun, unsigned char *block,
					uint32_t *most, struct sw_err *err);

/* The ids of a row in front of its padding. */
static inline int32_t sw_data_ids_length(const int32_t *row, size_t t, int32_t pad)
{
	while (t > 0 && row[t - 1] == pad)
		t--;
	return (int32_t)t;
}

/* --- data_csv.c --- */

/* A text that is cut into rows and cells, in place. */
struct sw_csv_reader {
	const char *path; /* for messages */
	struct sw_data_csv *out;
	char *at;                /* the next byte; the text ends with a NUL */
	size_t line;             /* of `at`, from 1 */
	char **cell;             /* cells of the row read last */
	size_t cells;            /* in that row */
	size_t cap;              /* of cell */
	char **name;             /* the header's, or NULL */
	size_t columns;          /* of the first row */
	size_t label;            /* its column */
	size_t plane;            /* columns of a base; 0: there is none */
	size_t x_cap, label_cap; /* of out */
};

/* Cuts the next row that is not empty into r->cell. cells == 0: the text is at its end. *line is
 * where the row began. */
SW_NODISCARD sw_status sw_data_csv_next(struct sw_csv_reader *r, size_t *line, struct sw_err *err);
/* Why bytes from the beginning of a file are no text, after its name; NULL: they may be one. */
const char *sw_data_csv_no_text(const char *text, size_t len);
/* "x.csv: line 7, column "a": "b" is not a number" */
sw_status sw_data_csv_bad_cell(const struct sw_csv_reader *r, size_t line, size_t column,
			       struct sw_err *err);

#endif
