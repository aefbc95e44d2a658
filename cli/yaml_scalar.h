/* cli/yaml_scalar.h — what a plain word of YAML stands for: null, a boolean, a number or itself. */
#ifndef SW_CLI_YAML_SCALAR_H
#define SW_CLI_YAML_SCALAR_H

#include "base/status.h"
#include <cjson/cJSON.h>

/* *out: a new value, the caller's. tag: NULL, or "null", "bool", "int", "float" or "str" where the
 * word must be of that type. SW_PARSE: the line says what is wrong, without a place. SW_NOMEM.
 * Pure. */
SW_NODISCARD sw_status sw_yaml_scalar_read(cJSON **out, const char *word, const char *tag,
					   struct sw_err *err);

#endif
