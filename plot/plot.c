#include "plot/plot.h"
#include "base/memory.h"
#include "plot/build.h"
#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(struct sw_plot *p, sw_status rc)
{
	if (p->failed == SW_OK)
		p->failed = rc;
}

static char *copy(struct sw_plot *p, const char *text)
{
	char *s = sw_strdup(text);

	if (s == NULL)
		fail(p, SW_NOMEM);
	return s;
}

void *sw_plot_scratch(struct sw_plot *p, size_t n, size_t size)
{
	/* calloc(0) may give NULL, which here means that memory ran out. */
	void *s = sw_calloc(n > 0 ? n : 1, size);

	if (s == NULL)
		fail(p, SW_NOMEM);
	return s;
}

/* The next element of an array, zeroed; NULL: `failed` says why. */
static void *grow(struct sw_plot *p, void *array, size_t *n, size_t *cap, size_t size, size_t most)
{
	char **first = array;

	if (p->failed != SW_OK)
		return NULL;
	if (*n == most || !sw_array_reserve(array, cap, *n + 1, size)) {
		fail(p, *n == most ? SW_TOO_BIG : SW_NOMEM);
		return NULL;
	}
	return memset(*first + size * (*n)++, 0, size);
}

void sw_plot_init(struct sw_plot *p, const char *kind, const char *title)
{
	*p = (struct sw_plot){.failed = SW_OK};
	p->kind = copy(p, kind);
	p->title = copy(p, title);
}

static void free_axis(struct sw_plot_axis *a)
{
	for (size_t i = 0; i < a->n_names; i++)
		free(a->names[i]);
	free((void *)a->names);
	free(a->label);
}

void sw_plot_fini(struct sw_plot *p)
{
	for (size_t i = 0; i < p->n_panels; i++) {
		free_axis(&p->panels[i].x);
		free_axis(&p->panels[i].y);
	}
	for (size_t i = 0; i < p->n_axes; i++)
		free_axis(&p->axes[i]);
	for (size_t i = 0; i < p->n_series; i++)
		free(p->series[i].name);
	for (size_t i = 0; i < p->n_marks; i++)
		free(p->marks[i].text);
	for (size_t i = 0; i < p->n_notes; i++)
		free(p->notes[i]);
	free(p->panels);
	free(p->axes);
	free(p->series);
	free(p->marks);
	free((void *)p->notes);
	free(p->title);
	free(p->kind);
}

/* --- panels, series, marks --- */

void sw_plot_panel(struct sw_plot *p, const char *x, enum sw_plot_scale x_scale, const char *y,
		   enum sw_plot_scale y_scale)
{
	struct sw_plot_panel *panel = grow(p, &p->panels, &p->n_panels, &p->cap_panels,
					   sizeof *p->panels, SW_PLOT_PANELS);

	if (panel == NULL)
		return;
	panel->series = p->n_series;
	panel->axis = p->n_axes;
	panel->x = (struct sw_plot_axis){.label = copy(p, x), .scale = x_scale};
	panel->y = (struct sw_plot_axis){.label = copy(p, y), .scale = y_scale};
}

struct sw_plot_axis *sw_plot_last_axis(struct sw_plot *p, enum sw_plot_side side)
{
	/* A panel that found no memory is not there, but then `failed` is set and nothing looks for
	 * it. */
	assert(p->failed != SW_OK || p->n_panels > 0);
	if (p->failed != SW_OK)
		return NULL;
	struct sw_plot_panel *panel = &p->panels[p->n_panels - 1];
	if (side == SW_PLOT_INSIDE)
		return panel->n_axes > 0 ? &p->axes[p->n_axes - 1] : NULL;
	return side == SW_PLOT_X ? &panel->x : &panel->y;
}

void sw_plot_inside(struct sw_plot *p, const char *label, enum sw_plot_scale scale, double min,
		    double max)
{
	struct sw_plot_axis *a =
		grow(p, &p->axes, &p->n_axes, &p->cap_axes, sizeof *p->axes, SW_PLOT_MARKS);

	if (a == NULL)
		return;
	p->panels[p->n_panels - 1].n_axes++;
	*a = (struct sw_plot_axis){.label = copy(p, label), .scale = scale, .min = min, .max = max};
}

void sw_plot_name(struct sw_plot *p, enum sw_plot_side side, const char *name)
{
	struct sw_plot_axis *a = sw_plot_last_axis(p, side);

	if (a == NULL)
		return;
	assert(a->scale == SW_PLOT_CATEGORY);
	if (!sw_array_resize((void *)&a->names, a->n_names + 1, sizeof *a->names)) {
		fail(p, SW_NOMEM);
		return;
	}
	a->names[a->n_names] = copy(p, name);
	if (a->names[a->n_names] != NULL)
		a->n_names++;
}

void sw_plot_range(struct sw_plot *p, enum sw_plot_side side, double min, double max)
{
	struct sw_plot_axis *a = sw_plot_last_axis(p, side);

	if (a == NULL)
		return;
	assert(min < max);
	a->min = min;
	a->max = max;
}

void sw_plot_series(struct sw_plot *p, const char *name, enum sw_plot_shape shape, int role)
{
	struct sw_plot_series *s =
		grow(p, &p->series, &p->n_series, &p->cap_series, sizeof *p->series, SW_PLOT_MARKS);

	if (s == NULL)
		return;
	assert(p->n_panels > 0);
	s->name = copy(p, name);
	s->shape = shape;
	s->role = role;
	s->mark = p->n_marks;
	p->panels[p->n_panels - 1].n++;
}

void sw_plot_mark(struct sw_plot *p, struct sw_plot_mark mark)
{
	struct sw_plot_mark *m =
		grow(p, &p->marks, &p->n_marks, &p->cap_marks, sizeof *p->marks, SW_PLOT_MARKS);

	if (m == NULL)
		return;
	assert(p->n_series > 0);
	*m = mark;
	if (mark.text != NULL)
		m->text = copy(p, mark.text);
	p->series[p->n_series - 1].n++;
}

void sw_plot_at(struct sw_plot *p, double x, double y, double v, int64_t trial)
{
	sw_plot_mark(p, (struct sw_plot_mark){x, y, NAN, NAN, v, trial, NULL});
}

void sw_plot_text(struct sw_plot *p, double x, double y, const char *text)
{
	/* The copy is the plot's: this one is not written to. */
	sw_plot_mark(p, (struct sw_plot_mark){x, y, NAN, NAN, NAN, 0, (char *)text});
}

void sw_plot_note(struct sw_plot *p, const char *fmt, ...)
{
	char line[400];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(line, sizeof line, fmt, args);
	va_end(args);
	char **note = grow(p, (void *)&p->notes, &p->n_notes, &p->cap_notes, sizeof *p->notes, 32);
	/* No NULL stays among the notes, since writers take each for a text. */
	if (note != NULL && (*note = copy(p, line)) == NULL)
		p->n_notes--;
}
