/*
 * daemon/plan/refine.h — "refine": the ranges that the best trials of an earlier sweep span.
 *
 * The parameters are the earlier sweep's. A number with a min and a max gets the lowest and the
 * highest that its best trials had, or is that constant; one that a condition names keeps its
 * values, and so does one that was active in none of them.
 * Metric, trainer, command, program, run, early_terminate, constraints and resources are the
 * earlier sweep's where the spec has none of its own.
 */
#ifndef SW_DAEMON_PLAN_REFINE_H
#define SW_DAEMON_PLAN_REFINE_H

#include "base/status.h"
#include <cjson/cJSON.h>
#include <stdbool.h>

struct sw_db;

/* Does this spec ask for it? A stored one that has "parameters" too was resolved before. */
bool sw_refine_wanted(const cJSON *spec);

/* SW_INVALID at "/refine" for a spec from outside that has "parameters" as well: it would be taken
 * for one that was resolved. */
SW_NODISCARD sw_status sw_refine_check(const cJSON *spec, struct sw_err *err);

/* A copy of the spec with its "parameters", the caller's to delete. Reads the store: a reader's
 * thread. Errors at "/refine/...". */
SW_NODISCARD sw_status sw_refine_resolve(cJSON **out, const cJSON *spec, struct sw_db *db,
					 struct sw_err *err);

#endif
