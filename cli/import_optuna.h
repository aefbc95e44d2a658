/* cli/import_optuna.h — what a storage of Optuna holds, whether a database or a journal. */
#ifndef SW_CLI_IMPORT_OPTUNA_H
#define SW_CLI_IMPORT_OPTUNA_H

#include "base/status.h"
#include <cjson/cJSON.h>
#include <stdbool.h>

/* *out: an array of studies {"id", "name", "maximize": [bool], "names": [string], "trials": [...]},
 * each trial {"id", "state" (Optuna's word), "params": [{"name", "value" (its own form),
 * "distribution": {"name", "attributes"}}], "steps": [{"step", "value"}], "values": [number]}. What
 * is not finite is null. Deleted studies are not in it. */
SW_NODISCARD sw_status sw_optuna_db_read(cJSON **out, const char *path, struct sw_err *err);
SW_NODISCARD sw_status sw_optuna_journal_read(cJSON **out, const char *path, struct sw_err *err);

/* --- for the two readers; NULL or false: no memory --- */

cJSON *sw_optuna_study(cJSON *studies, double id, const char *name);
cJSON *sw_optuna_trial(cJSON *study, double id, const char *state);
bool sw_optuna_param(cJSON *trial, const char *name, double value, cJSON *distribution /* taken */);
/* Cost: O(1) for a step after all others, else O(their number). */
bool sw_optuna_step(cJSON *trial, double step, double value);
/* NaN: null. */
bool sw_optuna_value(cJSON *trial, double value);

#endif
