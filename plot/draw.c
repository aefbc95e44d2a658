#include "plot/draw.h"
#include "base/term.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool has_place(const struct sw_area *a, const struct sw_plot_mark *m)
{
	return !isnan(sw_area_x(a, m->x)) && !isnan(sw_area_y(a, m->y));
}

/* False where one of them is NaN, too. */
static bool is_inside(const struct sw_area *a, double x, double y)
{
	return x >= 0 && x <= a->width && y >= 0 && y <= a->height;
}

/* --- marks --- */

/* The part of a bar inside the area. False: all of it lies outside. */
static bool clip_box(const struct sw_area *a, const struct sw_plot_mark *m, double box[4])
{
	struct sw_area edges = *a; /* of bars, which have a width of their own */

	edges.dot_width = edges.dot_height = 0;
	const double x[2] = {sw_area_x(&edges, m->x), sw_area_x(&edges, m->x2)},
		     y[2] = {sw_area_y(&edges, m->y), sw_area_y(&edges, m->y2)};
	/* One NaN among them makes the sum one: such a bar has no place on a log axis. */
	if (isnan(x[0] + x[1] + y[0] + y[1]))
		return false;
	box[0] = fmax(fmin(x[0], x[1]), 0);
	box[1] = fmax(fmin(y[0], y[1]), 0);
	box[2] = fmin(fmax(x[0], x[1]), a->width) - box[0];
	box[3] = fmin(fmax(y[0], y[1]), a->height) - box[1];
	return box[2] >= 0 && box[3] >= 0;
}

static void draw_lines(struct sw_pen *pen, const struct sw_area *a, const struct sw_plot_series *s)
{
	const struct sw_plot_mark *m = a->p->marks + s->mark;

	/* A mark without a place breaks the line, and is the one that n + 1 steps over. */
	for (size_t i = 0, n; i < s->n; i += n + 1) {
		for (n = 0; i + n < s->n && has_place(a, &m[i + n]); n++)
			;
		if (n > 0)
			pen->path(pen, a, s, m + i, n);
	}
}

static void draw_series(struct sw_pen *pen, const struct sw_area *a, const struct sw_plot_series *s)
{
	double box[4];

	if (s->shape == SW_PLOT_LINE || s->shape == SW_PLOT_STEPS)
		draw_lines(pen, a, s);
	for (size_t i = s->mark; i < s->mark + s->n; i++) {
		const struct sw_plot_mark *m = &a->p->marks[i];
		if (s->shape == SW_PLOT_DOTS && has_place(a, m))
			pen->dot(pen, a, s, m);
		else if (s->shape == SW_PLOT_RULES && is_inside(a, sw_area_x(a, m->x), 0))
			pen->rule(pen, a, s, m);
		else if ((s->shape == SW_PLOT_BARS || s->shape == SW_PLOT_CELLS) &&
			 clip_box(a, m, box))
			pen->box(pen, a, s, m, box);
	}
}

/* --- text beside marks --- */

#define LABELS_MOST 200

struct labels {
	size_t n;
	double x[LABELS_MOST], y[LABELS_MOST], width[LABELS_MOST];
};

static bool is_free(const struct labels *l, double x, double y, double width, double line)
{
	for (size_t i = 0; i < l->n; i++)
		if (fabs(y - l->y[i]) < .9 * line && x < l->x[i] + l->width[i] &&
		    l->x[i] < x + width)
			return false;
	return l->n < LABELS_MOST;
}

/* Right of x, or where that ends the area as far left as it must; a line or two further down if
 * another text stands there; else it is left out. */
static void put_label(struct sw_pen *pen, const struct sw_area *a, struct labels *l,
		      enum sw_pen_text kind, double x, double y, const char *text)
{
	const double beside = pen->line / 4 < 1 ? 1 : pen->line / 4;
	/* Names are as long as users like; half of the area is left to the marks. */
	const double width = fmin(sw_plot_width(text, pen->rune_width), a->width / 2);

	x = fmax(fmin(x + beside, a->width - width), 0);
	for (int tries = 0; tries < 3; tries++, y += pen->line) {
		if (y > a->height - pen->line / 2 || !is_free(l, x, y, width + beside, pen->line))
			continue;
		l->x[l->n] = x;
		l->y[l->n] = y;
		l->width[l->n++] = width + beside;
		pen->text(pen, kind, SW_LEFT, a->x + x, a->y + y, width, text);
		return;
	}
}

