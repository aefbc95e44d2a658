/*
 * spec/schema.h — the sweep spec as a JSON Schema (draft 07), for editors.
 *
 * Keys, choices, ranges and defaults come from the tables that the reader of a spec uses;
 * schema.json has the words, and what stands in no table. The schema takes every spec that
 * sw_spec_read() takes, and some that it refuses: what depends on several keys can often not be
 * said.
 * Pure
 */
#ifndef SW_SPEC_SCHEMA_H
#define SW_SPEC_SCHEMA_H

#include "base/buf.h"
#include "base/status.h"

/* Appends the schema. SW_INTERNAL: an entry of a table has no words in schema.json, or words there
 * are of no entry (a build defect); SW_NOMEM, SW_TOO_BIG. */
SW_NODISCARD sw_status sw_spec_schema(struct sw_buf *out, struct sw_err *err);

#endif
