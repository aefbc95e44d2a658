#include "worker/data/data_csv.h"
#include "base/beat.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/utf8.h"
#include "proto/nearest.h"
#include "worker/data/data_files.h"
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES   ((uint64_t)1 << 30)
#define MAX_COLUMNS ((size_t)65536)
#define NAMES_SHOWN ((size_t)8) /* columns that an error lists */

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

bool sw_data_csv_number(const char *text, double *out)
{
	return decimal(text, out) && isfinite(*out);
}

/* The whole file, NUL-terminated. */
static sw_status load_text(const char *path, char **out, size_t *len, struct sw_err *err)
{
	struct sw_data_file f;
	sw_status rc = sw_data_file_open(&f, path, "/path", err);

	if (rc != SW_OK)
		return rc;
	if (f.size > MAX_BYTES)
		rc = sw_err_at(err, SW_TOO_BIG, "/path", "%s is over 1 GiB", path);
	else if (!(*out = sw_malloc((size_t)f.size + 1)))
		rc = sw_err_set(err, SW_NOMEM, "no memory to read %s", f.show);
	else {
		(*out)[f.size] = '\0';
		*len = (size_t)f.size;
		rc = sw_data_file_read(&f, *out, (size_t)f.size, "the text", err);
	}
	sw_data_file_close(&f);
	return rc;
}

/* Ends the quoted cell that starts at `from` (after its quote), in place. Returns what follows the
 * closing quote, or NULL when there is none. */
static char *unquote(struct sw_csv_reader *r, char *from)
{
	char *to = from;

	for (; *from; from++) {
		if (*from == '"' && from[1] == '"')
			from++;
		else if (*from == '"')
			break;
		r->line += *from == '\n';
		*to++ = *from;
	}
	if (*from == '\0')
		return NULL;
	*to = '\0';
	return from + 1;
}

static sw_status cell_add(struct sw_csv_reader *r, char *text, struct sw_err *err)
{
	if (r->cells == MAX_COLUMNS)
		return sw_err_at(err, SW_TOO_BIG, "/path", "%s: line %zu has over %zu columns",
				 r->path, r->line, MAX_COLUMNS);
	if (!sw_array_reserve(&r->cell, &r->cap, r->cells + 1, sizeof *r->cell))
		return sw_err_set(err, SW_NOMEM, "no memory for a row of %s", r->path);
	r->cell[r->cells++] = text;
	return SW_OK;
}

sw_status sw_data_csv_next(struct sw_csv_reader *r, size_t *line, struct sw_err *err)
{
	r->cells = 0;
	while (*r->at == '\n' || (*r->at == '\r' && r->at[1] == '\n')) {
		r->at += *r->at == '\r' ? 2 : 1;
		r->line++;
	}
	*line = r->line;
	if (*r->at == '\0')
		return SW_OK; /* no cells: the end */
	for (;;) {
		char *start = r->at, *end;
		sw_status rc;

		if (*start == '"') {
			end = unquote(r, ++start);
			if (!end)
				return sw_err_at(err, SW_INVALID, "/path",
						 "%s: line %zu opens a quote that is never closed",
						 r->path, *line);
			if (!strchr(",\r\n", *end))
				return sw_err_at(err, SW_INVALID, "/path",
						 "%s: line %zu has text after a closing quote",
						 r->path, *line);
		} else {
			end = start + strcspn(start, ",\r\n");
		}
		if (*end == '\r' && end[1] != '\n')
			return sw_err_at(err, SW_INVALID, "/path",
					 "%s: line %zu has a carriage return (\\r) that ends no "
					 "line: convert the file (tr '\\r' '\\n')",
					 r->path, *line);
		rc = cell_add(r, start, err);
		if (rc != SW_OK)
			return rc;
		if (*end == '\r')
			*end++ = '\0';
		const char separator = *end;

		*end = '\0';
		r->at = separator ? end + 1 : end;
		if (separator == ',')
			continue;
		r->line += separator == '\n';
		return SW_OK;
	}
}

