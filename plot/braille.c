#include "base/term.h"
#include "plot/draw.h"
#include "plot/sheet.h"
#include "plot/write.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

struct braille {
	struct sw_pen pen;
	struct sw_sheet sheet;
	bool dense; /* so many marks that a dot is one of braille, not a sign */
};

static struct sw_sheet *sheet_of(struct sw_pen *pen)
{
	return &((struct braille *)(void *)pen)->sheet;
}

static double wide_rune(uint32_t rune)
{
	/* wcwidth() says -1 of what the locale cannot print; the sheet leaves that out, so it takes
	 * no room. */
	return rune < 0x80 ? 1 : fmax(wcwidth((wchar_t)rune), 0);
}

static double ascii_rune(uint32_t rune)
{
	(void)rune;
	return 1;
}

/* --- colours and signs --- */

static int look_of(const struct sw_plot_series *s, const struct sw_plot_mark *m)
{
	if (m != NULL && !isnan(m->v))
		return SW_LOOK_V + (int)(fmin(fmax(m->v, 0), 1) * 9 + .5);
	if (s->role < SW_PLOT_FIRST)
		return SW_LOOK_ROLE + s->role;
	return SW_LOOK_ROLE + SW_PLOT_FIRST + (s->role - SW_PLOT_FIRST) % SW_PLOT_DISTINCT;
}

/* The sign of a role, where a mark is a character. */
static uint32_t sign_of(struct sw_pen *pen, int role)
{
	/* By role: plain, best, pruned, failed, running, reference. */
	static const uint32_t signs[2][SW_PLOT_FIRST] = {{'o', '*', '-', 'x', '?', '+'},
							 {0x25cf, 0x25c6, 0xb7, 0xd7, 0x25cb, '+'}};

	if (role < SW_PLOT_FIRST)
		return signs[sheet_of(pen)->utf8][role];
	/* 1 to 9, a to z: there are more of these than looks. */
	const int k = (role - SW_PLOT_FIRST) % 35;
	return (uint32_t)(k < 9 ? '1' + k : 'a' + k - 9);
}

/* In a crowd a trial is two dots and a pruned one is one; what must be seen is a sign, as are all
 * where there are few. */
static bool is_sign(struct sw_pen *pen, int role)
{
	return !((struct braille *)(void *)pen)->dense ||
	       (role != SW_PLOT_PLAIN && role != SW_PLOT_PRUNED);
}

/* Which dots of a bar are drawn: colour is not all. */
static bool is_filled(int role, int x, int y)
{
	if (role >= SW_PLOT_FIRST) /* a band behind lines */
		return x % 2 == 0 && (x / 2 + y) % 4 == 0;
	switch (role) {
	case SW_PLOT_PRUNED:
		return (x + y) % 2 == 0;
	case SW_PLOT_FAILED:
		return y % 2 == 0;
	case SW_PLOT_RUNNING:
		return x % 2 == 0;
	default:
		return true;
	}
}

/* --- marks --- */

/* A value as one of the area's dots; far outside it is only that. */
static int x_dot(const struct sw_area *a, double v)
{
	return (int)floor(2 * fmin(fmax(sw_area_x(a, v), -9e3), 9e3) + .5);
}

static int y_dot(const struct sw_area *a, double v)
{
	return (int)floor(4 * fmin(fmax(sw_area_y(a, v), -9e3), 9e3) + .5);
}

/* rune 0: a dot. */
static void put(struct sw_pen *pen, const struct sw_area *a, int x, int y, uint32_t rune, int look)
{
	/* ISO 11548-2: dots 1 to 3 and 7 on the left, 4 to 6 and 8 on the right. */
	static const uint8_t bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
	const int row = (int)a->y + y / 4, column = (int)a->x + x / 2;

	if (x < 0 || y < 0 || x >= 2 * (int)a->width || y >= 4 * (int)a->height)
		return;
	if (rune != 0)
		sw_sheet_put(sheet_of(pen), row, column, rune, look);
	else
		sw_sheet_dots(sheet_of(pen), row, column, bits[y % 4][x % 2], look);
}

static void braille_dot(struct sw_pen *pen, const struct sw_area *a, const struct sw_plot_series *s,
			const struct sw_plot_mark *m)
{
	static const uint32_t signs[2][5] = {{0, '^', 'v', '<', '>'},
					     {0, 0x25b4, 0x25be, 0x25c2, 0x25b8}};
	double place[2] = {sw_area_x(a, m->x), sw_area_y(a, m->y)};
	const enum sw_beyond beyond = sw_area_bring(a, &place[0], &place[1]);
	const int x = (int)floor(2 * place[0] + .5), y = (int)floor(4 * place[1] + .5);
	const int look = look_of(s, m);

	if (beyond != SW_INSIDE) {
		put(pen, a, x, y, signs[sheet_of(pen)->utf8][beyond], look);
		return;
	}
	put(pen, a, x, y, is_sign(pen, s->role) ? sign_of(pen, s->role) : 0, look);
	if (!is_sign(pen, s->role) && s->role != SW_PLOT_PRUNED)
		/* The second dot stays in the same character, where it does not colour a
		 * neighbour. */
		put(pen, a, x, y % 4 == 3 ? y - 1 : y + 1, 0, look);
}

