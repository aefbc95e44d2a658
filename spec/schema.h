/*
 * spec/schema.h — the sweep spec as a JSON Schema (draft 07), for editors.
 *
 * The build makes it of schema.json, as it makes the tables that the reader of a spec uses. The
 * schema takes every spec that sw_spec_read() takes, and some that it refuses: what depends on
 * several keys can often not be said.
 */
#ifndef SW_SPEC_SCHEMA_H
#define SW_SPEC_SCHEMA_H

extern const char sw_spec_schema[]; /* one line */
extern const unsigned long sw_spec_schema_len;

#endif
