#include "plot/braille_marks.h"
#include "base/term.h"
#include "plot/ticks.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int look_of(const struct sw_plot_series *s, const struct sw_plot_mark *m)
{
	if (m != NULL && !isnan(m->v))
		return SW_LOOK_V + (int)(fmin(fmax(m->v, 0), 1) * 9 + .5);
	return SW_LOOK_ROLE + (s->role < SW_PLOT_FIRST ? s->role
						       : SW_PLOT_FIRST + (s->role - SW_PLOT_FIRST) %
										 SW_PLOT_DISTINCT);
}

/* The sign of a role, where a mark is a character. */
static uint32_t sign_of(const struct sw_sheet *sheet, int role)
{
	static const uint32_t signs[][2] = {
		[SW_PLOT_PLAIN] = {'o', 0x25cf},   [SW_PLOT_BEST] = {'*', 0x25c6},
		[SW_PLOT_PRUNED] = {'-', 0xb7},    [SW_PLOT_FAILED] = {'x', 0xd7},
		[SW_PLOT_RUNNING] = {'?', 0x25cb}, [SW_PLOT_REFERENCE] = {'+', '+'}};

	if (role < SW_PLOT_FIRST)
		return signs[role][sheet->utf8];
	return (uint32_t)('1' + (role - SW_PLOT_FIRST) % SW_PLOT_DISTINCT);
}

/* A place on an axis as one of n dots; far outside it is only that. */
static int dot_of(double place, int n)
{
	return (int)lround(fmin(fmax(place, -10), 10) * (n - 1));
}

static int x_dot(const struct sw_area *a, double v)
{
	return dot_of(sw_plot_place(&a->panel->x, v), 2 * a->width);
}

static int y_dot(const struct sw_area *a, double v)
{
	return dot_of(1 - sw_plot_place(&a->panel->y, v), 4 * a->height);
}

static bool is_line(const struct sw_plot_series *s)
{
	return s->shape == SW_PLOT_LINE || s->shape == SW_PLOT_STEPS;
}

static bool has_place(const struct sw_area *a, const struct sw_plot_mark *m)
{
	return !isnan(sw_plot_place(&a->panel->x, m->x)) &&
	       !isnan(sw_plot_place(&a->panel->y, m->y));
}

/* The character that has the dot; NULL: outside. */
static struct sw_glyph *glyph_at(const struct sw_area *a, int x, int y)
{
	if (x < 0 || y < 0 || x >= 2 * a->width || y >= 4 * a->height)
		return NULL;
	return sw_sheet_at(a->sheet, a->row + y / 4, a->column + x / 2);
}

static void put_dot(const struct sw_area *a, int x, int y, int look)
{
	if (glyph_at(a, x, y) != NULL)
		sw_sheet_dot(a->sheet, 2 * a->column + x, 4 * a->row + y, look);
}

static void put_sign(const struct sw_area *a, int x, int y, uint32_t rune, int look)
{
	if (glyph_at(a, x, y) != NULL)
		sw_sheet_put(a->sheet, a->row + y / 4, a->column + x / 2, rune, look);
}

/* --- shapes --- */

/* In a crowd a trial is two dots and a pruned one is one; what must be seen is a sign, as are all
 * where there are few. */
static bool is_sign(const struct sw_area *a, int role)
{
	return !a->dense || (role != SW_PLOT_PLAIN && role != SW_PLOT_PRUNED);
}

static void draw_dots(const struct sw_area *a, const struct sw_plot_series *s)
{
	for (size_t i = s->mark; i < s->mark + s->n; i++) {
		const struct sw_plot_mark *m = &a->p->marks[i];
		if (!has_place(a, m))
			continue;
		const int x = x_dot(a, m->x), y = y_dot(a, m->y), look = look_of(s, m);
		if (is_sign(a, s->role)) {
			put_sign(a, x, y, sign_of(a->sheet, s->role), look);
			continue;
		}
		put_dot(a, x, y, look);
		if (s->role != SW_PLOT_PRUNED)
			put_dot(a, x, y % 4 == 3 ? y - 1 : y + 1, look);
	}
}

/* By one step of the longer side at a time. Colour is not all here either: the best is two dots
 * wide, of what was pruned and what only serves to compare each second or third dot is drawn. */
static void draw_segment(const struct sw_area *a, int role, const int from[2], const int to[2],
			 int look)
{
	const int dx = to[0] - from[0], dy = to[1] - from[1];
	const int n = abs(dx) > abs(dy) ? abs(dx) : abs(dy);
	const int skip = role == SW_PLOT_PRUNED ? 2 : role == SW_PLOT_REFERENCE ? 3 : 1;

	for (int i = 0; i <= n; i += skip) {
		const double part = n > 0 ? (double)i / n : 0;
		const int x = from[0] + (int)lround(dx * part),
			  y = from[1] + (int)lround(dy * part);
		put_dot(a, x, y, look);
		if (role == SW_PLOT_BEST)
			put_dot(a, x, y + 1, look);
	}
}

