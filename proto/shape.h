/*
 * proto/shape.h — the shapes of results in methods.json, as JSON Schema.
 *
 * A shape is an object of fields, each with a shape ("key?": it may be absent; "...": the fields
 * of a type), or a string: T | U, T[] (array), T{} (object of such values by any names), (T), any,
 * 'word', a type of JSON, or a name of "types". After ": " it says what it is for.
 * Pure
 */
#ifndef SW_PROTO_SHAPE_H
#define SW_PROTO_SHAPE_H

#include "proto/json.h"

/* Writes the schema of a shape; a type's name becomes a reference to "#/components/schemas/NAME".
 * types: those that "..." may name. */
void sw_shape_write(struct sw_jw *w, const cJSON *types, const cJSON *shape);

#endif
