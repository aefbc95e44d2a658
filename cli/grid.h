/*
 * cli/grid.h — a table before it has a shape: named columns, rows of text cells.
 *
 * Filled by the verbs and the live table; drawn by cli/table.h (libsmartcols) or cli/live.h.
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

struct sw_grid_col {
	char *name;
	const char *given; /* the name as it came, borrowed: not for a terminal */
	bool right;        /* numbers */
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
/* All columns come before the first row. */
void sw_grid_col(struct sw_grid *g, const char *name, bool right, int drop);
struct sw_grid_head {
	const char *name;
	bool right;
	int drop;
};
/* Inits it, with these columns. */
void sw_grid_heads(struct sw_grid *g, bool utf8, const struct sw_grid_head *heads, size_t n);
void sw_grid_row(struct sw_grid *g);
/* The next cell of the last row. text is made harmless and copied; NULL: an empty cell. */
void sw_grid_add(struct sw_grid *g, const char *text, enum sw_tint tint);
void sw_grid_addf(struct sw_grid *g, const char *fmt, ...) SW_PRINTF(2, 3); /* plain ASCII */
/* The buffer's text as the next cell; takes the buffer. */
void sw_grid_add_taken(struct sw_grid *g, struct sw_buf *text, enum sw_tint tint);
/* A JSON value as the next cell (sw_fmt_value(), not exact). */
void sw_grid_add_value(struct sw_grid *g, const cJSON *v, enum sw_tint tint);
/* The object's members of these names, up to a NULL, as the next cells. */
void sw_grid_add_members(struct sw_grid *g, const cJSON *object, const char *const *keys);
void sw_grid_add_member(struct sw_grid *g, const cJSON *object, const char *key);
/* Its "state", in that one's colour. */
void sw_grid_add_state(struct sw_grid *g, const cJSON *object);
/* "2026-11-21 10:31:07", "2m05s": a time in ms, a number of seconds; "-" of any other value. */
void sw_grid_add_time(struct sw_grid *g, const cJSON *wall_ms);
void sw_grid_add_duration(struct sw_grid *g, const cJSON *seconds);

/* Takes away a column in which no row has anything. */
void sw_grid_drop_empty(struct sw_grid *g, size_t col);
void sw_grid_reverse(struct sw_grid *g); /* the last row first */

/* Chooses columns for a width: out[i] is the columns of column i, 0 when it is dropped. One blank
 * stands between two columns. Values are cut at 24 columns; a name is whole unless the first two
 * columns do not fit. Returns the columns that are used. */
int sw_grid_fit(const struct sw_grid *g, int width, int *out);

#endif
