/*
 * trainer/table.h — `sweep-worker table FILE [OPTIONS [SCALE]]`: what a CSV file is, for people and
 * for who writes a spec for it.
 *
 * OPTIONS  The JSON object of trainer.dataset, without its path.
 * SCALE    trainer.scale. What becomes of a column is told of all rows, not those trained on.
 * Answer   {"rows", "separator", "decimal", "header", "target": {"column", "task": "regression" or
 *          "classes", "classes": [...]}, "columns": [{"name", "kind", "holes", "values", "becomes",
 *          "warning"?}, ...]}, or {"error": "one line"}.
 */
#ifndef SW_TRAINER_TABLE_H
#define SW_TRAINER_TABLE_H

#include "base/buf.h"
#include <stdbool.h>

/* options NULL: none; scale NULL: auto. false: the answer is an error. */
bool sw_table_show(const char *path, const char *options, const char *scale, struct sw_buf *out);

#endif
