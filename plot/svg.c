#include "plot/svg.h"
#include "plot/svg_marks.h"
#include "plot/svg_text.h"
#include "plot/ticks.h"
#include <math.h>
#include <string.h>

#define WIDTH  800.0
#define MARGIN 12.0

/*
 * Roles have the palette of Okabe and Ito (Color Universal Design, 2008), told apart with any kind
 * of colour blindness; its yellow is darker on white, its blue lighter on black. Values have ten
 * colours of viridis (van der Walt and Smith, 2015), whose lightness alone orders them; the end
 * nearest to the background is the worst. All are `color`, which the shapes below take up.
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
	".swp .v0{color:#440154}.swp .v1{color:#482878}.swp .v2{color:#3e4a89}"
	".swp .v3{color:#31688e}.swp .v4{color:#26828e}.swp .v5{color:#1f9e89}"
	".swp .v6{color:#35b779}.swp .v7{color:#6ece58}.swp .v8{color:#b5de2b}"
	".swp .v9{color:#fde725}}\n";
static const char shapes[] =
	".swp{font:12px system-ui,'Segoe UI','DejaVu Sans',sans-serif}"
	".swp .h{font-size:15px;font-weight:600}.swp .p{font-weight:600}"
	".swp .o{stroke-width:3px;paint-order:stroke;stroke-linejoin:round}"
	".swp .n{text-anchor:middle}.swp .r{text-anchor:end}"
	".swp .a,.swp .g{fill:none;shape-rendering:crispEdges}"
	".swp .d{fill:currentColor;stroke-width:.6}.swp .many{stroke:none;fill-opacity:.7}"
	".swp .d .e{stroke:currentColor;stroke-width:1;opacity:.45}.swp .many .e{opacity:.12}"
	".swp .d.r3{fill:none;stroke:currentColor;stroke-width:1.6}"
	".swp .d.r4{fill:none;stroke:currentColor;stroke-width:1.4}"
	".swp .d [class^=v]{stroke:#888}"
	".swp .l{fill:none;stroke:currentColor;stroke-width:1.6;stroke-linejoin:round;"
	"stroke-linecap:round}.swp .l.many{stroke-width:1;stroke-opacity:.6}"
	".swp .l.r2{opacity:.6;stroke-width:1}.swp .l.r5{stroke-dasharray:5 4}.swp "
	".l.r1{stroke-width:2.2}"
	".swp .l.f4,.swp .l.f5,.swp .l.f6,.swp .l.f7{stroke-dasharray:7 3}"
	".swp .b{fill:currentColor;fill-opacity:.6;stroke-width:.5}"
	".swp .b.r2{fill-opacity:.35}"
	".swp .c{fill:currentColor}"
	".swp .u{fill:none;stroke:currentColor;stroke-dasharray:4 3}\n";

struct page {
	const struct sw_plot *p;
	struct sw_buf *b;
	size_t columns;
	double y; /* where the next thing begins */
};

/* A panel's place: the cell that it has, and what of it lies inside the axes. */
struct frame {
	const struct sw_plot_panel *panel;
	double cell_x, cell_width;
	double x, y, width, height;
	bool slanted; /* the texts of x, which have no room side by side */
	struct sw_plot_ticks x_ticks, y_ticks;
};

static void add_text(struct sw_buf *b, const char *class, double x, double y, double max,
		     const char *text)
{
	(void)sw_buf_addf(b, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, x, y);
	sw_svg_cut(b, text, max);
	(void)sw_buf_adds(b, "</text>\n");
}

/* --- a panel --- */

static double room_across(const char *text)
{
	return sw_svg_width(text) + 12;
}

static double room_down(const char *text)
{
	(void)text;
	return 26;
}

static double room_of_line(const char *text)
{
	(void)text;
	return SW_SVG_LINE - 1;
}

static double widest(const struct sw_plot_ticks *t)
{
	double most = 0;

	for (size_t i = 0; i < t->n; i++)
		most = fmax(most, sw_svg_width(t->text[i]));
	return most;
}

static bool is_named(const struct sw_plot_axis *a)
{
	return a->scale == SW_PLOT_CATEGORY;
}

/* The height inside the axes: one for all, but names of y have a line or two each. */
static double height_of(const struct page *pg, const struct sw_plot_panel *panel)
{
	const double height = pg->columns == 1 ? 340 : pg->columns == 2 ? 210 : 150;
	const double n = (double)panel->y.n_names;

	return n > 0 ? fmin(fmax(fmax(fmin(n * 34, height), n * 17), 70), 1200) : height;
}

