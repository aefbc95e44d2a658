#include "trainer/data/csv.h"
#include "base/beat.h"
#include "base/fault.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/utf8.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK       ((size_t)64 * 1024)
#define ROW_MOST    ((size_t)16 << 20) /* bytes of a row */
#define MAX_COLUMNS ((size_t)65536)

static sw_status no_memory(const struct sw_csv_reader *c, struct sw_err *err)
{
	return sw_err_set(err, SW_NOMEM, "no memory to read %s", c->file.show);
}

/* --- the file --- */

/* Reads on into the block. A row that does not fit makes it larger, up to a limit. */
static sw_status fill(struct sw_csv_reader *c, struct sw_err *err)
{
	ssize_t got;

	/* The row at hand to the front: cells point into the block, and are used up before the next
	 * is filled. */
	memmove(c->text, c->text + c->at, c->len - c->at);
	c->len -= c->at;
	c->at = 0;
	if (c->size - c->len < BLOCK) {
		char *bigger = c->size < ROW_MOST ? sw_realloc(c->text, 2 * c->size) : NULL;

		if (!bigger && c->size >= ROW_MOST)
			return sw_err_at(err, SW_TOO_BIG, "/path",
					 "%s: line %zu begins a row of over %zu bytes",
					 c->file.show, c->next_line, ROW_MOST);
		if (!bigger)
			return no_memory(c, err);
		c->text = bigger;
		c->size *= 2;
	}
	do {
		got = sw_fault_hit(SW_FAULT_IO)
			      ? (errno = EIO, -1)
			      : read(c->file.fd, c->text + c->len, c->size - c->len - 1);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return sw_err_at(err, SW_IO, "/path", "%s: %s", c->file.show, strerror(errno));
	c->len += (size_t)got;
	c->end = got == 0;
	return SW_OK;
}

/* Bytes of the row that begins at s[0..n), its newline with them. 0: it is not whole. */
static size_t row_bytes(const char *s, size_t n, bool end)
{
	bool fresh = true, quoted = false;

	for (size_t i = 0; i < n; i++) {
		/* A newline within quotes is part of a cell. */
		if (quoted) {
			if (s[i] == '"' && i + 1 < n && s[i + 1] == '"')
				i++;
			else if (s[i] == '"')
				quoted = false;
		} else if (s[i] == '\n') {
			return i + 1;
		} else {
			/* A quote opens a cell only at its begin; in the middle it is a
			 * character. */
			quoted = fresh && s[i] == '"';
			fresh = s[i] == ',';
		}
	}
	return end ? n : 0;
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
					 "convert the file (iconv -t UTF-8)",
					 c->file.show, line, (unsigned char)text[i]);
	}
	return SW_OK;
}

/* --- a row --- */

/* Ends the quoted cell that starts at `from` (after its quote), in place. Returns what follows the
 * closing quote, or NULL if it is never closed. */
static char *unquote(struct sw_csv_reader *c, char *from)
{
	char *to = from;

	for (; *from; from++) {
		if (*from == '"' && from[1] == '"')
			from++;
		else if (*from == '"')
			break;
		c->next_line += *from == '\n';
		*to++ = *from;
	}
	if (*from == '\0')
		return NULL;
	*to = '\0';
	return from + 1;
}

static sw_status cell_add(struct sw_csv_reader *c, char *text, struct sw_err *err)
{
	if (c->cells == MAX_COLUMNS)
		return sw_err_at(err, SW_TOO_BIG, "/path", "%s: line %zu has over %zu columns",
				 c->file.show, c->line, MAX_COLUMNS);
	if (!sw_array_reserve(&c->cell, &c->cap, c->cells + 1, sizeof *c->cell))
		return no_memory(c, err);
	c->cell[c->cells++] = text;
	return SW_OK;
}

/* Cuts a row, which ends with a NUL, into cells, in place. One of no bytes has none. */
static sw_status cut(struct sw_csv_reader *c, char *at, struct sw_err *err)
{
	c->cells = 0;
	c->line = c->next_line;
	if (strcmp(at, "\n") == 0 || strcmp(at, "\r\n") == 0) {
		c->next_line++;
		return SW_OK;
	}
	for (;;) {
		char *end;
		sw_status rc;

		if (*at == '"') {
			end = unquote(c, ++at);
			if (!end)
				return sw_err_at(err, SW_INVALID, "/path",
						 "%s: line %zu opens a quote that is never closed",
						 c->file.show, c->line);
			if (!strchr(",\r\n", *end))
				return sw_err_at(err, SW_INVALID, "/path",
						 "%s: line %zu has text after a closing quote",
						 c->file.show, c->line);
		} else {
			end = at + strcspn(at, ",\r\n");
		}
		if (*end == '\r' && end[1] != '\n')
			return sw_err_at(err, SW_INVALID, "/path",
					 "%s: line %zu has a carriage return (\\r) that ends no "
					 "line: convert the file (tr '\\r' '\\n')",
					 c->file.show, c->line);
		rc = cell_add(c, at, err);
		if (rc != SW_OK)
			return rc;
		const bool more = *end == ',';

		c->next_line += *end == '\r' || *end == '\n';
		*end = '\0';
		if (!more)
			return SW_OK;
		at = end + 1;
	}
}

