/* trainer/data/data_arrays.c — data sets that are files of rows (trainer/data/array.h): .npy, IDX
 * and ids in pairs of rows and labels; CIFAR's batches with the labels in them; text, whose rows
 * are cut one after the other and whose labels are the ids that follow. Of .npy files rows of two
 * dimensions are numbers, of three images of one channel, of four images. Bytes of images stay
 * bytes, all else becomes float. */
#include "base/memory.h"
#include "trainer/data/array.h"
#include "trainer/data/data_raw.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FILES_MOST 6

struct files {
	struct sw_array a[FILES_MOST];
	size_t n, step; /* step 2: a file of labels follows each file of rows */
	size_t val;     /* the first file of the validation part; n: no such part */
};

/* The i-th file, as its data set's options say. */
static struct sw_array_as as_of(const struct sw_data_source *source, size_t i, size_t step)
{
	static const char *const ptr[] = {"/path", "/label_path", "/val_path", "/val_label_path"};
	const struct sw_dataset *set = &source->set;
	const bool folder = !set->val_path && !set->label_path;

	return (struct sw_array_as){.ptr = folder ? "/path" : ptr[step == 1 ? 2 * i : i],
				    .format = set->format,
				    .labels = step == 2 && i % 2 == 1,
				    .coarse = set->coarse,
				    .wide = set->wide,
				    .t = set->tokens,
				    .text = set->next_token};
}

/* Opens all files. */
static sw_status files_open(struct files *s, const struct sw_data_source *source,
			    struct sw_err *err)
{
	const bool cifar = sw_data_is_cifar(source->set.format);
	char path[SW_DATASET_MAX_PATH + 64];
	sw_status rc = SW_OK;

	s->step = cifar || source->set.next_token ? 1 : 2;
	for (; rc == SW_OK && s->n < FILES_MOST && sw_data_source_file(source, s->n, path);
	     s->n++) {
		struct sw_array_as as = as_of(source, s->n, s->step);

		as.path = path;
		if (cifar && s->n == 0)
			rc = sw_data_cifar_check(source, path, err);
		if (rc == SW_OK)
			rc = sw_array_open(&s->a[s->n], as, err);
		else
			/* The caller closes s->n arrays, this one among them. */
			s->a[s->n].f.fd = -1;
	}
	s->val = s->n;
	if (source->set.val_path || source->set.test)
		s->val = s->n - s->step;
	return rc;
}

/* Labels belong to rows, and the rows of all files are alike. */
static sw_status files_check(const struct files *s, struct sw_err *err)
{
	char first[96], its[96];

	sw_array_text(&s->a[0].shape, sw_array_is_bytes(&s->a[0]), first);
	for (size_t i = 0; i < s->n; i += s->step) {
		const struct sw_array *x = &s->a[i], *y = x + 1;

		sw_array_text(&x->shape, sw_array_is_bytes(x), its);
		if (strcmp(its, first) != 0)
			return sw_err_at(err, SW_INVALID, x->f.ptr,
					 "%s has %s, those to train on are %s", x->f.show, its,
					 first);
		/* a batch that lost whole rows has a size that alone would pass */
		if (x->front && i < s->val && x->rows != s->a[0].rows)
			return sw_err_at(err, SW_INVALID, x->f.ptr,
					 "%s has %" PRIu64 " rows, expected %" PRIu64
					 " as in data_batch_1.bin",
					 x->f.show, x->rows, s->a[0].rows);
		if (s->step == 1)
			continue;
		if (y->row != 1)
			return sw_err_at(err, SW_INVALID, y->f.ptr,
					 "%s has %zu numbers a row, a label is one", y->f.show,
					 y->row);
		if (y->rows != x->rows)
			return sw_err_at(err, SW_INVALID, y->f.ptr,
					 "%s has %" PRIu64 " labels, expected %" PRIu64
					 ", one for each row",
					 y->f.show, y->rows, x->rows);
	}
	return SW_OK;
}

/* Rows as the images that the data set's "image" says they are. */
static sw_status files_reshape(struct files *s, const struct sw_dataset *set, struct sw_err *err)
{
	const size_t c = set->image[0], h = set->image[1], w = set->image[2];
	const struct sw_shape image = sw_shape_image(c, h, w);

	for (size_t i = 0; c && i < s->n; i += s->step)
		if (!sw_array_reshape(&s->a[i], &image))
			return sw_err_at(err, SW_INVALID, "/image",
					 "%s has rows of %zu numbers, an image of %zu x %zu x "
					 "%zu needs %zu",
					 s->a[i].f.show, s->a[i].row, c, h, w, c * h * w);
	return SW_OK;
}

/* Takes the sizes that the files tell before their rows are read. */
static void counts_take(struct sw_raw *out, const struct files *s, const struct sw_dataset *set)
{
	out->shape = s->a[0].shape;
	out->kind = out->shape.kind == SW_SHAPE_TOKENS ? SW_RAW_TOKEN
		    : sw_array_is_bytes(&s->a[0])      ? SW_RAW_U8
						       : SW_RAW_FLOAT;
	out->labels = set->next_token ? set->tokens : 1;
	for (size_t i = 0; i < s->n; i += s->step) {
		out->rows += (size_t)s->a[i].rows;
		out->val_rows += i < s->val ? 0 : (size_t)s->a[i].rows;
	}
}

