#include "cli/browse.h"
#include "base/memory.h"
#include "cli/trial_grid.h"
#include "proto/json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- keys --- */

static void next_column(struct sw_browse *b)
{
	size_t i = 0;

	b->reversed = false;
	while (i < b->n_columns && strcmp(b->columns[i], b->column) != 0)
		i++;
	/* Behind the last one comes the view's own order; a column that is no longer there counts
	 * as that. */
	i = i < b->n_columns ? i + 1 : 0;
	(void)snprintf(b->column, sizeof b->column, "%s", i < b->n_columns ? b->columns[i] : "");
}

/* The next state that some trial is in; behind the last one all. */
static void next_state(struct sw_browse *b, const struct sw_view *v)
{
	do
		b->state = (b->state + 1) % (SW_STATE_N + 1);
	while (b->state > 0 && sw_view_count(v, sw_states[b->state - 1]) == 0);
}

static long rows_to_go(const struct sw_browse *b, enum sw_key key)
{
	const long page = b->room > 1 ? (long)b->room - 1 : 1;

	switch (key) {
	case SW_KEY_UP:
		return -1;
	case SW_KEY_DOWN:
		return 1;
	case SW_KEY_PAGE_UP:
		return -page;
	case SW_KEY_PAGE_DOWN:
		return page;
	case SW_KEY_HOME:
		return -(long)b->n;
	case SW_KEY_END:
		return (long)b->n;
	default:
		return 0;
	}
}

/* Each key by itself stays within the table: End and then Up is the last but one. Without a cursor
 * yet, rows count from above the first: any key that moves shows it. */
static void move_cursor(struct sw_browse *b, long rows)
{
	const long at = b->trial != 0 ? (long)b->at : -1;
	const long to = at + b->move + rows, last = (long)b->n - 1;

	if (rows != 0)
		b->move = (to > last ? last : to < 0 ? 0 : to) - at;
	/* The window goes along key by key, however many come between two frames. */
	if (rows != 0 && at + b->move >= (long)(b->top + b->room))
		b->top = (size_t)(at + b->move + 1) - b->room;
	else if (rows != 0 && at + b->move >= 0 && at + b->move < (long)b->top)
		b->top = (size_t)(at + b->move);
}

static void to_start(struct sw_browse *b)
{
	const size_t view = b->view;

	memset(b, 0, sizeof *b);
	b->view = view;
}

bool sw_browse_key(struct sw_browse *b, enum sw_key key, const struct sw_view *views, size_t n)
{
	if (key == SW_KEY_RESIZE)
		return true;
	if (b->help) {
		b->help = false; /* any key: who does not know the keys presses some */
		return true;
	}
	/* Before a curve looks at the key: Up and Down go to another trial's curve without leaving
	 * it. */
	move_cursor(b, rows_to_go(b, key));
	if (key == SW_KEY_HELP)
		b->help = true;
	if (b->curve) {
		b->curve = key != SW_KEY_QUIT && key != SW_KEY_ESC && key != SW_KEY_LEFT;
		return true;
	}
	if (key == SW_KEY_ENTER)
		b->curve = true;
	else if (key == SW_KEY_ESC)
		to_start(b);
	else if (key == SW_KEY_SORT)
		next_column(b);
	else if (key == SW_KEY_REVERSE)
		b->reversed = !b->reversed;
	else if (key == SW_KEY_FILTER)
		next_state(b, &views[b->view]);
	else if (key == SW_KEY_TAB && n > 1) {
		b->view = (b->view + 1) % n;
		b->trial = 0;
		b->move = 0;
	}
	return key != SW_KEY_QUIT;
}

/* --- rows --- */

enum kind { KIND_NUMBER, KIND_TEXT, KIND_NOTHING }; /* in this order in a column */

struct ordered {
	enum kind kind;
	double number;
	const char *text;
	bool falling;
	size_t place; /* in the view */
};

static struct ordered value_of(const struct sw_trial_grid *how, const cJSON *trial,
			       const char *column)
{
	const cJSON *v = sw_trial_grid_value(how, trial, column);

	if (cJSON_IsNumber(v) || cJSON_IsBool(v))
		return (struct ordered){.number = cJSON_IsBool(v) ? cJSON_IsTrue(v)
								  : v->valuedouble};
	if (!cJSON_IsString(v))
		return (struct ordered){.kind = KIND_NOTHING};
	/* States sort as they are shown, not by the alphabet. */
	for (size_t i = 0; strcmp(column, "state") == 0 && i < SW_STATE_N; i++)
		if (strcmp(v->valuestring, sw_states[i]) == 0)
			return (struct ordered){.number = (double)i};
	return (struct ordered){.kind = KIND_TEXT, .text = v->valuestring};
}

