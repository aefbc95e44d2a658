#include "trainer/data/array.h"
#include "base/memory.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT_ONCE ((size_t)1 << 16) /* elements of a block */
#define BLOCK   (AT_ONCE * sizeof(double))
#define PIXELS  ((size_t)3072) /* of a CIFAR image */

/* --- headers --- */

/* Compares the size of the file, whose header is read, with its dimensions. */
static sw_status size_check(struct sw_array *a, struct sw_err *err)
{
	const struct sw_npy *head = &a->head;
	uint64_t bytes = head->item;

	/* The bound before the product: it does not wrap. */
	for (size_t i = 0; i < head->dims; i++) {
		if (bytes > SW_DATA_MAX_BYTES / head->dim[i])
			return sw_err_at(err, SW_TOO_BIG, a->f.ptr,
					 "%s: the header says over 1 TiB of data", a->f.show);
		bytes *= head->dim[i];
	}
	a->begin = a->f.at;
	if (a->f.size != a->begin + bytes)
		return sw_err_at(err, SW_INVALID, a->f.ptr,
				 "%s has %" PRIu64 " bytes, its header says %" PRIu64, a->f.show,
				 a->f.size, a->begin + bytes);
	a->rows = head->dim[0];
	a->row = (size_t)(bytes / head->item / a->rows);
	if (a->row > SW_DATASET_MAX_ROW)
		return sw_err_at(err, SW_TOO_BIG, a->f.ptr, "%s: a row has over 2^28 numbers",
				 a->f.show);
	if (head->dims < 3)
		a->shape = sw_shape_flat(a->row);
	else if (head->dims == 3)
		a->shape = sw_shape_image(1, (size_t)head->dim[1], (size_t)head->dim[2]);
	else
		a->shape = sw_shape_image((size_t)head->dim[1], (size_t)head->dim[2],
					  (size_t)head->dim[3]);
	return SW_OK;
}

static sw_status npy_head(struct sw_array *a, struct sw_err *err)
{
	unsigned char b[12];
	uint64_t length;
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
		rc = sw_npy_header(&a->head, text, (size_t)length, a->f.show, a->f.ptr, err);
	free(text);
	return rc == SW_OK ? size_check(a, err) : rc;
}

static sw_status idx_head(struct sw_array *a, bool labels, struct sw_err *err)
{
	const size_t least = labels ? 1 : 3, most = labels ? 1 : SW_NPY_MAX_DIMS;
	unsigned char b[4 + 4 * SW_NPY_MAX_DIMS];
	sw_status rc = sw_data_file_read(&a->f, b, 4, "the header", err);

	if (rc != SW_OK)
		return rc;
	if (b[0] != 0 || b[1] != 0)
		return sw_err_at(err, SW_INVALID, a->f.ptr,
				 "%s: byte 0 is 0x%02x%02x, an IDX file begins with 0x0000",
				 a->f.show, b[0], b[1]);
	if (b[2] != 8)
		return sw_err_at(err, SW_INVALID, a->f.ptr,
				 "%s: byte 2 is the type 0x%02x, expected 0x08 (unsigned bytes)",
				 a->f.show, b[2]);
	if (b[3] < least || b[3] > most)
		return sw_err_at(err, SW_INVALID, a->f.ptr,
				 "%s: byte 3 says %u dimensions, %s have %zu%s", a->f.show, b[3],
				 labels ? "labels" : "images", least, labels ? "" : " or 4");
	a->head = (struct sw_npy){.type = SW_NPY_U1, .item = 1, .dims = b[3]};
	rc = sw_data_file_read(&a->f, b + 4, 4 * a->head.dims, "the header", err);
	for (size_t i = 0; rc == SW_OK && i < a->head.dims; i++) {
		const unsigned char *at = b + 4 + 4 * i;
		const uint64_t limit = i > 0 ? SW_DATASET_MAX_SIDE : INT32_MAX;
		const uint64_t n = (uint64_t)at[0] << 24 | (uint64_t)at[1] << 16 |
				   (uint64_t)at[2] << 8 | at[3];

		if (n == 0 || n > limit)
			return sw_err_at(err, SW_INVALID, a->f.ptr,
					 "%s: byte %zu says that dimension %zu is %" PRIu64
					 ", expected 1 to %" PRIu64,
					 a->f.show, 4 + 4 * i, i, n, limit);
		a->head.dim[i] = n;
	}
	return rc == SW_OK ? size_check(a, err) : rc;
}

