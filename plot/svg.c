#include "base/term.h"
#include "plot/draw.h"
#include "plot/write.h"
#include <math.h>
#include <string.h>

/*
 * Roles have the palette of Okabe and Ito (Color Universal Design, 2008), told apart with any kind
 * of colour blindness; its yellow is darker on white, its blue lighter on black. Values have ten
 * colours of viridis (van der Walt and Smith, 2015), whose lightness alone orders them; the end
 * nearest to the background is the worst, on black lighter than theirs. All are `color`, which the
 * shapes below take up.
 */
static const char light[] =
	".swp .bg{fill:#fff}.swp text{fill:#222}.swp .m{fill:#666}.swp .o{stroke:#fff}"
	".swp .a{stroke:#999}.swp .g{stroke:#e9e9e9}.swp .d,.swp .b{stroke:#fff}"
	".swp .r0{color:#0072b2}.swp .r1{color:#d55e00}.swp .r2{color:#8a8a8a}"
	".swp .r3{color:#cc79a7}.swp .r4{color:#009e73}.swp .r5{color:#777}"
	".swp .f0{color:#0072b2}.swp .f1{color:#e69f00}.swp .f2{color:#009e73}"
	".swp .f3{color:#cc79a7}.swp .f4{color:#56b4e9}.swp .f5{color:#d55e00}"
	".swp .f6{color:#b3a500}.swp .f7{color:#222}"
	".swp .v9{color:#440154}.swp .v8{color:#482878}.swp .v7{color:#3e4a89}"
	".swp .v6{color:#31688e}.swp .v5{color:#26828e}.swp .v4{color:#1f9e89}"
	".swp .v3{color:#35b779}.swp .v2{color:#6ece58}.swp .v1{color:#b5de2b}"
	".swp .v0{color:#fde725}\n";
static const char dark[] =
	"@media (prefers-color-scheme:dark){"
	".swp .bg{fill:#15171a}.swp text{fill:#ddd}.swp .m{fill:#a2a2a2}.swp .o{stroke:#15171a}"
	".swp .a{stroke:#777}.swp .g{stroke:#2b2e33}.swp .d,.swp .b{stroke:#15171a}"
	".swp .r0{color:#56b4e9}.swp .r1{color:#e69f00}.swp .r2{color:#8f8f8f}.swp .r5{color:#999}"
	".swp .f0{color:#3a93d6}.swp .f4{color:#9ad4f5}.swp .f6{color:#f0e442}.swp .f7{color:#ddd}"
	".swp .v0{color:#55307e}.swp .v1{color:#4b4590}.swp .v2{color:#43558f}"
	".swp .v3{color:#31688e}.swp .v4{color:#26828e}.swp .v5{color:#1f9e89}"
	".swp .v6{color:#35b779}.swp .v7{color:#6ece58}.swp .v8{color:#b5de2b}"
	".swp .v9{color:#fde725}}\n";
static const char shapes[] =
	".swp{font:12px system-ui,'Segoe UI','DejaVu Sans',sans-serif}"
	".swp .h{font-size:15px;font-weight:600}"
	".swp .o{stroke-width:3px;paint-order:stroke;stroke-linejoin:round}"
	".swp .n{text-anchor:middle}.swp .r{text-anchor:end}"
	".swp .a,.swp .g{fill:none;shape-rendering:crispEdges}"
	".swp .d{fill:currentColor;stroke-width:.6}.swp .many{stroke:none;fill-opacity:.7}"
	".swp .d .e{stroke:currentColor;stroke-width:1;opacity:.25}.swp .many .e{opacity:.12}"
	".swp .d.r3{fill:none;stroke:currentColor;stroke-width:1.6}"
	".swp .d.r4{fill:none;stroke:currentColor;stroke-width:1.4}"
	".swp .d [class^=v]{stroke:#888}"
	".swp .l{fill:none;stroke:currentColor;stroke-width:1.6;stroke-linejoin:round;"
	"stroke-linecap:round}.swp .l.many{stroke-width:1;stroke-opacity:.6}"
	".swp .l.r2{opacity:.6;stroke-width:1}.swp .l.r5{stroke-dasharray:5 4}.swp "
	".l.r1{stroke-width:2.2}"
	".swp .l.f4,.swp .l.f5,.swp .l.f6,.swp .l.f7{stroke-dasharray:7 3}"
	".swp .b{fill:currentColor;fill-opacity:.6;stroke-width:.5}"
	".swp .b.r2{fill-opacity:.35}.swp .b.many{stroke:none}"
	".swp .c{fill:currentColor;stroke:currentColor;stroke-width:.6}"
	".swp .w{fill:currentColor;fill-opacity:.18}"
	".swp .x{fill:none;pointer-events:all}"
	".swp .u{fill:none;stroke:currentColor;stroke-dasharray:4 3}\n";

