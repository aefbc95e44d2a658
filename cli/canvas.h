/*
 * cli/canvas.h — a rectangle of character cells in memory: what the live table is drawn on, so that
 * it can be tested without a terminal. cli/screen.h puts it onto one.
 *
 * Memory   The struct is the caller's (init/fini). cells: [height][width], row-major.
 */
#ifndef SW_CLI_CANVAS_H
#define SW_CLI_CANVAS_H

#include "base/status.h"
#include "cli/grid.h"
#include <stdint.h>

struct sw_cell {
	uint32_t rune;     /* 0: the second half of a wide one */
	enum sw_tint tint; /* SW_TINT_N + n: colour n of a terminal's 256 */
};

struct sw_canvas {
	int width, height;
	int marked; /* the row under a cursor, shown in reverse; -1: none */
	struct sw_cell *cells;
};

/* All blank. SW_NOMEM; SW_INVALID for less than 1 x 1 or more than 4096 x 4096. */
SW_NODISCARD sw_status sw_canvas_init(struct sw_canvas *c, int width, int height);
void sw_canvas_fini(struct sw_canvas *c);

/* Writes marked text (cli/header.h) at row, column, in at most max columns; longer text is cut with
 * a mark, and text outside the canvas is left out. Returns the column after it. */
int sw_canvas_put(struct sw_canvas *c, int row, int col, int max, enum sw_tint tint, bool utf8,
		  const char *marked);

/* The same on up to `rows` rows from its beginning, broken where a row ends. Returns how many it
 * took. */
int sw_canvas_wrap(struct sw_canvas *c, int row, int rows, enum sw_tint tint, bool utf8,
		   const char *marked);

/* The rows from `row` on as a canvas of their own, which has no cursor: it borrows the cells. */
struct sw_canvas sw_canvas_below(const struct sw_canvas *c, int row);

/* Makes a row blank again; one outside the canvas is left out. */
void sw_canvas_blank(struct sw_canvas *c, int row);

#endif
