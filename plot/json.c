#include "plot/write.h"
#include <math.h>

static const char *const scales[] = {"linear", "log", "time", "category"};
static const char *const shapes[] = {"dots", "line", "steps", "bars", "cells", "rules", "texts"};
static const char *const roles[] = {"plain", "best", "pruned", "failed", "running", "reference"};
_Static_assert(sizeof roles / sizeof roles[0] == SW_PLOT_FIRST, "a word for each role");

/* The columns of a series' marks: numbers, and the last two. */
static const char *const columns[] = {"x", "y", "x2", "y2", "v", "trial", "text"};
enum { COLUMN_Y = 1, COLUMN_TRIAL = 5, COLUMN_TEXT, COLUMNS_N };

static double number_of(const struct sw_plot_mark *m, size_t column)
{
	const double numbers[] = {m->x, m->y, m->x2, m->y2, m->v};

	return numbers[column];
}

static bool has_column(const struct sw_plot_mark *m, size_t column)
{
	if (column == COLUMN_TEXT)
		return m->text != NULL;
	return column == COLUMN_TRIAL ? m->trial != 0 : !isnan(number_of(m, column));
}

static void write_texts(char *const *texts, size_t n, const char *key, struct sw_jw *w)
{
	sw_jw_karr(w, key);
	for (size_t i = 0; i < n; i++)
		sw_jw_str(w, texts[i]);
	sw_jw_arr_end(w);
}

/* key NULL: an element of an array. */
static void write_axis(const struct sw_plot_axis *a, const char *key, struct sw_jw *w)
{
	if (key != NULL)
		sw_jw_key(w, key);
	sw_jw_obj(w);
	sw_jw_kstr(w, "label", a->label);
	sw_jw_kstr(w, "scale", scales[a->scale]);
	sw_jw_knum(w, "min", a->min);
	sw_jw_knum(w, "max", a->max);
	if (a->scale == SW_PLOT_CATEGORY)
		write_texts(a->names, a->n_names, "names", w);
	sw_jw_obj_end(w);
}

/* x and y in any case, another column where one of the marks has something in it. */
static void write_column(const struct sw_plot_mark *m, size_t n, size_t column, struct sw_jw *w)
{
	bool any = column <= COLUMN_Y;

	for (size_t i = 0; i < n && !any; i++)
		any = has_column(&m[i], column);
	if (!any)
		return;
	sw_jw_karr(w, columns[column]);
	for (size_t i = 0; i < n; i++) {
		if (column == COLUMN_TEXT)
			sw_jw_str(w, m[i].text);
		else if (column == COLUMN_TRIAL)
			sw_jw_int(w, m[i].trial);
		else
			sw_jw_num(w, number_of(&m[i], column));
	}
	sw_jw_arr_end(w);
}

static void write_series(const struct sw_plot *p, const struct sw_plot_series *s, struct sw_jw *w)
{
	sw_jw_obj(w);
	sw_jw_kstr(w, "name", s->name);
	sw_jw_kstr(w, "shape", shapes[s->shape]);
	if (s->role < SW_PLOT_FIRST)
		sw_jw_kstr(w, "role", roles[s->role]);
	else
		/* A word where it means something, a number where it only tells things apart. */
		sw_jw_kint(w, "role", s->role - SW_PLOT_FIRST);
	for (size_t column = 0; column < COLUMNS_N; column++)
		write_column(p->marks + s->mark, s->n, column, w);
	sw_jw_obj_end(w);
}

void sw_plot_write(const struct sw_plot *p, struct sw_jw *w)
{
	sw_jw_kstr(w, "plot", p->kind);
	sw_jw_kstr(w, "title", p->title);
	write_texts(p->notes, p->n_notes, "notes", w);
	sw_jw_karr(w, "panels");
	for (size_t i = 0; i < p->n_panels; i++) {
		const struct sw_plot_panel *panel = &p->panels[i];
		sw_jw_obj(w);
		write_axis(&panel->x, "x", w);
		write_axis(&panel->y, "y", w);
		if (panel->n_axes > 0) {
			sw_jw_karr(w, "axes");
			for (size_t k = 0; k < panel->n_axes; k++)
				write_axis(&p->axes[panel->axis + k], NULL, w);
			sw_jw_arr_end(w);
		}
		sw_jw_karr(w, "series");
		for (size_t k = 0; k < panel->n; k++)
			write_series(p, &p->series[panel->series + k], w);
		sw_jw_arr_end(w);
		sw_jw_obj_end(w);
	}
	sw_jw_arr_end(w);
}
