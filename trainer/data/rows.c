#include "trainer/data/rows.h"
#include "base/memory.h"
#include "base/text.h"
#include "trainer/data/array.h"
#include "trainer/data/data_raw.h"
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct rows_csv {
	struct sw_csv_reader r;
	struct sw_encoder own; /* of a model that was not trained on a CSV file */
	struct sw_encoder *e;
	size_t features;
	bool first;     /* the row in r.cell is one of data, and not given yet */
	size_t *column; /* [e->n]: the file's column of each input */
	float *row;     /* [features], where the model takes bytes */
};

struct sw_rows {
	struct sw_rows_want want;
	enum sw_dataset_format format;
	struct sw_array array; /* of all formats but CSV */
	uint64_t at;           /* rows that were given */
	struct rows_csv csv;
};

static const char *takes(const struct sw_rows_want *want, char out[96])
{
	return sw_array_text(&want->shape, want->bytes, out);
}

/* --- which format --- */

/* The file of a folder that holds its test part. */
static sw_status in_folder(struct sw_rows *r, const char *path, char out[SW_DATASET_MAX_PATH + 64],
			   struct sw_err *err)
{
	struct sw_data_source source = {.set = {.format = r->format, .test = true}};
	char show[84];
	const size_t i = r->format == SW_DATASET_CIFAR10    ? 5
			 : r->format == SW_DATASET_CIFAR100 ? 1
							    : 2;

	snprintf(source.path, sizeof source.path, "%s", path);
	if ((sw_data_is_cifar(r->format) || r->format == SW_DATASET_IDX) &&
	    sw_data_source_file(&source, i, out))
		return SW_OK;
	return sw_err_set(err, SW_INVALID, "%s is a folder: name the file to predict on",
			  sw_data_file_show(path, show));
}

/* The format by a file's first bytes and its size, else the one that the model was trained on. */
static void guess(struct sw_rows *r, const char *path)
{
	const struct sw_rows_want *w = &r->want;
	const struct sw_shape cifar = sw_shape_image(3, 32, 32);
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	unsigned char b[6] = {0};
	struct stat st = {.st_size = 0};
	ssize_t n = fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)
			    ? 0
			    : pread(fd, b, sizeof b, 0);

	if (fd >= 0)
		close(fd);
	r->format = w->format;
	if (w->shape.kind == SW_SHAPE_TOKENS)
		r->format = SW_DATASET_TOKENS;
	else if (n == 6 && memcmp(b, "\x93NUMPY", 6) == 0)
		r->format = SW_DATASET_NPY;
	else if (sw_data_is_cifar(w->format) ||
		 (w->format == SW_DATASET_IDX && S_ISDIR(st.st_mode)))
		return;
	else if (n >= 4 && b[0] == 0 && b[1] == 0 && b[2] == 8)
		r->format = SW_DATASET_IDX;
	else if (n >= 4 && sw_shape_same(&w->shape, &cifar) && st.st_size % 3073 == 0)
		r->format = SW_DATASET_CIFAR10;
	else
		r->format = SW_DATASET_CSV;
}

/* Sets the format: the one that was named, or by the file itself. */
static sw_status format_find(struct sw_rows *r, const char *path, const char *format,
			     struct sw_err *err)
{
	const bool tokens = r->want.shape.kind == SW_SHAPE_TOKENS;
	size_t i = 0;
	char text[96];

	if (!format) {
		guess(r, path);
		if (strcmp(path, "-") == 0 && !tokens)
			r->format = SW_DATASET_CSV;
		return SW_OK;
	}
	while (i < SW_DATASET_SYNTHETIC && strcmp(format, sw_dataset_formats[i]) != 0)
		i++;
	if (i == SW_DATASET_SYNTHETIC)
		return sw_err_set(err, SW_INVALID,
				  "no format is called \"%.32s\": csv, npy, idx, cifar10, cifar100 "
				  "and tokens are known",
				  format);
	r->format = (enum sw_dataset_format)i;
	if ((r->format == SW_DATASET_TOKENS) != tokens)
		return sw_err_set(err, SW_INVALID, "the model takes %s, not a file of format %s",
				  takes(&r->want, text), format);
	return SW_OK;
}

