/* worker/data/data_idx.c — IDX files, MNIST's format: two zero bytes, the type of the elements (8:
 * unsigned bytes), the number of dimensions, each dimension as a big-endian uint32, the elements.
 * Images have three dimensions (rows, height, width) or four (rows, channels, height, width),
 * labels one. */
#include "base/memory.h"
#include "worker/data/data_files.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define AT_ONCE   ((size_t)1 << 20) /* bytes of pixels, or one row */
#define TYPE_BYTE 8
#define MOST_DIMS 4

static sw_status header_read(struct sw_data_idx *x, bool labels, struct sw_err *err)
{
	const size_t least = labels ? 1 : 3, most = labels ? 1 : MOST_DIMS;
	unsigned char b[4 + 4 * MOST_DIMS];
	uint64_t bytes = 1;
	sw_status rc = sw_data_file_read(&x->f, b, 4, "the header", err);

	if (rc != SW_OK)
		return rc;
	if (b[0] != 0 || b[1] != 0)
		return sw_err_at(err, SW_INVALID, x->f.ptr,
				 "%s: byte 0 is 0x%02x%02x, an IDX file begins with 0x0000",
				 x->f.show, b[0], b[1]);
	if (b[2] != TYPE_BYTE)
		return sw_err_at(err, SW_INVALID, x->f.ptr,
				 "%s: byte 2 is the type 0x%02x, expected 0x08 (unsigned bytes)",
				 x->f.show, b[2]);
	if (b[3] < least || b[3] > most)
		return sw_err_at(err, SW_INVALID, x->f.ptr,
				 "%s: byte 3 says %u dimensions, %s have %zu%s", x->f.show, b[3],
				 labels ? "labels" : "images", least, labels ? "" : " or 4");
	x->dims = b[3];
	rc = sw_data_file_read(&x->f, b + 4, 4 * x->dims, "the header", err);
	for (size_t i = 0; rc == SW_OK && i < x->dims; i++) {
		const unsigned char *at = b + 4 + 4 * i;

		x->dim[i] = (uint64_t)at[0] << 24 | (uint64_t)at[1] << 16 | (uint64_t)at[2] << 8 |
			    at[3];
		if (x->dim[i] == 0 || x->dim[i] > INT32_MAX ||
		    (i > 0 && x->dim[i] > SW_DATASET_MAX_SIDE))
			return sw_err_at(err, SW_INVALID, x->f.ptr,
					 "%s: byte %zu says that dimension %zu is %" PRIu64
					 ", expected 1 to %lu",
					 x->f.show, 4 + 4 * i, i, x->dim[i],
					 i > 0 ? (unsigned long)SW_DATASET_MAX_SIDE
					       : (unsigned long)INT32_MAX);
		if (bytes > SW_RAW_MAX_BYTES / x->dim[i])
			return sw_err_at(err, SW_TOO_BIG, x->f.ptr,
					 "%s: the header says over 1 TiB of data", x->f.show);
		bytes *= x->dim[i];
	}
	if (rc == SW_OK && x->f.size != x->f.at + bytes)
		return sw_err_at(err, SW_INVALID, x->f.ptr,
				 "%s has %" PRIu64 " bytes, its header says %" PRIu64, x->f.show,
				 x->f.size, x->f.at + bytes);
	return rc;
}

sw_status sw_data_idx_open(struct sw_data_idx *x, const char *path, const char *ptr, bool labels,
			   struct sw_err *err)
{
	const sw_status rc = sw_data_file_open(&x->f, path, ptr, err);

	return rc == SW_OK ? header_read(x, labels, err) : rc;
}

static sw_status pair_check(const struct sw_data_idx *images, const struct sw_data_idx *labels,
			    struct sw_err *err)
{
	if (labels->dim[0] == images->dim[0])
		return SW_OK;
	return sw_err_at(err, SW_INVALID, labels->f.ptr,
			 "%s has %" PRIu64 " labels, expected %" PRIu64 ", one for each image",
			 labels->f.show, labels->dim[0], images->dim[0]);
}

/* The rows and labels of a part, from row `first` of out on. */
static sw_status pair_read(struct sw_raw *out, struct sw_data_idx *images,
			   struct sw_data_idx *labels, size_t first, unsigned char *block,
			   struct sw_err *err)
{
	const size_t count = sw_shape_count(&out->shape), rows = (size_t)images->dim[0];
	const size_t at_once = count < AT_ONCE ? AT_ONCE / count : 1;
	sw_status rc = SW_OK;

