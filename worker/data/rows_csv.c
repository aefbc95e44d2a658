/* worker/data/rows_csv.c — rows of a CSV file to predict on, one after the other: of the file no
 * more than a block is in memory, or a row where that is longer. */
#include "base/fault.h"
#include "base/memory.h"
#include "base/text.h"
#include "proto/nearest.h"
#include "worker/data/rows_internal.h"
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK    ((size_t)64 * 1024)
#define ROW_MOST ((size_t)16 << 20) /* bytes of a row */

struct rows_csv {
	struct sw_data_file file; /* fd 0: stdin, which is not closed */
	struct sw_rows_want want;
	size_t features;
	char *text;             /* what was read */
	size_t len, cap, at;    /* of it; at: the next row */
	bool end;               /* of the file */
	bool first;             /* the row in r.cell is one of data, and not given yet */
	size_t line;            /* where that row began */
	struct sw_csv_reader r; /* at: within text */
	char *name_text;        /* of r.name */
	int32_t *map;           /* [r.columns]: the column's feature; -1: it is not read */
	const char **feature;   /* [features], the model's names; NULL: they have none */
};

static sw_status no_memory(const struct rows_csv *c, struct sw_err *err)
{
	return sw_err_set(err, SW_NOMEM, "no memory to read %s", c->file.show);
}

/* --- the next row as cells --- */

