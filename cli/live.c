#include "cli/live.h"
#include "base/memory.h"
#include "base/term.h"
#include "cli/header.h"
#include "cli/trial_grid.h"
#include "proto/json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HINT_ROOM  8  /* columns of "  ? keys" */
#define CAUSE_ROWS 3  /* at most, for one */
#define HIGH       36 /* lines of a screen that has room for a curve */

void sw_live_more(struct sw_buf *b, const struct sw_view *v, const cJSON *const *shown, size_t n)
{
	uint64_t left[SW_STATE_N], total = 0;
	bool first = true;

	for (size_t s = 0; s < SW_STATE_N; s++) {
		left[s] = sw_view_count(v, sw_states[s]);
		for (size_t i = 0; i < n; i++)
			if (left[s] > 0 &&
			    strcmp(sw_json_text(shown[i], "state", ""), sw_states[s]) == 0)
				/* Counts may be older than the rows, so they stop at 0. */
				left[s]--;
		total += left[s];
	}
	if (total == 0)
		return; /* every trial has its row */
	(void)sw_buf_addf(b, "... %llu more trial%s not shown (", (unsigned long long)total,
			  total == 1 ? "" : "s");
	for (size_t s = 0; s < SW_STATE_N; s++) {
		if (left[s] == 0)
			continue;
		(void)sw_buf_addf(b, "%s%llu %s", first ? "" : ", ", (unsigned long long)left[s],
				  sw_states[s]);
		first = false;
	}
	(void)sw_buf_adds(b, ")");
}

/* One row of the grid (or the names, row < 0) at canvas row y. */
static void draw_row(struct sw_canvas *c, int y, const struct sw_grid *g, long row,
		     const int *widths)
{
	int x = 0;

	for (size_t i = 0; i < g->n_cols; i++) {
		const struct sw_grid_cell *cell = row < 0 ? NULL
							  : &g->cells[(size_t)row * g->n_cols + i];
		const char *text = cell == NULL         ? g->cols[i].name
				   : cell->text != NULL ? cell->text
							: "";
		int pad = 0;

		if (widths[i] == 0)
			continue;
		if (g->cols[i].right && sw_term_width(text, g->utf8) < widths[i])
			pad = widths[i] - sw_term_width(text, g->utf8);
		(void)sw_canvas_put(c, y, x + pad, widths[i] - pad,
				    cell != NULL ? cell->tint : SW_TINT_BOLD, g->utf8, text);
		x += widths[i] + 1;
	}
}

/* The columns that are shown, as `s` goes through them: from the metric's on, then those before it.
 * The bar is of the step. */
static void note_columns(struct sw_browse *b, const struct sw_grid *g, const int *widths,
			 const char *metric)
{
	size_t first = 0;

	for (size_t i = 0; i < g->n_cols && metric != NULL && first == 0; i++)
		if (strcmp(g->cols[i].given, metric) == 0)
			first = i;
	b->n_columns = 0;
	for (size_t k = 0; k < g->n_cols && b->n_columns < SW_BROWSE_COLUMNS; k++) {
		const size_t i = (first + k) % g->n_cols;
		const char *name = g->cols[i].given;
		size_t same = 0;

		while (strcmp(g->cols[same].given, name) != 0)
			same++;
		/* Of two of one name the first is meant, as sw_trial_grid_value() has it. */
		if (widths[i] > 0 && same == i && strcmp(name, "progress") != 0 &&
		    strlen(name) < SW_BROWSE_NAME)
			(void)snprintf(b->columns[b->n_columns++], SW_BROWSE_NAME, "%s", name);
	}
}

/* One view as it is drawn. */
struct table {
	const struct sw_view *v;
	struct sw_browse *b;
	const struct sw_view_row *rows; /* the first that is shown */
	const cJSON **trials;           /* [n] of them */
	size_t n;
	bool focus;        /* it has the cursor */
	struct sw_buf why; /* the cause that stands below; empty: none */
};

