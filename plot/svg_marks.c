#include "plot/svg_marks.h"
#include "plot/svg_text.h"
#include "plot/ticks.h"
#include <math.h>

struct area {
	struct sw_buf *b;
	const struct sw_plot *p;
	const struct sw_plot_panel *panel;
	double width, height;
	size_t n, lines; /* marks of the panel, and how many lines they may make */
};

static double x_of(const struct area *a, double v)
{
	return sw_plot_place(&a->panel->x, v) * a->width;
}

static double y_of(const struct area *a, double v)
{
	return (1 - sw_plot_place(&a->panel->y, v)) * a->height;
}

static bool has_place(const struct area *a, const struct sw_plot_mark *m)
{
	return !isnan(x_of(a, m->x)) && !isnan(y_of(a, m->y));
}

static bool is_inside(const struct area *a, double x, double y)
{
	return x >= 0 && x <= a->width && y >= 0 && y <= a->height;
}

/* The class of a role: its colours. */
static void add_role(struct sw_buf *b, int role)
{
	if (role < SW_PLOT_FIRST)
		(void)sw_buf_addf(b, "r%d", role);
	else
		(void)sw_buf_addf(b, "f%d", (role - SW_PLOT_FIRST) % SW_PLOT_DISTINCT);
}

/* Ends an element with what its mark is, and its colour if that is by value. */
static void end_mark(const struct area *a, const struct sw_plot_mark *m, const char *name)
{
	char x[SW_PLOT_VALUE], y[SW_PLOT_VALUE];

	if (!isnan(m->v))
		(void)sw_buf_addf(a->b, " class=\"v%d\"", (int)(fmin(fmax(m->v, 0), 1) * 9 + .5));
	if (m->trial == 0 && m->text == NULL) {
		(void)sw_buf_addf(a->b, "/>\n");
		return;
	}
	(void)sw_buf_adds(a->b, "><title>");
	if (m->trial != 0)
		(void)sw_buf_addf(a->b, "trial %lld: ", (long long)m->trial);
	sw_svg_cut(a->b, sw_plot_value(&a->panel->x, m->x, x), 300);
	(void)sw_buf_adds(a->b, ", ");
	sw_svg_cut(a->b, sw_plot_value(&a->panel->y, m->y, y), 300);
	if (m->text != NULL) {
		(void)sw_buf_adds(a->b, "; ");
		sw_svg_cut(a->b, m->text, 600);
	}
	(void)sw_buf_addf(a->b, "</title></%s>\n", name);
}

/* --- shapes --- */

/* The beginning of a dot's element; its name. What failed is a cross: colour is not all. */
static const char *begin_dot(struct sw_buf *b, int role, double x, double y, double r)
{
	if (role == SW_PLOT_FAILED) {
		(void)sw_buf_addf(b, "<path d=\"M%.1f %.1fl%.1f %.1fm0 %.1fl%.1f %.1f\"", x - r,
				  y - r, 2 * r, 2 * r, -2 * r, -2 * r, 2 * r);
		return "path";
	}
	(void)sw_buf_addf(b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"", x, y,
			  role == SW_PLOT_BEST ? r + 1.5 : r);
	return "circle";
}

static void draw_dots(const struct area *a, const struct sw_plot_series *s)
{
	const struct sw_plot_mark *marks = a->p->marks + s->mark;
	const double r = a->n > 1000 ? 1.8 : a->n > 200 ? 2.4 : 3.2;

	for (size_t i = 0; i < s->n; i++) {
		const struct sw_plot_mark *m = &marks[i];
		const double x = x_of(a, m->x), y = y_of(a, m->y);
		if (!is_inside(a, x, y))
			continue;
		if (!isnan(m->x2)) {
			const double from = x_of(a, m->x - m->x2), to = x_of(a, m->x + m->x2);
			(void)sw_buf_addf(a->b, "<path class=\"e\" d=\"M%.1f %.1fH%.1f\"/>\n",
					  from > 0 ? from : 0, y, fmin(to, a->width));
		}
		end_mark(a, m, begin_dot(a->b, s->role, x, y, r));
	}
}

