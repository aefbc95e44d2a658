/*
 * cli/place.h — where a mistake is, as the user wrote it: the one place that decides the form.
 *
 *   JSON            /parameters/lr/min (line 7)
 *   YAML            parameters.lr.min (line 7)
 *   words, options  lr.min: without the name of the call's own member; "" if that is all
 *
 * Pure.
 */
#ifndef SW_CLI_PLACE_H
#define SW_CLI_PLACE_H

#include "base/buf.h"
#include <stdbool.h>

/* What was written. Zeroed it is nothing: words and options. */
struct sw_place_source {
	struct sw_buf text; /* init and fini are the owner's */
	enum { SW_PLACE_WORDS, SW_PLACE_JSON, SW_PLACE_YAML } form;
};

/* The place of a JSON pointer; out is cut at cap. O(text). */
void sw_place_write(const struct sw_place_source *source, const char *ptr, char *out, size_t cap);

#endif
