#include "plot/braille.h"
#include "base/term.h"
#include "plot/braille_marks.h"
#include "plot/ticks.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#define GAP 2 /* columns between panels */

struct page {
	const struct sw_plot *p;
	struct sw_buf *out;
	int columns;
	int high; /* lines of a row of panels; 0: by the width */
	bool color, utf8;
};

/* --- a panel --- */

static double room_across(const char *text)
{
	return sw_term_width(text, true) + 2;
}

/* Names are cut, down to six columns, before each second one is left out. */
static double room_of_name(const char *text)
{
	return fmin(room_across(text), 8);
}

static double room_down(const char *text)
{
	(void)text;
	return 3;
}

static double room_of_line(const char *text)
{
	(void)text;
	return 1;
}

static int height_of(const struct page *pg, const struct sw_plot_panel *panel, int width)
{
	const int least = pg->p->n_panels > 1 ? 8 : 10, most = pg->p->n_panels > 1 ? 14 : 28;
	const int usual = (int)fmin(fmax(width / 5, least), most);
	const int n = panel->y.n_names < 64 ? (int)panel->y.n_names : 64;

	return n == 0 ? usual : 2 * n <= usual ? 2 * n : n;
}

/* Rows of a panel beside those inside its axes: title, label of y; axis, ticks, label of x. */
static int head_of(const struct sw_plot_panel *panel)
{
	return (panel->title[0] != '\0') + (panel->y.label[0] != '\0');
}

static void draw_x_axis(const struct sw_area *a, const struct sw_plot_ticks *t)
{
	const int row = a->row + a->height;
	const int end = a->column + a->width;
	char label[400];
	int free = a->column - 1, apart = a->width;

	for (int i = -1; i < a->width; i++)
		sw_sheet_put(a->sheet, row, a->column + i,
			     i < 0 ? (a->sheet->utf8 ? 0x2514 : '+')
				   : (a->sheet->utf8 ? 0x2500 : '-'),
			     SW_LOOK_FAINT);
	if (t->n > 1)
		apart = (int)((sw_plot_place(&a->panel->x, t->at[1]) -
			       sw_plot_place(&a->panel->x, t->at[0])) *
			      a->width) -
			1;
	for (size_t i = 0; i < t->n; i++) {
		const double place = sw_plot_place(&a->panel->x, t->at[i]);
		const int at = a->column + (int)lround(place * (2 * a->width - 1)) / 2;
		const int width = (int)fmin(sw_term_width(t->text[i], a->sheet->utf8), apart);
		int from = at - width / 2;
		sw_sheet_put(a->sheet, row, at, a->sheet->utf8 ? 0x252c : '+', SW_LOOK_FAINT);
		if (from + width > end)
			from = end - width;
		if (from < free)
			from = free;
		free = 1 + sw_sheet_text(a->sheet, row + 1, from, width, SW_LOOK_FAINT, t->text[i]);
	}
	sw_plot_label(&a->panel->x, label, sizeof label);
	const int width = (int)fmin(sw_term_width(label, a->sheet->utf8), a->width);
	(void)sw_sheet_text(a->sheet, row + 2, a->column + (a->width - width) / 2, width,
			    SW_LOOK_NONE, label);
}

static void draw_y_axis(const struct sw_area *a, const struct sw_plot_ticks *t, int left)
{
	char label[400];

	for (int i = 0; i < a->height; i++)
		sw_sheet_put(a->sheet, a->row + i, a->column - 1, a->sheet->utf8 ? 0x2502 : '|',
			     SW_LOOK_FAINT);
	for (size_t i = 0; i < t->n; i++) {
		const double place = 1 - sw_plot_place(&a->panel->y, t->at[i]);
		const int row = a->row + (int)lround(place * (4 * a->height - 1)) / 4;
		const int room = a->column - 2 - left,
			  width = (int)fmin(sw_term_width(t->text[i], a->sheet->utf8), room);
		(void)sw_sheet_text(a->sheet, row, a->column - 2 - width, width, SW_LOOK_FAINT,
				    t->text[i]);
		sw_sheet_put(a->sheet, row, a->column - 1, a->sheet->utf8 ? 0x2524 : '+',
			     SW_LOOK_FAINT);
	}
	sw_plot_label(&a->panel->y, label, sizeof label);
	if (label[0] != '\0')
		(void)sw_sheet_text(a->sheet, a->row - 1, left, a->column + a->width - left,
				    SW_LOOK_NONE, label);
}

/* In `width` columns from `left` on; row: the first inside the axes. */
static void draw_panel(struct sw_area *a, int left, int width, int row, int height)
{
	struct sw_plot_ticks x, y;
	int widest = 0;

	sw_plot_ticks(a->p, a->panel, SW_PLOT_Y, height,
		      a->panel->y.scale == SW_PLOT_CATEGORY ? room_of_line : room_down, &y);
	for (size_t i = 0; i < y.n; i++)
		widest = (int)fmax(widest, sw_term_width(y.text[i], a->sheet->utf8));
	a->row = row;
	a->height = height;
	a->column = left + (int)fmin(widest, width / 4) + 2;
	a->width = left + width - a->column;
	sw_plot_ticks(a->p, a->panel, SW_PLOT_X, a->width,
		      a->panel->x.scale == SW_PLOT_CATEGORY ? room_of_name : room_across, &x);
	sw_braille_marks(a);
	draw_x_axis(a, &x);
	draw_y_axis(a, &y, left);
	if (a->panel->title[0] != '\0')
		(void)sw_sheet_text(a->sheet, row - head_of(a->panel), left, width, SW_LOOK_NONE,
				    a->panel->title);
}