sw_status sw_csv_next(struct sw_csv_reader *c, struct sw_err *err)
{
	sw_status rc = SW_OK;

	sw_beat();
	for (c->cells = 0; rc == SW_OK && c->cells == 0;) {
		char *row = c->text + c->at;
		const size_t n = row_bytes(row, c->len - c->at, c->end);

		if (n == 0 && c->end)
			return SW_OK; /* all rows are given */
		if (n == 0) {
			rc = fill(c, err);
			continue;
		}
		rc = text_check(c, row, n, err);
		if (rc != SW_OK)
			return rc;
		const char kept = row[n];

		row[n] = '\0';
		rc = cut(c, row, err);
		/* a row that ends with the file has its NUL here */
		if (c->at + n < c->len)
			row[n] = kept;
		c->at += n;
	}
	if (rc == SW_OK && c->columns && c->cells != c->columns)
		rc = sw_err_at(err, SW_INVALID, "/path",
			       "%s: line %zu has %zu columns, the %s has %zu", c->file.show,
			       c->line, c->cells, c->name ? "header" : "first row", c->columns);
	return rc;
}

/* --- the first row --- */

sw_status sw_csv_open(struct sw_csv_reader *c, const char *path, struct sw_err *err)
{
	sw_status rc = SW_OK;

	memset(c, 0, sizeof *c);
	c->next_line = 1;
	if (strcmp(path, "-") == 0)
		c->file = (struct sw_data_file){.fd = STDIN_FILENO, .show = "standard input"};
	else
		rc = sw_data_file_open(&c->file, path, "/path", err);
	if (rc != SW_OK)
		return rc;
	c->size = 2 * BLOCK;
	c->text = sw_malloc(c->size);
	if (!c->text)
		return no_memory(c, err);
	rc = fill(c, err);
	if (rc != SW_OK)
		return rc;
	if (c->len >= 2 &&
	    (memcmp(c->text, "\xff\xfe", 2) == 0 || memcmp(c->text, "\xfe\xff", 2) == 0))
		return sw_err_at(err, SW_INVALID, "/path",
				 "%s is UTF-16: convert the file (iconv -f UTF-16 -t UTF-8)",
				 c->file.show);
	if (c->len >= 3 && memcmp(c->text, "\xef\xbb\xbf", 3) == 0)
		c->at = 3; /* a byte order mark */
	rc = sw_csv_next(c, err);
	if (rc == SW_OK && c->cells == 0)
		return sw_err_at(err, SW_INVALID, "/path", "%s is empty", c->file.show);
	c->columns = c->cells;
	return rc;
}

sw_status sw_csv_names(struct sw_csv_reader *c, struct sw_err *err)
{
	size_t bytes = 0, at = 0;

	for (size_t i = 0; i < c->cells; i++)
		bytes += strlen(c->cell[i]) + 1;
	c->name_text = sw_malloc(bytes);
	c->name = sw_malloc(c->cells * sizeof *c->name);
	if (!c->name_text || !c->name)
		return no_memory(c, err);
	for (size_t i = 0; i < c->cells; i++) {
		const size_t n = strlen(c->cell[i]) + 1;

		c->name[i] = memcpy(c->name_text + at, c->cell[i], n);
		at += n;
	}
	return SW_OK;
}

void sw_csv_close(struct sw_csv_reader *c)
{
	if (c->file.fd != STDIN_FILENO)
		sw_data_file_close(&c->file);
	free(c->text);
	free(c->cell);
	free(c->name);
	free(c->name_text);
}

/* --- cells --- */

/* A whole text as a decimal number, infinite where it is too large for a double. */
static bool decimal(const char *text, double *out)
{
	char *end;

	text += strspn(text, " \t");
	/* strtod alone would take inf, nan and 0x10 */
	if (*text == '\0' || strspn(text, "0123456789+-.eE \t") != strlen(text))
		return false;
	*out = strtod(text, &end);
	return end != text && end[strspn(end, " \t")] == '\0';
}

bool sw_csv_number(const char *text, double *out)
{
	return decimal(text, out) && isfinite(*out);
}

sw_status sw_csv_bad_cell(const struct sw_csv_reader *c, size_t column, struct sw_err *err)
{
	char name[44], cell[44], where[64];
	const char *text = c->cell[column], *quote = *text ? "\"" : "";
	double v;

	if (c->name)
		snprintf(where, sizeof where, "\"%s\"", sw_text_show(c->name[column], name));
	else
		snprintf(where, sizeof where, "%zu", column);
	return sw_err_at(err, SW_INVALID, "/path", "%s: line %zu, column %s: %s%s%s is %s",
			 c->file.show, c->line, where, quote,
			 *text ? sw_text_show(text, cell) : "an empty cell", quote,
			 decimal(text, &v) ? "too large for a float" : "not a number");
}
