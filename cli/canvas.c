#include "cli/canvas.h"
#include "base/memory.h"
#include "base/term.h"
#include "cli/header.h"
#include <stdlib.h>

static void set_cell(struct sw_canvas *c, int row, int col, uint32_t rune, enum sw_tint tint)
{
	c->cells[(size_t)row * (size_t)c->width + (size_t)col] =
		(struct sw_cell){.rune = rune, .tint = tint};
}

sw_status sw_canvas_init(struct sw_canvas *c, int width, int height)
{
	*c = (struct sw_canvas){.width = width, .height = height, .marked = -1};
	if (width < 1 || height < 1 || width > 4096 || height > 4096)
		return SW_INVALID;
	c->cells = sw_malloc((size_t)width * (size_t)height * sizeof c->cells[0]);
	if (c->cells == NULL)
		return SW_NOMEM;
	for (int row = 0; row < height; row++)
		sw_canvas_blank(c, row);
	return SW_OK;
}

void sw_canvas_fini(struct sw_canvas *c)
{
	free(c->cells);
	*c = (struct sw_canvas){.cells = NULL};
}

void sw_canvas_blank(struct sw_canvas *c, int row)
{
	for (int col = 0; row >= 0 && row < c->height && col < c->width; col++)
		set_cell(c, row, col, ' ', SW_TINT_NONE);
	if (row == c->marked)
		c->marked = -1;
}

int sw_canvas_put(struct sw_canvas *c, int row, int col, int max, enum sw_tint tint, bool utf8,
		  const char *s)
{
	const int end = max < c->width - col ? col + max : c->width;
	bool cut;

	if (row < 0 || row >= c->height || col < 0 || end <= col)
		return col;
	cut = sw_header_mark_width(s, utf8) > end - col;
	while (*s != '\0') {
		uint32_t rune;
		int w;

		if (sw_header_mark_read(*s, &tint)) {
			s++;
			continue;
		}
		rune = sw_term_next(&s, utf8, &w);
		if (w == 0)
			continue; /* combining marks have no cell of their own here */
		/* The last column is the mark's, and a wide character must not reach into it. */
		if (cut && col + w > end - 1) {
			set_cell(c, row, col++, utf8 ? 0x2026 : '~', tint);
			break;
		}
		set_cell(c, row, col, rune, tint);
		if (w == 2)
			set_cell(c, row, col + 1, 0, tint);
		col += w;
	}
	return col;
}

int sw_canvas_wrap(struct sw_canvas *c, int row, int rows, enum sw_tint tint, bool utf8,
		   const char *s)
{
	int used = 0, col = 0, w;

	for (; *s != '\0' && used < rows; used++, row++, col = 0) {
		/* The last row is cut, with a mark. */
		if (used + 1 == rows || sw_header_mark_width(s, utf8) <= c->width) {
			(void)sw_canvas_put(c, row, 0, c->width, tint, utf8, s);
			return used + 1;
		}
		for (const char *next = s; *s != '\0'; s = next) {
			if (sw_header_mark_read(*s, &tint)) {
				next = s + 1;
				continue;
			}
			const uint32_t rune = sw_term_next(&next, utf8, &w);
			if (col + w > c->width)
				break;
			for (int half = 0; half < w && row < c->height; half++)
				set_cell(c, row, col++, half == 0 ? rune : 0, tint);
		}
	}
	return used;
}

struct sw_canvas sw_canvas_below(const struct sw_canvas *c, int row)
{
	return (struct sw_canvas){.width = c->width,
				  .height = c->height - row,
				  .marked = -1,
				  .cells = c->cells + (size_t)row * (size_t)c->width};
}