/* --- the page --- */

static void add_line(const struct page *pg, const char *text)
{
	sw_term_add(pg->out, text, pg->utf8, pg->columns);
	(void)sw_buf_adds(pg->out, "\n");
}

static bool is_dense(const struct sw_plot *p)
{
	return p->n_marks > 60 * p->n_panels;
}

static void draw_legend(const struct page *pg)
{
	struct sw_sheet sheet = {.color = pg->color, .utf8 = pg->utf8};
	const struct sw_area a = {.sheet = &sheet, .p = pg->p, .dense = is_dense(pg->p)};
	size_t shown[SW_PLOT_LEGEND], left;
	const size_t n = sw_plot_legend(pg->p, shown, &left);
	int column = 0, row = 0;

	if (sw_sheet_init(&sheet, pg->columns, (int)n + 1) != SW_OK) {
		pg->out->failed = SW_NOMEM;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const struct sw_plot_series *s = &pg->p->series[shown[i]];
		const int width = (int)fmin(sw_term_width(s->name, pg->utf8), pg->columns / 2);
		if (column > 0 && column + 2 + width > pg->columns) {
			column = 0;
			row++;
		}
		sw_braille_sample(&a, s, row, column);
		column = 3 + sw_sheet_text(&sheet, row, column + 2, width, SW_LOOK_NONE, s->name);
	}
	if (left > 0)
		(void)sw_sheet_text(&sheet, row, column, pg->columns - column, SW_LOOK_FAINT,
				    "and more");
	sheet.height = n > 0 ? row + 1 : 0;
	sw_sheet_write(&sheet, pg->out);
	sw_sheet_fini(&sheet);
}

/* n panels side by side. */
static void draw_row(const struct page *pg, const struct sw_plot_panel *panels, int n, int width)
{
	struct sw_sheet sheet = {.color = pg->color, .utf8 = pg->utf8};
	int head = 0, height = 0, foot = 2;

	for (int i = 0; i < n; i++) {
		head = (int)fmax(head, head_of(&panels[i]));
		height = (int)fmax(height, height_of(pg, &panels[i], width));
		if (panels[i].x.label[0] != '\0')
			foot = 3;
	}
	if (pg->high > 0)
		height = (int)fmax(pg->high - head - foot, 2);
	if (sw_sheet_init(&sheet, pg->columns, head + height + foot) != SW_OK) {
		pg->out->failed = SW_NOMEM;
		return;
	}
	for (int i = 0; i < n; i++) {
		struct sw_area a = {
			.sheet = &sheet, .p = pg->p, .panel = &panels[i], .dense = is_dense(pg->p)};
		draw_panel(&a, i * (width + GAP), width, head, height);
	}
	sw_sheet_write(&sheet, pg->out);
	sw_sheet_fini(&sheet);
}

static double columns_of(uint32_t rune)
{
	return rune < 0x80 ? 1 : fmax(wcwidth((wchar_t)rune), 1);
}

static int lines_of_notes(const struct page *pg)
{
	int lines = 0;

	for (size_t i = 0; i < pg->p->n_notes; i++)
		for (const char *s = pg->p->notes[i]; *s != '\0'; s += strspn(s, " ")) {
			s += sw_plot_line(s, pg->columns, columns_of);
			lines++;
		}
	return lines;
}

static void add_notes(const struct page *pg)
{
	for (size_t i = 0; i < pg->p->n_notes; i++)
		for (const char *s = pg->p->notes[i]; *s != '\0';) {
			char line[400];
			const size_t n = sw_plot_line(s, pg->columns, columns_of);
			(void)snprintf(line, sizeof line, "%.*s", (int)n, s);
			add_line(pg, line);
			for (s += n; *s == ' '; s++)
				;
		}
}

void sw_plot_braille(const struct sw_plot *p, int columns, int lines, bool color, bool utf8,
		     struct sw_buf *out)
{
	const int width = (int)fmin(fmax(columns, 40), 400);
	const size_t from = out->len;
	struct page pg = {p, out, width, 0, color, utf8};
	int beside = (width + GAP) / (38 + GAP);

	if (p->failed != SW_OK) {
		out->failed = p->failed;
		return;
	}
	if (beside > (int)p->n_panels)
		beside = (int)p->n_panels;
	if (p->title[0] != '\0')
		add_line(&pg, p->title);
	draw_legend(&pg);
	if (lines > 0 && p->n_panels > 0) {
		const int rows = ((int)p->n_panels + beside - 1) / beside;

		for (size_t i = from; i < out->len; i++)
			lines -= out->data[i] == '\n';
		pg.high = (int)fmax((lines - lines_of_notes(&pg)) / rows, 1);
	}
	for (size_t i = 0; i < p->n_panels && out->failed == SW_OK; i += (size_t)beside) {
		const int n = (int)fmin((double)(p->n_panels - i), beside);
		draw_row(&pg, &p->panels[i], n, (width - (beside - 1) * GAP) / beside);
	}
	add_notes(&pg);
}