/* The path through marks[from..n) up to the first that has no place. Returns where that is. */
static size_t draw_path(const struct area *a, const struct sw_plot_series *s, size_t from)
{
	const struct sw_plot_mark *marks = a->p->marks + s->mark;
	double last = NAN;
	size_t i;

	(void)sw_buf_adds(a->b, "<path d=\"");
	for (i = from; i < s->n; i++) {
		/* What lies far out may be anywhere: beyond some thousand units it is the same. */
		const double x = fmin(fmax(x_of(a, marks[i].x), -1e4), 1e4),
			     y = fmin(fmax(y_of(a, marks[i].y), -1e4), 1e4);
		if (!has_place(a, &marks[i]))
			break;
		if (i > from && s->shape == SW_PLOT_STEPS)
			(void)sw_buf_addf(a->b, "H%.1f", x);
		if (i == from || s->shape != SW_PLOT_STEPS || fabs(y - last) >= .05)
			(void)sw_buf_addf(a->b, "%c%.1f %.1f", i > from ? 'L' : 'M', x, y);
		last = y;
	}
	/* A line of no length is not shown, one of nearly none is: as a dot. */
	(void)sw_buf_adds(a->b, i == from + 1 ? "h.01\"" : "\"");
	end_mark(a, &marks[from], "path");
	return i;
}

static void draw_lines(const struct area *a, const struct sw_plot_series *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (has_place(a, &a->p->marks[s->mark + i]))
			i = draw_path(a, s, i);
}

/* The part of a bar inside the panel. False: there is none. */
static bool clip_bar(const struct area *a, const struct sw_plot_mark *m, double box[4])
{
	const double x[2] = {x_of(a, m->x), x_of(a, m->x2)}, y[2] = {y_of(a, m->y), y_of(a, m->y2)};

	if (isnan(x[0] + x[1] + y[0] + y[1]))
		return false;
	box[0] = fmax(fmin(x[0], x[1]), 0);
	box[1] = fmax(fmin(y[0], y[1]), 0);
	box[2] = fmin(fmax(x[0], x[1]), a->width) - box[0];
	box[3] = fmin(fmax(y[0], y[1]), a->height) - box[1];
	return box[2] >= 0 && box[3] >= 0;
}

static void draw_bars(const struct area *a, const struct sw_plot_series *s)
{
	const struct sw_plot_mark *marks = a->p->marks + s->mark;
	double box[4];

	for (size_t i = 0; i < s->n; i++) {
		if (!clip_bar(a, &marks[i], box))
			continue;
		(void)sw_buf_addf(a->b,
				  "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"",
				  box[0], box[1], fmax(box[2], .5), fmax(box[3], .5));
		end_mark(a, &marks[i], "rect");
	}
}

static void draw_rules(const struct area *a, const struct sw_plot_series *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct sw_plot_mark *m = &a->p->marks[s->mark + i];
		const bool upright = isnan(m->y);
		const double at = upright ? x_of(a, m->x) : y_of(a, m->y);
		if (!(at >= 0 && at <= (upright ? a->width : a->height)))
			continue;
		if (upright)
			(void)sw_buf_addf(a->b, "<path d=\"M%.1f 0V%.1f\"", at, a->height);
		else
			(void)sw_buf_addf(a->b, "<path d=\"M0 %.1fH%.1f\"", at, a->width);
		end_mark(a, m, "path");
	}
}

/* The classes that say how the shape is painted. */
static void add_class(struct sw_buf *b, const struct sw_plot_series *s, bool many)
{
	static const char classes[] = {
		[SW_PLOT_DOTS] = 'd', [SW_PLOT_LINE] = 'l',  [SW_PLOT_STEPS] = 'l',
		[SW_PLOT_BARS] = 'b', [SW_PLOT_CELLS] = 'c', [SW_PLOT_RULES] = 'u',
		[SW_PLOT_TEXTS] = 'u'};

	(void)sw_buf_addf(b, "<g class=\"%c%s ", classes[s->shape], many ? " many" : "");
	add_role(b, s->role);
	(void)sw_buf_adds(b, "\">");
}

