/* worker/data/data_npy.c — pairs of NumPy files: rows and labels. Rows of two dimensions are
 * numbers, of three images of one channel, of four images (channels, height, width). Bytes of
 * images stay bytes, all else becomes float. */
#include "base/memory.h"
#include "worker/data/data_files.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AT_ONCE DATA_NPY_AT_ONCE

/* Reads the header and compares the size of the file with what it says. */
static sw_status header_read(struct sw_data_npy *a, struct sw_err *err)
{
	unsigned char b[12];
	uint64_t bytes, length;
	sw_status rc = sw_data_file_read(&a->f, b, 8, "the header", err);
	char *text;

	if (rc != SW_OK)
		return rc;
	if (memcmp(b, "\x93NUMPY", 6) != 0)
		return sw_err_at(err, SW_INVALID, a->f.ptr,
				 "%s is not a .npy file: it does not begin with \\x93NUMPY",
				 a->f.show);
	if (b[6] < 1 || b[6] > 3 || b[7] != 0)
		return sw_err_at(err, SW_INVALID, a->f.ptr,
				 "%s: byte 6 is version %u.%u, expected 1.0, 2.0 or 3.0", a->f.show,
				 b[6], b[7]);
	rc = sw_data_file_read(&a->f, b + 8, b[6] == 1 ? 2 : 4, "the header", err);
	if (rc != SW_OK)
		return rc;
	length = (uint64_t)b[8] | (uint64_t)b[9] << 8;
	if (b[6] > 1)
		length |= (uint64_t)b[10] << 16 | (uint64_t)b[11] << 24;
	if (length > SW_NPY_MAX_HEADER)
		return sw_err_at(err, SW_INVALID, a->f.ptr,
				 "%s: byte 8 says a header of %" PRIu64 " bytes, at most %zu are "
				 "possible",
				 a->f.show, length, SW_NPY_MAX_HEADER);
	text = sw_malloc((size_t)length + 1);
	if (!text)
		return sw_err_set(err, SW_NOMEM, "no memory to read %s", a->f.show);
	rc = sw_data_file_read(&a->f, text, (size_t)length, "the header", err);
	if (rc == SW_OK)
		rc = sw_npy_header(&a->npy, text, (size_t)length, a->f.show, a->f.ptr, err);
	free(text);
	bytes = a->npy.item;
	for (size_t i = 0; rc == SW_OK && i < a->npy.dims; i++) {
		if (bytes > SW_RAW_MAX_BYTES / a->npy.dim[i])
			return sw_err_at(err, SW_TOO_BIG, a->f.ptr,
					 "%s: the header says over 1 TiB of data", a->f.show);
		bytes *= a->npy.dim[i];
	}
	if (rc == SW_OK && a->f.size != a->f.at + bytes)
		return sw_err_at(err, SW_INVALID, a->f.ptr,
				 "%s has %" PRIu64 " bytes, its header says %" PRIu64, a->f.show,
				 a->f.size, a->f.at + bytes);
	return rc;
}

sw_status sw_data_npy_open(struct sw_data_npy *a, const char *path, const char *ptr,
			   struct sw_err *err)
{
	sw_status rc = sw_data_file_open(&a->f, path, ptr, err);

	if (rc == SW_OK)
		rc = header_read(a, err);
	a->row = 1;
	for (size_t i = 1; rc == SW_OK && i < a->npy.dims; i++)
		a->row *= (size_t)a->npy.dim[i]; /* below 2^40: the bytes were counted */
	if (rc == SW_OK && a->row > SW_DATASET_MAX_ROW)
		return sw_err_at(err, SW_TOO_BIG, ptr, "%s: a row has over 2^28 numbers",
				 a->f.show);
	return rc;
}

/* Element i of a block, little endian whatever the machine is. */
static double element(enum sw_npy_type type, const unsigned char *at)
{
	uint64_t bits = 0;
	float f;
	double d;
	const size_t n = type == SW_NPY_U1 ? 1 : type == SW_NPY_F4 || type == SW_NPY_I4 ? 4 : 8;

	for (size_t i = n; i-- > 0;)
		bits = bits << 8 | at[i];
	const uint32_t low = (uint32_t)bits;

	switch (type) {
	case SW_NPY_F4:
		memcpy(&f, &low, sizeof f);
		return (double)f;
	case SW_NPY_F8:
		memcpy(&d, &bits, sizeof d);
		return d;
	case SW_NPY_I4:
		return (double)(int32_t)low;
	case SW_NPY_I8:
		return (double)(int64_t)bits;
	default:
		return (double)low;
	}
}

