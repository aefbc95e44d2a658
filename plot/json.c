#include "plot/write.h"
#include <math.h>

static const char *const scales[] = {"linear", "log", "time", "category"};
static const char *const shapes[] = {"dots", "line", "steps", "bars", "cells", "rules", "texts"};
static const char *const roles[] = {"plain", "best", "pruned", "failed", "running", "reference"};
_Static_assert(sizeof roles / sizeof roles[0] == SW_PLOT_FIRST, "a word for each role");

/* The columns of a series' marks that are numbers. */
static const struct column {
	const char *key;
	size_t at;
} columns[] = {
	{"x", offsetof(struct sw_plot_mark, x)},   {"y", offsetof(struct sw_plot_mark, y)},
	{"x2", offsetof(struct sw_plot_mark, x2)}, {"y2", offsetof(struct sw_plot_mark, y2)},
	{"v", offsetof(struct sw_plot_mark, v)},
};
#define COLUMNS_N (sizeof columns / sizeof columns[0])

static double number_of(const struct sw_plot_mark *m, size_t column)
{
	return *(const double *)(const void *)((const char *)m + columns[column].at);
}

static void write_axis(const struct sw_plot_axis *a, const char *key, struct sw_jw *w)
{
	sw_jw_kobj(w, key);
	sw_jw_kstr(w, "label", a->label);
	sw_jw_kstr(w, "scale", scales[a->scale]);
	sw_jw_knum(w, "min", a->min);
	sw_jw_knum(w, "max", a->max);
	if (a->scale == SW_PLOT_CATEGORY) {
		sw_jw_karr(w, "names");
		for (size_t i = 0; i < a->n_names; i++)
			sw_jw_str(w, a->names[i]);
		sw_jw_arr_end(w);
	}
	sw_jw_obj_end(w);
}

static void write_columns(const struct sw_plot_mark *m, size_t n, struct sw_jw *w)
{
	bool any[COLUMNS_N] = {true, true}, trial = false, text = false;

	for (size_t i = 0; i < n; i++) {
		for (size_t c = 0; c < COLUMNS_N; c++)
			any[c] = any[c] || !isnan(number_of(&m[i], c));
		trial = trial || m[i].trial != 0;
		text = text || m[i].text != NULL;
	}
	for (size_t c = 0; c < COLUMNS_N; c++) {
		if (!any[c])
			continue;
		sw_jw_karr(w, columns[c].key);
		for (size_t i = 0; i < n; i++)
			sw_jw_num(w, number_of(&m[i], c));
		sw_jw_arr_end(w);
	}
	if (trial) {
		sw_jw_karr(w, "trial");
		for (size_t i = 0; i < n; i++)
			sw_jw_int(w, m[i].trial);
		sw_jw_arr_end(w);
	}
	if (text) {
		sw_jw_karr(w, "text");
		for (size_t i = 0; i < n; i++)
			sw_jw_str(w, m[i].text);
		sw_jw_arr_end(w);
	}
}

static void write_series(const struct sw_plot *p, const struct sw_plot_series *s, struct sw_jw *w)
{
	sw_jw_obj(w);
	sw_jw_kstr(w, "name", s->name);
	sw_jw_kstr(w, "shape", shapes[s->shape]);
	if (s->role < SW_PLOT_FIRST)
		sw_jw_kstr(w, "role", roles[s->role]);
	else
		sw_jw_kint(w, "role", s->role - SW_PLOT_FIRST);
	write_columns(p->marks + s->mark, s->n, w);
	sw_jw_obj_end(w);
}

void sw_plot_write(const struct sw_plot *p, struct sw_jw *w)
{
	sw_jw_obj(w);
	sw_jw_kstr(w, "plot", p->kind);
	sw_jw_kstr(w, "title", p->title);
	sw_jw_karr(w, "notes");
	for (size_t i = 0; i < p->n_notes; i++)
		sw_jw_str(w, p->notes[i]);
	sw_jw_arr_end(w);
	sw_jw_karr(w, "panels");
	for (size_t i = 0; i < p->n_panels; i++) {
		const struct sw_plot_panel *panel = &p->panels[i];
		sw_jw_obj(w);
		write_axis(&panel->x, "x", w);
		write_axis(&panel->y, "y", w);
		sw_jw_karr(w, "series");
		for (size_t k = 0; k < panel->n; k++)
			write_series(p, &p->series[panel->series + k], w);
		sw_jw_arr_end(w);
		sw_jw_obj_end(w);
	}
	sw_jw_arr_end(w);
	sw_jw_obj_end(w);
}
