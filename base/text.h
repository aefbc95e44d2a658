/*
 * base/text.h — short texts: foreign text on a line that people read, where nothing in it ends the
 * line, moves the cursor or turns the text about it; a count; a name of a list. Pure.
 */
#ifndef SW_BASE_TEXT_H
#define SW_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each character that no line shows as it is (a control character, a line separator, one that turns
 * the direction of text, a byte that is no UTF-8) becomes one '?', in place. O(length). */
void sw_text_plain(char *s);

/* A short form for a message: at most 40 bytes, each character as sw_text_plain() leaves it, then
 * "..." if it was longer. Returns out. */
const char *sw_text_show(const char *s, char out[44]);

/* n with commas between thousands: "1,438". Returns out. */
const char *sw_text_count(uint64_t n, char out[32]);

/* Name i of a list with commas between them, as CUDA_VISIBLE_DEVICES has; false: fewer names, and
 * out is "". */
bool sw_text_nth(const char *list, size_t i, char *out, size_t cap);

#endif
