#include "cli/curve.h"
#include "base/memory.h"
#include "base/term.h"
#include "cli/fmt.h"
#include "cli/header.h"
#include "cli/live.h"
#include "plot/write.h"
#include "proto/json.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sw_curve_fini(struct sw_curve *c)
{
	free(c->points);
	*c = (struct sw_curve){.trial = 0};
}

void sw_curve_of(struct sw_curve *c, uint64_t sweep, uint64_t trial)
{
	if (c->sweep == sweep && c->trial == trial)
		return;
	sw_curve_fini(c);
	c->sweep = sweep;
	c->trial = trial;
	c->every = 1;
	c->more = true;
}

static const struct sw_view_row *row_of(const struct sw_curve *c, const struct sw_view *v)
{
	for (size_t i = 0; i < v->n; i++)
		if (v->rows[i].trial == c->trial)
			return &v->rows[i];
	return NULL;
}

bool sw_curve_ask(struct sw_curve *c, const struct sw_view *v, char params[160])
{
	const struct sw_view_row *row = row_of(c, v);

	/* One question at a time, and none while nothing has changed: a curve costs an idle daemon
	 * nothing. */
	if (c->id != 0 || (!c->more && (row == NULL || row->change == c->change)))
		return false;
	if (row != NULL)
		c->change = row->change;
	c->more = false;
	(void)snprintf(params, 160, "{\"sweep\":%" PRIu64 ",\"trial\":%" PRIu64 "%s%s%s}", c->sweep,
		       c->trial, c->after[0] != '\0' ? ",\"after\":\"" : "", c->after,
		       c->after[0] != '\0' ? "\"" : "");
	return true;
}

/* --- reports --- */

static sw_status add_report(struct sw_curve *c, double step, double value)
{
	while (c->n > 0 && c->points[c->n - 1].step >= step)
		c->n--; /* the trial went back to a checkpoint */
	if (c->seen++ % c->every != 0)
		return SW_OK;
	if (c->n == SW_CURVE_MAX) {
		/* Memory is bounded, and the curve stays even over its whole length. */
		for (size_t i = 0; i < c->n / 2; i++)
			c->points[i] = c->points[2 * i];
		c->n /= 2;
		c->every *= 2;
	}
	if (!sw_array_reserve(&c->points, &c->cap, c->n + 1, sizeof *c->points))
		return SW_NOMEM;
	c->points[c->n++] = (struct sw_curve_point){step, value};
	return SW_OK;
}

sw_status sw_curve_take(struct sw_curve *c, const cJSON *result, const char *metric)
{
	const cJSON *r, *reports = sw_json_get(result, "reports");
	sw_status rc = SW_OK;

	cJSON_ArrayForEach (r, reports) {
		const cJSON *value = sw_json_get(sw_json_get(r, "metrics"), metric);
		const double step = sw_json_number(r, "step", NAN);
		uint64_t attempt, seq;

		if (!sw_json_u64(sw_json_get(r, "attempt"), &attempt) ||
		    !sw_json_u64(sw_json_get(r, "seq"), &seq))
			continue;
		(void)snprintf(c->after, sizeof c->after, "%" PRIu64 ".%" PRIu64, attempt, seq);
		if (rc == SW_OK && cJSON_IsNumber(value) && isfinite(step))
			rc = add_report(c, step, value->valuedouble);
	}
	/* A page of nothing that promises another would be asked for without end. */
	c->more = cJSON_GetArraySize(reports) > 0 && cJSON_IsString(sw_json_get(result, "next"));
	return rc;
}

/* --- drawing --- */

static int role_of(const char *state)
{
	/* "": it has left the table, as only ended ones do. */
	if (state[0] == '\0' || strcmp(state, "COMPLETED") == 0)
		return SW_PLOT_PLAIN;
	if (!sw_view_is_end(state))
		return SW_PLOT_RUNNING;
	return strcmp(state, "PRUNED") == 0 ? SW_PLOT_PRUNED : SW_PLOT_FAILED;
}

static void build_plot(struct sw_plot *p, const struct sw_curve *c, const struct sw_view *v,
		       const char *state)
{
	const cJSON *rung, *rungs = sw_json_get(v->head, "rungs");
	char text[32];

	sw_plot_init(p, "curve", "");
	sw_plot_panel(p, "step", SW_PLOT_LINEAR, sw_json_text(v->head, "metric", ""),
		      SW_PLOT_LINEAR);
	if (cJSON_GetArraySize(rungs) > 0)
		sw_plot_series(p, "rungs", SW_PLOT_RULES, SW_PLOT_REFERENCE);
	cJSON_ArrayForEach (rung, rungs) {
		const double step = sw_json_number(rung, "step", NAN);

		(void)snprintf(text, sizeof text, "%g", step);
		/* The reports and the dot at the end need their room. */
		if (p->n_marks < SW_PLOT_MARKS - SW_CURVE_MAX - 1)
			sw_plot_text(p, step, NAN, text);
	}
	sw_plot_series(p, state, SW_PLOT_LINE, role_of(state));
	for (size_t i = 0; i < c->n; i++)
		sw_plot_at(p, c->points[i].step, c->points[i].value, NAN, 0);
	sw_plot_fit(p);
	/* A dot at its end: a line of one report would not be seen. */
	sw_plot_series(p, "", SW_PLOT_DOTS, role_of(state));
	sw_plot_at(p, c->points[c->n - 1].step, c->points[c->n - 1].value, NAN, 0);
	if (c->every > 1)
		sw_plot_note(p, "One report in %zu is drawn.", c->every);
}