sw_status sw_data_npy_floats(struct sw_data_npy *a, float *out, uint64_t first, uint64_t n,
			     double *base, size_t plane, unsigned char *block, struct sw_err *err)
{
	sw_status rc = SW_OK;

	for (uint64_t at = 0; rc == SW_OK && at < n; at += AT_ONCE) {
		const size_t some = n - at < AT_ONCE ? (size_t)(n - at) : AT_ONCE;

		rc = sw_data_file_read(&a->f, block, some * a->npy.item, "its data", err);
		for (size_t i = 0; rc == SW_OK && i < some; i++) {
			const double v = element(a->npy.type, block + i * a->npy.item);

			if (!isfinite((float)v))
				return sw_err_at(err, SW_INVALID, a->f.ptr,
						 "%s: byte %" PRIu64 " (row %" PRIu64 ", column "
						 "%" PRIu64 ") is %g: not a finite float",
						 a->f.show, a->f.at - (some - i) * a->npy.item,
						 (first + at + i) / a->row,
						 (first + at + i) % a->row, v);
			if (out)
				out[at + i] = sw_data_raw_less(
					v, base ? &base[(at + i) % a->row / plane] : NULL);
		}
	}
	return rc;
}

/* Reads labels that are classes: whole numbers, of whichever type the file has. */
static sw_status classes_read(struct sw_data_npy *a, int32_t *out, unsigned char *block,
			      struct sw_err *err)
{
	const uint64_t n = a->npy.dim[0];
	sw_status rc = SW_OK;

	for (uint64_t first = 0; rc == SW_OK && first < n; first += AT_ONCE) {
		const size_t some = n - first < AT_ONCE ? (size_t)(n - first) : AT_ONCE;

		rc = sw_data_file_read(&a->f, block, some * a->npy.item, "its data", err);
		for (size_t i = 0; rc == SW_OK && i < some; i++) {
			const double v = element(a->npy.type, block + i * a->npy.item);

			if (!(v >= 0 && v < SW_DATASET_MAX_CLASSES && v == floor(v)))
				return sw_err_at(err, SW_INVALID, a->f.ptr,
						 "%s: byte %" PRIu64 " (row %" PRIu64 ") is the "
						 "label %g, expected an integer from 0 to %d",
						 a->f.show, a->f.at - (some - i) * a->npy.item,
						 first + i, v, SW_DATASET_MAX_CLASSES - 1);
			out[first + i] = (int32_t)v;
		}
	}
	return rc;
}

struct sw_shape sw_data_npy_shape(const struct sw_data_npy *a)
{
	const uint64_t *d = a->npy.dim;

	if (a->npy.dims == 4)
		return sw_shape_image((size_t)d[1], (size_t)d[2], (size_t)d[3]);
	if (a->npy.dims == 3)
		return sw_shape_image(1, (size_t)d[1], (size_t)d[2]);
	return sw_shape_flat(a->row);
}

static sw_status shape_make(struct sw_raw *out, const struct sw_data_npy *a,
			    const struct sw_dataset *set, struct sw_err *err)
{
	const size_t c = set->image[0], h = set->image[1], w = set->image[2];

	out->shape = sw_data_npy_shape(a);
	if (c && c * h * w != a->row)
		return sw_err_at(err, SW_INVALID, "/image",
				 "%s has rows of %zu numbers, an image of %zu x %zu x %zu needs "
				 "%zu",
				 a->f.show, a->row, c, h, w, c * h * w);
	if (c)
		out->shape = sw_shape_image(c, h, w);
	out->kind = out->shape.kind == SW_SHAPE_IMAGE && a->npy.type == SW_NPY_U1 ? SW_RAW_U8
										  : SW_RAW_FLOAT;
	return SW_OK;
}

