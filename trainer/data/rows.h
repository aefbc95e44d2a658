/*
 * trainer/data/rows.h — rows without labels, some at a time, in the form that a model takes: what
 * it predicts on.
 *
 * Formats  Those of data sets (trainer/spec/dataset.h) but synthetic ones. Which one a file has is
 *          seen from its first bytes (.npy, IDX), else it is that of the rows that the model was
 *          trained on, else a CSV file. A folder of CIFAR or IDX files: its test part. "-": a CSV
 *          file on stdin.
 * CSV      Where the model knows its columns' names the first line must name them, in any order;
 *          others may be there and are not read. Else columns count by their order, and the one
 *          that is predicted may be there; for a model that was trained on no CSV file a first
 *          line that is no row of numbers is a header.
 * Memory   One block of the file.
 * Errors   As those of trainer/data/file.h: one line with the file, the place, what was
 *          expected.
 */
#ifndef SW_TRAINER_DATA_ROWS_H
#define SW_TRAINER_DATA_ROWS_H

#include "trainer/data/encode.h"
#include "trainer/data/shape.h"
#include "trainer/spec/dataset.h"
#include <stdint.h>

/* The data that the model was trained on. Borrowed. */
struct sw_rows_want {
	enum sw_dataset_format format;
	struct sw_shape shape;
	bool bytes;               /* IMAGE: of bytes, else of floats */
	struct sw_encoder *table; /* CSV: its columns; NULL: of another format */
	bool wide;                /* TOKENS: ids are uint32, else uint16 */
	int64_t pad;              /* TOKENS: the id that fills rows up, or -1 */
	size_t vocab;             /* TOKENS: ids are below it */
	double *mean; /* subtracted from floats, one for every `plane` of them; or NULL */
	size_t plane;
};

struct sw_rows; /* opaque */

/* format: one of sw_dataset_formats, or NULL. */
SW_NODISCARD sw_status sw_rows_open(struct sw_rows **out, const char *path, const char *format,
				    const struct sw_rows_want *want, struct sw_err *err);
/* The next rows, at most `most`; *n 0: the file has ended; after a failure those in front of the
 * bad one. x: float[most][count], or of an IMAGE of bytes uint8[most][count], of TOKENS
 * int32[most][t]. length: int32[most], the tokens in front of the padding, written where want->pad
 * is one. */
SW_NODISCARD sw_status sw_rows_next(struct sw_rows *r, void *x, int32_t *length, size_t most,
				    size_t *n, struct sw_err *err);
void sw_rows_close(struct sw_rows *r); /* NULL is allowed */

#endif