static void draw_label(struct sw_pen *pen, const struct sw_area *a, struct labels *l,
		       enum sw_plot_shape shape, const struct sw_plot_mark *m)
{
	enum sw_pen_text kind = SW_TEXT_ON_MARKS;
	const double half = pen->line / 2;
	double x = sw_area_x(a, m->x), y = sw_area_y(a, m->y) - half, box[4];

	if (shape == SW_PLOT_RULES) {
		y = 0;
	} else if (shape == SW_PLOT_BARS && clip_box(a, m, box)) {
		const bool room = box[2] >= sw_plot_width(m->text, pen->rune_width) + pen->line;
		/* Else beside it, but among others in time it is told in other ways, or not. */
		if ((!room && a->panel->x.scale == SW_PLOT_TIME) || box[3] < .7 * pen->line)
			return;
		kind = room ? SW_TEXT_IN_BAR : SW_TEXT_ON_MARKS;
		x = room ? box[0] : box[0] + box[2];
		y = box[1] + (box[3] - pen->line) / 2;
	} else if (shape != SW_PLOT_TEXTS) {
		return;
	} else if (!isnan(y)) {
		/* Of what lies outside the scale it stands at the border. */
		y = fmin(fmax(y, -half), a->height - half);
	}
	if (is_inside(a, x, y < 0 ? 0 : y))
		put_label(pen, a, l, kind, x, y, m->text);
}

static void draw_marks(struct sw_pen *pen, const struct sw_area *a)
{
	const size_t end = a->panel->series + a->panel->n;
	struct labels labels = {.n = 0};

	if (pen->area != NULL)
		pen->area(pen, a);
	for (size_t i = a->panel->series; i < end; i++) {
		const struct sw_plot_series *s = &a->p->series[i];
		if (pen->series != NULL)
			pen->series(pen, a, s);
		draw_series(pen, a, s);
		if (pen->series != NULL)
			pen->series(pen, a, NULL);
	}
	if (pen->area != NULL)
		pen->area(pen, NULL);
	/* Texts come last, outside the clipped area: a mark drawn later would cover them, and its
	 * edge would cut them. */
	for (size_t i = a->panel->series; i < end; i++) {
		const struct sw_plot_series *s = &a->p->series[i];
		for (size_t k = s->mark; k < s->mark + s->n; k++)
			if (a->p->marks[k].text != NULL && a->p->marks[k].text[0] != '\0')
				draw_label(pen, a, &labels, s->shape, &a->p->marks[k]);
	}
}

/* --- a panel --- */

/* Names of y have a line or two each. */
static double height_of(const struct sw_pen *pen, const struct sw_plot_panel *panel, double width)
{
	const double usual = fmin(fmax(floor(width * pen->flat), pen->least_height), pen->height);
	const double n = fmin((double)panel->y.n_names, 64);

	return n <= 0 ? usual : (2 * n * pen->line <= usual ? 2 * n : n) * pen->line;
}

static double head_of(const struct sw_pen *pen, const struct sw_plot_panel *panel)
{
	return pen->space + (!pen->upright && panel->y.label[0] != '\0' ? pen->line : 0);
}

static void draw_texts(struct sw_pen *pen, const struct sw_area *a, double left,
		       const struct sw_plot_ticks *x, const struct sw_plot_ticks *y)
{
	const double below = a->y + a->height + pen->below_axis;
	const double apart = x->n > 1 ? sw_area_x(a, x->at[1]) - sw_area_x(a, x->at[0]) : a->width;
	char label[SW_PLOT_LABEL];
	double end = 0; /* of the text before */

	for (size_t i = 0; i < y->n; i++)
		pen->text(pen, SW_TEXT_FAINT, SW_RIGHT, a->x - pen->below_axis - 1,
			  a->y + sw_area_y(a, y->at[i]) - pen->line / 2, a->x - left - pen->left,
			  y->text[i]);
	for (size_t i = 0; i < x->n; i++) {
		const double width =
			fmin(sw_plot_width(x->text[i], pen->rune_width), apart - pen->line / 4);
		/* At the end of the page it moves inwards, or has no room. */
		const double at = fmin(a->x + sw_area_x(a, x->at[i]),
				       a->x + a->width + pen->margin - width / 2);
		if (at - width / 2 >= end)
			pen->text(pen, SW_TEXT_FAINT, SW_MIDDLE, at, below, width, x->text[i]);
		end = at + width / 2 + pen->line / 4;
	}
	sw_plot_label(&a->panel->x, label);
	pen->text(pen, SW_TEXT_LABEL, SW_MIDDLE, a->x + a->width / 2, below + pen->line, a->width,
		  label);
	sw_plot_label(&a->panel->y, label);
	if (pen->upright)
		pen->text(pen, SW_TEXT_UPRIGHT, SW_MIDDLE, left + pen->line, a->y + a->height / 2,
			  a->height, label);
	else if (label[0] != '\0')
		pen->text(pen, SW_TEXT_LABEL, SW_LEFT, left, a->y - pen->line,
			  a->x + a->width - left, label);
}

