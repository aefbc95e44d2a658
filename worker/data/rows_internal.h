/* worker/data/rows_internal.h — what the files of worker/data/rows.h share. */
#ifndef SW_WORKER_DATA_ROWS_INTERNAL_H
#define SW_WORKER_DATA_ROWS_INTERNAL_H

#include "worker/data/data_files.h"
#include "worker/data/rows.h"

struct rows_csv; /* rows_csv.c */

struct sw_rows {
	struct sw_rows_want want;
	enum sw_dataset_format format;
	uint64_t rows, at;      /* of the file, and given already; CSV does not know the first */
	unsigned char *block;   /* ids and elements on their way */
	size_t labels;          /* CIFAR: bytes in front of a row's pixels */
	struct sw_data_npy npy; /* its file is that of CIFAR, too */
	struct sw_data_idx idx;
	struct sw_data_ids ids;
	struct rows_csv *csv;
};

/* path "-": stdin */
SW_NODISCARD sw_status sw_rows_csv_open(struct rows_csv **out, const char *path,
					const struct sw_rows_want *want, struct sw_err *err);
SW_NODISCARD sw_status sw_rows_csv_next(struct rows_csv *c, void *x, size_t most, size_t *n,
					struct sw_err *err);
void sw_rows_csv_close(struct rows_csv *c);

#endif
