#include "cli/table.h"
#include "base/memory.h"
#include "base/term.h"
#include <stdlib.h>

#define RESET "\033[0m"

static const char *const colors[SW_TINT_N] = {
	[SW_TINT_GREEN] = "\033[32m", [SW_TINT_YELLOW] = "\033[33m",  [SW_TINT_CYAN] = "\033[36m",
	[SW_TINT_RED] = "\033[31m",   [SW_TINT_MAGENTA] = "\033[35m", [SW_TINT_DIM] = "\033[1;30m",
	[SW_TINT_BOLD] = "\033[1m",
};

static void add_blanks(struct sw_buf *out, int n)
{
	(void)sw_buf_addf(out, "%*s", n, "");
}

/* Column i's text in its width; no blanks stand at the end of a line. */
static void add_cell(struct sw_buf *out, const struct sw_grid_col *col, const char *text,
		     enum sw_tint tint, int width, bool last, const struct sw_look *look)
{
	const char *color = look->color ? colors[tint] : NULL;
	const int used = sw_term_width(text, look->utf8), blanks = used < width ? width - used : 0;

	if (color != NULL)
		(void)sw_buf_adds(out, color);
	if (col->right && !(last && used == 0))
		add_blanks(out, blanks);
	sw_term_add(out, text, look->utf8, width);
	if (!col->right && !last)
		add_blanks(out, blanks);
	if (color != NULL)
		(void)sw_buf_adds(out, RESET);
	(void)sw_buf_adds(out, last ? "\n" : " ");
}

/* cells: [g->n_cols] of a row; NULL: the names of the columns. */
static void add_line(struct sw_buf *out, const struct sw_grid *g, const struct sw_grid_cell *cells,
		     const int *widths, const struct sw_look *look)
{
	size_t last = 0;

	for (size_t i = 0; i < g->n_cols; i++)
		if (widths[i] > 0)
			last = i;
	for (size_t i = 0; i <= last; i++) {
		const char *text = cells == NULL ? g->cols[i].name : cells[i].text;

		if (widths[i] > 0)
			add_cell(out, &g->cols[i], text != NULL ? text : "",
				 cells != NULL ? cells[i].tint : SW_TINT_NONE, widths[i], i == last,
				 look);
	}
}

void sw_table_print(struct sw_buf *out, struct sw_grid *g, const struct sw_look *look)
{
	int *widths = g->n_rows > 0 ? sw_calloc(g->n_cols, sizeof *widths) : NULL;

	if (g->failed != SW_OK || (g->n_rows > 0 && widths == NULL)) {
		out->failed = g->failed != SW_OK ? g->failed : SW_NOMEM;
	} else if (g->n_rows > 0) {
		sw_grid_fit(g, look->width, widths);
		add_line(out, g, NULL, widths, look);
		for (size_t r = 0; r < g->n_rows; r++)
			add_line(out, g, &g->cells[r * g->n_cols], widths, look);
	}
	free(widths);
	sw_grid_fini(g);
}
