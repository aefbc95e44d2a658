/*
 * base/plain.h — foreign text on a line that people read: nothing in it ends the line, moves the
 * cursor or turns the text about it. Pure.
 */
#ifndef SW_BASE_PLAIN_H
#define SW_BASE_PLAIN_H

#include <stddef.h>

/* Bytes at s[0..n), n > 0, that no line shows as they are: a control character (C0, DEL, C1), a
 * line separator, one that turns the direction of text, or a byte that is no UTF-8. 0: none. */
size_t sw_plain_harm(const char *s, size_t n);

/* Each of these becomes one '?', in place. O(length). */
void sw_plain_line(char *s);

#endif
