#include "base/memory.h"
#include "base/text.h"
#include "base/utf8.h"
#include "proto/nearest.h"
#include "trainer/data/csv_front.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAMES_SHOWN ((size_t)8) /* columns that an error lists */
#define MAX_COLUMNS ((size_t)65536)
#define LOOK_ROWS   32 /* for the separator */

static const char separators[] = ",;\t|";

/* SSE2, which each x86-64 has: a comparison makes each byte 0 or -1. */
typedef char bytes16 __attribute__((vector_size(16)));

/* --- a row --- */

static const char *separator_show(const struct sw_csv_reader *c)
{
	return c->separator == ','   ? ","
	       : c->separator == ';' ? ";"
	       : c->separator == '|' ? "|"
				     : "a tab";
}

/* Names of columns and classes go into JSON, and are looked for again in other files. */
static sw_status text_check(const struct sw_csv_reader *c, const char *text, size_t len,
			    struct sw_err *err)
{
	size_t line = c->next_line, n;

	for (size_t i = 0; i < len; i += n) {
		n = text[i] == '\0' ? 0 : sw_utf8_step(text + i, len - i);
		line += text[i] == '\n';
		if (text[i] == '\0')
			return sw_err_at(err, SW_INVALID, "/path",
					 "%s: line %zu has a NUL byte: not a text", c->file.show,
					 line);
		if (n == 0)
			return sw_err_at(err, SW_INVALID, "/path",
					 "%s: line %zu has the byte 0x%02x, which is not UTF-8: "
					 "say \"encoding\": \"latin-1\", or convert the file "
					 "(iconv -t UTF-8)",
					 c->file.show, line, (unsigned char)text[i]);
	}
	return SW_OK;
}

static sw_status cell_room(struct sw_csv_reader *c, size_t n, struct sw_err *err)
{
	if (n == MAX_COLUMNS)
		return sw_err_at(err, SW_TOO_BIG, "/path", "%s: line %zu has over %zu columns",
				 c->file.show, c->next_line, MAX_COLUMNS);
	return sw_array_reserve(&c->cell, &c->cap, n + 1, sizeof *c->cell) ? SW_OK
									   : csv_no_memory(c, err);
}

/* What a scan of a row found. */
struct scan {
	char *next;   /* the row behind; NULL: the block ends in it */
	size_t lines; /* that it has */
	unsigned high;
	bool nul, quotes; /* a NUL; quoted cells, whose text is still as it stands in the file */
};

/* Finds the end of a quoted cell, its closing quote; `from` is behind the opening one. NULL: it is
 * not in the block. */
static char *quote_end(const struct sw_csv_reader *c, char *from, struct scan *s)
{
	for (char *at = from; at < c->text + c->len; at++) {
		s->lines += *at == '\n';
		s->high |= (unsigned char)*at & 0x80;
		s->nul = s->nul || *at == '\0';
		if (*at != '"')
			continue;
		if (at[1] != '"')
			return at;
		at++;
	}
	return NULL;
}

/* 64 bytes, of which each has a bit: those that may end a cell without quotes (the separator, a
 * line's end, a NUL), points, and what is neither of these nor a digit. So all are looked at
 * before the first cell of them is known, and no cell waits for the one before it. */
struct window {
	char *base;
	uint64_t stops, points, odd; /* stops: that are not used up */
};

static inline uint64_t bits_of(bytes16 b)
{
	return (unsigned)__builtin_ia32_pmovmskb128(b);
}

/* Reads up to PAD bytes beyond the block. */
static inline void window_load(struct window *w, char *base, bytes16 separator, struct scan *s)
{
	typedef unsigned char ubytes16 __attribute__((vector_size(16)));

	*w = (struct window){.base = base};
#pragma GCC unroll 4
	for (unsigned i = 0; i < 64; i += 16) {
		bytes16 b;

		memcpy(&b, base + i, sizeof b);
		const bytes16 stop = (b == separator) | (b == '\n') | (b == '\r') | (b == 0);
		const bytes16 digit = (bytes16)((ubytes16)b - '0' < 10), point = b == '.';

		w->stops |= bits_of(stop) << i;
		w->points |= bits_of(point) << i;
		w->odd |= bits_of(~(stop | digit | point)) << i;
		s->high |= (unsigned)bits_of(b);
	}
}