/* The best is two dots wide; of what was pruned and what only serves to compare each second or
 * third dot is drawn. */
static void draw_segment(struct sw_pen *pen, const struct sw_area *a, int role, const int from[2],
			 const int to[2], int look)
{
	const int dx = to[0] - from[0], dy = to[1] - from[1];
	const int n = abs(dx) > abs(dy) ? abs(dx) : abs(dy);
	const int skip = role == SW_PLOT_PRUNED ? 2 : role == SW_PLOT_REFERENCE ? 3 : 1;

	for (int i = 0; i <= n; i += skip) {
		const double part = n > 0 ? (double)i / n : 0;
		const int x = from[0] + (int)lround(dx * part),
			  y = from[1] + (int)lround(dy * part);
		put(pen, a, x, y, 0, look);
		if (role == SW_PLOT_BEST)
			put(pen, a, x, y + 1, 0, look);
	}
}

static void braille_path(struct sw_pen *pen, const struct sw_area *a,
			 const struct sw_plot_series *s, const struct sw_plot_mark *m, size_t n)
{
	const size_t apart = n / 4 + 1;
	const int look = look_of(s, m);
	int last[2] = {x_dot(a, m->x), y_dot(a, m->y)};

	for (size_t i = 0; i < n; i++) {
		const int at[2] = {x_dot(a, m[i].x), y_dot(a, m[i].y)},
			  corner[2] = {at[0], s->shape == SW_PLOT_STEPS ? last[1] : at[1]};
		/* Steps go across first and then up, since a value holds until the next one comes.
		 * On a line the corner is the end itself. */
		draw_segment(pen, a, s->role, last, corner, look);
		draw_segment(pen, a, s->role, corner, at, look);
		/* Lines of several sweeps have their number on them. */
		if (s->role >= SW_PLOT_FIRST && i % apart == apart / 2)
			put(pen, a, at[0], at[1], sign_of(pen, s->role), look);
		memcpy(last, at, sizeof last);
	}
}

/* A cell has the characters whose middles it covers. */
static void draw_cell(struct sw_pen *pen, const struct sw_area *a, const struct sw_plot_series *s,
		      const struct sw_plot_mark *m, const double box[4])
{
	static const uint32_t shades[2][5] = {{' ', '.', ':', '*', '#'},
					      {' ', 0x2591, 0x2592, 0x2593, 0x2588}};
	/* Without colours the shade is all that tells good from bad. */
	const bool by_color = sheet_of(pen)->color || isnan(m->v);
	const int shade = by_color ? 4 : (int)(fmin(fmax(m->v, 0), 1) * 4.99);

	for (int y = (int)ceil(box[1] - .5); y + .5 < box[1] + box[3]; y++)
		for (int x = (int)ceil(box[0] - .5); x + .5 < box[0] + box[2]; x++)
			put(pen, a, 2 * x, 4 * y, shades[sheet_of(pen)->utf8][shade],
			    look_of(s, m));
}

/* A bar is one dot at least; of four and more dots downwards the last is left out, as a gap before
 * the next. */
static void braille_box(struct sw_pen *pen, const struct sw_area *a, const struct sw_plot_series *s,
			const struct sw_plot_mark *m, const double box[4])
{
	const int left = (int)lround(2 * box[0]), right = (int)lround(2 * (box[0] + box[2])),
		  top = (int)lround(4 * box[1]), bottom = (int)lround(4 * (box[1] + box[3]));
	const bool dots = sheet_of(pen)->utf8 || s->role >= SW_PLOT_FIRST;
	const uint32_t rune = dots ? 0 : sign_of(pen, s->role);

	if (s->shape == SW_PLOT_CELLS) {
		draw_cell(pen, a, s, m, box);
		return;
	}
	for (int y = top; y < bottom - (bottom - top > 3) || y == top; y++)
		for (int x = left; x < right || x == left; x++)
			if (rune != 0 || is_filled(s->role, x, y))
				put(pen, a, x, y, rune, look_of(s, m));
}

static void braille_rule(struct sw_pen *pen, const struct sw_area *a,
			 const struct sw_plot_series *s, const struct sw_plot_mark *m)
{
	for (int y = 0; y < 4 * (int)a->height; y += 2)
		put(pen, a, x_dot(a, m->x), y, 0, look_of(s, m));
}

/* --- what stands around them --- */

static void braille_text(struct sw_pen *pen, enum sw_pen_text kind, enum sw_pen_align align,
			 double x, double y, double max, const char *text)
{
	const int room = (int)max, width = sw_term_width(text, sheet_of(pen)->utf8);
	const int shown = width < room ? width : room;
	/* A text beside a dot stands on the line that has the dot: draw.c subtracts half a line. */
	int column = (int)floor(x + .25) - (align == SW_LEFT    ? 0
					    : align == SW_RIGHT ? shown
								: shown / 2);

	/* What would run past the page moves left, as a cut text says less than one that stands
	 * aside. */
	if (column + shown > (int)pen->width)
		column = (int)pen->width - shown;
	sw_sheet_text(sheet_of(pen), (int)floor(y + .625), column > 0 ? column : 0, shown,
		      kind == SW_TEXT_FAINT ? SW_LOOK_FAINT : SW_LOOK_NONE, text);
}

