/* trainer/data/rows_csv.h — rows of a CSV file to predict on: which column is which feature, and
 * their cells as the model takes them. For trainer/data/rows.c. */
#ifndef SW_TRAINER_DATA_ROWS_CSV_H
#define SW_TRAINER_DATA_ROWS_CSV_H

#include "trainer/data/rows.h"

struct rows_csv; /* opaque */

/* path "-": stdin. *out is the caller's to close, also after a failure; want is borrowed. */
SW_NODISCARD sw_status sw_rows_csv_open(struct rows_csv **out, const char *path,
					const struct sw_rows_want *want, struct sw_err *err);
SW_NODISCARD sw_status sw_rows_csv_next(struct rows_csv *c, void *x, size_t most, size_t *n,
					struct sw_err *err);
void sw_rows_csv_close(struct rows_csv *c); /* NULL is allowed */

#endif