/* CIFAR has no header: the size says how many rows there are. */
static sw_status cifar_measure(struct sw_array *a, const struct sw_array_as *as, struct sw_err *err)
{
	const bool ten = as->format == SW_DATASET_CIFAR10;

	a->head = (struct sw_npy){.type = SW_NPY_U1, .item = 1};
	a->front = ten ? 1 : 2;
	a->which = ten || as->coarse ? 0 : 1;
	a->classes = ten ? 10 : as->coarse ? 20 : 100;
	a->shape = sw_shape_image(3, 32, 32);
	a->row = PIXELS;
	const uint64_t bytes = a->front + PIXELS;

	a->rows = a->f.size / bytes;
	if (a->f.size % bytes == 0)
		return SW_OK;
	return sw_err_at(err, SW_INVALID, a->f.ptr,
			 "%s: row %" PRIu64 " at byte %" PRIu64 " has %" PRIu64
			 " bytes, expected %" PRIu64 " (%zu of labels, %zu of pixels)",
			 a->f.show, a->rows, a->rows * bytes, a->f.size % bytes, bytes, a->front,
			 PIXELS);
}

/* Nor have ids. */
static sw_status ids_measure(struct sw_array *a, const struct sw_array_as *as, struct sw_err *err)
{
	const uint64_t item = as->wide ? 4 : 2, n = a->f.size / item, t = as->labels ? 1 : as->t;

	a->head = (struct sw_npy){.type = as->wide ? SW_NPY_U4 : SW_NPY_U2, .item = (size_t)item};
	a->shape = as->labels ? sw_shape_flat(1) : sw_shape_tokens(as->t, 0);
	a->row = (size_t)t;
	a->rows = as->text ? (n - 1) / t : n / t;
	if (a->f.size % item != 0)
		return sw_err_at(err, SW_INVALID, a->f.ptr,
				 "%s has %" PRIu64 " bytes, expected a multiple of %" PRIu64
				 " (%s): the id at byte %" PRIu64 " is cut short",
				 a->f.show, a->f.size, item, as->wide ? "uint32" : "uint16",
				 n * item);
	if (a->rows == 0)
		return sw_err_at(err, SW_INVALID, a->f.ptr,
				 "%s has %" PRIu64 " ids, a row needs %" PRIu64, a->f.show, n,
				 t + (as->text ? 1 : 0));
	if (!as->text && n % t != 0)
		return sw_err_at(err, SW_INVALID, a->f.ptr,
				 "%s has %" PRIu64
				 " ids, expected a multiple of the length %" PRIu64
				 ": the row at byte %" PRIu64 " has %" PRIu64,
				 a->f.show, n, t, a->rows * t * item, n % t);
	return SW_OK;
}

sw_status sw_array_open(struct sw_array *a, struct sw_array_as as, struct sw_err *err)
{
	sw_status rc;

	memset(a, 0, sizeof *a);
	rc = sw_data_file_open(&a->f, as.path, as.ptr, err);
	if (rc != SW_OK)
		return rc;
	if (as.format == SW_DATASET_NPY)
		rc = npy_head(a, err);
	else if (as.format == SW_DATASET_IDX)
		rc = idx_head(a, as.labels, err);
	else if (as.format == SW_DATASET_TOKENS)
		rc = ids_measure(a, &as, err);
	else
		rc = cifar_measure(a, &as, err);
	if (rc != SW_OK)
		return rc;
	a->block = sw_malloc(BLOCK);
	return a->block ? SW_OK : sw_err_set(err, SW_NOMEM, "no memory to read %s", a->f.show);
}

void sw_array_close(struct sw_array *a)
{
	sw_data_file_close(&a->f);
	free(a->block);
	a->block = NULL;
}

/* --- shapes --- */

bool sw_array_reshape(struct sw_array *a, const struct sw_shape *image)
{
	if (a->row != sw_shape_count(image))
		return false;
	a->shape = *image;
	return true;
}

const char *sw_array_text(const struct sw_shape *s, bool bytes, char out[96])
{
	if (s->kind == SW_SHAPE_TOKENS)
		snprintf(out, 96, "rows of %zu tokens", s->t);
	else if (s->kind == SW_SHAPE_IMAGE)
		snprintf(out, 96, "images of %zu x %zu x %zu %s", s->c, s->h, s->w,
			 bytes ? "bytes" : "floats");
	else
		snprintf(out, 96, "rows of %zu numbers", s->c);
	return out;
}

/* --- elements --- */

