/*
 * proto/json_key.h — a key of an object as it stands in JSON text, compared by what it means.
 *
 * For the pre-check alone (json_check.c). Pure; the text is borrowed and its escapes have been
 * checked.
 */
#ifndef SW_PROTO_JSON_KEY_H
#define SW_PROTO_JSON_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_json_key {
	const char *at; /* the first byte inside the quotes */
	size_t len;     /* raw bytes, escapes as they stand */
	bool escaped;   /* has at least one backslash */
};

/* The value of four hex digits. */
uint32_t sw_json_hex4(const char *p);

/* <0, 0, >0 by the bytes after unescaping, a total order. O(length), nothing is allocated. */
int sw_json_key_compare(const struct sw_json_key *a, const struct sw_json_key *b);

/* The unescaped bytes, cut at cap - 1, NUL-terminated. */
void sw_json_key_text(const struct sw_json_key *k, char *out, size_t cap);

#endif