/* The trials as a table from canvas row y on. */
static sw_status draw_trials(struct sw_canvas *c, int y, const struct table *t, bool utf8,
			     int64_t now_us)
{
	struct sw_trial_grid how = sw_trial_grid_of(t->v, now_us);
	struct sw_grid g;
	int *widths = NULL;
	sw_status rc = SW_NOMEM;

	how.rows = t->rows;
	sw_grid_init(&g, utf8);
	sw_trial_grid_fill(&g, &how, t->trials, t->n);
	widths = sw_calloc(g.n_cols + 1, sizeof *widths);
	if (g.failed != SW_OK || widths == NULL)
		goto out;
	(void)sw_grid_fit(&g, c->width, widths);
	if (t->focus)
		note_columns(t->b, &g, widths, how.metric);
	if (t->focus && g.n_cols > 0)
		t->b->cause_room =
			strcmp(g.cols[g.n_cols - 1].name, "cause") == 0 ? widths[g.n_cols - 1] : 0;
	draw_row(c, y, &g, -1, widths);
	for (size_t i = 0; i < t->n; i++) {
		draw_row(c, y + 1 + (int)i, &g, (long)i, widths);
		if (t->focus && t->b->trial != 0 && t->rows[i].trial == t->b->trial)
			c->marked = y + 1 + (int)i;
	}
	rc = SW_OK;
out:
	free(widths);
	sw_grid_fini(&g);
	return rc;
}

/* "by lr, rising  only PRUNED  ... 12 more trials not shown (...)" */
static void add_rest(struct sw_buf *out, const struct table *t, bool utf8)
{
	const char *state = t->b->state > 0 ? sw_states[t->b->state - 1] : NULL;

	if (t->b->column[0] != '\0') {
		(void)sw_buf_adds(out, "by ");
		sw_term_add(out, t->b->column, utf8, 24);
		(void)sw_buf_adds(out,
				  sw_browse_falling(t->b, t->v) ? ", falling  " : ", rising  ");
	}
	if (state != NULL)
		(void)sw_buf_addf(out, "%s %s  ", t->n > 0 ? "only" : "no trial is", state);
	sw_live_more(out, t->v, t->trials, t->n);
}

/* Of the trial under the cursor, or the first here that failed or is silent, what its column does
 * not show: "1/7 FAILED: exit:1". */
static void add_why(struct table *t, const struct sw_view_row *rows, size_t n, bool utf8)
{
	for (size_t i = 0; t->focus && i < n && t->why.len == 0; i++) {
		const char *state = sw_json_text(rows[i].json, "state", "");
		char text[64];
		const char *silent = sw_trial_grid_silent(rows[i].json, text);
		const char *cause = silent != NULL ? silent
						   : sw_json_text(rows[i].json, "cause", "");
		const bool told = t->b->trial != 0
					  ? rows[i].trial == t->b->trial
					  : silent != NULL || sw_grid_tint(state) == SW_TINT_RED;
		if (!told || sw_term_width(cause, utf8) <= t->b->cause_room)
			continue;
		(void)sw_buf_addf(&t->why, "%llu/%llu %s: ", (unsigned long long)t->v->sweep,
				  (unsigned long long)rows[i].trial, state);
		sw_term_add(&t->why, cause, utf8, 0);
	}
}