static void draw_line(const struct sw_area *a, const struct sw_plot_series *s)
{
	const size_t signs = s->n / 6 + 1;
	int last[2] = {0, 0};
	bool down = false;

	for (size_t i = 0; i < s->n; i++) {
		const struct sw_plot_mark *m = &a->p->marks[s->mark + i];
		if (!has_place(a, m)) {
			down = false;
			continue;
		}
		const int at[2] = {x_dot(a, m->x), y_dot(a, m->y)}, look = look_of(s, m);
		if (down && s->shape == SW_PLOT_STEPS) {
			const int corner[2] = {at[0], last[1]};
			draw_segment(a, s->role, last, corner, look);
			last[0] = at[0];
		}
		draw_segment(a, s->role, down ? last : at, at, look);
		/* Lines of several sweeps have their number on them. */
		if (s->role >= SW_PLOT_FIRST && i % signs == signs / 2)
			put_sign(a, at[0], at[1], sign_of(a->sheet, s->role), look);
		memcpy(last, at, sizeof last);
		down = true;
	}
}

/* Which dots of a bar are drawn: each role has its pattern, so that colour is not all. */
static bool is_filled(int role, int x, int y)
{
	switch (role) {
	case SW_PLOT_PRUNED:
		return (x + y) % 2 == 0;
	case SW_PLOT_FAILED:
		return y % 2 == 0;
	case SW_PLOT_RUNNING:
		return x % 2 == 0;
	case SW_PLOT_REFERENCE:
		return x % 2 == 0 && y % 2 == 0;
	default:
		return true;
	}
}

/* The first and the last of n dots between two places. One at least; where there are more than
 * three the last is left out, as a gap before what follows. */
static void span_of(double a, double b, int n, bool gap, int out[2])
{
	out[0] = (int)lround(fmax(fmin(a, b), -1) * n);
	out[1] = (int)lround(fmin(fmax(a, b), 2) * n) - 1;
	if (gap && out[1] - out[0] >= 3)
		out[1]--;
	if (out[1] < out[0])
		out[1] = out[0];
}

static void draw_bar(const struct sw_area *a, const struct sw_plot_series *s,
		     const struct sw_plot_mark *m)
{
	const struct sw_plot_axis *ax = &a->panel->x, *ay = &a->panel->y;
	int x[2], y[2];

	span_of(sw_plot_place(ax, m->x), sw_plot_place(ax, m->x2), 2 * a->width, false, x);
	span_of(1 - sw_plot_place(ay, m->y), 1 - sw_plot_place(ay, m->y2), 4 * a->height, true, y);
	for (int row = y[0]; row <= y[1]; row++)
		for (int column = x[0]; column <= x[1]; column++) {
			if (!a->sheet->utf8)
				put_sign(a, column, row, sign_of(a->sheet, s->role), look_of(s, m));
			else if (is_filled(s->role, column, row))
				put_dot(a, column, row, look_of(s, m));
		}
}

/* By the middle of each character. */
static void draw_cell(const struct sw_area *a, const struct sw_plot_series *s,
		      const struct sw_plot_mark *m)
{
	static const uint32_t shades[][5] = {{' ', '.', ':', '*', '#'},
					     {' ', 0x2591, 0x2592, 0x2593, 0x2588}};
	const double x1 = sw_plot_place(&a->panel->x, m->x) * a->width,
		     x2 = sw_plot_place(&a->panel->x, m->x2) * a->width,
		     y1 = (1 - sw_plot_place(&a->panel->y, m->y2)) * a->height,
		     y2 = (1 - sw_plot_place(&a->panel->y, m->y)) * a->height;
	const int shade = a->sheet->color || isnan(m->v) ? 4 : (int)(fmin(fmax(m->v, 0), 1) * 4.99);

	if (isnan(x1 + x2 + y1 + y2))
		return;
	for (int y = (int)fmax(ceil(y1 - .5), 0); y + .5 < y2 && y < a->height; y++)
		for (int x = (int)fmax(ceil(x1 - .5), 0); x + .5 < x2 && x < a->width; x++)
			put_sign(a, 2 * x, 4 * y, shades[a->sheet->utf8][shade], look_of(s, m));
}

static void draw_rule(const struct sw_area *a, const struct sw_plot_series *s,
		      const struct sw_plot_mark *m)
{
	const bool upright = isnan(m->y);
	const int at = upright ? x_dot(a, m->x) : y_dot(a, m->y),
		  n = upright ? 4 * a->height : 2 * a->width;

	for (int i = 0; i < n; i += 2)
		put_dot(a, upright ? at : i, upright ? i : at, look_of(s, m));
}