/* The labels of all rows of a text are its ids without the first, the rows without the last. */
static sw_status text_read(struct sw_array *x, int32_t *row, int32_t *after, size_t n,
			   uint32_t limit, int32_t *largest, struct sw_err *err)
{
	/* Read once, as labels: the rows are the same ids one place later, so they are copied. */
	int32_t begin = 0;
	sw_status rc = sw_array_whole(x, &begin, 1, limit, "id", largest, err);

	if (rc == SW_OK)
		rc = sw_array_whole(x, after, n, limit, "id", largest, err);
	if (rc == SW_OK && row) {
		row[0] = begin;
		memcpy(row + 1, after, (n - 1) * sizeof *row);
	}
	return rc;
}

/* The rows of a file, and the labels in it, from row `at` of out on. */
static sw_status rows_read(struct sw_raw *out, struct sw_array *x, size_t at,
			   const struct sw_dataset *set, int32_t *largest, struct sw_err *err)
{
	const uint32_t limit = set->vocab ? (uint32_t)set->vocab : (uint32_t)INT32_MAX;
	const size_t count = sw_shape_count(&out->shape), rows = (size_t)x->rows;
	const size_t plane = out->shape.kind == SW_SHAPE_IMAGE ? out->shape.h * out->shape.w : 1;
	int32_t *token = out->token ? out->token + at * count : NULL;

	if (out->kind == SW_RAW_U8)
		return sw_array_bytes(x, out->u8 ? out->u8 + at * count : NULL,
				      x->front ? out->label + at : NULL, rows, err);
	if (out->kind == SW_RAW_FLOAT)
		return sw_array_floats(x, out->x ? out->x + at * count : NULL, rows * count,
				       out->base, plane, err);
	if (set->next_token)
		return text_read(x, token, out->label + at * count, rows * count, limit, largest,
				 err);
	return sw_array_whole(x, token, rows * count, limit, "id", largest, err);
}

/* A file's labels, one for each row, from row `at` of out on. */
static sw_status labels_read(struct sw_raw *out, struct sw_array *y, size_t at, bool large,
			     struct sw_err *err)
{
	int32_t largest = 0;

	if (out->label)
		return sw_array_whole(y, out->label + at, y->rows, SW_DATASET_MAX_CLASSES, "label",
				      &largest, err);
	return sw_array_floats(y, out->value + at, y->rows, large ? &out->value_base : NULL, 1,
			       err);
}

/* The ids of each row in front of its padding. */
static sw_status lengths_make(struct sw_raw *out, int32_t pad, struct sw_err *err)
{
	const size_t t = out->shape.t;

	out->length = sw_malloc(out->rows * sizeof *out->length);
	if (!out->length)
		return sw_err_set(err, SW_NOMEM, "no memory for the lengths of %zu rows",
				  out->rows);
	for (size_t i = 0; out->token && i < out->rows; i++)
		out->length[i] = sw_array_length(out->token + i * t, t, pad);
	return SW_OK;
}

/* Reads all files, which are open and fit each other. */
static sw_status files_read(struct sw_raw *out, struct files *s, const struct sw_dataset *set,
			    const struct sw_data_want *want, bool keep, struct sw_err *err)
{
	const bool base = want->scale != SW_SCALE_NONE && keep && out->kind == SW_RAW_FLOAT;
	const struct sw_array *labels = &s->a[s->step - 1];
	int32_t largest = 0;
	sw_status rc = sw_data_raw_alloc(out, keep, want->classes, err);

	if (rc == SW_OK && base)
		rc = sw_data_bases(&out->base, out->shape.c, err);
	for (size_t i = 0, at = 0; rc == SW_OK && i < s->n; i += s->step) {
		rc = rows_read(out, &s->a[i], at, set, &largest, err);
		if (rc == SW_OK && s->step == 2)
			rc = labels_read(out, &s->a[i + 1], at, want->scale != SW_SCALE_NONE, err);
		at += (size_t)s->a[i].rows;
	}
	if (rc == SW_OK && set->pad >= 0 && out->kind == SW_RAW_TOKEN)
		rc = lengths_make(out, (int32_t)set->pad, err);
	if (rc == SW_OK && out->label && !labels->front)
		rc = sw_data_raw_classes(out, labels->f.show, labels->f.ptr, err);
	if (out->kind == SW_RAW_TOKEN)
		out->vocab = set->vocab ? set->vocab : (size_t)largest + 1;
	if (labels->front)
		out->classes = labels->classes;
	else if (set->next_token) /* whatever the training rows have, the next may be any */
		out->classes = out->vocab;
	return rc;
}

sw_status sw_data_arrays(struct sw_raw *out, const struct sw_data_source *source,
			 const struct sw_data_want *want, bool keep, struct sw_err *err)
{
	static const char *const noun[] = {[SW_DATASET_CIFAR10] = "CIFAR-10",
					   [SW_DATASET_CIFAR100] = "CIFAR-100",
					   [SW_DATASET_IDX] = "IDX files",
					   [SW_DATASET_TOKENS] = "token files"};
	const struct sw_dataset *set = &source->set;
	struct files *s;
	sw_status rc;

	if (set->format != SW_DATASET_NPY &&
	    (rc = sw_data_raw_wants_classes(want, noun[set->format], err)) != SW_OK)
		return rc;
	s = sw_calloc(1, sizeof *s);
	if (!s)
		return sw_err_set(err, SW_NOMEM, "no memory to read the data set");
	rc = files_open(s, source, err);
	if (rc == SW_OK)
		rc = files_reshape(s, set, err);
	if (rc == SW_OK)
		rc = files_check(s, err);
	if (rc == SW_OK && sw_data_is_cifar(set->format))
		rc = sw_data_cifar_names(out, source, s->a[0].classes, err);
	if (rc == SW_OK) {
		counts_take(out, s, set);
		rc = files_read(out, s, set, want, keep, err);
	}
	for (size_t i = 0; i < s->n; i++)
		sw_array_close(&s->a[i]);
	free(s);
	return rc;
}