/* The end of a cell without quotes; and whether it is plain. */
static inline char *cell_end(struct window *w, char *at, bytes16 separator, struct scan *s,
			     bool *plain)
{
	char *const from = at + (*at == '-');
	size_t low = (size_t)(from - w->base);
	uint64_t odd = 0, points = 0;

	while (w->stops == 0) {
		odd |= low < 64 ? w->odd >> low : 0;
		points = low < 64 ? w->points >> low : 0; /* more windows than two are too many */
		window_load(w, w->base + 64, separator, s);
		low = low < 64 ? 0 : low - 64;
	}
	const uint64_t cell = (w->stops & -w->stops) - ((uint64_t)1 << low),
		       point = w->points & cell;

	at = w->base + __builtin_ctzll(w->stops);
	w->stops &= w->stops - 1;
	odd |= (w->odd & cell) | (point & (point - 1)) | (points & (points - 1)) |
	       (points && point);
	*plain = odd == 0 && at - from > ((points | point) != 0) && at - from <= 32;
	return at;
}

static inline char *blanks_skip(const struct sw_csv_reader *c, char *at)
{
	while ((*at == ' ' || *at == '\t') && *at != c->separator)
		at++;
	return at;
}

/* A quoted cell from its opening quote on. *at: what ends it; NULL: the block ends in it. */
static sw_status quoted_scan(const struct sw_csv_reader *c, struct sw_csv_cell *cell, char **at,
			     struct scan *s, struct sw_err *err)
{
	s->quotes = true;
	*at = quote_end(c, *at + 1, s);
	if (!*at)
		return !c->end ? SW_OK
			       : sw_err_at(err, SW_INVALID, "/path",
					   "%s: line %zu opens a quote that is never closed",
					   c->file.show, c->next_line);
	cell->len = (size_t)(++*at - cell->text);
	*at = blanks_skip(c, *at);
	if (**at == c->separator || **at == '\n' || **at == '\r')
		return SW_OK;
	return sw_err_at(err, SW_INVALID, "/path",
			 "%s: line %zu has text after a closing quote, where the separator "
			 "(%s) is due",
			 c->file.show, c->next_line + s->lines - 1, separator_show(c));
}

/* The cells of the row at c->at as they stand in the block, which stays as it is: the row may have
 * to be scanned again when more of it is there. */
static sw_status row_scan(struct sw_csv_reader *c, struct scan *s, struct sw_err *err)
{
	const bytes16 separator = (bytes16){0} + c->separator;
	const char *const end = c->text + c->len;
	char *at = c->text + c->at;
	struct window w;
	size_t n = 0;
	sw_status rc = SW_OK;

	*s = (struct scan){.lines = 1};
	window_load(&w, at, separator, s);
	for (;; at++) {
		if (n == c->cap || n == MAX_COLUMNS)
			rc = cell_room(c, n, err);
		if (rc != SW_OK)
			return rc;
		struct sw_csv_cell *cell = &c->cell[n++];

		at = blanks_skip(c, at);
		*cell = (struct sw_csv_cell){.text = at};
		if (*at == '"') {
			rc = quoted_scan(c, cell, &at, s, err);
			if (rc != SW_OK || !at)
				return rc;
			window_load(&w, at, separator, s);
			w.stops &= w.stops - 1; /* which ends it */
		} else {
			at = cell_end(&w, at, separator, s, &cell->plain);
			while (*at == '\0' && at < end) { /* the check of the text will refuse it */
				s->nul = true;
				at = cell_end(&w, at + 1, separator, s, &cell->plain);
			}
			cell->len = (size_t)(at - cell->text);
			while (cell->len > 0 && (cell->text[cell->len - 1] == ' ' ||
						 cell->text[cell->len - 1] == '\t'))
				cell->len--;
		}
		if (*at != c->separator)
			break;
	}
	c->cells = n;
	/* what ends here may go on in the next block */
	if (at + (*at == '\r') == end && !c->end)
		return SW_OK;
	if (*at == '\r' && at[1] != '\n')
		return sw_err_at(err, SW_INVALID, "/path",
				 "%s: line %zu has a carriage return (\\r) that ends no line: "
				 "convert the file (tr '\\r' '\\n')",
				 c->file.show, c->next_line + s->lines - 1);
	at += *at == '\r';
	s->next = at + (at < end);
	return SW_OK;
}

/* Takes the quotes off a cell, in place. */
static void unquote(struct sw_csv_cell *cell)
{
	char *to = cell->text + 1;

	for (const char *at = to, *end = cell->text + cell->len - 1; at < end; at++) {
		*to++ = *at;
		at += *at == '"';
	}
	cell->text++;
	cell->len = (size_t)(to - cell->text);
}

/* Each cell ends with a NUL, where its separator stood, or in front of that. */
static void cells_end(const struct sw_csv_reader *c, bool quotes)
{
	for (size_t i = 0; i < c->cells; i++) {
		struct sw_csv_cell *cell = &c->cell[i];

		if (quotes && cell->len > 1 && *cell->text == '"')
			unquote(cell);
		cell->text[cell->len] = '\0';
	}
}