/* Reads on into the block. A row that does not fit makes it larger, up to a limit. */
static sw_status fill(struct rows_csv *c, struct sw_err *err)
{
	ssize_t got;

	memmove(c->text, c->text + c->at, c->len - c->at);
	c->len -= c->at;
	c->at = 0;
	if (c->cap - c->len < BLOCK) {
		char *bigger = c->cap < ROW_MOST ? sw_realloc(c->text, 2 * c->cap) : NULL;

		if (!bigger && c->cap >= ROW_MOST)
			return sw_err_set(err, SW_TOO_BIG,
					  "%s: line %zu begins a row of over %zu "
					  "bytes",
					  c->file.show, c->r.line, ROW_MOST);
		if (!bigger)
			return no_memory(c, err);
		c->text = bigger;
		c->cap *= 2;
	}
	do {
		got = sw_fault_hit(SW_FAULT_IO)
			      ? (errno = EIO, -1)
			      : read(c->file.fd, c->text + c->len, c->cap - c->len - 1);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return sw_err_set(err, SW_IO, "%s: %s", c->file.show, strerror(errno));
	const char *no_text = sw_data_csv_no_text(c->text + c->len, (size_t)got);

	if (no_text)
		return sw_err_set(err, SW_INVALID, "%s %s", c->file.show, no_text);
	c->len += (size_t)got;
	c->end = got == 0;
	return SW_OK;
}

/* Bytes of the row that begins at s[0..n), its newline with them. 0: it is not whole. */
static size_t row_bytes(const char *s, size_t n, bool end)
{
	bool fresh = true, quoted = false;

	for (size_t i = 0; i < n; i++) {
		if (quoted) {
			if (s[i] == '"' && i + 1 < n && s[i + 1] == '"')
				i++;
			else if (s[i] == '"')
				quoted = false;
		} else if (s[i] == '\n') {
			return i + 1;
		} else {
			quoted = fresh && s[i] == '"';
			fresh = s[i] == ',';
		}
	}
	return end ? n : 0;
}

/* Into c->r.cell, valid until the next call. c->r.cells 0: there are no more. */
static sw_status next(struct rows_csv *c, struct sw_err *err)
{
	for (;;) {
		const size_t n = row_bytes(c->text + c->at, c->len - c->at, c->end);
		char *after = c->text + c->at + n;
		sw_status rc;

		if (n == 0 && c->end) { /* all rows are given */
			c->r.cells = 0;
			return SW_OK;
		}
		if (n == 0) {
			rc = fill(c, err);
			if (rc != SW_OK)
				return rc;
			continue;
		}
		const char kept = *after;

		*after = '\0';
		c->r.at = c->text + c->at;
		rc = sw_data_csv_next(&c->r, &c->line, err);
		/* a row that ends with the file has its NUL here */
		if (after < c->text + c->len)
			*after = kept;
		c->at += n;
		if (rc != SW_OK || c->r.cells > 0)
			return rc;
	}
}

/* --- the header --- */

/* The first row, which lies in the block, becomes the names. */
static sw_status names_take(struct rows_csv *c, struct sw_err *err)
{
	size_t bytes = 0, at = 0;

	for (size_t i = 0; i < c->r.cells; i++)
		bytes += strlen(c->r.cell[i]) + 1;
	c->name_text = sw_malloc(bytes);
	c->r.name = sw_malloc(c->r.cells * sizeof *c->r.name);
	if (!c->name_text || !c->r.name)
		return no_memory(c, err);
	for (size_t i = 0; i < c->r.cells; i++) {
		const size_t n = strlen(c->r.cell[i]) + 1;

		c->r.name[i] = memcpy(c->name_text + at, c->r.cell[i], n);
		at += n;
	}
	return SW_OK;
}

static sw_status unknown(const struct rows_csv *c, const char *name, bool *used, struct sw_err *err)
{
	char show[44], near[44];
	const char *close = sw_nearest(name, c->feature, c->features);

	for (size_t f = 0; f < c->features; f++)
		if (used[f] && strcmp(c->feature[f], name) == 0)
			return sw_err_set(err, SW_INVALID, "%s has the column \"%s\" twice",
					  c->file.show, sw_text_show(name, show));
	return sw_err_set(err, SW_INVALID, "%s: the model knows no column \"%s\"%s%s%s",
			  c->file.show, sw_text_show(name, show), close ? "; is it \"" : "",
			  close ? sw_text_show(close, near) : "",
			  close ? "\"?" : ": its first line must name the columns");
}

/* Finds the column of the file that each feature is. used: bool[features]. */
static sw_status match(struct rows_csv *c, bool *used, struct sw_err *err)
{
	size_t from = 0, n = 0;
	bool label = false;
	char show[44];

	for (size_t i = 0; i < c->r.columns; i++) {
		const char *name = c->r.name[i];
		size_t k = 0, f = 0;

		/* mostly the next one of the model's */
		for (; k < c->features; k++) {
			f = (from + k) % c->features;
			if (!used[f] && strcmp(c->feature[f], name) == 0)
				break;
		}
		if (k < c->features) {
			used[f] = true;
			c->map[i] = (int32_t)f;
			from = f + 1;
			n++;
		} else if (!label && c->want.label && strcmp(c->want.label, name) == 0) {
			label = true;
			c->map[i] = -1;
		} else {
			return unknown(c, name, used, err);
		}
	}
	for (size_t f = 0; n < c->features && f < c->features; f++)
		if (!used[f])
			return sw_err_set(err, SW_INVALID,
					  "%s has no column \"%s\", which the model takes: its "
					  "first line must name the columns",
					  c->file.show, sw_text_show(c->feature[f], show));
	return SW_OK;
}

/* Finds the columns by their names in the header, in whatever order they stand. */
static sw_status map_by_name(struct rows_csv *c, struct sw_err *err)
{
	bool *used = sw_calloc(c->features, sizeof *used);
	sw_status rc = used ? SW_OK : no_memory(c, err);
	const cJSON *name = c->want.columns->child;

	c->feature = sw_calloc(c->features, sizeof *c->feature);
	if (!c->feature)
		rc = no_memory(c, err);
	for (size_t f = 0; rc == SW_OK && name && f < c->features; f++, name = name->next)
		c->feature[f] = name->valuestring;
	if (rc == SW_OK)
		rc = names_take(c, err);
	if (rc == SW_OK) {
		assert(used != NULL);
		rc = match(c, used, err);
	}
	free(used);
	return rc;
}

/* One after the other, but for the column that was predicted. */
static sw_status map_by_place(struct rows_csv *c, struct sw_err *err)
{
	const size_t columns = c->r.columns;
	const int64_t label = c->want.label_column;
	const bool with = label >= 0 && columns == c->features + 1;
	int32_t f = 0;

	if (columns != c->features && !with)
		return sw_err_set(err, SW_INVALID, "%s has %zu columns, the model takes %zu%s",
				  c->file.show, columns, c->features,
				  label >= 0 ? ", and one more that it predicts" : "");
	for (size_t i = 0; i < columns; i++)
		c->map[i] = with && (int64_t)i == label ? -1 : f++;
	return SW_OK;
}

static bool all_numbers(const struct sw_csv_reader *r)
{
	double v;

	for (size_t i = 0; i < r->cells; i++)
		if (!sw_data_csv_number(r->cell[i], &v))
			return false;
	return true;
}

/* Reads the first row and finds out whether it is a header. */
static sw_status begin_file(struct rows_csv *c, struct sw_err *err)
{
	sw_status rc = fill(c, err);

	if (rc == SW_OK && c->len >= 3 && memcmp(c->text, "\xef\xbb\xbf", 3) == 0)
		c->at = 3; /* a byte order mark */
	if (rc == SW_OK)
		rc = next(c, err);
	if (rc != SW_OK)
		return rc;
	if (c->r.cells == 0)
		return sw_err_set(err, SW_INVALID, "%s is empty", c->file.show);
	c->r.columns = c->r.cells;
	c->map = sw_calloc(c->r.columns, sizeof *c->map);
	if (!c->map)
		return no_memory(c, err);
	if (c->want.columns)
		return map_by_name(c, err);
	/* the rows that it was trained on had no header: these have none either */
	c->first = c->want.label_column >= 0 || all_numbers(&c->r);
	if (!c->first)
		rc = names_take(c, err);
	return rc == SW_OK ? map_by_place(c, err) : rc;
}

/* --- */

static sw_status bad_byte(const struct rows_csv *c, size_t column, struct sw_err *err)
{
	char cell[44];

	return sw_err_set(
		err, SW_INVALID,
		"%s: line %zu, column %zu: %s is not a byte from 0 to 255, which the model's "
		"images are made of",
		c->file.show, c->line, column, sw_text_show(c->r.cell[column], cell));
}

/* Puts the cells of a row into the places of their features. */
static sw_status take_row(const struct rows_csv *c, void *x, size_t row, struct sw_err *err)
{
	const struct sw_csv_reader *r = &c->r;
	const bool bytes = c->want.shape.kind == SW_SHAPE_IMAGE && c->want.bytes;

	if (r->cells != r->columns)
		return sw_err_set(err, SW_INVALID, "%s: line %zu has %zu columns, the %s has %zu",
				  c->file.show, c->line, r->cells, r->name ? "header" : "first row",
				  r->columns);
	for (size_t i = 0; i < r->columns; i++) {
		const size_t f = (size_t)c->map[i], at = row * c->features + f;
		double v;

		if (c->map[i] < 0)
			continue; /* the column that was predicted: any text may stand there */
		if (!sw_data_csv_number(r->cell[i], &v) || !isfinite((float)v))
			return sw_data_csv_bad_cell(r, c->line, i, err);
		if (bytes && !(v >= 0 && v <= 255 && v == floor(v)))
			return bad_byte(c, i, err);
		if (bytes)
			((uint8_t *)x)[at] = (uint8_t)v;
		else
			((float *)x)[at] = sw_data_raw_less(
				v, c->want.mean ? &c->want.mean[f / c->want.plane] : NULL);
	}
	return SW_OK;
}

sw_status sw_rows_csv_next(struct rows_csv *c, void *x, size_t most, size_t *n, struct sw_err *err)
{
	for (*n = 0; *n < most; ++*n) {
		sw_status rc = c->first ? SW_OK : next(c, err);

		c->first = false;
		if (rc != SW_OK || c->r.cells == 0)
			return rc;
		rc = take_row(c, x, *n, err);
		if (rc != SW_OK)
			return rc;
	}
	return SW_OK;
}

sw_status sw_rows_csv_open(struct rows_csv **out, const char *path, const struct sw_rows_want *want,
			   struct sw_err *err)
{
	struct rows_csv *c = sw_calloc(1, sizeof *c);
	sw_status rc = SW_OK;

	*out = c;
	if (!c)
		return sw_err_set(err, SW_NOMEM, "no memory to read the rows");
	c->want = *want;
	c->features = sw_shape_count(&want->shape);
	c->r.line = 1;
	c->r.path = c->file.show;
	c->file.fd = -1;
	if (strcmp(path, "-") == 0) {
		strcpy(c->file.show, "standard input");
		c->file.fd = STDIN_FILENO;
	} else {
		rc = sw_data_file_open(&c->file, path, "", err);
	}
	c->cap = 2 * BLOCK;
	c->text = sw_malloc(c->cap);
	if (rc == SW_OK && !c->text)
		rc = no_memory(c, err);
	return rc == SW_OK ? begin_file(c, err) : rc;
}

void sw_rows_csv_close(struct rows_csv *c)
{
	if (!c)
		return;
	if (c->file.fd != STDIN_FILENO)
		sw_data_file_close(&c->file);
	free(c->text);
	free(c->r.cell);
	free(c->r.name);
	free(c->name_text);
	free(c->map);
	free(c->feature);
	free(c);
}