/* "trial 1/7  RUNNING  step 17  val_accuracy 0.9945", a cause: marked text. */
static void add_trial(struct sw_buf *b, const struct sw_curve *c, const struct sw_view *v,
		      const cJSON *trial, bool utf8)
{
	const char *state = sw_json_text(trial, "state", "");

	sw_header_mark(b, SW_TINT_BOLD);
	(void)sw_buf_addf(b, "trial %" PRIu64 "/%" PRIu64 "  ", c->sweep, c->trial);
	if (sw_json_uint(sw_json_get(v->head, "best"), "trial") == c->trial)
		(void)sw_buf_adds(b, "the best  ");
	if (trial == NULL)
		return;
	sw_header_mark(b, sw_grid_tint(state));
	sw_term_add(b, state, utf8, 0);
	sw_header_mark(b, SW_TINT_NONE);
	(void)sw_buf_adds(b, "  step ");
	sw_fmt_value(b, sw_json_get(trial, "step"), true, utf8);
	(void)sw_buf_adds(b, "  ");
	sw_term_add(b, sw_json_text(v->head, "metric", "value"), utf8, 24);
	(void)sw_buf_adds(b, " ");
	sw_fmt_value(b, sw_json_get(trial, "value"), false, utf8);
	sw_header_mark(b, SW_TINT_RED);
	(void)sw_buf_adds(b, "  ");
	sw_term_add(b, sw_json_text(trial, "cause", ""), utf8, 0);
}

/* One line of text at canvas row y. Of the sequences of plot/write.h the colour is taken. */
static void put_line(struct sw_canvas *canvas, int y, char *text, bool utf8)
{
	int col = 0, color, tint = SW_TINT_NONE;

	for (char *end; text != NULL; text = end != NULL ? end + 1 : NULL) {
		char *esc = strchr(text, '\033');

		if (esc != NULL)
			*esc++ = '\0';
		col = sw_canvas_put(canvas, y, col, canvas->width, (enum sw_tint)tint, utf8, text);
		end = esc != NULL ? strchr(esc, 'm') : NULL;
		tint = end != NULL && sscanf(esc, "[38;5;%3dm", &color) == 1 ? SW_TINT_N + color
									     : SW_TINT_NONE;
	}
}

sw_status sw_curve_draw(struct sw_canvas *canvas, const struct sw_curve *c, const struct sw_view *v,
			const struct sw_look *look, int64_t now_us, bool alone)
{
	const struct sw_view_row *row = row_of(c, v);
	const bool utf8 = look->utf8;
	const cJSON *trial = row != NULL ? row->json : NULL;
	struct sw_plot p;
	struct sw_buf b;

	sw_buf_init(&b, (size_t)1 << 20);
	if (alone) {
		(void)sw_header_line(&b, v, 0, utf8, now_us);
		(void)sw_buf_adds(&b, "\n");
	}
	add_trial(&b, c, v, trial, utf8);
	(void)sw_buf_adds(&b, "\n");
	if (alone) {
		sw_fmt_params(&b, sw_json_get(trial, "params"), sw_json_get(v->head, "parameters"),
			      utf8);
		(void)sw_buf_adds(&b, "\n");
	}
	if (c->n > 0) {
		build_plot(&p, c, v, sw_json_text(trial, "state", ""));
		sw_plot_braille(&p, canvas->width, canvas->height - (alone ? 4 : 1), look->color,
				utf8, &b);
		sw_plot_fini(&p);
	} else {
		(void)sw_buf_adds(&b, c->more || c->id != 0 ? "reading its reports"
				      : sw_json_text(v->head, "metric", NULL) == NULL
					      ? "no curve: the sweep names no metric"
					      : "it has not reported a value yet");
	}
	char *line = b.failed == SW_OK ? b.data : NULL;
	for (int y = 0; line != NULL && y < canvas->height - (alone ? 1 : 0); y++) {
		char *end = strchr(line, '\n');

		if (end != NULL)
			*end++ = '\0';
		put_line(canvas, y, line, utf8);
		line = end;
	}
	if (alone) {
		(void)sw_canvas_put(canvas, canvas->height - 1, 0, canvas->width, SW_TINT_DIM,
				    false, "Up, Down: another trial  q: back");
		sw_live_hint(canvas);
	}
	const sw_status rc = b.failed == SW_NOMEM ? SW_NOMEM : SW_OK;
	sw_buf_fini(&b);
	return rc;
}
