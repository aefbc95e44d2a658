#include "cli/live.h"
#include "base/memory.h"
#include "base/term.h"
#include "cli/header.h"
#include "cli/trial_grid.h"
#include "proto/json.h"
#include <stdlib.h>
#include <string.h>

void sw_live_more(struct sw_buf *b, const struct sw_view *v, size_t shown)
{
	uint64_t left[SW_STATE_N], total = 0;
	bool first = true;

	for (size_t s = 0; s < SW_STATE_N; s++) {
		left[s] = sw_view_count(v, sw_states[s]);
		for (size_t i = 0; i < shown && i < v->n; i++) {
			const cJSON *state = sw_json_get(v->rows[i].json, "state");

			if (left[s] > 0 && cJSON_IsString(state) &&
			    strcmp(state->valuestring, sw_states[s]) == 0)
				left[s]--;
		}
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
		     const int *widths, bool utf8)
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
		if (g->cols[i].right && sw_term_width(text, utf8) < widths[i])
			pad = widths[i] - sw_term_width(text, utf8);
		(void)sw_canvas_put(c, y, x + pad, widths[i] - pad,
				    cell != NULL ? cell->tint : SW_TINT_BOLD, utf8, text);
		x += widths[i] + 1;
	}
}

/* The first n rows of the view as a table from canvas row y on. */
static sw_status draw_trials(struct sw_canvas *c, int y, const struct sw_view *v, size_t n,
			     bool utf8, int64_t now_us)
{
	const struct sw_trial_grid how = sw_trial_grid_of(v, utf8, now_us);
	const cJSON **trials = sw_calloc(n + 1, sizeof(cJSON *));
	struct sw_grid g;
	int *widths = NULL;
	sw_status rc = SW_NOMEM;

	sw_grid_init(&g);
	if (trials == NULL)
		goto out;
	for (size_t i = 0; i < n; i++)
		trials[i] = v->rows[i].json;
	sw_trial_grid_fill(&g, &how, trials, n);
	widths = sw_calloc(g.n_cols + 1, sizeof *widths);
	if (g.failed != SW_OK || widths == NULL)
		goto out;
	(void)sw_grid_fit(&g, c->width, utf8, widths);
	draw_row(c, y, &g, -1, widths, utf8);
	for (size_t i = 0; i < n; i++)
		draw_row(c, y + 1 + (int)i, &g, (long)i, widths, utf8);
	rc = SW_OK;
out:
	free(widths);
	sw_grid_fini(&g);
	free(trials);
	return rc;
}

/* Draws one view in rows [top, top + height). */
static sw_status draw_view(struct sw_canvas *c, int top, int height, const struct sw_view *v,
			   bool utf8, int64_t now_us)
{
	const int end = top + height;
	struct sw_buf b;
	sw_status rc = SW_OK;
	int y = top;

	sw_buf_init(&b, 65536);
	for (int line = 0; line < SW_HEADER_LINES && y < end; line++) {
		const bool there = sw_header_line(&b, v, line, utf8, now_us);

		if (b.failed == SW_OK && there)
			(void)sw_canvas_put(c, y++, 0, c->width, SW_TINT_NONE, utf8, b.data);
		if (b.failed == SW_NOMEM)
			rc = SW_NOMEM;
		sw_buf_clear(&b); /* a line too long for its buffer is left out */
	}
	if (rc == SW_OK && v->head != NULL && end - y >= 2 && v->n > 0) {
		size_t room = (size_t)(end - y - 1), n = v->n < room ? v->n : room;

		sw_live_more(&b, v, n);
		if (b.len > 0 && n == room) { /* the last line is for the rest */
			n--;
			sw_buf_clear(&b);
			sw_live_more(&b, v, n);
		}
		rc = draw_trials(c, y, v, n, utf8, now_us);
		if (rc == SW_OK && b.len > 0 && b.failed == SW_OK)
			(void)sw_canvas_put(c, y + 1 + (int)n, 0, c->width, SW_TINT_DIM, utf8,
					    b.data);
	}
	if (b.failed == SW_NOMEM)
		rc = SW_NOMEM;
	sw_buf_fini(&b);
	return rc;
}

sw_status sw_live_draw(struct sw_canvas *c, const struct sw_view *views, size_t n, bool utf8,
		       int64_t now_us)
{
	sw_status rc = SW_OK;
	int top = 0;

	for (size_t i = 0; i < n && rc == SW_OK; i++) {
		const int left = c->height - top, blocks = (int)(n - i);
		const int share = (left - (blocks - 1)) / blocks; /* a blank line between two */

		if (share < 1)
			break;
		rc = draw_view(c, top, share, &views[i], utf8, now_us);
		top += share + 1;
	}
	return rc;
}