/* In `width` from `left` on; its area begins at y. */
static void draw_panel(struct sw_pen *pen, struct sw_area *a, double left, double width)
{
	const bool named = a->panel->x.scale == SW_PLOT_CATEGORY;
	/* Names are cut before every other one is left out. */
	const struct sw_plot_room across = {pen->rune_width, named ? 3 * pen->sample : 1e9,
					    .75 * pen->sample};
	struct sw_plot_room down = {NULL, 0, pen->tick_apart};
	struct sw_plot_ticks x, y;
	double widest = 0;

	if (a->panel->y.scale == SW_PLOT_CATEGORY)
		down.gap = pen->line;
	/* y first: the width of its numbers says where the area begins, and that how many ticks fit
	 * on x. */
	sw_plot_ticks(a->p, a->panel, SW_PLOT_Y, a->height, &down, &y);
	for (size_t i = 0; i < y.n; i++)
		widest = fmax(widest, sw_plot_width(y.text[i], pen->rune_width));
	a->x = left + pen->left + fmin(widest, floor(width / 4));
	a->width = left + width - a->x;
	for (size_t i = a->panel->series; i < a->panel->series + a->panel->n; i++) {
		a->n += a->p->series[i].n;
		a->lines++;
		for (size_t k = 0; k < a->p->series[i].n; k++)
			a->lines += isnan(a->p->marks[a->p->series[i].mark + k].y) ? 1 : 0;
	}
	sw_plot_ticks(a->p, a->panel, SW_PLOT_X, a->width, &across, &x);
	pen->draw_axes(pen, a, &x, &y);
	draw_texts(pen, a, left, &x, &y);
	draw_marks(pen, a);
}

/* n panels side by side. Returns their height. */
static double draw_row(struct sw_pen *pen, const struct sw_plot *p, size_t first, size_t n,
		       double width, double top)
{
	double head = 0, height = 0, foot = 0;

	for (size_t i = first; i < first + n; i++) {
		const struct sw_plot_panel *panel = &p->panels[i];
		head = fmax(head, head_of(pen, panel));
		/* One height for the row, so that its axes stand on one line. */
		height = fmax(height, height_of(pen, panel, width));
		foot = fmax(foot, panel->x.label[0] != '\0' ? 2 : 1);
	}
	height = fmax(height + pen->more, 2 * pen->line);
	for (size_t i = 0; i < n; i++) {
		struct sw_area a = {.p = p,
				    .panel = &p->panels[first + i],
				    .y = top + head,
				    .height = height,
				    .dot_width = pen->dot_width,
				    .dot_height = pen->dot_height};
		draw_panel(pen, &a, pen->margin + (double)i * (width + pen->gap), width);
	}
	return head + height + pen->below_axis + foot * pen->line + pen->space;
}

/* --- the page --- */

#define LEGEND_MOST 24 /* names */

/* The series that stand in the legend: the first of each name and role. Returns how many. */
static size_t find_legend(const struct sw_plot *p, size_t out[LEGEND_MOST])
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_series && n < LEGEND_MOST; i++) {
		const struct sw_plot_series *s = &p->series[i];
		size_t k = 0;
		while (k < n && (p->series[out[k]].role != s->role ||
				 strcmp(p->series[out[k]].name, s->name) != 0))
			k++;
		if (s->name[0] != '\0' && k == n)
			out[n++] = i;
	}
	return n;
}

