#include "trainer/data/rows.h"
#include "base/memory.h"
#include "trainer/data/array.h"
#include "trainer/data/data_raw.h"
#include "trainer/data/rows_csv.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct sw_rows {
	struct sw_rows_want want;
	enum sw_dataset_format format;
	struct sw_array array; /* of all formats but CSV */
	uint64_t at;           /* rows that were given */
	struct rows_csv *csv;
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
	return r->format == SW_DATASET_CSV ? sw_rows_csv_open(&r->csv, path, &r->want, err)
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
		return sw_rows_csv_next(r->csv, x, most, n, err);
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
	sw_rows_csv_close(r->csv);
	free(r);
}