static void lay_out(const struct page *pg, struct frame *f)
{
	const double most = f->cell_width / 4; /* for the texts of y */

	f->height = height_of(pg, f->panel);
	sw_plot_ticks(pg->p, f->panel, SW_PLOT_Y, f->height,
		      is_named(&f->panel->y) ? room_of_line : room_down, &f->y_ticks);
	const double left = fmin(widest(&f->y_ticks), most) + 34;
	f->x = f->cell_x + left;
	f->width = f->cell_width - left - 14;
	sw_plot_ticks(pg->p, f->panel, SW_PLOT_X, f->width, room_across, &f->x_ticks);
	f->slanted = is_named(&f->panel->x) && f->x_ticks.n < f->panel->x.n_names;
	if (f->slanted)
		sw_plot_ticks(pg->p, f->panel, SW_PLOT_X, f->width, room_of_line, &f->x_ticks);
	f->y = pg->y + (f->panel->title[0] != '\0' ? 22 : 8);
}

#define SLANTED 84.0 /* most of a slanted text that is shown */

static double foot_of(const struct frame *f)
{
	return (f->slanted ? fmin(widest(&f->x_ticks), SLANTED) * .5 + 16 : 18) +
	       (f->panel->x.label[0] != '\0' ? SW_SVG_LINE : 0);
}

static void draw_grid(const struct page *pg, const struct frame *f)
{
	(void)sw_buf_adds(pg->b, "<path class=\"g\" d=\"");
	for (size_t i = 0; i < f->x_ticks.n && !is_named(&f->panel->x); i++)
		(void)sw_buf_addf(pg->b, "M%.1f 0v%.1f",
				  sw_plot_place(&f->panel->x, f->x_ticks.at[i]) * f->width,
				  f->height);
	for (size_t i = 0; i < f->y_ticks.n && !is_named(&f->panel->y); i++)
		(void)sw_buf_addf(pg->b, "M0 %.1fh%.1f",
				  (1 - sw_plot_place(&f->panel->y, f->y_ticks.at[i])) * f->height,
				  f->width);
	(void)sw_buf_adds(pg->b, "\"/>\n");
}

static void draw_axes(const struct page *pg, const struct frame *f)
{
	char label[400];

	(void)sw_buf_addf(pg->b, "<path class=\"a\" d=\"M%.1f %.1fv%.1fh%.1f\"/>\n", f->x, f->y,
			  f->height, f->width);
	for (size_t i = 0; i < f->y_ticks.n; i++)
		add_text(pg->b, "m r", f->x - 6,
			 f->y + 4 + (1 - sw_plot_place(&f->panel->y, f->y_ticks.at[i])) * f->height,
			 f->x - f->cell_x - 34 + .01, f->y_ticks.text[i]);
	for (size_t i = 0; i < f->x_ticks.n; i++) {
		const double x = f->x + sw_plot_place(&f->panel->x, f->x_ticks.at[i]) * f->width;
		if (!f->slanted) {
			add_text(pg->b, "m n", x, f->y + f->height + 16, f->width,
				 f->x_ticks.text[i]);
			continue;
		}
		(void)sw_buf_addf(
			pg->b, "<text class=\"m r\" transform=\"translate(%.1f %.1f)rotate(-30)\">",
			x + 3, f->y + f->height + 13);
		sw_svg_cut(pg->b, f->x_ticks.text[i], SLANTED);
		(void)sw_buf_adds(pg->b, "</text>\n");
	}
	sw_plot_label(&f->panel->x, label, sizeof label);
	add_text(pg->b, "n", f->x + f->width / 2, f->y + f->height + foot_of(f) - 2, f->width,
		 label);
	sw_plot_label(&f->panel->y, label, sizeof label);
	(void)sw_buf_addf(pg->b, "<text class=\"n\" transform=\"translate(%.1f %.1f)rotate(-90)\">",
			  f->cell_x + 12, f->y + f->height / 2);
	sw_svg_cut(pg->b, label, f->height);
	(void)sw_buf_adds(pg->b, "</text>\n");
}

/* Returns the height that it took. */
static double draw_panel(const struct page *pg, const struct sw_plot_panel *panel, size_t column)
{
	struct frame f = {.panel = panel};

	f.cell_width = (WIDTH - 2 * MARGIN) / (double)pg->columns;
	f.cell_x = MARGIN + f.cell_width * (double)column;
	lay_out(pg, &f);
	if (panel->title[0] != '\0')
		add_text(pg->b, "p", f.x, f.y - 8, f.width, panel->title);
	/* What leaves this inner picture is not shown: a range may leave out what lies far out. */
	(void)sw_buf_addf(
		pg->b,
		"<svg class=\"panel\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">\n", f.x,
		f.y, f.width, f.height);
	draw_grid(pg, &f);
	sw_svg_marks(pg->b, pg->p, panel, f.width, f.height);
	(void)sw_buf_adds(pg->b, "</svg>\n");
	draw_axes(pg, &f);
	(void)sw_buf_addf(pg->b, "<g transform=\"translate(%.1f %.1f)\">\n", f.x, f.y);
	sw_svg_labels(pg->b, pg->p, panel, f.width, f.height);
	(void)sw_buf_adds(pg->b, "</g>\n");
	return f.y - pg->y + f.height + foot_of(&f) + 8;
}