/* Labels belong to rows; the validation part has the shape and type of the training part. */
static sw_status parts_check(const struct sw_data_npy *a, bool val, struct sw_err *err)
{
	for (size_t i = 0; i < (val ? 4 : 2); i += 2) {
		const struct sw_data_npy *x = &a[i], *y = &a[i + 1];

		if (y->row != 1)
			return sw_err_at(err, SW_INVALID, y->f.ptr,
					 "%s has %zu numbers a row, a label is one", y->f.show,
					 y->row);
		if (x->npy.dim[0] != y->npy.dim[0])
			return sw_err_at(err, SW_INVALID, y->f.ptr,
					 "%s has %" PRIu64 " labels, expected %" PRIu64
					 ", one for each row",
					 y->f.show, y->npy.dim[0], x->npy.dim[0]);
	}
	if (!val)
		return SW_OK;
	if (a[0].npy.type != a[2].npy.type || a[0].npy.dims != a[2].npy.dims ||
	    memcmp(a[0].npy.dim + 1, a[2].npy.dim + 1, sizeof a[0].npy.dim - sizeof(uint64_t)) != 0)
		return sw_err_at(err, SW_INVALID, a[2].f.ptr,
				 "%s has another shape or dtype than the rows to train on",
				 a[2].f.show);
	return SW_OK;
}

/* Reads all files of the set, whose headers are read. */
static sw_status take_arrays(struct sw_raw *out, struct sw_data_npy a[4],
			     const struct sw_dataset *set, const struct sw_data_want *want,
			     bool keep, struct sw_err *err)
{
	const bool val = set->val_path != NULL, large = want->standardize;
	unsigned char *block;
	size_t plane = 1;
	sw_status rc = parts_check(a, val, err);

	if (rc == SW_OK)
		rc = shape_make(out, &a[0], set, err);
	if (rc != SW_OK)
		return rc;
	out->labels = 1;
	out->val_rows = val ? (size_t)a[2].npy.dim[0] : 0;
	out->rows = (size_t)a[0].npy.dim[0] + out->val_rows;
	rc = sw_data_raw_alloc(out, keep, want->classes, err);
	if (rc != SW_OK)
		return rc;
	if (out->shape.kind == SW_SHAPE_IMAGE)
		plane = out->shape.h * out->shape.w;
	if (large && keep && out->kind == SW_RAW_FLOAT)
		rc = sw_data_raw_bases(&out->base, a[0].row / plane, err);
	block = sw_malloc(AT_ONCE * sizeof(double));
	if (!block)
		rc = sw_err_set(err, SW_NOMEM, "no memory to read %s", a[0].f.show);
	for (size_t i = 0, row = 0; rc == SW_OK && i < (val ? 4 : 2); i += 2) {
		const size_t at = row * a[0].row;
		const uint64_t n = a[i].npy.dim[0] * a[i].row;

		if (out->u8)
			rc = sw_data_file_read(&a[i].f, out->u8 + at, (size_t)n, "its data", err);
		else if (out->kind != SW_RAW_U8)
			rc = sw_data_npy_floats(&a[i], out->x ? out->x + at : NULL, 0, n, out->base,
						plane, block, err);
		if (rc == SW_OK)
			rc = want->classes ? classes_read(&a[i + 1], out->label + row, block, err)
					   : sw_data_npy_floats(&a[i + 1], out->value + row, 0,
								a[i + 1].npy.dim[0],
								large ? &out->value_base : NULL, 1,
								block, err);
		row += (size_t)a[i].npy.dim[0];
	}
	free(block);
	if (rc == SW_OK && want->classes)
		rc = sw_data_raw_classes(out, a[1].f.show, a[1].f.ptr, err);
	return rc;
}

sw_status sw_data_npy(struct sw_raw *out, const struct sw_data_source *source,
		      const struct sw_data_want *want, bool keep, struct sw_err *err)
{
	static const char *const ptr[] = {"/path", "/label_path", "/val_path", "/val_label_path"};
	const size_t files = source->set.val_path ? 4 : 2;
	char path[SW_DATASET_MAX_PATH + 64];
	struct sw_data_npy a[4];
	sw_status rc = SW_OK;

	memset(a, 0, sizeof a);
	for (size_t i = 0; i < 4; i++)
		a[i].f.fd = -1;
	for (size_t i = 0; rc == SW_OK && i < files; i++)
		if (sw_data_source_file(source, i, path))
			rc = sw_data_npy_open(&a[i], path, ptr[i], err);
	if (rc == SW_OK)
		rc = take_arrays(out, a, &source->set, want, keep, err);
	for (size_t i = 0; i < 4; i++)
		sw_data_file_close(&a[i].f);
	return rc;
}