sw_status sw_csv_next(struct sw_csv_reader *c, struct sw_err *err)
{
	struct scan s;
	sw_status rc;

	for (;;) {
		if (c->at == c->len && c->end) {
			c->cells = 0;
			return SW_OK; /* all rows are given */
		}
		rc = row_scan(c, &s, err);
		if (rc == SW_OK && !s.next) {
			rc = csv_fill(c, err);
			if (rc == SW_OK)
				continue;
		}
		if (rc != SW_OK)
			return rc;
		char *row = c->text + c->at;

		if (s.nul || s.high)
			rc = text_check(c, row, (size_t)(s.next - row), err);
		if (rc != SW_OK)
			return rc;
		c->at = (size_t)(s.next - c->text);
		c->line = c->next_line;
		c->next_line += s.lines;
		/* of one column an empty line is an empty cell */
		if ((*row != '\n' && *row != '\r') || c->columns == 1)
			break;
	}
	cells_end(c, s.quotes);
	if (!c->columns || c->cells == c->columns)
		return SW_OK;
	const bool names = c->names.n && c->line == 2 && c->cells == c->columns + 1;

	return sw_err_at(
		err, SW_INVALID, "/path",
		"%s: line %zu has %zu columns, the %s has %zu: %sa cell with the separator "
		"(%s) in it needs quotes",
		c->file.show, c->line, c->cells, c->names.n ? "header" : "first row", c->columns,
		names ? "the first column (R's row names) lacks a name, or " : "",
		separator_show(c));
}

/* --- the first row --- */

/* *first: into how many cells the separator cuts the first row, 0: none that is whole; *all: the
 * rows behind it, too; *more: the block ends in the first. Only SW_NOMEM is an error: what is wrong
 * with a row is said when it is read. */
static sw_status separator_try(struct sw_csv_reader *c, char separator, size_t *first, bool *all,
			       bool *more)
{
	const size_t at = c->at;
	sw_status rc = SW_OK;
	struct scan s;

	c->separator = separator;
	*first = 0;
	*all = true;
	for (int rows = 0; rows < LOOK_ROWS && c->at < c->len;) {
		rc = row_scan(c, &s, NULL);
		if (*first == 0 && rc == SW_TOO_BIG)
			*first = MAX_COLUMNS;
		*more = *more || (*first == 0 && rc == SW_OK && !s.next);
		if (rc != SW_OK || !s.next)
			break;
		if (c->text[c->at] != '\n' && c->text[c->at] != '\r') {
			*first = *first ? *first : c->cells;
			*all = *all && c->cells == *first;
			rows++;
		}
		c->at = (size_t)(s.next - c->text);
	}
	c->at = at;
	return rc == SW_NOMEM ? rc : SW_OK;
}

static sw_status separator_find(struct sw_csv_reader *c, struct sw_err *err)
{
	size_t most = 0;
	char best = ',';
	bool more = false;

	/* one that cuts all rows alike before one that does not */
	for (const char *at = separators; *at; at++) {
		size_t n;
		bool all;

		if (separator_try(c, *at, &n, &all, &more) != SW_OK)
			return csv_no_memory(c, err);
		const size_t worth = n + (all && n > 1 ? 2 * MAX_COLUMNS : 0);

		if (worth > most) {
			most = worth;
			best = *at;
		}
	}
	c->separator = best;
	if (most > 0 || !more)
		return SW_OK;
	const sw_status rc = csv_fill(c, err);

	return rc == SW_OK ? separator_find(c, err) : rc;
}

/* Excel's first line "sep=;" names the separator, and is no row. */
static bool separator_is_said(struct sw_csv_reader *c)
{
	const char *const from = c->text + c->at, *const end = c->text + c->len;
	const char *at = from + 5;

	if (at > end || strncasecmp(from, "sep=", 4) != 0 || strspn(from + 4, separators) == 0)
		return false;
	at += *at == '\r';
	if (*at != '\n')
		return false;
	c->separator = from[4];
	c->at = (size_t)(at + (at < end) - c->text);
	c->next_line = 2;
	return true;
}

sw_status sw_csv_open(struct sw_csv_reader *c, const char *path, bool latin1, struct sw_err *err)
{
	memset(c, 0, sizeof *c);
	c->next_line = 1;
	sw_status rc = csv_front(c, path, latin1, err);

	if (rc == SW_OK && !separator_is_said(c))
		rc = separator_find(c, err);
	if (rc == SW_OK)
		rc = sw_csv_next(c, err);
	if (rc == SW_OK && c->cells == 0)
		return sw_err_at(err, SW_INVALID, "/path", "%s is empty", c->file.show);
	c->columns = c->cells;
	return rc;
}

