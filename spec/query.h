/* spec/query.h — a spec's fields by name, and its warnings: what the readers of a spec and its
 * warnings ask beside the accessors of spec.h. Pure. Internal to spec/. */
#ifndef SW_SPEC_QUERY_H
#define SW_SPEC_QUERY_H

#include "spec/spec.h"

/* The name of a parameter or group nearest to a wrong one, or NULL. */
const char *sw_spec_param_nearest(const struct sw_spec *s, const char *name);
/* The first of its values that is no number, or NULL. */
const cJSON *sw_spec_param_word(const struct sw_spec_param *p);
/* The JSON pointer of a group in the spec: it stands where a parameter of its key would. */
void sw_spec_group_pointer(const struct sw_spec_group *g, char *ptr, size_t cap);
/* The error for a name that no parameter has; what stands first in the line ("layer", "option"). */
SW_NODISCARD sw_status sw_spec_no_param(const struct sw_spec *s, const char *what, const char *name,
					const char *ptr, struct sw_err *err);
/* The parameter that feeds an option of the trainer, or NULL. */
const struct sw_spec_param *sw_spec_option_param(const struct sw_spec *s, const char *option);
/* The value of an option of the trainer that all trials share, where the spec gives it, or NULL. */
const cJSON *sw_spec_fixed_option(const struct sw_spec *s, const char *option);
/* How many epochs each trial trains, if all train as many; 0: not known. */
uint64_t sw_spec_epochs(const struct sw_spec *s);

/* Adds a warning at a pointer relative to the spec. */
void sw_spec_warn(struct sw_spec *s, const char *ptr, const char *fmt, ...) SW_PRINTF(3, 4);

#endif
