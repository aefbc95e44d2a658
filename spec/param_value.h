/* spec/param_value.h — a parameter's value in a trial's parameters. Pure. */
#ifndef SW_SPEC_PARAM_VALUE_H
#define SW_SPEC_PARAM_VALUE_H

#include <cjson/cJSON.h>

/* The value of a parameter in the JSON of a trial, by its whole name: "opt.wd" is found under that
 * key, or under "wd" in the object "opt". NULL: it is not there. */
const cJSON *sw_param_value(const cJSON *params, const char *name);

#endif
