/*
 * base/term.h — text from elsewhere made harmless for a terminal, and measured.
 *
 * Harmless: control characters, C1 controls, what hides text or turns its direction and broken
 * UTF-8 become '?', and without utf8 all that is not ASCII.
 * Pure but for the locale: wcwidth() says how wide a character is.
 * Errors   Appends latch in the buffer (b->failed).
 */
#ifndef SW_BASE_TERM_H
#define SW_BASE_TERM_H

#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The next code point of a NUL-terminated text, already made harmless ('?' for what is not), and
 * its columns on a terminal (0, 1 or 2). Moves *s on; returns 0 at the end. */
uint32_t sw_term_next(const char **s, bool utf8, int *columns);
/* The same where no locale is asked and columns do not matter: SVG. */
uint32_t sw_term_rune(const char **s);
/* Columns that the harmless form of s takes. */
int sw_term_width(const char *s, bool utf8);
/* Appends the harmless form of s. With max > 0 it is cut to max columns, the last one then the mark
 * of a cut ("…", or "~" without UTF-8). */
void sw_term_add(struct sw_buf *b, const char *s, bool utf8, int max);
/* The same of text of many lines: line ends and tabs stay. */
void sw_term_add_lines(struct sw_buf *b, const char *s, bool utf8);
/* The same of JSON: what is not harmless becomes an escape, so that it means what it meant. */
void sw_term_add_json(struct sw_buf *b, const char *json, bool utf8);
/* Appends one code point as UTF-8. */
void sw_term_add_rune(struct sw_buf *b, uint32_t rune);

#endif
