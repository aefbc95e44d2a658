/* plot/sheet.h — a rectangle of characters, each of which may be 2 x 4 dots instead: what a plot in
 * a terminal is drawn on. What lies outside is left out. */
#ifndef SW_PLOT_SHEET_H
#define SW_PLOT_SHEET_H

#include "base/buf.h"
#include <stdbool.h>
#include <stdint.h>

/* How a character looks; SW_LOOK_ROLE + a role, or SW_LOOK_V + 0 (worst) to 9. */
enum { SW_LOOK_NONE, SW_LOOK_FAINT, SW_LOOK_ROLE, SW_LOOK_V = SW_LOOK_ROLE + 14 };

struct sw_glyph {
	uint32_t rune; /* 0: its dots */
	uint8_t dots;
	uint8_t look;
	bool text; /* no other text goes over it */
};

struct sw_sheet {
	int width, height; /* characters */
	bool color, utf8;
	struct sw_glyph *glyphs; /* [height][width] */
};

/* Blank. SW_NOMEM. */
SW_NODISCARD sw_status sw_sheet_init(struct sw_sheet *s, int width, int height);
void sw_sheet_fini(struct sw_sheet *s);

/* NULL: outside. */
struct sw_glyph *sw_sheet_at(const struct sw_sheet *s, int row, int column);
void sw_sheet_put(struct sw_sheet *s, int row, int column, uint32_t rune, int look);
/* Sets one of the sheet's 2 * width x 4 * height dots, unless a rune stands there: a crowd does not hide
 * the map below it. */
void sw_sheet_dot(struct sw_sheet *s, int x, int y, int look);
/* Writes text in at most max columns, cut with a mark. Returns the column behind it. */
int sw_sheet_text(struct sw_sheet *s, int row, int column, int max, int look, const char *text);
/* Appends all rows as lines, without the blanks at their ends. */
void sw_sheet_write(const struct sw_sheet *s, struct sw_buf *out);

#endif
