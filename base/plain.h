/*
 * base/plain.h — foreign text on a line that people read: nothing in it ends the line, moves the
 * cursor or turns the text about it. Pure.
 */
#ifndef SW_BASE_PLAIN_H
#define SW_BASE_PLAIN_H

#include <stddef.h>

/* Each of these becomes one '?', in place. O(length). */
void sw_plain_line(char *s);

#endif
