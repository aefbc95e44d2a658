#include "trainer/data/rows_csv.h"
#include "base/memory.h"
#include "base/text.h"
#include "proto/nearest.h"
#include "trainer/data/csv.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct rows_csv {
	struct sw_csv_reader r;
	struct sw_rows_want want;
	size_t features;
	bool first;           /* the row in r.cell is one of data, and not given yet */
	int32_t *map;         /* [r.columns]: the column's feature; -1: it is not read */
	size_t *column;       /* of a table, [table->n]: the file's column of each input */
	const char **feature; /* [features], the model's names; NULL: they have none */
};

static sw_status no_memory(const struct rows_csv *c, struct sw_err *err)
{
	return sw_err_set(err, SW_NOMEM, "no memory to read %s", c->r.file.show);
}

/* --- the header --- */

static sw_status unknown(const struct rows_csv *c, const char *name, bool *used, struct sw_err *err)
{
	char show[44], near[44];
	const char *close = sw_nearest(name, c->feature, c->features);

	for (size_t f = 0; f < c->features; f++)
		if (used[f] && strcmp(c->feature[f], name) == 0)
			return sw_err_set(err, SW_INVALID, "%s has the column \"%s\" twice",
					  c->r.file.show, sw_text_show(name, show));
	return sw_err_set(err, SW_INVALID, "%s: the model knows no column \"%s\"%s%s%s",
			  c->r.file.show, sw_text_show(name, show), close ? "; is it \"" : "",
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
					  c->r.file.show, sw_text_show(c->feature[f], show));
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
		rc = sw_csv_names(&c->r, err);
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
				  c->r.file.show, columns, c->features,
				  label >= 0 ? ", and one more that it predicts" : "");
	for (size_t i = 0; i < columns; i++)
		c->map[i] = with && (int64_t)i == label ? -1 : f++;
	return SW_OK;
}

/* --- a table --- */

static sw_status no_column(const struct rows_csv *c, const char *name, bool twice,
			   struct sw_err *err)
{
	const char *near = sw_nearest(name, (const char *const *)c->r.name, c->r.columns);
	char show[44], other[44];

	sw_text_show(name, show);
	if (twice)
		return sw_err_set(err, SW_INVALID, "%s has the column \"%s\" twice", c->r.file.show,
				  show);
	return sw_err_set(err, SW_INVALID, "%s has no column \"%s\", which the model takes%s%s%s",
			  c->r.file.show, show, near ? "; is it \"" : "",
			  near ? sw_text_show(near, other) : "",
			  near ? "\"?" : ": its first line must name the columns");
}

/* Finds the file's column of each input. names: of the file, place: size_t[columns], where each of
 * them stands first. */
static sw_status names_match(struct rows_csv *c, struct sw_texts *names, size_t *place,
			     struct sw_err *err)
{
	const struct sw_encoder *e = c->want.table;

	assert(e != NULL);
	for (size_t i = 0; i < c->r.columns; i++) {
		const struct sw_csv_cell cell = {c->r.name[i], strlen(c->r.name[i])};
		size_t id, n = names->n;

		if (sw_texts_add(names, &cell, &id) != SW_OK)
			return no_memory(c, err);
		if (names->n > n)
			place[id] = i;
	}
	for (size_t i = 0; i < e->n; i++) {
		char *name = e->input[i].name;
		const size_t id = sw_texts_find(names, &(struct sw_csv_cell){name, strlen(name)});

		assert(names->one != NULL); /* a file has a column */
		if (id == names->n || names->one[id].count > 1)
			return no_column(c, name, id < names->n, err);
		c->column[i] = place[id];
	}
	return SW_OK;
}

static sw_status table_by_name(struct rows_csv *c, struct sw_err *err)
{
	struct sw_texts names = {.most = c->r.columns};
	size_t *place = sw_calloc(c->r.columns, sizeof *place);
	sw_status rc = place ? sw_csv_names(&c->r, err) : no_memory(c, err);

	if (rc == SW_OK) {
		assert(place != NULL);
		rc = names_match(c, &names, place, err);
	}
	sw_texts_fini(&names);
	free(place);
	return rc;
}