static int by_value(const void *pa, const void *pb)
{
	const struct ordered *a = pa, *b = pb;
	int by = 0;

	/* In both directions: what has no value is last, also in a falling order. */
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->kind == KIND_NUMBER)
		by = (a->number > b->number) - (a->number < b->number);
	else if (a->kind == KIND_TEXT)
		by = strcmp(a->text, b->text);
	if (by == 0)
		return a->place < b->place ? -1
					   : 1; /* equals keep their places from frame to frame */
	return a->falling ? -by : by;
}

bool sw_browse_falling(const struct sw_browse *b, const struct sw_view *v)
{
	const bool best_is_high = strcmp(b->column, sw_json_text(v->head, "metric", "")) == 0 &&
				  strcmp(sw_json_text(v->head, "goal", ""), "maximize") == 0;

	return best_is_high != b->reversed;
}

sw_status sw_browse_rows(const struct sw_browse *b, const struct sw_view *v,
			 struct sw_view_row **rows, size_t *n)
{
	const struct sw_trial_grid how = sw_trial_grid_of(v, 0);
	struct ordered *order = sw_calloc(v->n + 1, sizeof *order);

	*n = 0;
	/* One more than there are, since calloc(0) may be NULL. */
	*rows = sw_calloc(v->n + 1, sizeof **rows);
	if (order == NULL || *rows == NULL) {
		free(order);
		free(*rows);
		*rows = NULL;
		return SW_NOMEM;
	}
	for (size_t i = 0; i < v->n; i++) {
		const char *state = sw_json_text(v->rows[i].json, "state", "");

		if (b->state > 0 && strcmp(state, sw_states[b->state - 1]) != 0)
			continue;
		if (b->column[0] != '\0')
			order[*n] = value_of(&how, v->rows[i].json, b->column);
		order[*n].falling = sw_browse_falling(b, v);
		order[(*n)++].place = i;
	}
	if (b->column[0] != '\0' && *n > 0)
		qsort(order, *n, sizeof *order, by_value);
	for (size_t i = 0; i < *n; i++)
		(*rows)[i] = v->rows[order[i].place];
	free(order);
	return SW_OK;
}

void sw_browse_settle(struct sw_browse *b, const struct sw_view_row *rows, size_t n, size_t room)
{
	long to = (long)b->at + b->move;
	bool there = false;

	for (size_t i = 0; i < n && !there; i++)
		if (b->trial != 0 && rows[i].trial == b->trial) {
			there = true;
			to = (long)i + b->move;
		}
	b->room = room;
	b->n = n;
	/* A curve stays when its trial leaves the table. */
	if (n == 0 || (b->curve && b->trial != 0 && !there && b->move == 0))
		return;
	if (b->trial == 0) {
		if (b->move == 0)
			b->top = 0;
		if (b->move == 0 && !b->curve)
			return;
		to = b->move - 1; /* the first step only shows the cursor */
	}
	b->move = 0;
	b->at = to < 0 ? 0 : to < (long)n ? (size_t)to : n - 1;
	b->trial = rows[b->at].trial;
	if (b->top + room > n)
		b->top = n > room ? n - room : 0;
	if (b->at < b->top)
		b->top = b->at;
	if (room > 0 && b->at >= b->top + room)
		b->top = b->at - room + 1;
}

/* --- help --- */

void sw_browse_help(struct sw_canvas *c)
{
	static const char *const lines[] = {
		"",
		" Up Down         the cursor: the trial above, below",
		" PgUp PgDn       a page up, down",
		" Home End        the first trial, the last",
		" Enter Right     the trial's curve; q, Esc or Left: back",
		" s               order by the next column; first the metric",
		" S               the other way round",
		" f               trials in one state; the next one",
		" Tab             the next sweep's table",
		" Esc             all trials, in the order of their changes",
		" q               leave; the sweeps go on",
		" any key closes this",
	};
	const int n = (int)(sizeof lines / sizeof lines[0]);

	for (int i = 0; i < n; i++) {
		const int row = c->height - n + i;

		sw_canvas_blank(c, row);
		(void)sw_canvas_put(c, row, 0, c->width,
				    i == 0 || i == n - 1 ? SW_TINT_DIM : SW_TINT_NONE, false,
				    lines[i]);
	}
}
