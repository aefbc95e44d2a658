#include "base/csv.h"
#include "plot/write.h"
#include "proto/json.h"
#include <math.h>

static void add_number(struct sw_buf *out, double v)
{
	char text[32];

	(void)sw_buf_adds(out, ",");
	/* An empty field is what all readers take for a missing number. */
	if (!isfinite(v))
		return;
	sw_json_num_text(v, text);
	(void)sw_buf_adds(out, text);
}

/* far: the upper end of a bar or a cell, which reaches to both sides of its name. */
static void add_on_axis(struct sw_buf *out, const struct sw_plot_axis *a, double v, bool far)
{
	const double nearest = far ? ceil(v - .5) : floor(v + .5);

	if (a->scale == SW_PLOT_CATEGORY && nearest >= 0 && nearest < (double)a->n_names) {
		(void)sw_buf_adds(out, ",");
		sw_csv_field(out, a->names[(size_t)nearest]);
	} else {
		add_number(out, v);
	}
}

static void add_mark(struct sw_buf *out, const struct sw_plot_panel *panel,
		     const struct sw_plot_series *s, const struct sw_plot_mark *m)
{
	sw_csv_field(out, panel->x.label);
	(void)sw_buf_adds(out, ",");
	sw_csv_field(out, s->name);
	add_on_axis(out, &panel->x, m->x, false);
	add_on_axis(out, &panel->y, m->y, false);
	add_on_axis(out, &panel->x, m->x2, true);
	add_on_axis(out, &panel->y, m->y2, true);
	add_number(out, m->v);
	add_number(out, m->trial != 0 ? (double)m->trial : NAN);
	(void)sw_buf_adds(out, ",");
	if (m->text != NULL)
		sw_csv_field(out, m->text);
	(void)sw_buf_adds(out, "\n");
}

void sw_plot_csv(const struct sw_plot *p, struct sw_buf *out)
{
	if (p->failed != SW_OK)
		out->failed = p->failed;
	(void)sw_buf_adds(out, "panel,series,x,y,x2,y2,v,trial,text\n");
	for (size_t i = 0; i < p->n_panels; i++)
		for (size_t k = 0; k < p->panels[i].n; k++) {
			const struct sw_plot_series *s = &p->series[p->panels[i].series + k];
			for (size_t m = 0; m < s->n; m++)
				add_mark(out, &p->panels[i], s, &p->marks[s->mark + m]);
		}
}