/* Refuses a label that no column has; the line names the nearest, or the first few. */
static sw_status label_unknown(const struct sw_csv_reader *r, const char *name, struct sw_err *err)
{
	char show[44], list[NAMES_SHOWN * 48 + 8] = "", one[44];
	const char *near = sw_nearest(name, (const char *const *)r->name, r->columns);
	size_t n = 0;

	if (name[strspn(name, "-0123456789")] == '\0')
		return sw_err_at(
			err, SW_INVALID, "/label",
			"%s has no column \"%s\": a column's number has no quotes (from 0)",
			r->path, sw_text_show(name, show));
	if (near)
		return sw_err_at(err, SW_INVALID, "/label",
				 "%s has no column \"%s\": did you mean \"%s\"?", r->path,
				 sw_text_show(name, show), sw_text_show(near, one));
	for (size_t i = 0; i < r->columns && i < NAMES_SHOWN; i++) {
		const char *text = sw_text_show(r->name[i], one);

		n += strlen(strcpy(list + n, i ? ", " : ""));
		n += strlen(strcpy(list + n, text));
	}
	return sw_err_at(err, SW_INVALID, "/label", "%s has no column \"%s\": it has %s%s", r->path,
			 sw_text_show(name, show), list, r->columns > NAMES_SHOWN ? ", ..." : "");
}

/* Finds the column of the label, by its name or its number. */
static sw_status label_find(struct sw_csv_reader *r, struct sw_data_csv_label label,
			    struct sw_err *err)
{
	const long n = (long)r->columns;
	char show[44];

	if (r->columns < 2)
		return sw_err_at(err, SW_INVALID, "/path",
				 "%s has one column: a label and at least one feature are needed",
				 r->path);
	if (!label.name) {
		const long i = label.index < 0 ? label.index + n : label.index;

		if (i < 0 || i >= n)
			return sw_err_at(err, SW_INVALID, "/label",
					 "%s has %ld columns: there is no column %ld (from 0)",
					 r->path, n, label.index);
		r->label = (size_t)i;
		return SW_OK;
	}
	if (!r->name)
		return sw_err_at(err, SW_INVALID, "/label",
				 "without a header the label is a column's number, from 0");
	size_t found = 0;

	for (size_t i = 0; i < r->columns; i++)
		if (strcmp(r->name[i], label.name) == 0 && found++ == 0)
			r->label = i;
	if (found == 1)
		return SW_OK;
	/* the other one would be a feature, and the answer */
	return found ? sw_err_at(err, SW_INVALID, "/label", "%s has %zu columns \"%s\"", r->path,
				 found, sw_text_show(label.name, show))
		     : label_unknown(r, label.name, err);
}

/* Names of columns and classes go into JSON, and are looked for again in other files. */
static sw_status text_check(const char *path, const char *text, size_t len, struct sw_err *err)
{
	const char *no_text = sw_data_csv_no_text(text, len);
	size_t line = 1, n;

	if (no_text)
		return sw_err_at(err, SW_INVALID, "/path", "%s %s", path, no_text);
	for (size_t i = 0; i < len; i += n) {
		n = sw_utf8_step(text + i, len - i);
		line += text[i] == '\n';
		if (n == 0)
			return sw_err_at(err, SW_INVALID, "/path",
					 "%s: line %zu has the byte 0x%02x, which is not UTF-8: "
					 "convert the file (iconv -t UTF-8)",
					 path, line, (unsigned char)text[i]);
	}
	return SW_OK;
}

const char *sw_data_csv_no_text(const char *text, size_t len)
{
	if (len >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0))
		return "is UTF-16: convert the file (iconv -f UTF-16 -t UTF-8)";
	return memchr(text, '\0', len) ? "has a NUL byte: not a text" : NULL;
}

/* Are the names of the features numbers, and not those that a table without names is given? */
static bool names_are_numbers(const struct sw_csv_reader *r)
{
	bool counted = true;
	double v;

	for (size_t i = 0; i < r->columns; i++) {
		if (i == r->label)
			continue;
		if (!sw_data_csv_number(r->name[i], &v))
			return false;
		counted = counted && v == (double)i;
	}
	return !counted;
}

sw_status sw_data_csv_bad_cell(const struct sw_csv_reader *r, size_t line, size_t column,
			       struct sw_err *err)
{
	char name[44], cell[44], where[64];
	const char *text = r->cell[column], *quote = *text ? "\"" : "";
	double v;

	if (r->name)
		snprintf(where, sizeof where, "\"%s\"", sw_text_show(r->name[column], name));
	else
		snprintf(where, sizeof where, "%zu", column);
	return sw_err_at(err, SW_INVALID, "/path", "%s: line %zu, column %s: %s%s%s is %s", r->path,
			 line, where, quote, *text ? sw_text_show(text, cell) : "an empty cell",
			 quote, decimal(text, &v) ? "too large for a float" : "not a number");
}