/* Is there a mark that is coloured by its value? */
static bool has_v(const struct sw_plot *p)
{
	for (size_t i = 0; i < p->n_marks; i++)
		if (!isnan(p->marks[i].v))
			return true;
	return false;
}

/* Rules and texts are what marks of trials are read by: rungs where nobody came. */
static bool is_empty(const struct sw_plot *p)
{
	for (size_t i = 0; i < p->n_series; i++)
		if (p->series[i].n > 0 && p->series[i].shape != SW_PLOT_RULES &&
		    p->series[i].shape != SW_PLOT_TEXTS)
			return false;
	return true;
}

/* Above the panels, so that it hides no mark. */
static double draw_legend(struct sw_pen *pen, const struct sw_plot *p, double y)
{
	const double end = pen->width - pen->margin;
	size_t shown[LEGEND_MOST];
	const size_t n = find_legend(p, shown);
	double x = pen->margin;

	for (size_t i = 0; i < n; i++) {
		const struct sw_plot_series *s = &p->series[shown[i]];
		const double width =
			fmin(sw_plot_width(s->name, pen->rune_width), (end - pen->margin) / 2);
		if (x > pen->margin && x + pen->sample + width > end) {
			x = pen->margin;
			y += pen->line;
		}
		pen->draw_sample(pen, s, x, y);
		pen->text(pen, SW_TEXT_LABEL, SW_LEFT, x + pen->sample, y, width, s->name);
		x += pen->sample + width + 1.5 * pen->gap;
	}
	return n > 0 ? y + pen->line + pen->space : y;
}

/* The bytes of text that fill a line of this width, up to a space where there is one; 0: text is
 * empty. */
static size_t line_of(const char *text, double width, double (*rune_width)(uint32_t rune))
{
	const char *s = text, *end = NULL;
	double used = 0;
	uint32_t r;

	for (const char *at = s; (r = sw_term_rune(&s)) != 0; at = s) {
		used += rune_width(r);
		/* At least one character a line, or a narrow page would never come to the end of
		 * the note. */
		if (used > width && at > text)
			return (size_t)((end != NULL ? end : at) - text);
		if (r == ' ')
			end = at;
	}
	return (size_t)(s - text);
}

static double draw_notes(struct sw_pen *pen, const struct sw_plot *p, double y)
{
	const double width = pen->width - 2 * pen->margin;

	for (size_t i = 0; i < p->n_notes; i++)
		for (const char *s = p->notes[i]; *s != '\0'; y += pen->line) {
			char line[400];
			const size_t n = line_of(s, width, pen->rune_width);
			(void)snprintf(line, sizeof line, "%.*s", (int)n, s);
			pen->text(pen, SW_TEXT_FAINT, SW_LEFT, pen->margin, y, width, line);
			for (s += n; *s == ' '; s++)
				;
		}
	return y;
}

double sw_plot_draw(const struct sw_plot *p, struct sw_pen *pen)
{
	const double width = pen->width - 2 * pen->margin;
	const size_t most = (size_t)((width + pen->gap) / (pen->panel_width + pen->gap));
	/* As many beside each other as have room, and as many in each row. */
	const size_t rows = (p->n_panels + most - 1) / most;
	const size_t columns = rows > 0 ? (p->n_panels + rows - 1) / rows : 1;
	double y = pen->margin;

	pen->rows = rows;
	if (p->title[0] != '\0') {
		pen->text(pen, SW_TEXT_TITLE, SW_LEFT, pen->margin, y, width, p->title);
		y += pen->line + pen->space;
	}
	/* Of axes without a mark all numbers would be made up: a note says what is missing. */
	if (p->n_notes > 0 && is_empty(p))
		return draw_notes(pen, p, y) + pen->margin;
	y = draw_legend(pen, p, y);
	if (pen->draw_ramp != NULL && has_v(p))
		y += pen->draw_ramp(pen, y);
	for (size_t i = 0; i < p->n_panels; i += columns)
		y += draw_row(pen, p, i, columns < p->n_panels - i ? columns : p->n_panels - i,
			      floor((width + pen->gap) / (double)columns - pen->gap), y);
	return draw_notes(pen, p, y) + pen->margin;
}
