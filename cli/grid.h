/*
 * cli/grid.h — a table before it has a shape: named columns, rows of text cells.
 *
 * Filled by the verbs and the live table; drawn by cli/table.h.
 * Memory   The struct is the caller's (init/fini); texts are copied.
 * Errors   Appends latch in g->failed; a failed grid may be drawn (it lacks cells).
 */
#ifndef SW_CLI_GRID_H
#define SW_CLI_GRID_H

#include "base/buf.h"
#include "base/status.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

/* Colours mean states, and are few: a terminal maps them, a file ignores them. */
enum sw_tint {
	SW_TINT_NONE,
	SW_TINT_GREEN,
	SW_TINT_YELLOW,
	SW_TINT_CYAN,
	SW_TINT_RED,
	SW_TINT_MAGENTA,
	SW_TINT_DIM,
	SW_TINT_BOLD,
	SW_TINT_N
};

/* Of a trial, a sweep, a slot or a card: COMPLETED green, PRUNED yellow, FAILED red. */
enum sw_tint sw_grid_tint(const char *state);

struct sw_grid;

/* How a column writes a value; "-" stands for one that is missing. */
enum sw_form {
	SW_FORM_TEXT,     /* on the left; numbers short (sw_fmt_value()) */
	SW_FORM_NUMBER,   /* the same on the right */
	SW_FORM_TIME,     /* ms since 1970: "2026-11-21 10:31:07" */
	SW_FORM_DURATION, /* seconds: "2m05s" */
	SW_FORM_AMOUNT,   /* rounded, with the unit behind it; with `of` "3 / 8 GB" */
	SW_FORM_MIB       /* the same of bytes */
};

/* A column of rows that are objects: where its value stands, its heading, its unit, and when it
 * goes. */
struct sw_column {
	const char *at; /* "best/value": members inside members */
	const char *name;
	enum sw_form form;
	int drop;         /* as in sw_grid_col */
	bool optional;    /* no column where no row has the value */
	const char *unit; /* " W" */
	const char *of;   /* where the whole stands of which it is a part */
	/* Adds the cell instead: what one value does not say. NULL: the value. */
	void (*put)(struct sw_grid *g, const cJSON *object);
};

struct sw_grid_col {
	char *name;
	const struct sw_column *column; /* NULL: sw_grid_col() */
	const char *given;              /* the name as it came, borrowed: not for a terminal */
	bool right;                     /* numbers */
	int drop; /* columns with a higher number go first when room is short, those of 0 last */
};

struct sw_grid_cell {
	char *text; /* harmless for a terminal; NULL counts as "" */
	enum sw_tint tint;
};

struct sw_grid {
	struct sw_grid_col *cols;
	struct sw_grid_cell *cells; /* row-major, n_cols a row */
	size_t n_cols, n_rows, cap_cols, cap_rows;
	size_t at; /* column of the next cell of the last row */
	bool utf8; /* else what is not ASCII becomes '?' */
	sw_status failed;
};

void sw_grid_init(struct sw_grid *g, bool utf8);
void sw_grid_fini(struct sw_grid *g);
/* Inits it, with these columns, which outlive it. */
void sw_grid_columns(struct sw_grid *g, bool utf8, const struct sw_column *columns, size_t n);
/* A further one. All columns come before the first row. */
void sw_grid_col(struct sw_grid *g, const char *name, bool right, int drop);
void sw_grid_row(struct sw_grid *g);
/* A row of an object's members, as the columns of sw_grid_columns() say. */
void sw_grid_add_object(struct sw_grid *g, const cJSON *object);
/* The cells that the last row lacks, of one. */
void sw_grid_add_cells(struct sw_grid *g, const cJSON *object);
/* The next cell of the last row. text is made harmless and copied; NULL: an empty cell. */
void sw_grid_add(struct sw_grid *g, const char *text, enum sw_tint tint);
void sw_grid_addf(struct sw_grid *g, const char *fmt, ...) SW_PRINTF(2, 3); /* plain ASCII */
/* The buffer's text as the next cell; takes the buffer. */
void sw_grid_add_taken(struct sw_grid *g, struct sw_buf *text, enum sw_tint tint);
/* A JSON value as the next cell (sw_fmt_value(), not exact). */
void sw_grid_add_value(struct sw_grid *g, const cJSON *v, enum sw_tint tint);
/* Its "state", in that one's colour. */
void sw_grid_add_state(struct sw_grid *g, const cJSON *object);
void sw_grid_add_member(struct sw_grid *g, const cJSON *object, const char *key);

void sw_grid_reverse(struct sw_grid *g); /* the last row first */

/* Chooses columns for a width: out[i] is the columns of column i, 0 when it is dropped. One blank
 * stands between two columns. Values are cut at 24 columns; a name is whole unless the first two
 * columns do not fit. Width 0: all, in full. Returns the columns that are used. */
int sw_grid_fit(const struct sw_grid *g, int width, int *out);

#endif
