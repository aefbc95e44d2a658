#include "base/memory.h"
#include "worker/data/rows_internal.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIXELS ((size_t)3072) /* of a CIFAR image */

static size_t least(uint64_t a, size_t b)
{
	return a < b ? (size_t)a : b;
}

static bool is_cifar(enum sw_dataset_format format)
{
	return format == SW_DATASET_CIFAR10 || format == SW_DATASET_CIFAR100;
}

/* "rows of 13 numbers", "images of 3 x 32 x 32 bytes"; what: the last word. Returns out. */
static const char *rows_text(const struct sw_shape *s, const char *what, char out[96])
{
	if (s->kind == SW_SHAPE_TOKENS)
		snprintf(out, 96, "rows of %zu tokens", s->t);
	else if (s->kind == SW_SHAPE_IMAGE)
		snprintf(out, 96, "images of %zu x %zu x %zu %s", s->c, s->h, s->w, what);
	else
		snprintf(out, 96, "rows of %zu %s", s->c, what);
	return out;
}

static const char *takes(const struct sw_rows_want *want, char out[96])
{
	const char *what = want->bytes ? "bytes" : "floats";

	return rows_text(&want->shape, want->shape.kind == SW_SHAPE_IMAGE ? what : "numbers", out);
}

static sw_status unfit(const struct sw_rows *r, const char *show, const struct sw_shape *has,
		       const char *what, struct sw_err *err)
{
	char its[96], text[96];

	return sw_err_set(err, SW_INVALID, "%s has %s, the model takes %s", show,
			  rows_text(has, what, its), takes(&r->want, text));
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
	if ((is_cifar(r->format) || r->format == SW_DATASET_IDX) &&
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
	else if (is_cifar(w->format) || (w->format == SW_DATASET_IDX && S_ISDIR(st.st_mode)))
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

/* --- formats of bytes --- */

/* Opens a .npy file and compares its rows with those that the model takes. */
static sw_status npy_open(struct sw_rows *r, const char *path, struct sw_err *err)
{
	struct sw_data_npy *a = &r->npy;
	const struct sw_shape *s = &r->want.shape;
	sw_status rc = sw_data_npy_open(a, path, "", err);

	if (rc != SW_OK)
		return rc;
	r->rows = a->npy.dim[0];
	const struct sw_shape has = sw_data_npy_shape(a);
	const bool bytes = a->npy.type == SW_NPY_U1, image = s->kind == SW_SHAPE_IMAGE;
	const bool fits = has.kind == SW_SHAPE_IMAGE ? sw_shape_same(&has, s)
						     : a->row == sw_shape_count(s);

	if (fits && (!image || bytes == r->want.bytes))
		return SW_OK;
	return unfit(r, a->f.show, &has,
		     !image && has.kind != SW_SHAPE_IMAGE ? "numbers"
		     : bytes                              ? "bytes"
							  : "floats",
		     err);
}

static sw_status npy_next(struct sw_rows *r, void *x, size_t n, struct sw_err *err)
{
	struct sw_data_npy *a = &r->npy;

	if (r->want.shape.kind == SW_SHAPE_IMAGE && r->want.bytes)
		return sw_data_file_read(&a->f, x, n * a->row, "its data", err);
	return sw_data_npy_floats(a, x, r->at * a->row, (uint64_t)n * a->row, r->want.mean,
				  r->want.plane, r->block, err);
}

/* Opens an IDX file of images and compares their size with that of the model. */
static sw_status idx_open(struct sw_rows *r, const char *path, struct sw_err *err)
{
	struct sw_data_idx *x = &r->idx;
	sw_status rc = sw_data_idx_open(x, path, "", false, err);

	if (rc != SW_OK)
		return rc;
	r->rows = x->dim[0];
	const struct sw_shape has = sw_data_idx_shape(x);

	if (r->want.bytes && sw_shape_same(&has, &r->want.shape))
		return SW_OK;
	return unfit(r, x->f.show, &has, "bytes", err);
}

/* Opens a file of CIFAR, which has no header: its size says how many rows it has. */
static sw_status cifar_open(struct sw_rows *r, const char *path, struct sw_err *err)
{
	struct sw_data_file *f = &r->npy.f;
	const struct sw_shape has = sw_shape_image(3, 32, 32);
	sw_status rc = sw_data_file_open(f, path, "", err);

	if (rc != SW_OK)
		return rc;
	r->labels = r->format == SW_DATASET_CIFAR10 ? 1 : 2;
	r->rows = f->size / (PIXELS + r->labels);
	if (f->size % (PIXELS + r->labels) != 0)
		return sw_err_set(
			err, SW_INVALID, "%s has %" PRIu64 " bytes, a file of %s a multiple of %zu",
			f->show, f->size, sw_dataset_formats[r->format], PIXELS + r->labels);
	if (!r->want.bytes || !sw_shape_same(&has, &r->want.shape))
		return unfit(r, f->show, &has, "bytes", err);
	return SW_OK;
}

static sw_status cifar_next(struct sw_rows *r, uint8_t *x, size_t n, struct sw_err *err)
{
	unsigned char labels[2];
	sw_status rc = SW_OK;

	for (size_t i = 0; rc == SW_OK && i < n; i++) {
		rc = sw_data_file_read(&r->npy.f, labels, r->labels, "its labels", err);
		if (rc == SW_OK)
			rc = sw_data_file_read(&r->npy.f, x + i * PIXELS, PIXELS, "its rows", err);
	}
	return rc;
}

/* Opens a file of raw ids, which must be whole rows. */
static sw_status tokens_open(struct sw_rows *r, const char *path, struct sw_err *err)
{
	struct sw_data_ids *s = &r->ids;
	const size_t t = r->want.shape.t;
	sw_status rc = sw_data_ids_open(s, path, "", r->want.wide, err);

	if (rc != SW_OK)
		return rc;
	r->rows = s->n / t;
	if (s->n % t == 0)
		return SW_OK;
	return sw_err_set(err, SW_INVALID,
			  "%s has %" PRIu64 " ids, expected a multiple of the model's %zu: the row "
			  "at byte %" PRIu64 " has %" PRIu64,
			  s->f.show, s->n, t, r->rows * t * s->item, s->n % t);
}

/* Reads rows of ids, and counts the ids in front of the padding. */
static sw_status tokens_next(struct sw_rows *r, int32_t *x, int32_t *length, size_t n,
			     struct sw_err *err)
{
	const size_t t = r->want.shape.t;
	uint32_t largest = 0;
	const sw_status rc = sw_data_ids_read(&r->ids, x, (uint64_t)n * t, (uint32_t)r->want.vocab,
					      "id", r->block, &largest, err);

	if (rc != SW_OK || r->want.pad < 0)
		return rc;
	for (size_t i = 0; i < n; i++)
		length[i] = sw_data_ids_length(x + i * t, t, (int32_t)r->want.pad);
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
	switch (r->format) {
	case SW_DATASET_NPY:
		return npy_open(r, path, err);
	case SW_DATASET_IDX:
		return idx_open(r, path, err);
	case SW_DATASET_CIFAR10:
	case SW_DATASET_CIFAR100:
		return cifar_open(r, path, err);
	case SW_DATASET_TOKENS:
		return tokens_open(r, path, err);
	default:
		return sw_rows_csv_open(&r->csv, path, &r->want, err);
	}
}

sw_status sw_rows_open(struct sw_rows **out, const char *path, const char *format,
		       const struct sw_rows_want *want, struct sw_err *err)
{
	struct sw_rows *r = sw_calloc(1, sizeof *r);
	sw_status rc;

	*out = NULL;
	if (!r)
		return sw_err_set(err, SW_NOMEM, "no memory to read the rows");
	r->npy.f.fd = r->idx.f.fd = r->ids.f.fd = -1;
	r->want = *want;
	rc = format_find(r, path, format, err);
	if (rc == SW_OK && (r->format == SW_DATASET_NPY || r->format == SW_DATASET_TOKENS)) {
		r->block = sw_malloc(DATA_NPY_AT_ONCE * sizeof(double));
		if (!r->block)
			rc = sw_err_set(err, SW_NOMEM, "no memory to read the rows");
	}
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
	sw_status rc;

	if (r->format == SW_DATASET_CSV)
		return sw_rows_csv_next(r->csv, x, most, n, err);
	*n = least(r->rows - r->at, most);
	if (*n == 0)
		return SW_OK; /* the end of the file */
	if (r->format == SW_DATASET_NPY)
		rc = npy_next(r, x, *n, err);
	else if (r->format == SW_DATASET_IDX)
		rc = sw_data_file_read(&r->idx.f, x, *n * sw_shape_count(&r->want.shape),
				       "its images", err);
	else if (r->format == SW_DATASET_TOKENS)
		rc = tokens_next(r, x, length, *n, err);
	else
		rc = cifar_next(r, x, *n, err);
	r->at += *n;
	if (rc != SW_OK)
		*n = 0;
	return rc;
}

void sw_rows_close(struct sw_rows *r)
{
	if (!r)
		return;
	sw_data_file_close(&r->npy.f);
	sw_data_file_close(&r->idx.f);
	sw_data_file_close(&r->ids.f);
	sw_rows_csv_close(r->csv);
	free(r->block);
	free(r);
}
