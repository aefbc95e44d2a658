/* plot/sheet.h — a sheet of characters, each of which may be 2 x 4 dots instead: what a plot in a
 * terminal is drawn on. It grows downwards as it is written on; what lies outside is left out. */
#ifndef SW_PLOT_SHEET_H
#define SW_PLOT_SHEET_H

#include "base/buf.h"
#include <stdbool.h>
#include <stdint.h>

/* How a character looks; SW_LOOK_ROLE + a role, or SW_LOOK_V + 0 (worst) to 9. */
enum { SW_LOOK_NONE, SW_LOOK_FAINT, SW_LOOK_ROLE, SW_LOOK_V = SW_LOOK_ROLE + 14 };

struct sw_glyph {
	uint32_t rune; /* 0: its dots */
	uint8_t dots, look;
};

struct sw_sheet {
	int width, height; /* characters */
	bool color, utf8;
	struct sw_glyph *glyphs; /* [height][width]; the caller frees them */
	sw_status failed;        /* SW_NOMEM latches */
};

void sw_sheet_put(struct sw_sheet *s, int row, int column, uint32_t rune, int look);
/* Adds dots of a character of braille, unless a rune stands there: a crowd does not hide the map
 * below it. */
void sw_sheet_dots(struct sw_sheet *s, int row, int column, uint8_t dots, int look);
/* Writes text in at most max columns, which the sheet has there, cut with a mark. */
void sw_sheet_text(struct sw_sheet *s, int row, int column, int max, int look, const char *text);
/* Appends all rows as lines, without the blanks at their ends. */
void sw_sheet_write(const struct sw_sheet *s, struct sw_buf *out);

#endif