static void braille_sample(struct sw_pen *pen, const struct sw_plot_series *s, double x, double y)
{
	/* Of lines; of bars; of dots in a crowd. */
	static const uint8_t lines[] = {0x12, 0x36, 0x02, 0x12, 0x12, 0x10},
			     bars[] = {0xff, 0xff, 0x95, 0x2d, 0x47, 0xff}, dots[] = {6, 0, 2};
	const bool is_line = s->shape == SW_PLOT_LINE || s->shape == SW_PLOT_STEPS;
	uint8_t shown = 0;

	if (s->shape == SW_PLOT_RULES)
		shown = 0x47;
	else if (is_line && s->role < SW_PLOT_FIRST)
		shown = lines[s->role];
	else if (s->shape == SW_PLOT_BARS && s->role < SW_PLOT_FIRST && sheet_of(pen)->utf8)
		shown = bars[s->role];
	else if (s->shape == SW_PLOT_DOTS && !is_sign(pen, s->role))
		shown = dots[s->role];
	if (shown == 0)
		sw_sheet_put(sheet_of(pen), (int)y, (int)x, sign_of(pen, s->role),
			     look_of(s, NULL));
	else
		sw_sheet_dots(sheet_of(pen), (int)y, (int)x, shown, look_of(s, NULL));
}

static void braille_axes(struct sw_pen *pen, const struct sw_area *a, const struct sw_plot_ticks *x,
			 const struct sw_plot_ticks *y)
{
	enum { ACROSS, DOWN, CORNER, TICK_X, TICK_Y };
	static const uint32_t all[2][5] = {{'-', '|', '+', '+', '+'},
					   {0x2500, 0x2502, 0x2514, 0x252c, 0x2524}};
	struct sw_sheet *sheet = sheet_of(pen);
	const uint32_t *runes = all[sheet->utf8];
	const int left = (int)a->x - 1, top = (int)a->y, below = top + (int)a->height;

	for (int row = top; row < below; row++)
		sw_sheet_put(sheet, row, left, runes[DOWN], SW_LOOK_FAINT);
	sw_sheet_put(sheet, below, left, runes[CORNER], SW_LOOK_FAINT);
	for (int column = left + 1; column <= left + (int)a->width; column++)
		sw_sheet_put(sheet, below, column, runes[ACROSS], SW_LOOK_FAINT);
	for (size_t i = 0; i < y->n; i++)
		sw_sheet_put(sheet, top + y_dot(a, y->at[i]) / 4, left, runes[TICK_Y],
			     SW_LOOK_FAINT);
	for (size_t i = 0; i < x->n; i++)
		sw_sheet_put(sheet, below, left + 1 + x_dot(a, x->at[i]) / 2, runes[TICK_X],
			     SW_LOOK_FAINT);
}

/* Has a panel, on average, more dots than can be told apart as signs? */
static bool is_dense(const struct sw_plot *p)
{
	size_t dots = 0;

	for (size_t i = 0; i < p->n_series; i++)
		dots += p->series[i].shape == SW_PLOT_DOTS ? p->series[i].n : 0;
	return dots > 60 * p->n_panels;
}

static const struct sw_pen braille_pen = {
	.line = 1,
	.panel_width = 38,
	.gap = 2,
	.flat = .2,
	.least_height = 8,
	.height = 28,
	.tick_apart = 3,
	.left = 2,
	.below_axis = 1,
	.sample = 2,
	.dot_width = .5,
	.dot_height = .25,
	.text = braille_text,
	.draw_sample = braille_sample,
	.draw_axes = braille_axes,
	.dot = braille_dot,
	.path = braille_path,
	.box = braille_box,
	.rule = braille_rule,
};

void sw_plot_braille(const struct sw_plot *p, int columns, int lines, bool color, bool utf8,
		     struct sw_buf *out)
{
	struct braille b = {
		.pen = braille_pen, .sheet = {.color = color, .utf8 = utf8}, .dense = is_dense(p)};

	b.sheet.width = columns < 40 ? 40 : columns > 400 ? 400 : columns;
	b.pen.width = b.sheet.width;
	b.pen.rune_width = utf8 ? wide_rune : ascii_rune;
	if (p->failed == SW_OK)
		(void)sw_plot_draw(p, &b.pen);
	/* The height of texts and legends is known only once they stood somewhere: the first pass
	 * measures. */
	if (lines > 0 && b.pen.rows > 0 && b.sheet.height > 0) {
		/* Again, with what was left over or was too much. */
		b.pen.more = floor((double)(lines - b.sheet.height) / (double)b.pen.rows);
		b.sheet.height = 0;
		(void)sw_plot_draw(p, &b.pen);
	}
	sw_sheet_write(&b.sheet, out);
	free(b.sheet.glyphs);
	if (out->failed == SW_OK)
		out->failed = p->failed != SW_OK ? p->failed : b.sheet.failed;
}