sw_status sw_csv_names(struct sw_csv_reader *c, const struct sw_texts *taken, struct sw_err *err)
{
	char show[44];
	size_t id;

	c->names = (struct sw_texts){.most = c->cells, .names = true};
	for (size_t i = 0; i < c->cells; i++) {
		const struct sw_csv_cell *cell = &c->cell[i];
		const size_t first = sw_texts_find(&c->names, cell);

		if (first < i && (!taken || sw_texts_find(taken, cell) < taken->n))
			return sw_err_at(err, SW_INVALID, "/path",
					 "%s: line %zu: columns %zu and %zu (from 0) are both "
					 "called \"%s\": rename one",
					 c->file.show, c->line, first, i,
					 sw_text_show(cell->text, show));
		if (sw_texts_add(&c->names, cell, &id) != SW_OK)
			return csv_no_memory(c, err);
	}
	return SW_OK;
}

void sw_csv_close(struct sw_csv_reader *c)
{
	csv_front_close(c);
	free(c->cell);
	sw_texts_fini(&c->names);
}

/* --- a column by its name --- */

/* Refuses a name that no column has; the line says the nearest, or the first few. */
static sw_status unknown(const struct sw_csv_reader *r, const char *name, const char *ptr,
			 struct sw_err *err)
{
	char show[44], list[NAMES_SHOWN * 48 + 8] = "", one[44];
	const char **names = sw_malloc(r->columns * sizeof *names), *near = NULL;
	const bool file = strcmp(ptr, "/path") == 0; /* lacks it: no option names it */
	const bool number = !file && name[strspn(name, "-0123456789")] == '\0';
	size_t n = 0;

	for (size_t i = 0; names && i < r->columns; i++)
		names[i] = sw_csv_name(r, i);
	if (names)
		near = sw_nearest(name, names, r->columns);
	free(names);
	for (size_t i = 0; i < r->columns && i < NAMES_SHOWN; i++)
		n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "",
				      sw_text_show(sw_csv_name(r, i), one));
	if (r->columns > NAMES_SHOWN)
		memcpy(list + n, ", ...", 6);
	if (near)
		(void)snprintf(list, sizeof list, "\"%s\"?", sw_text_show(near, one));
	return sw_err_at(err, SW_INVALID, ptr, "%s has no column \"%s\"%s: %s%s", r->file.show,
			 sw_text_show(name, show), file ? ", which the model takes" : "",
			 number ? "a column's number has no quotes (from 0)"
			 : near ? "did you mean "
				: "it has ",
			 number ? "" : list);
}

sw_status sw_csv_find(const struct sw_csv_reader *r, const char *name, long index, const char *key,
		      size_t *out, struct sw_err *err)
{
	const long n = (long)r->columns;
	char ptr[48];

	(void)snprintf(ptr, sizeof ptr, "/%s", key);
	if (!name) {
		const long i = index < 0 ? index + n : index;

		if (i < 0 || i >= n)
			return sw_err_at(err, SW_INVALID, ptr,
					 "%s has %ld columns: there is no column %ld (from 0)",
					 r->file.show, n, index);
		*out = (size_t)i;
		return SW_OK;
	}
	if (!r->names.n) {
		char *end;

		*out = strtoul(name, &end, 10);
		return *name >= '0' && *name <= '9' && *end == '\0' && *out < r->columns
			       ? SW_OK
			       : sw_err_at(err, SW_INVALID, ptr,
					   "without a header a column is named by its number, from "
					   "0 to %ld",
					   n - 1);
	}
	*out = sw_texts_find(&r->names,
			     &(struct sw_csv_cell){.text = (char *)name, .len = strlen(name)});
	return *out < r->columns ? SW_OK : unknown(r, name, ptr, err);
}

/* --- for messages --- */

const char *sw_csv_column_show(const struct sw_csv_reader *c, size_t column, char out[48])
{
	char name[44];

	if (c->names.n)
		(void)snprintf(out, 48, "\"%s\"", sw_text_show(sw_csv_name(c, column), name));
	else
		(void)snprintf(out, 48, "%zu", column);
	return out;
}

sw_status sw_csv_bad_cell(const struct sw_csv_reader *c, size_t column, struct sw_err *err)
{
	const struct sw_csv_cell *cell = &c->cell[column];
	const char *quote = cell->len ? "\"" : "";
	const bool digits = strspn(cell->text, "0123456789+-.eE") == cell->len;
	const bool large = digits && fabs(strtod(cell->text, NULL)) > (double)FLT_MAX;
	char show[44], where[48];

	return sw_err_at(err, SW_INVALID, "/path", "%s: line %zu, column %s: %s%s%s is %s",
			 c->file.show, c->line, sw_csv_column_show(c, column, where), quote,
			 cell->len ? sw_text_show(cell->text, show) : "an empty cell", quote,
			 large ? "too large for a float" : "not a number");
}
