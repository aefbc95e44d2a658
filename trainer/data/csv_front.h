/* trainer/data/csv_front.h — the bytes of a CSV file, block by block, as UTF-8 that nothing packs.
 * For trainer/data/csv.c. */
#ifndef SW_TRAINER_DATA_CSV_FRONT_H
#define SW_TRAINER_DATA_CSV_FRONT_H

#include "trainer/data/csv.h"

#define PAD ((size_t)128) /* bytes behind a block that may be read */

/* Opens the file, and reads a first block, enough to look for the separator. */
SW_NODISCARD sw_status csv_front(struct sw_csv_reader *c, const char *path, bool latin1,
				 struct sw_err *err);
void csv_front_close(struct sw_csv_reader *c);
/* Reads on into the block, behind the row at hand. A row that does not fit makes it larger, up to a
 * limit. */
SW_NODISCARD sw_status csv_fill(struct sw_csv_reader *c, struct sw_err *err);
sw_status csv_no_memory(const struct sw_csv_reader *c, struct sw_err *err);

#endif