static void draw_series(const struct sw_area *a, const struct sw_plot_series *s)
{
	if (s->shape == SW_PLOT_DOTS)
		draw_dots(a, s);
	if (is_line(s))
		draw_line(a, s);
	for (size_t i = s->mark; i < s->mark + s->n; i++) {
		const struct sw_plot_mark *m = &a->p->marks[i];
		if (s->shape == SW_PLOT_BARS && has_place(a, m))
			draw_bar(a, s, m);
		else if (s->shape == SW_PLOT_CELLS)
			draw_cell(a, s, m);
		else if (s->shape == SW_PLOT_RULES)
			draw_rule(a, s, m);
	}
}

void sw_braille_sample(const struct sw_area *a, const struct sw_plot_series *s, int row, int column)
{
	static const uint8_t lines[] = {
		[SW_PLOT_PLAIN] = 0x12,  [SW_PLOT_BEST] = 0x36,    [SW_PLOT_PRUNED] = 0x02,
		[SW_PLOT_FAILED] = 0x12, [SW_PLOT_RUNNING] = 0x12, [SW_PLOT_REFERENCE] = 0x10};
	const int look = look_of(s, NULL);
	struct sw_glyph *g = sw_sheet_at(a->sheet, row, column);

	g->look = (uint8_t)look;
	if (s->shape == SW_PLOT_BARS && a->sheet->utf8)
		for (int i = 0; i < 8; i++) {
			if (is_filled(s->role, i % 2, i / 2))
				sw_sheet_dot(a->sheet, 2 * column + i % 2, 4 * row + i / 2, look);
		}
	else if (s->shape == SW_PLOT_RULES)
		g->dots = 0x47;
	else if (is_line(s) && s->role < SW_PLOT_FIRST)
		g->dots = lines[s->role];
	else if (s->shape == SW_PLOT_DOTS && !is_sign(a, s->role))
		g->dots = s->role == SW_PLOT_PRUNED ? 0x02 : 0x06;
	else
		g->rune = sign_of(a->sheet, s->role);
}

/* --- text --- */

/* Beside the dot; left of the end of the area, and not over other text: then it is left out. */
static void put_label(const struct sw_area *a, int x, int y, const char *text, int look)
{
	const int room = a->width / 2, width = sw_term_width(text, a->sheet->utf8);
	const int shown = width < room ? width : room;
	int column = x / 2 + 1;

	if (y < 0 || y >= 4 * a->height || x < 0 || x >= 2 * a->width)
		return;
	if (column + shown > a->width)
		column = a->width - shown;
	for (int i = -1; i <= shown; i++) {
		const struct sw_glyph *g = glyph_at(a, 2 * (column + i), y);
		if (g != NULL && g->text)
			return;
	}
	(void)sw_sheet_text(a->sheet, a->row + y / 4, a->column + column, shown, look, text);
	for (int i = 0; i < shown; i++)
		glyph_at(a, 2 * (column + i), y)->text = true;
}

static void draw_labels(const struct sw_area *a, const struct sw_plot_series *s)
{
	for (size_t i = s->mark; i < s->mark + s->n; i++) {
		const struct sw_plot_mark *m = &a->p->marks[i];
		if (m->text == NULL || m->text[0] == '\0')
			continue;
		if (s->shape == SW_PLOT_RULES && isnan(m->y))
			put_label(a, x_dot(a, m->x), 0, m->text, look_of(s, NULL));
		else if (s->shape == SW_PLOT_RULES)
			put_label(a, 2 * a->width - 1, y_dot(a, m->y) - 4, m->text,
				  look_of(s, NULL));
		else if (s->shape == SW_PLOT_TEXTS && has_place(a, m))
			put_label(a, x_dot(a, m->x), y_dot(a, m->y), m->text, SW_LOOK_NONE);
		else if (s->shape == SW_PLOT_BARS && has_place(a, m) &&
			 (x_dot(a, m->x2) - x_dot(a, m->x)) / 2 >
				 sw_term_width(m->text, a->sheet->utf8) + 1)
			put_label(a, x_dot(a, m->x), y_dot(a, (m->y + m->y2) / 2), m->text,
				  SW_LOOK_NONE);
	}
}

void sw_braille_marks(const struct sw_area *a)
{
	const size_t end = a->panel->series + a->panel->n;

	for (size_t i = a->panel->series; i < end; i++)
		draw_series(a, &a->p->series[i]);
	for (size_t i = a->panel->series; i < end; i++)
		draw_labels(a, &a->p->series[i]);
}
