/* tests/cli/canvas_row.h — what a canvas shows, as text. */
#ifndef SW_TESTS_CLI_CANVAS_ROW_H
#define SW_TESTS_CLI_CANVAS_ROW_H

#include "base/buf.h"
#include "base/term.h"
#include "cli/canvas.h"

/* Appends a row as text, without the blanks at its end. */
static inline void canvas_row(const struct sw_canvas *c, int row, struct sw_buf *out)
{
	const struct sw_cell *cells = c->cells + (size_t)row * (size_t)c->width;
	int last = c->width;

	while (last > 0 && cells[last - 1].rune == ' ')
		last--;
	for (int i = 0; i < last; i++)
		if (cells[i].rune != 0)
			sw_term_add_rune(out, cells[i].rune);
}

#endif