/* An element of a block, little endian whatever the machine is. */
static double element(const struct sw_npy *head, const unsigned char *at)
{
	uint64_t bits = 0;
	float f;
	double d;

	for (size_t i = head->item; i-- > 0;)
		bits = bits << 8 | at[i];
	const uint32_t low = (uint32_t)bits;

	switch (head->type) {
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

/* The next elements, as many as a block has, into it. *at: the byte of the first. */
static sw_status block_read(struct sw_array *a, uint64_t left, size_t *n, uint64_t *at,
			    struct sw_err *err)
{
	*n = left < AT_ONCE ? (size_t)left : AT_ONCE;
	*at = a->f.at;
	return sw_data_file_read(&a->f, a->block, *n * a->head.item, "its data", err);
}

sw_status sw_array_floats(struct sw_array *a, float *out, uint64_t n, double *base, size_t plane,
			  struct sw_err *err)
{
	const size_t item = a->head.item;
	size_t some = 0;

	for (uint64_t done = 0; done < n; done += some) {
		uint64_t at;
		const sw_status rc = block_read(a, n - done, &some, &at, err);

		if (rc != SW_OK)
			return rc;
		const uint64_t first = (at - a->begin) / item;

		for (size_t i = 0; i < some; i++) {
			const double v = element(&a->head, a->block + i * item);
			const size_t column = (size_t)((first + i) % a->row);

			/* As a float, which the net gets: 1e300 is infinite there. */
			if (!isfinite((float)v))
				return sw_err_at(err, SW_INVALID, a->f.ptr,
						 "%s: byte %" PRIu64 " (row %" PRIu64
						 ", column %zu) is %g: not a finite float",
						 a->f.show, at + i * item, (first + i) / a->row,
						 column, v);
			if (out)
				out[done + i] =
					sw_data_less(v, base ? &base[column / plane] : NULL);
		}
	}
	return SW_OK;
}

static sw_status not_below(const struct sw_array *a, uint64_t at, const char *noun, double v,
			   uint32_t limit, struct sw_err *err)
{
	const uint64_t row = (at - a->begin) / (a->front + a->row * a->head.item);

	return sw_err_at(err, SW_INVALID, a->f.ptr,
			 "%s: byte %" PRIu64 " (row %" PRIu64 ") is the %s %.10g, expected an "
			 "integer from 0 to %" PRIu32,
			 a->f.show, at, row, noun, v, limit - 1);
}

sw_status sw_array_whole(struct sw_array *a, int32_t *out, uint64_t n, uint32_t limit,
			 const char *noun, int32_t *largest, struct sw_err *err)
{
	const size_t item = a->head.item;
	size_t some = 0;

	for (uint64_t done = 0; done < n; done += some) {
		uint64_t at;
		const sw_status rc = block_read(a, n - done, &some, &at, err);

		if (rc != SW_OK)
			return rc;
		for (size_t i = 0; i < some; i++) {
			const double v = element(&a->head, a->block + i * item);

			/* Written so that a NaN is refused, too. */
			if (!(v >= 0 && v < limit && v == floor(v)))
				return not_below(a, at + i * item, noun, v, limit, err);
			const int32_t whole = (int32_t)v;

			*largest = whole > *largest ? whole : *largest;
			if (out)
				out[done + i] = whole;
		}
	}
	return SW_OK;
}

sw_status sw_array_bytes(struct sw_array *a, uint8_t *out, int32_t *label, size_t n,
			 struct sw_err *err)
{
	const size_t bytes = a->front + a->row, at_once = BLOCK / bytes;
	size_t some = 0;

	/* Rows that are bytes and nothing else need no block on their way. */
	if (a->front == 0)
		return out ? sw_data_file_read(&a->f, out, n * a->row, "its data", err) : SW_OK;
	for (size_t done = 0; done < n; done += some) {
		const uint64_t at = a->f.at;

		some = n - done < at_once ? n - done : at_once;
		const sw_status rc =
			sw_data_file_read(&a->f, a->block, some * bytes, "its data", err);

		if (rc != SW_OK)
			return rc;
		for (size_t i = 0; i < some; i++) {
			const unsigned char *row = a->block + i * bytes;

			if (label && row[a->which] >= a->classes)
				return not_below(a, at + i * bytes + a->which, "label",
						 row[a->which], a->classes, err);
			if (label)
				label[done + i] = row[a->which];
			if (out)
				memcpy(out + (done + i) * a->row, row + a->front, a->row);
		}
	}
	return SW_OK;
}