/* Without names columns count by their places; the one that is predicted may be missing. */
static sw_status table_by_place(struct rows_csv *c, struct sw_err *err)
{
	const struct sw_encoder *e = c->want.table;
	const bool without = c->r.columns + 1 == e->width;

	if (c->r.columns != e->width && !without)
		return sw_err_set(
			err, SW_INVALID,
			"%s has %zu columns, the model takes %zu, or %zu with the one that "
			"it predicts",
			c->r.file.show, c->r.columns, e->width - 1, e->width);
	for (size_t i = 0; i < e->n; i++) {
		c->column[i] = e->input[i].column;
		c->column[i] -= without && c->column[i] > e->target;
	}
	c->first = true;
	return SW_OK;
}

static sw_status begin_table(struct rows_csv *c, struct sw_err *err)
{
	c->column = sw_calloc(c->want.table->n, sizeof *c->column);
	if (!c->column)
		return no_memory(c, err);
	return c->want.table->header ? table_by_name(c, err) : table_by_place(c, err);
}

/* --- */

static bool all_numbers(const struct sw_csv_reader *r)
{
	double v;

	for (size_t i = 0; i < r->cells; i++)
		if (!sw_cell_plain(&r->cell[i], &v))
			return false;
	return true;
}

/* Finds out whether the first row is a header, and which column is which feature. */
static sw_status begin_file(struct rows_csv *c, struct sw_err *err)
{
	sw_status rc = SW_OK;

	if (c->want.table)
		return begin_table(c, err);
	c->map = sw_calloc(c->r.columns, sizeof *c->map);
	if (!c->map)
		return no_memory(c, err);
	if (c->want.columns)
		return map_by_name(c, err);
	/* the rows that it was trained on had no header: these have none either */
	c->first = c->want.label_column >= 0 || all_numbers(&c->r);
	if (!c->first)
		rc = sw_csv_names(&c->r, err);
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
		c->r.file.show, c->r.line, column, sw_text_show(c->r.cell[column].text, cell));
}

/* Puts the cells of a row into the places of their features. */
static sw_status take_row(const struct rows_csv *c, void *x, size_t row, struct sw_err *err)
{
	const struct sw_csv_reader *r = &c->r;
	const bool bytes = c->want.shape.kind == SW_SHAPE_IMAGE && c->want.bytes;

	for (size_t i = 0; i < r->columns; i++) {
		const size_t f = (size_t)c->map[i], at = row * c->features + f;
		double v;

		if (c->map[i] < 0)
			continue; /* the column that was predicted: any text may stand there */
		if (!sw_cell_plain(&r->cell[i], &v) || !isfinite((float)v))
			return sw_csv_bad_cell(r, i, err);
		if (bytes && !(v >= 0 && v <= 255 && v == floor(v)))
			return bad_byte(c, i, err);
		if (bytes)
			((uint8_t *)x)[at] = (uint8_t)v;
		else
			((float *)x)[at] = sw_data_less(
				v, c->want.mean ? &c->want.mean[f / c->want.plane] : NULL);
	}
	return SW_OK;
}

sw_status sw_rows_csv_next(struct rows_csv *c, void *x, size_t most, size_t *n, struct sw_err *err)
{
	for (*n = 0; *n < most; ++*n) {
		sw_status rc = c->first ? SW_OK : sw_csv_next(&c->r, err);

		c->first = false;
		if (rc != SW_OK || c->r.cells == 0)
			return rc;
		rc = c->want.table ? sw_encoder_row(c->want.table, &c->r, c->column,
						    (float *)x + *n * c->features, err)
				   : take_row(c, x, *n, err);
		if (rc != SW_OK)
			return rc;
	}
	return SW_OK;
}

sw_status sw_rows_csv_open(struct rows_csv **out, const char *path, const struct sw_rows_want *want,
			   struct sw_err *err)
{
	struct rows_csv *c = sw_calloc(1, sizeof *c);
	sw_status rc;

	*out = c;
	if (!c)
		return sw_err_set(err, SW_NOMEM, "no memory to read the rows");
	c->want = *want;
	c->features = sw_shape_count(&want->shape);
	rc = sw_csv_open(&c->r, path, want->table && want->table->latin1, err);
	return rc == SW_OK ? begin_file(c, err) : rc;
}

void sw_rows_csv_close(struct rows_csv *c)
{
	if (!c)
		return;
	sw_csv_close(&c->r);
	free(c->map);
	free(c->column);
	free(c->feature);
	free(c);
}
