#include "cli/grid.h"
#include "base/memory.h"
#include "base/term.h"
#include "cli/fmt.h"
#include "proto/json.h"
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_MAX 24 /* a longer value is cut */

enum sw_tint sw_grid_tint(const char *state)
{
	static const struct {
		const char *state;
		enum sw_tint tint;
	} table[] = {{"COMPLETED", SW_TINT_GREEN}, {"PRUNED", SW_TINT_YELLOW},
		     {"RUNNING", SW_TINT_CYAN},    {"PAUSED", SW_TINT_CYAN},
		     {"FAILED", SW_TINT_RED},      {"INFEASIBLE", SW_TINT_MAGENTA},
		     {"CANCELLED", SW_TINT_DIM},   {"BUSY", SW_TINT_CYAN},
		     {"DOWN", SW_TINT_RED},        {"OUT", SW_TINT_RED},
		     {"IDLE", SW_TINT_GREEN},      {"OK", SW_TINT_GREEN},
		     {"HELD", SW_TINT_YELLOW},     {"HOT", SW_TINT_YELLOW},
		     {"FREEING", SW_TINT_YELLOW},  {"STARTING", SW_TINT_YELLOW}};

	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
		if (strcmp(state, table[i].state) == 0)
			return table[i].tint;
	return SW_TINT_NONE;
}

void sw_grid_init(struct sw_grid *g, bool utf8)
{
	*g = (struct sw_grid){.utf8 = utf8};
}

void sw_grid_fini(struct sw_grid *g)
{
	for (size_t i = 0; i < g->n_cols; i++)
		free(g->cols[i].name);
	for (size_t i = 0; i < g->n_rows * g->n_cols; i++)
		free(g->cells[i].text);
	free(g->cols);
	free(g->cells);
	sw_grid_init(g, g->utf8);
}

void sw_grid_col(struct sw_grid *g, const char *name, bool right, int drop)
{
	struct sw_buf b;

	/* Cells lie row by row: another column would move them all. */
	assert(g->n_rows == 0);
	if (g->failed != SW_OK)
		return; /* the caller asks once, at the end */
	if (!sw_array_reserve(&g->cols, &g->cap_cols, g->n_cols + 1, sizeof *g->cols)) {
		g->failed = SW_NOMEM;
		return;
	}
	sw_buf_init(&b, 4096);
	sw_term_add(&b, name, true, 0);
	g->cols[g->n_cols] = (struct sw_grid_col){
		.name = sw_buf_take(&b, NULL), .given = name, .right = right, .drop = drop};
	sw_buf_fini(&b);
	if (g->cols[g->n_cols].name == NULL)
		g->failed = SW_NOMEM;
	else
		g->n_cols++;
}

void sw_grid_heads(struct sw_grid *g, bool utf8, const struct sw_grid_head *heads, size_t n)
{
	sw_grid_init(g, utf8);
	for (size_t i = 0; i < n; i++)
		sw_grid_col(g, heads[i].name, heads[i].right, heads[i].drop);
}

void sw_grid_row(struct sw_grid *g)
{
	if (g->failed != SW_OK || g->n_cols == 0)
		return;
	if (!sw_array_reserve(&g->cells, &g->cap_rows, g->n_rows + 1,
			      g->n_cols * sizeof *g->cells)) {
		g->failed = SW_NOMEM;
		return;
	}
	for (size_t i = 0; i < g->n_cols; i++)
		g->cells[g->n_rows * g->n_cols + i] = (struct sw_grid_cell){.text = NULL};
	g->n_rows++;
	g->at = 0;
}

static struct sw_grid_cell *next_cell(struct sw_grid *g)
{
	/* a grid that failed may lack the row: its cells go nowhere */
	if (g->failed != SW_OK || g->n_rows == 0)
		return NULL;
	assert(g->at < g->n_cols);
	return &g->cells[(g->n_rows - 1) * g->n_cols + g->at++];
}

void sw_grid_drop_empty(struct sw_grid *g, size_t col)
{
	size_t to = 0;

	for (size_t r = 0; r < g->n_rows; r++)
		if (g->failed != SW_OK || g->cells[r * g->n_cols + col].text != NULL)
			return;
	for (size_t i = 0; i < g->n_rows * g->n_cols; i++)
		if (i % g->n_cols != col)
			g->cells[to++] = g->cells[i];
	free(g->cols[col].name);
	for (size_t i = col + 1; i < g->n_cols; i++)
		g->cols[i - 1] = g->cols[i];
	g->n_cols--;
}

void sw_grid_reverse(struct sw_grid *g)
{
	for (size_t r = 0; r < g->n_rows / 2; r++)
		for (size_t i = 0; i < g->n_cols; i++) {
			struct sw_grid_cell *a = &g->cells[r * g->n_cols + i];
			struct sw_grid_cell *b = &g->cells[(g->n_rows - 1 - r) * g->n_cols + i];
			const struct sw_grid_cell cell = *a;

			*a = *b;
			*b = cell;
		}
}

