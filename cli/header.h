/*
 * cli/header.h — the five lines above the trials, for the live table and for the plain block.
 *
 * Pure. The lines are marked text: a byte 1 + tint (an enum sw_tint) sets the tint of what follows.
 * The marks cannot be forged, since text from elsewhere has no control characters left.
 */
#ifndef SW_CLI_HEADER_H
#define SW_CLI_HEADER_H

#include "cli/fmt.h"
#include "cli/grid.h"
#include "cli/view.h"

/* Line 0: sweep, state, method, elapsed, ETA, slots in use. now_us: monotonic, for the clock. 1:
 * what is wrong. 2: trials done of the cap with a bar, and by state. 3: rungs, the highest first,
 * each with its cutoff and how many values it holds. 4: the best trial, its value, its parameters.
 * False, and nothing appended: there is no such line (yet). */
#define SW_HEADER_LINES 5
bool sw_header_line(struct sw_buf *b, const struct sw_view *v, int line, bool utf8, int64_t now_us);

/* The line as sw_header_mark_print() has it. */
void sw_header_print(struct sw_buf *out, const struct sw_view *v, int line,
		     const struct sw_look *look, int64_t now_us);

void sw_header_mark(struct sw_buf *b, enum sw_tint tint);
/* Appends marked text and a newline as plain text, or with colours as SGR sequences; cut to
 * look->width columns where there is a limit. */
void sw_header_mark_print(struct sw_buf *out, const char *marked, const struct sw_look *look);
int sw_header_mark_width(const char *marked, bool utf8); /* columns */
/* Is this byte a mark? Then *tint is set. */
bool sw_header_mark_read(char byte, enum sw_tint *tint);

#endif
