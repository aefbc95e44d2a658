#include "plot/sheet.h"
#include "base/memory.h"
#include "base/term.h"
#include <string.h>

#define SECOND_HALF UINT32_MAX /* of a wide character */

/* By look: colours of the 256 of terminals, nearest to those of svg.c and seen on black as on
 * white. Of roles, of things in no order, of values. */
static const uint8_t colors[] = {0,   245, 32,  166, 245, 175, 36, 244, 32, 172, 36, 175, 74,
				 166, 184, 246, 54,  61,  67,  31, 30,  36, 71,  77, 149, 220};
_Static_assert(sizeof colors == SW_LOOK_V + 10, "a colour for each look");

/* NULL: outside, or there is no memory. */
static struct sw_glyph *glyph_at(struct sw_sheet *s, int row, int column)
{
	const size_t width = (size_t)s->width;

	/* Rows are added as they are needed, but a place computed from a wild number must not take
	 * all memory. */
	if (row < 0 || row >= 4000 || column < 0 || column >= s->width || s->failed != SW_OK)
		return NULL;
	if (row >= s->height) {
		if (!sw_array_resize((void *)&s->glyphs, (size_t)(row + 1) * width,
				     sizeof *s->glyphs)) {
			s->failed = SW_NOMEM;
			return NULL;
		}
		memset(s->glyphs + (size_t)s->height * width, 0,
		       (size_t)(row + 1 - s->height) * width * sizeof *s->glyphs);
		s->height = row + 1;
	}
	return &s->glyphs[(size_t)row * width + (size_t)column];
}

void sw_sheet_put(struct sw_sheet *s, int row, int column, uint32_t rune, int look)
{
	struct sw_glyph *g = glyph_at(s, row, column);

	if (g == NULL)
		return;
	/* Half of a wide character does not stay. */
	if (g->rune == SECOND_HALF && rune != SECOND_HALF)
		g[-1].rune = ' ';
	if (column + 1 < s->width && g[1].rune == SECOND_HALF)
		g[1].rune = ' ';
	*g = (struct sw_glyph){rune, 0, (uint8_t)look};
}

void sw_sheet_dots(struct sw_sheet *s, int row, int column, uint8_t dots, int look)
{
	struct sw_glyph *g = glyph_at(s, row, column);

	if (g == NULL || g->rune != 0)
		return;
	g->dots |= dots;
	g->look = (uint8_t)look;
}

void sw_sheet_text(struct sw_sheet *s, int row, int column, int max, int look, const char *text)
{
	uint32_t rune;
	int w;

	const bool cut = sw_term_width(text, s->utf8) > max;
	const int end = column + max - cut;
	while ((rune = sw_term_next(&text, s->utf8, &w)) != 0 && column + w <= end) {
		if (w == 0)
			continue; /* nothing that stacks upon another */
		sw_sheet_put(s, row, column, rune, look);
		if (w == 2)
			sw_sheet_put(s, row, column + 1, SECOND_HALF, look);
		column += w;
	}
	if (cut && max > 0)
		sw_sheet_put(s, row, column, s->utf8 ? 0x2026 : '~', look);
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

static void write_row(const struct sw_sheet *s, const struct sw_glyph *row, struct sw_buf *out)
{
	int end = s->width, look = SW_LOOK_NONE;

	while (end > 0 && rune_of(s, &row[end - 1]) == ' ')
		end--;
	for (int i = 0; i < end; i++) {
		const uint32_t rune = rune_of(s, &row[i]);
		if (rune == SECOND_HALF)
			continue;
		/* A blank shows no colour: leaving it out keeps a row from changing twice for
		 * nothing. */
		if (s->color && row[i].look != look && rune != ' ') {
			look = row[i].look;
			if (look == SW_LOOK_NONE)
				(void)sw_buf_adds(out, "\x1b[0m");
			else
				(void)sw_buf_addf(out, "\x1b[38;5;%dm", colors[look]);
		}
		sw_term_add_rune(out, rune);
	}
	(void)sw_buf_adds(out, look != SW_LOOK_NONE ? "\x1b[0m\n" : "\n");
}

void sw_sheet_write(const struct sw_sheet *s, struct sw_buf *out)
{
	for (int row = 0; row < s->height; row++)
		write_row(s, s->glyphs + (size_t)row * (size_t)s->width, out);
}
