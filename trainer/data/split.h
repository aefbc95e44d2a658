/*
 * trainer/data/split.h — which rows of a table are trained on, validated on, and kept for the test
 * at the end.
 *
 * Plain      A shuffle by the seed; the first floor(rows * fraction) are for validation.
 * Classes    The same, and each part has its share of each class, to one row.
 * Groups     Rows of one group are in one part. Whole groups are taken in a shuffled order, each
 *            into a part that it fits. A part that none fits has the smallest, if that
 *            leaves more rows to train on.
 * Order      The last rows are for the test, those before them for validation.
 * Pure       But for its memory.
 */
#ifndef SW_TRAINER_DATA_SPLIT_H
#define SW_TRAINER_DATA_SPLIT_H

#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

struct sw_split_by {
	double val, test; /* shares of the rows; their sum is below 1 */
	uint64_t seed;
	const int32_t *label;  /* [rows]: classes; or NULL */
	const uint64_t *group; /* [rows], or NULL */
	const double *order;   /* [rows], or NULL */
};

struct sw_split {
	int32_t *order; /* [rows]: those for validation, for the test, to train on */
	size_t rows, val, test;
};

/* SW_NOMEM; SW_INVALID: the groups are too few, or too large. split->order is freed by the caller,
 * also after a failure. */
SW_NODISCARD sw_status sw_split_make(struct sw_split *split, size_t rows,
				     const struct sw_split_by *by);

#endif
