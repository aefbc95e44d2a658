#include "plot/json.h"
#include <math.h>
#include <string.h>

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

static double *number_of(struct sw_plot_mark *m, size_t column)
{
	return (double *)(void *)((char *)m + columns[column].at);
}

/* --- out --- */

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

static void write_columns(struct sw_plot_mark *m, size_t n, struct sw_jw *w)
{
	bool any[COLUMNS_N] = {true, true}, trial = false, text = false;

	for (size_t i = 0; i < n; i++) {
		for (size_t c = 0; c < COLUMNS_N; c++)
			any[c] = any[c] || !isnan(*number_of(&m[i], c));
		trial = trial || m[i].trial != 0;
		text = text || m[i].text != NULL;
	}
	for (size_t c = 0; c < COLUMNS_N; c++) {
		if (!any[c])
			continue;
		sw_jw_karr(w, columns[c].key);
		for (size_t i = 0; i < n; i++)
			sw_jw_num(w, *number_of(&m[i], c));
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
		sw_jw_kstr(w, "title", panel->title);
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

/* --- in --- */

/* The index of the word; n: it is none of them. */
static size_t word_of(const cJSON *v, const char *const *words, size_t n)
{
	const char *word = cJSON_GetStringValue(v);
	size_t i = 0;

	while (i < n && (word == NULL || strcmp(words[i], word) != 0))
		i++;
	return i;
}

static void wrong(struct sw_plot *p)
{
	if (p->failed == SW_OK)
		p->failed = SW_PARSE;
}

static void read_axis(struct sw_plot *p, enum sw_plot_side side, const cJSON *axis)
{
	const size_t scale =
		word_of(sw_json_get(axis, "scale"), scales, sizeof scales / sizeof scales[0]);
	const double min = sw_json_number(axis, "min", NAN), max = sw_json_number(axis, "max", NAN);
	const cJSON *name;

	if (scale == sizeof scales / sizeof scales[0] || !(min < max)) {
		wrong(p);
		return;
	}
	sw_plot_axis(p, side, sw_json_text(axis, "label", ""), (enum sw_plot_scale)scale);
	sw_plot_range(p, side, min, max);
	if (scale != SW_PLOT_CATEGORY)
		return;
	cJSON_ArrayForEach (name, sw_json_get(axis, "names")) {
		if (cJSON_IsString(name))
			sw_plot_name(p, side, name->valuestring);
		else
			wrong(p);
	}
}

/* The columns go on side by side. */
static void read_marks(struct sw_plot *p, const cJSON *series)
{
	const cJSON *at[COLUMNS_N + 2];

	for (size_t c = 0; c < COLUMNS_N; c++) {
		const cJSON *column = sw_json_get(series, columns[c].key);
		at[c] = column != NULL ? column->child : NULL;
	}
	const cJSON *trial = sw_json_get(series, "trial"), *text = sw_json_get(series, "text");
	at[COLUMNS_N] = trial != NULL ? trial->child : NULL;
	at[COLUMNS_N + 1] = text != NULL ? text->child : NULL;
	while (at[0] != NULL && p->failed == SW_OK) {
		struct sw_plot_mark m = {.trial = 0};
		for (size_t c = 0; c < COLUMNS_N; c++)
			*number_of(&m, c) = cJSON_IsNumber(at[c]) ? at[c]->valuedouble : NAN;
		if (cJSON_IsNumber(at[COLUMNS_N]))
			m.trial = (int64_t)at[COLUMNS_N]->valuedouble;
		m.text = cJSON_GetStringValue(at[COLUMNS_N + 1]);
		sw_plot_mark(p, m);
		for (size_t c = 0; c < COLUMNS_N + 2; c++)
			at[c] = at[c] != NULL ? at[c]->next : NULL;
	}
}

static void read_series(struct sw_plot *p, const cJSON *series)
{
	const size_t n_shapes = sizeof shapes / sizeof shapes[0];
	const size_t shape = word_of(sw_json_get(series, "shape"), shapes, n_shapes);
	const cJSON *role = sw_json_get(series, "role");
	uint64_t number = 0;
	size_t r = word_of(role, roles, SW_PLOT_FIRST);

	if (r == SW_PLOT_FIRST && (!sw_json_u64(role, &number) || number > SW_PLOT_MARKS))
		wrong(p);
	if (shape == n_shapes)
		wrong(p);
	if (p->failed != SW_OK)
		return;
	r += (size_t)number;
	sw_plot_series(p, sw_json_text(series, "name", ""), (enum sw_plot_shape)shape, (int)r);
	read_marks(p, series);
}

sw_status sw_plot_read(struct sw_plot *p, const cJSON *object)
{
	const cJSON *panel, *series, *note;

	sw_plot_init(p, sw_json_text(object, "plot", ""), sw_json_text(object, "title", ""));
	cJSON_ArrayForEach (note, sw_json_get(object, "notes")) {
		if (cJSON_IsString(note))
			sw_plot_note(p, "%s", note->valuestring);
	}
	cJSON_ArrayForEach (panel, sw_json_get(object, "panels")) {
		sw_plot_panel(p, sw_json_text(panel, "title", ""));
		read_axis(p, SW_PLOT_X, sw_json_get(panel, "x"));
		read_axis(p, SW_PLOT_Y, sw_json_get(panel, "y"));
		cJSON_ArrayForEach (series, sw_json_get(panel, "series"))
			read_series(p, series);
	}
	if (p->n_panels == 0)
		wrong(p);
	return p->failed;
}