void sw_grid_add(struct sw_grid *g, const char *text, enum sw_tint tint)
{
	struct sw_grid_cell *cell = next_cell(g);
	struct sw_buf b;

	if (cell == NULL || text == NULL || text[0] == '\0')
		return;
	sw_buf_init(&b, (size_t)1 << 20);
	sw_term_add(&b, text, g->utf8, 0);
	cell->text = sw_buf_take(&b, NULL);
	cell->tint = tint;
	sw_buf_fini(&b);
	if (cell->text == NULL)
		g->failed = SW_NOMEM;
}

void sw_grid_addf(struct sw_grid *g, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	sw_grid_add(g, text, SW_TINT_NONE);
}

void sw_grid_add_taken(struct sw_grid *g, struct sw_buf *text, enum sw_tint tint)
{
	if (text->failed != SW_OK)
		g->failed = text->failed;
	else
		sw_grid_add(g, text->data, tint);
	sw_buf_fini(text);
}

void sw_grid_add_value(struct sw_grid *g, const cJSON *v, enum sw_tint tint)
{
	struct sw_buf b;

	sw_buf_init(&b, (size_t)1 << 20);
	sw_fmt_value(&b, v, false, g->utf8);
	sw_grid_add_taken(g, &b, tint);
}

void sw_grid_add_member(struct sw_grid *g, const cJSON *object, const char *key)
{
	sw_grid_add_value(g, sw_json_get(object, key), SW_TINT_NONE);
}

void sw_grid_add_members(struct sw_grid *g, const cJSON *object, const char *const *keys)
{
	for (; *keys != NULL; keys++)
		sw_grid_add_member(g, object, *keys);
}

void sw_grid_add_state(struct sw_grid *g, const cJSON *object)
{
	const char *state = sw_json_text(object, "state", "-");

	sw_grid_add(g, state, sw_grid_tint(state));
}

void sw_grid_add_time(struct sw_grid *g, const cJSON *wall_ms)
{
	char text[32];

	sw_fmt_time(wall_ms, text);
	sw_grid_addf(g, "%s", text);
}

void sw_grid_add_duration(struct sw_grid *g, const cJSON *seconds)
{
	char text[32];

	sw_fmt_duration(cJSON_IsNumber(seconds) ? seconds->valuedouble : -1.0, text);
	sw_grid_addf(g, "%s", text);
}

/* The widest value of column i, at most `limit`. */
static int value_width(const struct sw_grid *g, size_t i, int limit)
{
	int most = 1;

	for (size_t r = 0; r < g->n_rows && most < limit; r++) {
		const char *text = g->cells[r * g->n_cols + i].text;
		const int w = text != NULL ? sw_term_width(text, g->utf8) : 0;

		if (w > most)
			most = w;
	}
	return most < limit ? most : limit;
}

static int total(const int *widths, size_t n)
{
	int sum = 0;

	for (size_t i = 0; i < n; i++)
		if (widths[i] > 0)
			sum += widths[i] + (sum > 0 ? 1 : 0);
	return sum;
}

/* Takes out the column that is first to go; false when all that are left stay. */
static bool drop_one(const struct sw_grid *g, int *widths)
{
	size_t worst = 0;
	int rank = 0;

	for (size_t i = 0; i < g->n_cols; i++)
		/* Of equals the one on the right goes, which is read last. */
		if (widths[i] > 0 && g->cols[i].drop > 0 && g->cols[i].drop >= rank) {
			rank = g->cols[i].drop;
			worst = i;
		}
	if (rank > 0)
		widths[worst] = 0;
	return rank > 0;
}

int sw_grid_fit(const struct sw_grid *g, int width, int *out)
{
	int left;

	for (size_t i = 0; i < g->n_cols; i++) {
		const int name = sw_term_width(g->cols[i].name, g->utf8);
		const int value = value_width(g, i, VALUE_MAX);

		out[i] = value > name ? value : name;
	}
	while (total(out, g->n_cols) > width && drop_one(g, out))
		;
	/* Then the others from the right; the first two, which say what a row is, are cut. */
	for (size_t i = g->n_cols; i-- > 2 && total(out, g->n_cols) > width;)
		out[i] = 0;
	for (size_t i = g->n_cols; i-- > 0 && (left = total(out, g->n_cols) - width) > 0;)
		if (out[i] > 0)
			out[i] = out[i] - left > 1 ? out[i] - left : 1;
	left = width - total(out, g->n_cols);
	/* The last one's values get the rest: it is the cause of an end, if some column is. */
	if (g->n_cols > 0 && out[g->n_cols - 1] > 0 && !g->cols[g->n_cols - 1].right && left > 0)
		out[g->n_cols - 1] = value_width(g, g->n_cols - 1, out[g->n_cols - 1] + left);
	return total(out, g->n_cols);
}
