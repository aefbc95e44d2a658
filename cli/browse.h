/*
 * cli/browse.h — what keys have chosen of the live tables: an order, a state, the trial under the
 * cursor, its curve, help. Pure; zeroed: the initial state.
 *
 * A key changes the struct alone. Where the cursor goes is settled when the table is next drawn,
 * since rows come and go in between; it stays on its trial, wherever that goes.
 */
#ifndef SW_CLI_BROWSE_H
#define SW_CLI_BROWSE_H

#include "cli/screen.h"
#include "cli/view.h"

#define SW_BROWSE_COLUMNS 32 /* those that `s` goes through */
#define SW_BROWSE_NAME    64 /* bytes of a column's name; by a longer one nothing is ordered */

struct sw_browse {
	size_t view; /* the cursor is in this table; order and state are those of all */
	bool help, curve;
	int state;                   /* only trials in sw_states[state - 1]; 0: all */
	char column[SW_BROWSE_NAME]; /* "": in the view's order */
	bool reversed;
	char columns[SW_BROWSE_COLUMNS][SW_BROWSE_NAME]; /* as last drawn, the metric first */
	size_t n_columns;
	uint64_t trial; /* under the cursor; 0: there is none yet */
	size_t at, top; /* its row, and the first one that is shown */
	size_t n, room; /* rows there are, and as many as are shown: a page */
	long move;      /* rows to go */
	int cause_room; /* columns of the causes, as last drawn; 0: they had none */
};

/* Applies a key to the tables of n views. False: the user leaves. */
bool sw_browse_key(struct sw_browse *b, enum sw_key key, const struct sw_view *views, size_t n);

/* Is the highest of the chosen column first? The metric begins with its best, all else with its
 * lowest. */
bool sw_browse_falling(const struct sw_browse *b, const struct sw_view *v);

/* The view's rows of the chosen state in the chosen order; a trial without a value in the column
 * stands last. *rows: [*n] copies that borrow v's JSON, to be freed. SW_NOMEM. O(n log n). */
SW_NODISCARD sw_status sw_browse_rows(const struct sw_browse *b, const struct sw_view *v,
				      struct sw_view_row **rows, size_t *n);

/* Moves the cursor and what is shown of the n rows, `room` at a time. */
void sw_browse_settle(struct sw_browse *b, const struct sw_view_row *rows, size_t n, size_t room);

/* Draws what the keys do over the canvas's lower rows. */
void sw_browse_help(struct sw_canvas *c);

#endif