/* --- files of arrays --- */

/* Opens one and compares its rows with those that the model takes. */
static sw_status array_open(struct sw_rows *r, const char *path, struct sw_err *err)
{
	const struct sw_rows_want *want = &r->want;
	struct sw_array *a = &r->array;
	char its[96], text[96];
	const sw_status rc = sw_array_open(a,
					   (struct sw_array_as){.path = path,
								.ptr = "",
								.format = r->format,
								.wide = want->wide,
								.t = want->shape.t},
					   err);

	if (rc != SW_OK)
		return rc;
	/* rows of numbers may be pixels; and images are what they are */
	if (a->shape.kind == SW_SHAPE_FLAT && want->shape.kind == SW_SHAPE_IMAGE)
		(void)sw_array_reshape(a, &want->shape);
	takes(want, text);
	if (strcmp(sw_array_text(&a->shape, sw_array_is_bytes(a), its), text) == 0)
		return SW_OK;
	return sw_err_set(err, SW_INVALID, "%s has %s, the model takes %s", a->f.show, its, text);
}

static sw_status array_next(struct sw_rows *r, void *x, int32_t *length, size_t n,
			    struct sw_err *err)
{
	const struct sw_rows_want *want = &r->want;
	struct sw_array *a = &r->array;
	const uint64_t numbers = (uint64_t)n * a->row;
	int32_t largest = 0;

	if (sw_array_is_bytes(a))
		return sw_array_bytes(a, x, NULL, n, err);
	if (want->shape.kind != SW_SHAPE_TOKENS)
		return sw_array_floats(a, x, numbers, want->mean, want->plane, err);
	const sw_status rc =
		sw_array_whole(a, x, numbers, (uint32_t)want->vocab, "id", &largest, err);

	for (size_t i = 0; rc == SW_OK && want->pad >= 0 && i < n; i++)
		length[i] = sw_array_length((int32_t *)x + i * a->row, a->row, (int32_t)want->pad);
	return rc;
}

/* --- CSV: which column is which input --- */

/* Numbers, one after the other: as many as c->own is wide. */
static bool own_make(struct rows_csv *c)
{
	c->own.input = sw_calloc(c->features, sizeof *c->own.input);
	if (!c->own.input)
		return false;
	for (; c->own.n < c->features; c->own.n++)
		c->own.input[c->own.n] = (struct sw_input){
			.column = c->own.n, .fill = (double)NAN, .scale.width = 1};
	return true;
}

static sw_status by_name(struct rows_csv *c, struct sw_err *err)
{
	struct sw_texts taken = {.most = c->e->n};
	sw_status rc = SW_OK;

	for (size_t i = 0, id; rc == SW_OK && i < c->e->n; i++) {
		char *name = c->e->input[i].name;

		rc = sw_texts_add(&taken, &(struct sw_csv_cell){.text = name, .len = strlen(name)},
				  &id);
	}
	rc = rc == SW_OK ? sw_csv_names(&c->r, &taken, err)
			 : sw_err_set(err, rc, "no memory to read %s", c->r.file.show);
	sw_texts_fini(&taken);
	for (size_t i = 0; rc == SW_OK && i < c->e->n; i++)
		rc = sw_csv_find(&c->r, c->e->input[i].name, 0, "path", &c->column[i], err);
	return rc;
}

/* Without names columns count by their places; the one that is predicted may be missing. */
static sw_status width_check(const struct rows_csv *c, struct sw_err *err)
{
	const struct sw_encoder *e = c->e;
	const bool learnt = e->target < e->width;

	if (c->r.columns == e->width || (learnt && c->r.columns + 1 == e->width))
		return SW_OK;
	return sw_err_set(err, SW_INVALID, "%s has %zu columns, the model takes %zu%s",
			  c->r.file.show, c->r.columns, e->width - learnt,
			  learnt ? ", and one more that it predicts" : "");
}

static void by_place(struct rows_csv *c)
{
	const struct sw_encoder *e = c->e;
	const bool without = c->r.columns < e->width;

	for (size_t i = 0; i < e->n; i++) {
		c->column[i] = e->input[i].column;
		c->column[i] -= without && c->column[i] > e->target;
	}
}

