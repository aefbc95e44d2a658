/* cli/dataset_text.h — what the trainer finds in a CSV file, a line for each of its columns. */
#ifndef SW_CLI_DATASET_TEXT_H
#define SW_CLI_DATASET_TEXT_H

#include "cli/cli.h"

/* Asks sweep-worker about the file; dataset: its keys in a spec, with or without path; scale: the
 * trainer's, NULL: auto. *found is the caller's. An exit status; what is wrong was said. */
int sw_dataset_text_find(struct sw_cli *c, const char *path, const cJSON *dataset,
			 const char *scale, cJSON **found);

/* Appends "houses.csv: 1,460 rows ..." and the lines of the columns. */
void sw_dataset_text(const struct sw_cli *c, struct sw_buf *out, const char *path,
		     const cJSON *found);

#endif