/* Takes the row in r->cell. */
static sw_status row_take(struct sw_csv_reader *r, size_t line, struct sw_err *err)
{
	struct sw_data_csv *c = r->out;
	size_t f = 0;
	float *x;

	assert(r->cell != NULL);
	if (r->cells != r->columns)
		return sw_err_at(err, SW_INVALID, "/path",
				 "%s: line %zu has %zu columns, the %s has %zu", r->path, line,
				 r->cells, r->name ? "header" : "first row", r->columns);
	if (c->rows == INT32_MAX)
		return sw_err_at(err, SW_TOO_BIG, "/path", "%s has over 2^31 - 1 rows", r->path);
	if (!sw_array_reserve(&c->x, &r->x_cap, (c->rows + 1) * c->features, sizeof *c->x) ||
	    !sw_array_reserve(&c->label, &r->label_cap, c->rows + 1, sizeof *c->label))
		return sw_err_set(err, SW_NOMEM, "no memory for %zu rows of %s", c->rows + 1,
				  r->path);
	x = c->x + c->rows * c->features;
	for (size_t i = 0; i < r->columns; i++) {
		double v;

		if (i == r->label) {
			c->label[c->rows] = r->cell[i];
			continue;
		}
		if (!sw_data_csv_number(r->cell[i], &v) || !isfinite((float)v))
			return sw_data_csv_bad_cell(r, line, i, err);
		*x = sw_data_raw_less(v, r->plane ? &c->base[f / r->plane] : NULL);
		x++;
		f++;
	}
	if (*r->cell[r->label] == '\0')
		return sw_data_csv_bad_cell(r, line, r->label, err);
	c->rows++;
	return SW_OK;
}

/* The first row: the header, or the first of the data. */
static sw_status first_row(struct sw_csv_reader *r, bool header, struct sw_data_csv_label label,
			   size_t *line, struct sw_err *err)
{
	sw_status rc = sw_data_csv_next(r, line, err);

	if (rc != SW_OK)
		return rc;
	if (r->cells == 0)
		return sw_err_at(err, SW_INVALID, "/path", "%s is empty", r->path);
	r->columns = r->cells;
	if (header) { /* the names keep the array; rows get another one */
		r->name = r->cell;
		r->cell = NULL;
		r->cap = 0;
	}
	rc = label_find(r, label, err);
	r->out->features = r->columns - 1;
	r->out->named_by_row = rc == SW_OK && r->name && names_are_numbers(r);
	if (rc == SW_OK && r->plane)
		rc = sw_data_raw_bases(&r->out->base, r->out->features, err);
	return rc;
}

sw_status sw_data_csv_read(struct sw_data_csv *out, const char *path, bool header,
			   struct sw_data_csv_label label, size_t plane, struct sw_err *err)
{
	struct sw_csv_reader r = {.path = path, .out = out, .line = 1, .plane = plane};
	size_t len = 0, line;
	sw_status rc;

	memset(out, 0, sizeof *out);
	rc = load_text(path, &out->text, &len, err);
	if (rc == SW_OK)
		rc = text_check(path, out->text, len, err);
	if (rc != SW_OK)
		goto out;
	r.at = out->text;
	if (strncmp(r.at, "\xef\xbb\xbf", 3) == 0)
		r.at += 3;
	rc = first_row(&r, header, label, &line, err);
	if (rc == SW_OK && !header)
		rc = row_take(&r, line, err);
	while (rc == SW_OK) {
		sw_beat();
		rc = sw_data_csv_next(&r, &line, err);
		if (rc != SW_OK || r.cells == 0)
			break;
		rc = row_take(&r, line, err);
	}
	if (rc == SW_OK && out->rows < 2)
		rc = sw_err_at(err, SW_INVALID, "/path", "%s has %zu %s of data: too few", path,
			       out->rows, out->rows == 1 ? "row" : "rows");
out:
	free(r.cell);
	out->name = r.name;
	out->label_column = r.label;
	if (rc != SW_OK)
		sw_data_csv_fini(out);
	return rc;
}

void sw_data_csv_fini(struct sw_data_csv *c)
{
	free(c->x);
	free(c->base);
	free(c->label);
	free(c->name);
	free(c->text);
	memset(c, 0, sizeof *c);
}