struct svg {
	struct sw_pen pen;
	struct sw_buf *b;
	struct sw_area area; /* the one that is drawn */
};

static struct sw_buf *out_of(struct sw_pen *pen)
{
	return ((struct svg *)(void *)pen)->b;
}

/* --- text --- */

/* By kinds of characters: sans-serif fonts differ by more than that. */
static double rune_width(uint32_t r)
{
	if (r >= 0x1100)
		return 12.5; /* CJK and emoji, and what may as well be */
	if (r > 0x7e)
		return 8;
	if (strchr("iljtfrI.,:;'|!()[] ", (int)r) != NULL)
		return 4.2;
	if (strchr("mwMW@%", (int)r) != NULL)
		return 11;
	return r >= 'A' && r <= 'Z' ? 8.4 : 7.2;
}

static void add_escaped(struct sw_buf *b, uint32_t r)
{
	static const char *const escapes['>' + 1] = {
		['"'] = "&quot;", ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;"};

	if (r <= '>' && escapes[r] != NULL)
		(void)sw_buf_adds(b, escapes[r]);
	else
		sw_term_add_rune(b, r);
}

/* Appends text, harmless and escaped, for an element; what is wider than max ends with "…". */
static void add_cut(struct sw_buf *b, const char *text, double max)
{
	/* The mark's own width is taken off first, or it would stand beyond max. */
	const bool cut = sw_plot_width(text, rune_width) > max;
	double used = cut ? rune_width(0x2026) : 0;
	uint32_t r;

	while ((r = sw_term_rune(&text)) != 0) {
		used += rune_width(r);
		if (cut && used > max)
			break;
		add_escaped(b, r);
	}
	if (cut)
		sw_term_add_rune(b, 0x2026);
}

static void svg_text(struct sw_pen *pen, enum sw_pen_text kind, enum sw_pen_align align, double x,
		     double y, double max, const char *text)
{
	static const char *const kinds[] = {"h", "k", "m", "o", "i", "k"};
	static const char *const aligns[] = {"", " n", " r"};
	struct sw_buf *b = out_of(pen);

	if (text[0] == '\0')
		return;
	(void)sw_buf_addf(b, "<text class=\"%s%s\" ", kinds[kind], aligns[align]);
	if (kind == SW_TEXT_UPRIGHT)
		(void)sw_buf_addf(b, "transform=\"translate(%.1f %.1f)rotate(-90)\">", x, y);
	else
		(void)sw_buf_addf(b, "x=\"%.1f\" y=\"%.1f\">", x, y + 11.5);
	/* A title's letters are larger. */
	add_cut(b, text, kind == SW_TEXT_TITLE ? max * .75 : max + .01);
	(void)sw_buf_adds(b, "</text>\n");
}

/* --- marks --- */

/* A group of marks: how its shape is painted, and the colours of its role. */
static void begin_group(struct sw_buf *b, const struct sw_plot_series *s, bool many)
{
	static const char classes[] = {
		[SW_PLOT_DOTS] = 'd', [SW_PLOT_LINE] = 'l',  [SW_PLOT_STEPS] = 'l',
		[SW_PLOT_BARS] = 'b', [SW_PLOT_CELLS] = 'c', [SW_PLOT_RULES] = 'u',
		[SW_PLOT_TEXTS] = 'u'};
	const bool distinct = s->role >= SW_PLOT_FIRST;

	/* Bars of what has no order are bands behind its lines. */
	(void)sw_buf_addf(b, "<g class=\"%c%s %c%d\">\n",
			  distinct && s->shape == SW_PLOT_BARS ? 'w' : classes[s->shape],
			  many ? " many" : "", distinct ? 'f' : 'r',
			  distinct ? (s->role - SW_PLOT_FIRST) % SW_PLOT_DISTINCT : s->role);
}

static void svg_series(struct sw_pen *pen, const struct sw_area *a, const struct sw_plot_series *s)
{
	if (s == NULL)
		(void)sw_buf_adds(out_of(pen), "</g>\n");
	else
		begin_group(out_of(pen), s,
			    s->shape == SW_PLOT_DOTS || s->shape == SW_PLOT_BARS ? a->n > 1000
										 : a->lines > 40);
}

/* Ends an element with what its mark is, and its colour if that is by value. */
static void end_mark(struct sw_buf *b, const struct sw_area *a, const struct sw_plot_mark *m,
		     const char *name)
{
	/* A rule's text is its place. */
	const bool is_rule = isnan(m->x + m->y);
	char x[SW_PLOT_VALUE], y[SW_PLOT_VALUE];

	if (!isnan(m->v))
		/* A class and not a colour: the reader's light or dark is known only where it is
		 * shown. */
		(void)sw_buf_addf(b, " class=\"v%d\"", (int)(fmin(fmax(m->v, 0), 1) * 9 + .5));
	if (m->trial == 0 && m->text == NULL) {
		(void)sw_buf_addf(b, "/>\n");
		return;
	}
	if (m->trial != 0)
		(void)sw_buf_addf(b, " data-trial=\"%lld\"", (long long)m->trial);
	(void)sw_buf_adds(b, "><title>");
	if (m->trial != 0)
		(void)sw_buf_addf(b, "trial %lld: ", (long long)m->trial);
	if (!is_rule) {
		add_cut(b, sw_plot_value(&a->panel->x, m->x, x), 300);
		(void)sw_buf_adds(b, ", ");
		/* A bar of a category lies around it. */
		add_cut(b, sw_plot_value(&a->panel->y, isnan(m->y2) ? m->y : (m->y + m->y2) / 2, y),
			300);
	}
	if (m->text != NULL) {
		(void)sw_buf_adds(b, is_rule ? "" : "; ");
		add_cut(b, m->text, 600);
	}
	(void)sw_buf_addf(b, "</title></%s>\n", name);
}

/* The beginning of a dot's element; its name. What failed is a cross: colour is not all. What lies
 * beyond the border is a wedge that points there. */
static const char *begin_dot(struct sw_buf *b, int role, enum sw_beyond beyond, double x, double y,
			     double r)
{
	if (beyond != SW_INSIDE) {
		const double way = beyond == SW_ABOVE || beyond == SW_LEFT_OF ? 2 * r : -2 * r;
		if (beyond == SW_ABOVE || beyond == SW_BELOW)
			(void)sw_buf_addf(b, "<path d=\"M%.1f %.1fl%.1f %.1fh%.1fz\"", x, y, r, way,
					  -2 * r);
		else
			(void)sw_buf_addf(b, "<path d=\"M%.1f %.1fl%.1f %.1fv%.1fz\"", x, y, way, r,
					  -2 * r);
		return "path";
	}
	if (role == SW_PLOT_FAILED) {
		(void)sw_buf_addf(b, "<path d=\"M%.1f %.1fl%.1f %.1fm0 %.1fl%.1f %.1f\"", x - r,
				  y - r, 2 * r, 2 * r, -2 * r, -2 * r, 2 * r);
		return "path";
	}
	(void)sw_buf_addf(b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"", x, y,
			  role == SW_PLOT_BEST ? r + 1.5 : r);
	return "circle";
}

static void svg_dot(struct sw_pen *pen, const struct sw_area *a, const struct sw_plot_series *s,
		    const struct sw_plot_mark *m)
{
	double x = sw_area_x(a, m->x), y = sw_area_y(a, m->y);
	const enum sw_beyond beyond = sw_area_bring(a, &x, &y);
	struct sw_buf *b = out_of(pen);

	if (!isnan(m->x2)) {
		const double from = sw_area_x(a, m->x - m->x2), to = sw_area_x(a, m->x + m->x2);
		(void)sw_buf_addf(b, "<path class=\"e\" d=\"M%.1f %.1fH%.1f\"/>\n",
				  from > 0 ? from : 0, y, fmin(to, a->width));
	}
	end_mark(b, a, m,
		 begin_dot(b, s->role, beyond, x, y,
			   a->n > 1000  ? 1.8
			   : a->n > 200 ? 2.4
					: 3.2));
}

/* A renderer leaves out a line of no length, and shows one of almost no length as a dot. */
static void svg_path(struct sw_pen *pen, const struct sw_area *a, const struct sw_plot_series *s,
		     const struct sw_plot_mark *m, size_t n)
{
	const bool steps = s->shape == SW_PLOT_STEPS;
	struct sw_buf *b = out_of(pen);
	double last = NAN;

	(void)sw_buf_adds(b, "<path d=\"");
	for (size_t i = 0; i < n; i++) {
		/* What lies far out may be anywhere: beyond some thousand units it is the same. */
		const double x = fmin(fmax(sw_area_x(a, m[i].x), -1e4), 1e4),
			     y = fmin(fmax(sw_area_y(a, m[i].y), -1e4), 1e4);
		if (i > 0 && steps)
			(void)sw_buf_addf(b, "H%.1f", x);
		/* Numbers have one digit behind the point: a smaller rise would be written as
		 * none. */
		if (i == 0 || !steps || fabs(y - last) >= .05)
			(void)sw_buf_addf(b, "%c%.1f %.1f", i > 0 ? 'L' : 'M', x, y);
		last = y;
	}
	(void)sw_buf_adds(b, n == 1 ? "h.01\"" : "\"");
	end_mark(b, a, m, "path");
}

static void svg_box(struct sw_pen *pen, const struct sw_area *a, const struct sw_plot_series *s,
		    const struct sw_plot_mark *m, const double box[4])
{
	(void)s;
	(void)sw_buf_addf(out_of(pen), "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"",
			  box[0], box[1], fmax(box[2], .5), fmax(box[3], .5));
	end_mark(out_of(pen), a, m, "rect");
}

static void svg_rule(struct sw_pen *pen, const struct sw_area *a, const struct sw_plot_series *s,
		     const struct sw_plot_mark *m)
{
	(void)s;
	(void)sw_buf_addf(out_of(pen), "<path d=\"M%.1f 0V%.1f\"", sw_area_x(a, m->x), a->height);
	end_mark(out_of(pen), a, m, "path");
}

/* --- what stands around them --- */

static void svg_sample(struct sw_pen *pen, const struct sw_plot_series *s, double x, double y)
{
	struct sw_buf *b = out_of(pen);

	begin_group(b, s, false);
	if (s->shape == SW_PLOT_DOTS)
		(void)begin_dot(b, s->role, SW_INSIDE, x + 8, y + 7.5, 3.2);
	else if (s->shape == SW_PLOT_BARS || s->shape == SW_PLOT_CELLS)
		(void)sw_buf_addf(b, "<rect x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"9\"", x + 1,
				  y + 3);
	else
		(void)sw_buf_addf(b, "<path d=\"M%.1f %.1fh16\"", x, y + 7.5);
	(void)sw_buf_adds(b, "/></g>\n");
}

static double svg_ramp(struct sw_pen *pen, double y)
{
	struct sw_buf *b = out_of(pen);

	svg_text(pen, SW_TEXT_FAINT, SW_LEFT, pen->margin, y, 60, "worst");
	(void)sw_buf_adds(b, "<g class=\"c\">");
	for (int i = 0; i < 10; i++)
		(void)sw_buf_addf(
			b, "<rect class=\"v%d\" x=\"%.1f\" y=\"%.1f\" width=\"16\" height=\"10\"/>",
			i, pen->margin + 42 + 16 * i, y + 2.5);
	(void)sw_buf_adds(b, "</g>\n");
	svg_text(pen, SW_TEXT_FAINT, SW_LEFT, pen->margin + 208, y, 60, "best");
	return pen->line + pen->space;
}

/* A line across for each number; names have none. */
static void svg_axes(struct sw_pen *pen, const struct sw_area *a, const struct sw_plot_ticks *x,
		     const struct sw_plot_ticks *y)
{
	struct sw_buf *b = out_of(pen);

	(void)sw_buf_adds(b, "<path class=\"g\" d=\"");
	for (size_t i = 0; i < x->n && a->panel->x.scale != SW_PLOT_CATEGORY; i++)
		(void)sw_buf_addf(b, "M%.1f %.1fv%.1f", a->x + sw_area_x(a, x->at[i]), a->y,
				  a->height);
	for (size_t i = 0; i < y->n && a->panel->y.scale != SW_PLOT_CATEGORY; i++)
		(void)sw_buf_addf(b, "M%.1f %.1fh%.1f", a->x, a->y + sw_area_y(a, y->at[i]),
				  a->width);
	(void)sw_buf_addf(b, "\"/>\n<path class=\"a\" d=\"M%.1f %.1fv%.1fh%.1f\"/>\n", a->x, a->y,
			  a->height, a->width);
}

/* Where a pointer may choose from an axis inside a panel: a strip that is not seen, with what it
 * stands for. */
static void put_strip(struct sw_buf *b, const struct sw_area *a, size_t k)
{
	static const char *const scales[] = {"linear", "log", "time", "category"};
	const struct sw_plot_axis *axis = &a->p->axes[a->panel->axis + k];
	const double top = sw_area_y(a, 1);

	(void)sw_buf_addf(b,
			  "<rect class=\"x\" x=\"%.1f\" y=\"%.1f\" width=\"24\" height=\"%.1f\" "
			  "data-scale=\"%s\" data-min=\"%.17g\" data-max=\"%.17g\" data-names=\"",
			  sw_area_x(a, (double)k) - 12, top, sw_area_y(a, 0) - top,
			  scales[axis->scale], axis->min, axis->max);
	/* Names hold no line break here: sw_term_rune() makes one harmless. */
	for (size_t i = 0; i < axis->n_names; i++) {
		add_cut(b, axis->names[i], 1e4);
		(void)sw_buf_adds(b, i + 1 < axis->n_names ? "&#10;" : "");
	}
	(void)sw_buf_adds(b, "\" data-axis=\"");
	add_cut(b, axis->label, 1e4);
	(void)sw_buf_adds(b, "\"/>\n");
}

/* What leaves this inner picture is not shown: a range may leave out what lies far out. */
static void svg_area(struct sw_pen *pen, const struct sw_area *a)
{
	struct svg *svg = (struct svg *)(void *)pen;

	if (a != NULL) {
		svg->area = *a;
		(void)sw_buf_addf(svg->b,
				  "<svg class=\"panel\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
				  "height=\"%.1f\">\n",
				  a->x, a->y, a->width, a->height);
		return;
	}
	/* Last: what is drawn later lies on top, and takes the pointer. */
	for (size_t k = 0; k < svg->area.panel->n_axes; k++)
		put_strip(svg->b, &svg->area, k);
	(void)sw_buf_adds(svg->b, "</svg>\n");
}

static const struct sw_pen svg_pen = {
	.margin = 12,
	.line = 15,
	.space = 8,
	.panel_width = 240,
	.gap = 15,
	.flat = .5,
	.least_height = 140,
	.height = 340,
	.tick_apart = 26,
	.left = 34,
	.below_axis = 5,
	.sample = 22,
	.upright = true,
	.rune_width = rune_width,
	.text = svg_text,
	.draw_sample = svg_sample,
	.draw_ramp = svg_ramp,
	.draw_axes = svg_axes,
	.area = svg_area,
	.series = svg_series,
	.dot = svg_dot,
	.path = svg_path,
	.box = svg_box,
	.rule = svg_rule,
};

void sw_plot_svg_style(struct sw_buf *out)
{
	(void)sw_buf_addf(out, "%s%s%s", shapes, light, dark);
}

void sw_plot_svg(const struct sw_plot *p, int width, bool bare, struct sw_buf *out)
{
	struct sw_buf body;
	struct svg svg = {.pen = svg_pen, .b = &body};

	if (p->failed != SW_OK) {
		out->failed = p->failed;
		return;
	}
	svg.pen.width = width;
	if (bare)
		svg.pen.margin = 2;
	sw_buf_init(&body, out->max);
	/* The height is known only when all is drawn. */
	const double height = sw_plot_draw(p, &svg.pen);
	(void)sw_buf_addf(out,
			  "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"swp\" role=\"img\" "
			  "width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %d %.0f\">\n",
			  width, height, width, height);
	if (!bare) {
		(void)sw_buf_adds(out, "<title>");
		add_cut(out, p->title, 1000);
		(void)sw_buf_adds(out, "</title>\n<style>");
		sw_plot_svg_style(out);
		(void)sw_buf_adds(out, "</style>\n");
	}
	(void)sw_buf_addf(out, "<rect class=\"bg\" width=\"%d\" height=\"%.0f\"/>\n", width,
			  height);
	if (body.failed != SW_OK && out->failed == SW_OK)
		out->failed = body.failed;
	else if (body.len > 0)
		(void)sw_buf_add(out, body.data, body.len);
	(void)sw_buf_adds(out, "</svg>\n");
	sw_buf_fini(&body);
}
