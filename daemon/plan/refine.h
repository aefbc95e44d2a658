/*
 * daemon/plan/refine.h — "refine": a grid around the best trials of an earlier sweep, coarse to
 * fine.
 *
 * Each parameter of the earlier sweep becomes a list of values: a category those that its best
 * trials had; anything else `points` values, evenly spaced in the unit cube of the earlier space
 * (the normal kinds, which have no end: by value, or its logarithm), from the lowest to the highest
 * that the best trials had, and half a step beyond; one that was active in none is left out.
 * Metric, trainer, command, program, run, early_terminate, constraints and resources are the
 * earlier sweep's where the spec has none of its own; the method is then "grid".
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
