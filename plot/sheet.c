#include "plot/sheet.h"
#include "base/memory.h"
#include "base/term.h"
#include "base/utf8.h"
#include <stdlib.h>

/* Colours of the 256 of terminals that are nearest to those of svg.c and seen on black as on white. */
static const uint8_t colors[] = {
	[SW_LOOK_FAINT] = 245,
	[SW_LOOK_ROLE] = 32,
	166,
	245,
	175,
	36,
	244, /* roles */
	32,
	172,
	36,
	175,
	74,
	166,
	184,
	246, /* in no order */
	54,
	61,
	67,
	31,
	30,
	36,
	71,
	77,
	149,
	220 /* values */
};

sw_status sw_sheet_init(struct sw_sheet *s, int width, int height)
{
	s->width = width;
	s->height = height;
	s->glyphs = sw_calloc((size_t)width * (size_t)height, sizeof *s->glyphs);
	return s->glyphs != NULL ? SW_OK : SW_NOMEM;
}

void sw_sheet_fini(struct sw_sheet *s)
{
	free(s->glyphs);
}

struct sw_glyph *sw_sheet_at(const struct sw_sheet *s, int row, int column)
{
	if (row < 0 || row >= s->height || column < 0 || column >= s->width)
		return NULL;
	return &s->glyphs[(size_t)row * (size_t)s->width + (size_t)column];
}

void sw_sheet_put(struct sw_sheet *s, int row, int column, uint32_t rune, int look)
{
	struct sw_glyph *g = sw_sheet_at(s, row, column);

	if (g == NULL)
		return;
	g->rune = rune;
	g->look = (uint8_t)look;
}

void sw_sheet_dot(struct sw_sheet *s, int x, int y, int look)
{
	/* ISO 11548-2: dots 1 to 3 and 7 on the left, 4 to 6 and 8 on the right. */
	static const uint8_t bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
	struct sw_glyph *g = x >= 0 && y >= 0 ? sw_sheet_at(s, y / 4, x / 2) : NULL;

	if (g == NULL || g->rune != 0)
		return;
	g->dots |= bits[y % 4][x % 2];
	g->look = (uint8_t)look;
}

int sw_sheet_text(struct sw_sheet *s, int row, int column, int max, int look, const char *text)
{
	if (max > s->width - column)
		max = s->width - column;
	const bool cut = sw_term_width(text, s->utf8) > max;
	const int end = column + max - cut;
	uint32_t rune;
	int w;

	while (max > 0 && (rune = sw_term_next(&text, s->utf8, &w)) != 0 && column + w <= end) {
		if (w == 0)
			continue; /* nothing that stacks upon another */
		sw_sheet_put(s, row, column, rune, look);
		/* The second half of a wide one. */
		if (w == 2)
			sw_sheet_put(s, row, column + 1, UINT32_MAX, look);
		column += w;
	}
	if (cut && max > 0)
		sw_sheet_put(s, row, column++, s->utf8 ? 0x2026 : '~', look);
	return column;
}

/* What is seen of a character. Without braille its upper or its lower half, or both. */
static uint32_t rune_of(const struct sw_sheet *s, const struct sw_glyph *g)
{
	if (g->rune != 0 || g->dots == 0)
		return g->rune != 0 ? g->rune : ' ';
	if (s->utf8)
		return 0x2800u + g->dots;
	return (g->dots & 0x1b) == 0 ? '.' : (g->dots & 0xe4) == 0 ? '\'' : ':';
}

static void write_row(const struct sw_sheet *s, int row, struct sw_buf *out)
{
	int end = s->width, look = SW_LOOK_NONE;

	while (end > 0 && rune_of(s, sw_sheet_at(s, row, end - 1)) == ' ')
		end--;
	for (int i = 0; i < end; i++) {
		const struct sw_glyph *g = sw_sheet_at(s, row, i);
		if (g->rune == UINT32_MAX)
			continue;
		if (s->color && g->look != look && rune_of(s, g) != ' ') {
			look = g->look;
			if (look == SW_LOOK_NONE)
				(void)sw_buf_adds(out, "\x1b[0m");
			else
				(void)sw_buf_addf(out, "\x1b[38;5;%dm", colors[look]);
		}
		sw_term_add_rune(out, rune_of(s, g));
	}
	(void)sw_buf_adds(out, look != SW_LOOK_NONE ? "\x1b[0m\n" : "\n");
}

void sw_sheet_write(const struct sw_sheet *s, struct sw_buf *out)
{
	for (int row = 0; row < s->height; row++)
		write_row(s, row, out);
}
