#include "trainer/data/data_csv.h"
#include "base/memory.h"
#include "base/text.h"
#include "trainer/data/table.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((uint64_t)1 << 30)

/* Are the names of the features numbers, and not those that a table without names is given? */
static bool names_are_numbers(const struct sw_csv_reader *r, size_t label)
{
	bool counted = true;
	double v;

	for (size_t i = 0; i < r->columns; i++) {
		if (i == label)
			continue;
		if (!sw_cell_plain(&(struct sw_csv_cell){r->name[i], strlen(r->name[i])}, &v))
			return false;
		counted = counted && v == (double)i;
	}
	return !counted;
}

/* Takes the row in r->cell. cap: of x, of the labels. */
static sw_status row_take(struct sw_data_csv *c, const struct sw_csv_reader *r, size_t plane,
			  size_t cap[2], struct sw_err *err)
{
	size_t f = 0;

	if (!sw_array_reserve(&c->x, &cap[0], (c->rows + 1) * c->features, sizeof *c->x) ||
	    !sw_array_reserve(&c->label, &cap[1], c->rows + 1, sizeof *c->label))
		return sw_err_set(err, SW_NOMEM, "no memory for %zu rows of %s", c->rows + 1,
				  r->file.show);
	float *x = c->x + c->rows * c->features;

	for (size_t i = 0; i < r->columns; i++) {
		double v;

		if (i == c->label_column)
			continue;
		if (!sw_cell_plain(&r->cell[i], &v) || !isfinite((float)v))
			return sw_csv_bad_cell(r, i, err);
		x[f] = sw_data_less(v, plane ? &c->base[f / plane] : NULL);
		f++;
	}
	if (r->cell[c->label_column].len == 0)
		return sw_csv_bad_cell(r, c->label_column, err);
	/* As texts: whether they are numbers or classes is known only when all are read. */
	c->label[c->rows] = sw_strdup(r->cell[c->label_column].text);
	if (!c->label[c->rows])
		return sw_err_set(err, SW_NOMEM, "no memory for %zu labels", c->rows + 1);
	c->rows++;
	return SW_OK;
}

/* The first row: the header, or one of the data. */
static sw_status first_row(struct sw_data_csv *c, struct sw_csv_reader *r, bool header,
			   struct sw_data_csv_label label, size_t plane, struct sw_err *err)
{
	sw_status rc = header ? sw_csv_names(r, err) : SW_OK;

	if (rc == SW_OK && r->columns < 2)
		rc = sw_err_at(err, SW_INVALID, "/path",
			       "%s has one column: a label and at least one feature are needed",
			       r->file.show);
	if (rc == SW_OK)
		rc = sw_table_find(r, label.name, label.index, "label", &c->label_column, err);
	if (rc != SW_OK)
		return rc;
	c->features = r->columns - 1;
	c->named_by_row = r->name && names_are_numbers(r, c->label_column);
	return plane ? sw_data_bases(&c->base, c->features, err) : SW_OK;
}

sw_status sw_data_csv_read(struct sw_data_csv *out, const char *path, bool header,
			   struct sw_data_csv_label label, size_t plane, struct sw_err *err)
{
	size_t cap[2] = {0, 0};
	struct sw_csv_reader r;
	sw_status rc;

	memset(out, 0, sizeof *out);
	rc = sw_csv_open(&r, path, false, err);
	if (rc == SW_OK && r.file.size > MAX_BYTES)
		rc = sw_err_at(err, SW_TOO_BIG, "/path", "%s is over 1 GiB", r.file.show);
	if (rc == SW_OK)
		rc = first_row(out, &r, header, label, plane, err);
	if (rc == SW_OK && header)
		rc = sw_csv_next(&r, err);
	while (rc == SW_OK && r.cells > 0) {
		rc = row_take(out, &r, plane, cap, err);
		if (rc == SW_OK && out->rows > INT32_MAX)
			rc = sw_err_at(err, SW_TOO_BIG, "/path", "%s has over 2^31 - 1 rows",
				       r.file.show);
		if (rc == SW_OK)
			rc = sw_csv_next(&r, err);
	}
	if (rc == SW_OK && out->rows < 2)
		rc = sw_err_at(err, SW_INVALID, "/path", "%s has %zu %s of data: too few",
			       r.file.show, out->rows, out->rows == 1 ? "row" : "rows");
	/* Handed over before the reader closes, also after an error: then both are freed below. */
	out->name = r.name;
	out->name_text = r.name_text;
	r.name = NULL;
	r.name_text = NULL;
	sw_csv_close(&r);
	if (rc != SW_OK)
		sw_data_csv_fini(out);
	return rc;
}

void sw_data_csv_fini(struct sw_data_csv *c)
{
	for (size_t i = 0; i < c->rows; i++)
		free(c->label[i]);
	free(c->x);
	free(c->base);
	free(c->label);
	free(c->name);
	free(c->name_text);
	memset(c, 0, sizeof *c);
}
