#include "trainer/data/rows_csv.h"
#include "base/memory.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>

struct rows_csv {
	struct sw_csv_reader r;
	struct sw_encoder own; /* of a model that was not trained on a CSV file */
	struct sw_encoder *e;
	size_t features;
	bool first;     /* the row in r.cell is one of data, and not given yet */
	size_t *column; /* [e->n]: the file's column of each input */
	float *row;     /* [features], where the model takes bytes */
};

static sw_status no_memory(const struct rows_csv *c, struct sw_err *err)
{
	return sw_err_set(err, SW_NOMEM, "no memory to read %s", c->r.file.show);
}

/* --- which column is which input --- */

/* Numbers, one after the other. */
static bool own_make(struct rows_csv *c)
{
	c->own.input = sw_calloc(c->features, sizeof *c->own.input);
	if (!c->own.input)
		return false;
	for (; c->own.n < c->features; c->own.n++)
		c->own.input[c->own.n] = (struct sw_input){
			.column = c->own.n, .fill = (double)NAN, .scale.width = 1};
	c->own.width = c->own.target = c->features;
	c->e = &c->own;
	return true;
}

static sw_status by_name(struct rows_csv *c, struct sw_err *err)
{
	sw_status rc = sw_csv_names(&c->r, err);

	for (size_t i = 0; rc == SW_OK && i < c->e->n; i++)
		rc = sw_csv_find(&c->r, c->e->input[i].name, 0, "path", &c->column[i], err);
	return rc;
}

/* Without names columns count by their places; the one that is predicted may be missing. */
static sw_status by_place(struct rows_csv *c, struct sw_err *err)
{
	const struct sw_encoder *e = c->e;
	const bool learnt = e->target < e->width, without = learnt && c->r.columns + 1 == e->width;

	if (c->r.columns != e->width && !without)
		return sw_err_set(err, SW_INVALID, "%s has %zu columns, the model takes %zu%s",
				  c->r.file.show, c->r.columns, e->width - learnt,
				  learnt ? ", and one more that it predicts" : "");
	for (size_t i = 0; i < e->n; i++) {
		c->column[i] = e->input[i].column;
		c->column[i] -= without && c->column[i] > e->target;
	}
	return SW_OK;
}

static bool all_numbers(const struct sw_csv_reader *r)
{
	double v;

	for (size_t i = 0; i < r->cells; i++)
		if (!sw_cell_plain(&r->cell[i], &v))
			return false;
	return true;
}

/* --- */

sw_status sw_rows_csv_open(struct rows_csv **out, const char *path, const struct sw_rows_want *want,
			   struct sw_err *err)
{
	struct rows_csv *c = sw_calloc(1, sizeof *c);
	sw_status rc;

	*out = c;
	if (!c)
		return sw_err_set(err, SW_NOMEM, "no memory to read the rows");
	const bool bytes = want->shape.kind == SW_SHAPE_IMAGE && want->bytes;

	c->features = sw_shape_count(&want->shape);
	rc = sw_csv_open(&c->r, path, want->table && want->table->latin1, err);
	if (rc != SW_OK)
		return rc;
	c->e = want->table;
	if (!c->e && !own_make(c))
		return no_memory(c, err);
	c->column = sw_calloc(c->e->n, sizeof *c->column);
	if (bytes)
		c->row = sw_calloc(c->features, sizeof *c->row);
	else /* numbers less their mean, in double: floats would lose what sets large ones apart */
		for (size_t i = 0; want->mean && i < c->e->n; i++)
			c->e->input[i].scale.center = want->mean[i / want->plane];
	if (!c->column || (bytes && !c->row))
		return no_memory(c, err);
	/* a first line that no model asked for may be a header all the same */
	c->first = !c->e->header && (want->table || all_numbers(&c->r));
	return c->e->header ? by_name(c, err) : by_place(c, err);
}

/* A row of bytes, out of its numbers. */
static sw_status bytes_take(const struct rows_csv *c, uint8_t *x, struct sw_err *err)
{
	char cell[44];

	for (size_t f = 0; f < c->features; f++) {
		const float v = c->row[f];

		if (!(v >= 0 && v <= 255 && v == floorf(v)))
			return sw_err_set(err, SW_INVALID,
					  "%s: line %zu, column %zu: %s is not a byte from 0 to "
					  "255, which the model's images are made of",
					  c->r.file.show, c->r.line, c->column[f],
					  sw_text_show(c->r.cell[c->column[f]].text, cell));
		x[f] = (uint8_t)v;
	}
	return SW_OK;
}

sw_status sw_rows_csv_next(struct rows_csv *c, void *x, size_t most, size_t *n, struct sw_err *err)
{
	for (*n = 0; *n < most; ++*n) {
		const size_t at = *n * c->features;
		sw_status rc = c->first ? SW_OK : sw_csv_next(&c->r, err);

		c->first = false;
		if (rc != SW_OK || c->r.cells == 0)
			return rc;
		rc = sw_encoder_row(c->e, &c->r, c->column, c->row ? c->row : (float *)x + at, err);
		if (rc == SW_OK && c->row)
			rc = bytes_take(c, (uint8_t *)x + at, err);
		if (rc != SW_OK)
			return rc;
	}
	return SW_OK;
}

void sw_rows_csv_close(struct rows_csv *c)
{
	if (!c)
		return;
	sw_csv_close(&c->r);
	sw_encoder_fini(&c->own);
	free(c->column);
	free(c->row);
	free(c);
}