	for (size_t i = 0; rc == SW_OK && out->u8 && i < rows; i += at_once)
		rc = sw_data_file_read(&images->f, out->u8 + (first + i) * count,
				       count * (rows - i < at_once ? rows - i : at_once),
				       "its images", err);
	for (size_t i = 0; rc == SW_OK && i < rows; i += AT_ONCE) {
		const size_t n = rows - i < AT_ONCE ? rows - i : AT_ONCE;

		rc = sw_data_file_read(&labels->f, block, n, "its labels", err);
		for (size_t k = 0; rc == SW_OK && k < n; k++)
			out->label[first + i + k] = block[k];
	}
	return rc;
}

struct sw_shape sw_data_idx_shape(const struct sw_data_idx *x)
{
	if (x->dims == 4)
		return sw_shape_image((size_t)x->dim[1], (size_t)x->dim[2], (size_t)x->dim[3]);
	return sw_shape_image(1, (size_t)x->dim[1], (size_t)x->dim[2]);
}

static sw_status shape_check(const struct sw_raw *out, const struct sw_data_idx *val,
			     struct sw_err *err)
{
	const struct sw_shape s = sw_data_idx_shape(val);

	if (sw_shape_same(&s, &out->shape))
		return SW_OK;
	return sw_err_at(err, SW_INVALID, val->f.ptr,
			 "%s has images of %zu x %zu x %zu, those to train on are %zu x %zu x %zu",
			 val->f.show, s.c, s.h, s.w, out->shape.c, out->shape.h, out->shape.w);
}

/* Reads all files of the set, whose headers are read; val: with those of the validation part. */
static sw_status take_part(struct sw_raw *out, struct sw_data_idx part[4], bool val, bool keep,
			   struct sw_err *err)
{
	unsigned char *block;
	sw_status rc;

	out->kind = SW_RAW_U8;
	out->labels = 1;
	out->shape = sw_data_idx_shape(&part[0]);
	out->rows = (size_t)part[0].dim[0];
	if (val) {
		rc = shape_check(out, &part[2], err);
		if (rc != SW_OK)
			return rc;
		out->val_rows = (size_t)part[2].dim[0];
		out->rows += out->val_rows;
	}
	if (sw_shape_count(&out->shape) > SW_DATASET_MAX_ROW)
		return sw_err_at(err, SW_TOO_BIG, part[0].f.ptr,
				 "%s: an image has over 2^28 pixels", part[0].f.show);
	rc = sw_data_raw_alloc(out, keep, true, err);
	if (rc != SW_OK)
		return rc;
	block = sw_malloc(AT_ONCE);
	if (!block)
		return sw_err_set(err, SW_NOMEM, "no memory to read %s", part[1].f.show);
	rc = pair_read(out, &part[0], &part[1], 0, block, err);
	if (rc == SW_OK && val)
		rc = pair_read(out, &part[2], &part[3], out->rows - out->val_rows, block, err);
	free(block);
	return rc == SW_OK ? sw_data_raw_classes(out, part[1].f.show, part[1].f.ptr, err) : rc;
}

sw_status sw_data_idx(struct sw_raw *out, const struct sw_data_source *source,
		      const struct sw_data_want *want, bool keep, struct sw_err *err)
{
	const bool folder = !source->set.label_path;
	const bool val = folder ? source->set.test : source->set.val_path != NULL;
	const char *const ptr[] = {"/path", folder ? "/path" : "/label_path",
				   folder ? "/path" : "/val_path",
				   folder ? "/path" : "/val_label_path"};
	char path[SW_DATASET_MAX_PATH + 64];
	struct sw_data_idx part[4];
	sw_status rc = sw_data_raw_wants_classes(want, "IDX files", err);

	memset(part, 0, sizeof part);
	for (size_t i = 0; i < 4; i++)
		part[i].f.fd = -1;
	for (size_t i = 0; rc == SW_OK && i < (val ? 4 : 2); i++) {
		if (!sw_data_source_file(source, i, path))
			path[0] = '\0'; /* which cannot be opened */
		rc = sw_data_idx_open(&part[i], path, ptr[i], i % 2 == 1, err);
		if (rc == SW_OK && i % 2 == 1)
			rc = pair_check(&part[i - 1], &part[i], err);
	}
	if (rc == SW_OK)
		rc = take_part(out, part, val, keep, err);
	for (size_t i = 0; i < 4; i++)
		sw_data_file_close(&part[i].f);
	return rc;
}