/* --- what stands around the panels --- */

static void draw_title(struct page *pg)
{
	if (pg->p->title[0] == '\0')
		return;
	add_text(pg->b, "h", MARGIN, pg->y + 14, (WIDTH - 2 * MARGIN) * .8, pg->p->title);
	pg->y += 26;
}

/* Above the panels, so that it hides no mark. */
static void draw_legend(struct page *pg)
{
	size_t shown[SW_PLOT_LEGEND], left;
	const size_t n = sw_plot_legend(pg->p, shown, &left);
	double x = MARGIN;

	for (size_t i = 0; i < n; i++) {
		const struct sw_plot_series *s = &pg->p->series[shown[i]];
		const double width = fmin(sw_svg_width(s->name), 300);
		if (x > MARGIN && x + width + 22 > WIDTH - MARGIN) {
			x = MARGIN;
			pg->y += SW_SVG_LINE + 3;
		}
		sw_svg_sample(pg->b, s, x + 8, pg->y + 7);
		add_text(pg->b, "k", x + 22, pg->y + 11, width, s->name);
		x += width + 38;
	}
	if (left > 0)
		(void)sw_buf_addf(pg->b,
				  "<text class=\"m\" x=\"%.1f\" y=\"%.1f\">and more</text>\n", x,
				  pg->y + 11);
	if (n > 0)
		pg->y += SW_SVG_LINE + 8;
}

static void draw_ramp(struct page *pg)
{
	if (!sw_plot_has_v(pg->p))
		return;
	add_text(pg->b, "m", MARGIN, pg->y + 11, 60, "worst");
	(void)sw_buf_adds(pg->b, "<g class=\"c\">");
	for (int i = 0; i < 10; i++)
		(void)sw_buf_addf(pg->b,
				  "<rect class=\"v%d\" x=\"%.1f\" y=\"%.1f\" width=\"16\" "
				  "height=\"10\"/>",
				  i, MARGIN + 42 + 16 * i, pg->y + 2);
	(void)sw_buf_adds(pg->b, "</g>\n");
	add_text(pg->b, "m", MARGIN + 42 + 166, pg->y + 11, 60, "best");
	pg->y += SW_SVG_LINE + 8;
}

static void draw_panels(struct page *pg)
{
	const size_t n = pg->p->n_panels;

	pg->columns = n <= 1 ? 1 : n <= 4 ? 2 : 3;
	for (size_t i = 0; i < n; i += pg->columns) {
		double height = 0;
		for (size_t k = 0; k < pg->columns && i + k < n; k++)
			height = fmax(height, draw_panel(pg, &pg->p->panels[i + k], k));
		pg->y += height;
	}
}

static void draw_notes(struct page *pg)
{
	pg->y += 4;
	for (size_t i = 0; i < pg->p->n_notes; i++)
		for (const char *s = pg->p->notes[i]; *s != '\0';) {
			char line[800];
			const size_t n = sw_plot_line(s, WIDTH - 2 * MARGIN, sw_svg_rune);
			const size_t taken = n < sizeof line ? n : sizeof line - 1;
			memcpy(line, s, taken);
			line[taken] = '\0';
			add_text(pg->b, "m", MARGIN, pg->y + 11, WIDTH, line);
			pg->y += SW_SVG_LINE;
			for (s += n; *s == ' '; s++)
				;
		}
}

sw_status sw_plot_svg(const struct sw_plot *p, struct sw_buf *out)
{
	struct sw_buf body;
	struct page pg = {p, &body, 1, MARGIN};

	if (p->failed != SW_OK)
		return p->failed;
	sw_buf_init(&body, out->max);
	draw_title(&pg);
	draw_legend(&pg);
	draw_ramp(&pg);
	draw_panels(&pg);
	draw_notes(&pg);
	/* The height is known only now. */
	(void)sw_buf_addf(out,
			  "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"swp\" role=\"img\" "
			  "width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n<title>",
			  WIDTH, pg.y + MARGIN, WIDTH, pg.y + MARGIN);
	sw_svg_cut(out, p->title, 1000);
	(void)sw_buf_addf(out,
			  "</title>\n<style>%s%s%s</style>\n<rect class=\"bg\" width=\"%.0f\" "
			  "height=\"%.0f\"/>\n",
			  shapes, light, dark, WIDTH, pg.y + MARGIN);
	if (body.failed != SW_OK && out->failed == SW_OK)
		out->failed = body.failed;
	else
		(void)sw_buf_add(out, body.data, body.len);
	(void)sw_buf_adds(out, "</svg>\n");
	sw_buf_fini(&body);
	return out->failed;
}