/* The table of one view in rows [y, end) of the canvas. */
static sw_status draw_table(struct sw_canvas *c, int y, int end, struct table *t, bool utf8,
			    int64_t now_us)
{
	size_t room = (size_t)(end - y - 2); /* without the names and the last line */
	struct sw_view_row *rows = NULL;
	struct sw_buf rest;
	size_t n, first = 0;
	sw_status rc = sw_browse_rows(t->b, t->v, &rows, &n);

	if (rc != SW_OK)
		return rc;
	sw_buf_init(&t->why, 65536);
	add_why(t, rows, n, utf8);
	int below =
		(sw_term_width(t->why.len > 0 ? t->why.data : "", utf8) + c->width - 1) / c->width;
	below = below < CAUSE_ROWS ? below : CAUSE_ROWS;
	/* A screen that is too low for both keeps its trials. */
	below = room > (size_t)below ? below : 0;
	room -= (size_t)below;
	/* Only the table with the cursor scrolls; the others show their first trials. */
	if (t->focus) {
		sw_browse_settle(t->b, rows, n, room);
		first = t->b->top < n ? t->b->top : n;
	}
	sw_buf_init(&rest, 65536);
	t->n = n - first < room ? n - first : room;
	t->rows = rows + first;
	t->trials = sw_calloc(t->n + 1, sizeof(cJSON *));
	for (size_t i = 0; t->trials != NULL && i < t->n; i++)
		t->trials[i] = t->rows[i].json;
	rc = t->trials != NULL ? draw_trials(c, y, t, utf8, now_us) : SW_NOMEM;
	if (rc == SW_OK)
		add_rest(&rest, t, utf8);
	if (rc == SW_OK && rest.failed == SW_OK && rest.len > 0)
		(void)sw_canvas_put(c, y + 1 + (int)t->n, 0, c->width - HINT_ROOM, SW_TINT_DIM,
				    utf8, rest.data);
	if (rc == SW_OK && below > 0 && t->why.failed == SW_OK)
		(void)sw_canvas_wrap(c, y + 2 + (int)t->n, below, SW_TINT_RED, utf8, t->why.data);
	if (rest.failed == SW_NOMEM || t->why.failed == SW_NOMEM)
		rc = SW_NOMEM;
	sw_buf_fini(&t->why);
	sw_buf_fini(&rest);
	free((void *)t->trials);
	free(rows);
	return rc;
}

/* Draws one view in rows [top, top + height). */
static sw_status draw_view(struct sw_canvas *c, int top, int height, struct table *t, bool utf8,
			   int64_t now_us)
{
	const int end = top + height;
	struct sw_buf b;
	sw_status rc = SW_OK;
	int y = top;

	sw_buf_init(&b, 65536);
	for (int line = 0; line < SW_HEADER_LINES && y < end; line++) {
		const bool there = sw_header_line(&b, t->v, line, utf8, now_us);

		if (b.failed == SW_OK && there)
			y += sw_canvas_wrap(c, y, line == 1 ? CAUSE_ROWS : 1, SW_TINT_NONE, utf8,
					    b.data);
		if (b.failed == SW_NOMEM)
			rc = SW_NOMEM;
		sw_buf_clear(&b); /* a line too long for its buffer is left out */
	}
	sw_buf_fini(&b);
	if (rc == SW_OK && t->v->head != NULL && end - y >= 2 && t->v->n > 0)
		rc = draw_table(c, y, end, t, utf8, now_us);
	return rc;
}

void sw_live_hint(struct sw_canvas *c)
{
	const int at = c->width - HINT_ROOM;

	for (int x = at > 0 ? at : 0; x < c->width; x++)
		if (c->cells[(size_t)(c->height - 1) * (size_t)c->width + (size_t)x].rune != ' ')
			return;
	(void)sw_canvas_put(c, c->height - 1, at + 2, HINT_ROOM, SW_TINT_DIM, false, "? keys");
}

int sw_live_below(const struct sw_view *views, size_t n, int height)
{
	const int table = SW_HEADER_LINES + 2 + CAUSE_ROWS + (int)(n == 1 ? views->n : 0);

	if (n != 1 || height < HIGH || sw_json_uint(sw_json_get(views->head, "best"), "trial") == 0)
		return 0;
	return height - table > height / 3 ? height - table : height / 3;
}

sw_status sw_live_draw(struct sw_canvas *c, const struct sw_view *views, size_t n,
		       struct sw_browse *b, bool utf8, int64_t now_us)
{
	sw_status rc = SW_OK;
	int top = 0;

	for (size_t i = 0; i < n && rc == SW_OK; i++) {
		const int left = c->height - top, blocks = (int)(n - i);
		const int share = (left - (blocks - 1)) / blocks; /* a blank line between two */
		struct table t = {.v = &views[i], .b = b, .focus = i == b->view};

		if (share < 1)
			break;
		rc = draw_view(c, top, share, &t, utf8, now_us);
		top += share + 1;
	}
	sw_live_hint(c);
	return rc;
}
