#include "cli/table.h"
#include "base/memory.h"
#include "base/term.h"
#include "cli/header.h"
#include <stdlib.h>

void sw_table_line(struct sw_buf *out, const struct sw_grid *g, long row, const int *widths)
{
	int blanks = 0; /* before the next text: none stand at a line's end */

	for (size_t i = 0; i < g->n_cols; i++) {
		const struct sw_grid_cell *cell = row < 0 ? NULL
							  : &g->cells[(size_t)row * g->n_cols + i];
		const enum sw_tint tint = cell != NULL ? cell->tint : SW_TINT_NONE;
		const char *text = cell != NULL ? cell->text : g->cols[i].name;

		if (text == NULL)
			text = g->cols[i].column != NULL ? "-" : "";
		const int used = sw_term_width(text, g->utf8),
			  room = used < widths[i] ? widths[i] - used : 0;
		const bool right = g->cols[i].right;
		if (widths[i] == 0)
			continue;
		if (used > 0) {
			(void)sw_buf_addf(out, "%*s", blanks + (right ? room : 0), "");
			if (tint != SW_TINT_NONE)
				sw_header_mark(out, tint);
			sw_term_add(out, text, g->utf8, widths[i]);
			if (tint != SW_TINT_NONE)
				sw_header_mark(out, SW_TINT_NONE);
			blanks = 0;
		}
		blanks += (used > 0 && right ? 0 : room) + 1;
	}
}

void sw_table_mark(struct sw_buf *out, struct sw_grid *g, int width)
{
	int *widths = sw_calloc(g->n_cols + 1, sizeof *widths);

	if (g->failed != SW_OK || widths == NULL) {
		out->failed = g->failed != SW_OK ? g->failed : SW_NOMEM;
	} else if (g->n_rows > 0) {
		(void)sw_grid_fit(g, width, widths);
		for (long row = -1; row < (long)g->n_rows; row++) {
			sw_table_line(out, g, row, widths);
			(void)sw_buf_adds(out, "\n");
		}
	}
	free(widths);
	sw_grid_fini(g);
}

void sw_table_print(struct sw_buf *out, struct sw_grid *g, const struct sw_look *look)
{
	struct sw_buf b;

	sw_buf_init(&b, out->max);
	sw_table_mark(&b, g, look->width);
	sw_header_mark_print_lines(out, &b, look);
	sw_buf_fini(&b);
}