static bool all_numbers(const struct sw_csv_reader *r)
{
	double v;

	for (size_t i = 0; i < r->cells; i++)
		if (!sw_cell_plain(&r->cell[i], &v))
			return false;
	return true;
}

static sw_status csv_open(struct rows_csv *c, const char *path, const struct sw_rows_want *want,
			  struct sw_err *err)
{
	sw_status rc;

	const bool bytes = want->shape.kind == SW_SHAPE_IMAGE && want->bytes;

	c->features = sw_shape_count(&want->shape);
	rc = sw_csv_open(&c->r, path, want->table && want->table->latin1, err);
	c->own.width = c->own.target = c->features;
	c->e = want->table ? want->table : &c->own;
	if (rc == SW_OK && !c->e->header) /* before memory is taken for as many */
		rc = width_check(c, err);
	if (rc != SW_OK)
		return rc;
	if (!want->table && !own_make(c))
		return sw_err_set(err, SW_NOMEM, "no memory to read %s", c->r.file.show);
	c->column = sw_calloc(c->e->n, sizeof *c->column);
	if (bytes)
		c->row = sw_calloc(c->features, sizeof *c->row);
	else /* numbers less their mean, in double: floats would lose what sets large ones apart */
		for (size_t i = 0; want->mean && i < c->e->n; i++)
			c->e->input[i].scale.center = want->mean[i / want->plane];
	if (!c->column || (bytes && !c->row))
		return sw_err_set(err, SW_NOMEM, "no memory to read %s", c->r.file.show);
	/* a first line that no model asked for may be a header all the same */
	c->first = !c->e->header && (want->table || all_numbers(&c->r));
	if (c->e->header)
		return by_name(c, err);
	by_place(c);
	return SW_OK;
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

static sw_status csv_next(struct rows_csv *c, void *x, size_t most, size_t *n, struct sw_err *err)
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

/* --- */

/* Opens the file, or the one that a folder has for it. */
static sw_status open_as(struct sw_rows *r, const char *path, struct sw_err *err)
{
	char inner[SW_DATASET_MAX_PATH + 64];
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		const sw_status rc = in_folder(r, path, inner, err);

		if (rc != SW_OK)
			return rc;
		path = inner;
	}
	if (r->want.table && r->want.shape.kind == SW_SHAPE_FLAT && r->format != SW_DATASET_CSV)
		return sw_err_set(err, SW_INVALID,
				  "the model was trained on a table: it takes a CSV file, not %s",
				  sw_dataset_formats[r->format]);
	return r->format == SW_DATASET_CSV ? csv_open(&r->csv, path, &r->want, err)
					   : array_open(r, path, err);
}

sw_status sw_rows_open(struct sw_rows **out, const char *path, const char *format,
		       const struct sw_rows_want *want, struct sw_err *err)
{
	struct sw_rows *r = sw_calloc(1, sizeof *r);
	sw_status rc;

	*out = NULL;
	if (!r)
		return sw_err_set(err, SW_NOMEM, "no memory to read the rows");
	r->array.f.fd = -1;
	r->want = *want;
	rc = format_find(r, path, format, err);
	if (rc == SW_OK)
		rc = open_as(r, path, err);
	if (rc == SW_OK)
		*out = r;
	else
		sw_rows_close(r);
	return rc;
}

sw_status sw_rows_next(struct sw_rows *r, void *x, int32_t *length, size_t most, size_t *n,
		       struct sw_err *err)
{
	const uint64_t left = r->array.rows - r->at;

	if (r->format == SW_DATASET_CSV)
		return csv_next(&r->csv, x, most, n, err);
	*n = left < most ? (size_t)left : most;
	if (*n == 0)
		return SW_OK; /* the end of the file */
	const sw_status rc = array_next(r, x, length, *n, err);

	r->at += *n;
	if (rc != SW_OK)
		*n = 0;
	return rc;
}

void sw_rows_close(struct sw_rows *r)
{
	if (!r)
		return;
	sw_array_close(&r->array);
	sw_csv_close(&r->csv.r);
	sw_encoder_fini(&r->csv.own);
	free(r->csv.column);
	free(r->csv.row);
	free(r);
}
