#include "cli/table.h"
#include "base/fault.h"
#include "base/memory.h"
#include "base/term.h"
#include <libsmartcols.h>
#include <stdlib.h>

/* libsmartcols wants the names of colours. */
static const char *const tints[SW_TINT_N] = {
	[SW_TINT_GREEN] = "green", [SW_TINT_YELLOW] = "brown",    [SW_TINT_CYAN] = "cyan",
	[SW_TINT_RED] = "red",     [SW_TINT_MAGENTA] = "magenta", [SW_TINT_DIM] = "darkgray",
	[SW_TINT_BOLD] = "bold",
};

/* The text of a cell or a name in at most max columns (0: in full) goes to the cell. */
static sw_status cell_put(struct libscols_cell *cell, const char *text, int max, bool utf8)
{
	struct sw_buf b;
	sw_status rc = SW_NOMEM;

	sw_buf_init(&b, (size_t)1 << 20);
	sw_term_add(&b, text != NULL ? text : "", utf8, max);
	char *cut = sw_buf_take(&b, NULL);
	if (cut != NULL && scols_cell_set_data(cell, cut) == 0)
		rc = SW_OK;
	free(cut);
	return rc;
}

static sw_status add_columns(struct libscols_table *tb, const struct sw_grid *g, const int *widths,
			     const struct sw_look *look)
{
	for (size_t i = 0; i < g->n_cols; i++) {
		struct libscols_column *cl;

		if (widths[i] == 0)
			continue;
		cl = sw_fault_hit(SW_FAULT_MALLOC)
			     ? NULL
			     : scols_table_new_column(tb, NULL, 0,
						      g->cols[i].right ? SCOLS_FL_RIGHT : 0);
		if (cl == NULL || cell_put(scols_column_get_header(cl), g->cols[i].name,
					   look->width > 0 ? widths[i] : 0, look->utf8) != SW_OK)
			return SW_NOMEM;
	}
	return SW_OK;
}

static sw_status add_row(struct libscols_table *tb, const struct sw_grid *g, size_t row,
			 const int *widths, const struct sw_look *look)
{
	struct libscols_line *ln = sw_fault_hit(SW_FAULT_MALLOC) ? NULL
								 : scols_table_new_line(tb, NULL);
	size_t to = 0;

	if (ln == NULL)
		return SW_NOMEM;
	for (size_t i = 0; i < g->n_cols; i++) {
		const struct sw_grid_cell *c = &g->cells[row * g->n_cols + i];
		struct libscols_cell *cell;

		if (widths[i] == 0)
			continue;
		/* Columns that were dropped do not exist there, so cells are counted apart. */
		cell = scols_line_get_cell(ln, to++);
		if (cell_put(cell, c->text, look->width > 0 ? widths[i] : 0, look->utf8) != SW_OK)
			return SW_NOMEM;
		if (look->color && c->tint != SW_TINT_NONE &&
		    scols_cell_set_color(cell, tints[c->tint]) != 0)
			return SW_NOMEM;
	}
	return SW_OK;
}

/* Unlimited lines: no library's idea of a terminal may cut them. */
static sw_status set_up(struct libscols_table *tb, const struct sw_look *look)
{
	if (scols_table_set_termforce(tb, SCOLS_TERMFORCE_NEVER) != 0)
		return SW_NOMEM;
	(void)scols_table_enable_colors(tb, look->color ? 1 : 0);
	return SW_OK;
}

static sw_status write_table(struct sw_buf *out, const struct sw_grid *g,
			     const struct sw_look *look)
{
	int *widths = sw_calloc(g->n_cols + 1, sizeof *widths);
	struct libscols_table *tb = sw_fault_hit(SW_FAULT_MALLOC) ? NULL : scols_new_table();
	char *text = NULL;
	sw_status rc = SW_NOMEM;

	if (widths == NULL || tb == NULL || set_up(tb, look) != SW_OK)
		goto out;
	for (size_t i = 0; i < g->n_cols; i++)
		widths[i] = 1;
	if (look->width > 0)
		(void)sw_grid_fit(g, look->width, widths);
	rc = add_columns(tb, g, widths, look);
	for (size_t r = 0; rc == SW_OK && r < g->n_rows; r++)
		rc = add_row(tb, g, r, widths, look);
	if (rc == SW_OK && scols_print_table_to_string(tb, &text) != 0)
		rc = SW_NOMEM;
	if (rc == SW_OK)
		rc = sw_buf_addf(out, "%s\n", text);
out:
	free(text);
	scols_unref_table(tb);
	free(widths);
	return rc;
}

void sw_table_print(struct sw_buf *out, struct sw_grid *g, const struct sw_look *look)
{
	sw_status rc = g->failed;

	if (rc == SW_OK && g->n_rows > 0)
		rc = write_table(out, g, look);
	if (rc != SW_OK)
		out->failed = rc;
	sw_grid_fini(g);
}
