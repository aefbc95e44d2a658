/* cli/import_values.h — a search space from the values that its trials had, where nothing else is
 * known of it. */
#ifndef SW_CLI_IMPORT_VALUES_H
#define SW_CLI_IMPORT_VALUES_H

#include "cli/import.h"

/* Calls leaf for each value of an object that is no object itself, under its path ("opt.lr") with
 * this separator. False: leaf was false, or a path is longer than 255 bytes. */
bool sw_import_flatten(const cJSON *object, const char *separator,
		       bool (*leaf)(void *arg, const char *path, const cJSON *v), void *arg);

/* Fills im->parameters from the trials. Numbers get a range from the lowest to the highest: of
 * integers, or if one has a point of reals, by their logarithm if they span a factor of 100. What
 * is the same in all is a constant. Other values are a choice; lists with objects in them that vary are dropped.
 * O(trials * parameters * different values). */
SW_NODISCARD sw_status sw_import_infer(struct sw_import *im, struct sw_err *err);

#endif