void sw_svg_marks(struct sw_buf *b, const struct sw_plot *p, const struct sw_plot_panel *panel,
		  double width, double height)
{
	struct area a = {b, p, panel, width, height, 0, 0};

	for (size_t i = panel->series; i < panel->series + panel->n; i++) {
		a.n += p->series[i].n;
		a.lines++;
		for (size_t k = 0; k < p->series[i].n; k++)
			a.lines += isnan(p->marks[p->series[i].mark + k].y) ? 1 : 0;
	}
	for (size_t i = panel->series; i < panel->series + panel->n; i++) {
		const struct sw_plot_series *s = &p->series[i];
		if (s->shape == SW_PLOT_TEXTS)
			continue;
		add_class(b, s, s->shape == SW_PLOT_DOTS ? a.n > 1000 : a.lines > 40);
		(void)sw_buf_adds(b, "\n");
		if (s->shape == SW_PLOT_DOTS)
			draw_dots(&a, s);
		else if (s->shape == SW_PLOT_LINE || s->shape == SW_PLOT_STEPS)
			draw_lines(&a, s);
		else if (s->shape == SW_PLOT_RULES)
			draw_rules(&a, s);
		else
			draw_bars(&a, s);
		(void)sw_buf_adds(b, "</g>\n");
	}
}

void sw_svg_sample(struct sw_buf *b, const struct sw_plot_series *s, double x, double y)
{
	add_class(b, s, false);
	if (s->shape == SW_PLOT_DOTS)
		(void)begin_dot(b, s->role, x, y, 3.2);
	else if (s->shape == SW_PLOT_BARS || s->shape == SW_PLOT_CELLS)
		(void)sw_buf_addf(b, "<rect x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"9\"", x - 7,
				  y - 4.5);
	else
		(void)sw_buf_addf(b, "<path d=\"M%.1f %.1fh16\"", x - 8, y);
	(void)sw_buf_adds(b, "/></g>");
}

/* --- text --- */

#define LABELS_MOST 200

struct labels {
	size_t n;
	double x[LABELS_MOST], y[LABELS_MOST], width[LABELS_MOST]; /* left, baseline */
};

static bool is_free(const struct labels *l, double x, double y, double width)
{
	for (size_t i = 0; i < l->n; i++)
		if (fabs(y - l->y[i]) < SW_SVG_LINE - 2 && x < l->x[i] + l->width[i] &&
		    l->x[i] < x + width)
			return false;
	return l->n < LABELS_MOST;
}

/* Text beside x, y: right of it, or left where that ends the panel; a line or two further down if
 * another stands there. */
static void put_label(const struct area *a, struct labels *l, const struct sw_plot_mark *m,
		      const char *class, double x, double y)
{
	const double width = fmin(sw_svg_width(m->text), a->width / 2);

	x = x + 4 + width <= a->width ? x + 4 : fmax(x - 4 - width, 0);
	for (int line = 0; line < 3; line++, y += SW_SVG_LINE - 1) {
		if (y > a->height || !is_free(l, x, y, width))
			continue;
		l->x[l->n] = x;
		l->y[l->n] = y;
		l->width[l->n++] = width;
		(void)sw_buf_addf(a->b, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, x, y);
		sw_svg_cut(a->b, m->text, width);
		(void)sw_buf_adds(a->b, "</text>\n");
		return;
	}
}

void sw_svg_labels(struct sw_buf *b, const struct sw_plot *p, const struct sw_plot_panel *panel,
		   double width, double height)
{
	const struct area a = {b, p, panel, width, height, 0, 0};
	struct labels placed = {.n = 0};
	double box[4];

	for (size_t i = panel->series; i < panel->series + panel->n; i++)
		for (size_t k = 0; k < p->series[i].n; k++) {
			const struct sw_plot_mark *m = &p->marks[p->series[i].mark + k];
			const enum sw_plot_shape shape = p->series[i].shape;
			double x = x_of(&a, m->x), y = y_of(&a, m->y);
			if (m->text == NULL || m->text[0] == '\0')
				continue;
			if (shape == SW_PLOT_RULES) {
				x = isnan(m->y) ? x : width;
				y = isnan(m->y) ? 11 : y - 4;
			} else if (shape == SW_PLOT_BARS && clip_bar(&a, m, box)) {
				if (box[2] < sw_svg_width(m->text) + 8 || box[3] < 11)
					continue; /* what has no room in its bar is seen by pointing */
				x = box[0];
				y = box[1] + box[3] / 2 + 4;
			} else if (shape == SW_PLOT_TEXTS) {
				y += 4;
			} else {
				continue;
			}
			if (is_inside(&a, x, y))
				put_label(&a, &placed, m, shape == SW_PLOT_BARS ? "i" : "o", x, y);
		}
}
