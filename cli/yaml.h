/*
 * cli/yaml.h — YAML as W&B's sweep files have it, as the tree of its JSON.
 *
 * YAML 1.1 by Debian's libyaml, the parser under PyYAML, and the scalars as PyYAML reads them: yes,
 * no, on and off are booleans, 0x10 and 010 numbers, 1_000 is 1000, what is quoted is a string, and
 * 1.0 stays a real. One departure, and it is YAML 1.2: 1e-4 is a number, not a string. Anchors,
 * aliases and merges (<<) are followed.
 *
 * Refused  A key twice in a mapping (PyYAML takes the last one), keys that are no plain names,
 *          .inf and .nan, 1:30 (a number in YAML 1.1, a string in 1.2), tags but those of JSON's
 *          types, a second document, more than JSON's depth and number of values (proto/json.h),
 *          more text than a line may have, and more than 1,000 keys in a mapping.
 * Threads  Pure.
 */
#ifndef SW_CLI_YAML_H
#define SW_CLI_YAML_H

#include "base/status.h"
#include <cjson/cJSON.h>
#include <stddef.h>

/* text[len]; *out is the caller's, NULL if it fails, and marks reals as sw_json_parse() does.
 * SW_PARSE: "name:line:column: what is wrong" (both from 1, columns in characters). SW_NOMEM.
 * O(len + values), and in each mapping the square of its keys. */
SW_NODISCARD sw_status sw_yaml_read(cJSON **out, const char *name, const char *text, size_t len,
				    struct sw_err *err);

#endif
