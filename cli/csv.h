/*
 * cli/csv.h — the trials of a sweep as CSV (RFC 4180, LF line ends).
 *
 * Columns: trial, attempt, state, cause, step, value, best_step, best_value, the parameters in the
 * order of the spec, the metrics by name, and last those that measure time (sw_fmt_times_last()),
 * `seconds`, `created_ms` and `ended_ms`: all before them is the same for the same seed on one
 * slot. Numbers are in the shortest text that reads back equal; what is missing is empty.
 */
#ifndef SW_CLI_CSV_H
#define SW_CLI_CSV_H

#include "base/buf.h"
#include <cjson/cJSON.h>
#include <stddef.h>

struct sw_csv {
	cJSON *params, *metrics; /* arrays of names, owned; the metrics are in their order */
	sw_status failed;        /* SW_NOMEM latches, and goes to the buffer of the header */
};

/* spec: borrowed for the call; may be NULL. */
void sw_csv_init(struct sw_csv *csv, const cJSON *spec);
void sw_csv_fini(struct sw_csv *csv);
/* Notes the names that a trial brings. O(names). */
void sw_csv_learn(struct sw_csv *csv, const cJSON *trial);
void sw_csv_header(const struct sw_csv *csv, struct sw_buf *out);
void sw_csv_row(const struct sw_csv *csv, const cJSON *trial, struct sw_buf *out);

/* A field of a JSON value and a comma: strings as they are, numbers exact, other values as JSON,
 * null and NULL as nothing. */
void sw_csv_value(struct sw_buf *b, const cJSON *v);
void sw_csv_end(struct sw_buf *b); /* the last comma becomes the line's end */

#endif
