/* worker/data/data_cifar.c — CIFAR-10 and CIFAR-100, the binary version: rows of one label byte
 * (CIFAR-100: two, coarse and fine) and 3,072 bytes, the image [3][32][32]. Source: Krizhevsky,
 * "Learning multiple layers of features from tiny images", 2009; the layout is that of the data's
 * own page. */
#include "base/memory.h"
#include "proto/json.h"
#include "worker/data/data_raw.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIXELS     ((size_t)3072)
#define AT_ONCE    ((size_t)64) /* rows */
#define FILES_MOST 6

struct cifar {
	size_t labels; /* bytes in front of the pixels */
	size_t which;  /* of them */
	int32_t classes;
	const char *name;
	const char *names; /* the file of the classes' names */
};

static struct cifar cifar_of(const struct sw_dataset *set)
{
	if (set->format == SW_DATASET_CIFAR10)
		return (struct cifar){.labels = 1,
				      .classes = 10,
				      .name = "CIFAR-10",
				      .names = "batches.meta.txt"};
	return (struct cifar){.labels = 2,
			      .which = set->coarse ? 0 : 1,
			      .classes = set->coarse ? 20 : 100,
			      .name = "CIFAR-100",
			      .names = set->coarse ? "coarse_label_names.txt"
						   : "fine_label_names.txt"};
}

/* The folder holds the version for Python instead. */
static bool is_python(const struct sw_data_source *source)
{
	static const char *const names[] = {"data_batch_1", "train",
					    "cifar-10-batches-py/data_batch_1",
					    "cifar-100-python/train"};
	char path[SW_DATASET_MAX_PATH + 64];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s", source->path, names[i]);
		if (access(path, F_OK) == 0)
			return true;
	}
	return false;
}

/* *rows of one file, by its size. */
static sw_status file_measure(const char *path, const struct cifar *c, size_t *rows,
			      struct sw_err *err)
{
	const uint64_t row = PIXELS + c->labels;
	struct sw_data_file f;
	sw_status rc = sw_data_file_open(&f, path, "/path", err);

	if (rc != SW_OK)
		return rc;
	sw_data_file_close(&f);
	*rows = (size_t)(f.size / row);
	if (f.size % row != 0)
		return sw_err_at(err, SW_INVALID, "/path",
				 "%s: row %zu at byte %" PRIu64 " has %" PRIu64
				 " bytes, expected %" PRIu64 " (%zu of labels, %zu of pixels)",
				 f.show, *rows, *rows * row, f.size % row, row, c->labels, PIXELS);
	return SW_OK;
}

/* The next n rows of a file, the first of them being row `first` of the file and `at` of out. */
static sw_status rows_take(struct sw_raw *out, size_t at, const struct cifar *c,
			   const unsigned char *block, size_t n, size_t first,
			   const struct sw_data_file *f, struct sw_err *err)
{
	const size_t row = PIXELS + c->labels;

	for (size_t i = 0; i < n; i++) {
		const int32_t label = block[i * row + c->which];

		if (label >= c->classes)
			return sw_err_at(err, SW_INVALID, "/path",
					 "%s: byte %" PRIu64 " (row %zu) is the label %d, expected "
					 "0 to %d",
					 f->show, (uint64_t)(first + i) * row + c->which, first + i,
					 (int)label, (int)c->classes - 1);
		out->label[at + i] = label;
		if (out->u8)
			memcpy(out->u8 + (at + i) * PIXELS, block + i * row + c->labels, PIXELS);
	}
	return SW_OK;
}

static sw_status file_read(struct sw_raw *out, const char *path, size_t at, size_t rows,
			   const struct cifar *c, unsigned char *block, struct sw_err *err)
{
	struct sw_data_file f;
	sw_status rc = sw_data_file_open(&f, path, "/path", err);

	for (size_t i = 0; rc == SW_OK && i < rows; i += AT_ONCE) {
		const size_t n = rows - i < AT_ONCE ? rows - i : AT_ONCE;

		rc = sw_data_file_read(&f, block, n * (PIXELS + c->labels), "its rows", err);
		if (rc == SW_OK)
			rc = rows_take(out, at + i, c, block, n, i, &f, err);
	}
	sw_data_file_close(&f);
	return rc;
}

/* Sizes of all files. rows: size_t[FILES_MOST]. */
static sw_status measure(struct sw_raw *out, const struct sw_data_source *source,
			 const struct cifar *c, size_t *rows, size_t *files, struct sw_err *err)
{
	char path[SW_DATASET_MAX_PATH + 64], show[84];

	for (*files = 0; sw_data_source_file(source, *files, path); ++*files) {
		const bool test = source->set.test &&
				  *files == (source->set.format == SW_DATASET_CIFAR10 ? 5 : 1);

		if (*files == 0 && access(path, F_OK) != 0 && is_python(source))
			return sw_err_at(err, SW_INVALID, "/path",
					 "%s holds the Python version of %s: the binary version is "
					 "needed (%s)",
					 sw_data_file_show(source->path, show), c->name,
					 c->labels == 1 ? "data_batch_1.bin ..." : "train.bin");
		const sw_status rc = file_measure(path, c, &rows[*files], err);

		if (rc != SW_OK)
			return rc;
		/* a batch that lost whole rows has a size that alone would pass */
		if (*files > 0 && !test && rows[*files] != rows[0])
			return sw_err_at(err, SW_INVALID, "/path",
					 "%s has %zu rows, expected %zu as in data_batch_1.bin",
					 sw_data_file_show(path, show), rows[*files], rows[0]);
		out->rows += rows[*files];
		if (test)
			out->val_rows = rows[*files];
	}
	return SW_OK;
}

/* Lines of printable ASCII, as many as there are classes: a JSON list of them. False: it is not. */
static bool names_list(struct sw_buf *list, char *text, size_t n, int32_t classes)
{
	struct sw_jw w;
	char *rest = NULL;
	int32_t found = 0;

	for (size_t i = 0; i < n; i++)
		if (text[i] != '\n' && text[i] != '\r' && (text[i] < ' ' || text[i] > '~'))
			return false;
	sw_jw_init(&w, list);
	sw_jw_arr(&w);
	for (char *t = strtok_r(text, "\r\n", &rest); t; t = strtok_r(NULL, "\r\n", &rest), found++)
		sw_jw_str(&w, t);
	sw_jw_arr_end(&w);
	return found == classes;
}

/* Reads the names of classes from the file beside the rows. Without that file, or if its lines do
 * not fit, the classes have their numbers: training does not need the names. */
static sw_status names_read(struct sw_raw *out, const struct sw_data_source *source,
			    const struct cifar *c, struct sw_err *err)
{
	char path[SW_DATASET_MAX_PATH + 96], text[4096];
	struct sw_err why = SW_ERR_INIT;
	struct sw_data_file f;
	struct sw_buf list;
	sw_status rc;
	char *slash;

	(void)sw_data_source_file(source, 0, path);
	slash = strrchr(path, '/');
	snprintf(slash ? slash + 1 : path, 32, "%s", c->names);
	if (sw_data_file_open(&f, path, "/path", &why) != SW_OK)
		return SW_OK;
	const size_t n = f.size < sizeof text ? (size_t)f.size : 0;

	rc = sw_data_file_read(&f, text, n, "its names", err);
	sw_data_file_close(&f);
	if (rc != SW_OK)
		return rc;
	text[n] = '\0';
	sw_buf_init(&list, SW_DATA_ABOUT_MOST);
	if (names_list(&list, text, n, c->classes))
		return sw_data_about_take(&out->about, &list, &out->about.classes, err);
	sw_buf_fini(&list);
	return SW_OK;
}

sw_status sw_data_cifar(struct sw_raw *out, const struct sw_data_source *source,
			const struct sw_data_want *want, bool keep, struct sw_err *err)
{
	const struct cifar c = cifar_of(&source->set);
	char path[SW_DATASET_MAX_PATH + 64];
	size_t rows[FILES_MOST], files = 0, at = 0;
	unsigned char *block = NULL;
	sw_status rc = sw_data_raw_wants_classes(want, c.name, err);

	if (rc == SW_OK)
		rc = measure(out, source, &c, rows, &files, err);
	if (rc == SW_OK)
		rc = names_read(out, source, &c, err);
	if (rc != SW_OK)
		return rc;
	out->kind = SW_RAW_U8;
	out->shape = sw_shape_image(3, 32, 32);
	out->labels = 1;
	out->classes = (size_t)c.classes;
	rc = sw_data_raw_alloc(out, keep, true, err);
	if (rc == SW_OK) {
		block = sw_malloc(AT_ONCE * (PIXELS + c.labels));
		if (!block)
			rc = sw_err_set(err, SW_NOMEM, "no memory to read %s", c.name);
	}
	for (size_t i = 0; rc == SW_OK && i < files; i++) {
		if (sw_data_source_file(source, i, path))
			rc = file_read(out, path, at, rows[i], &c, block, err);
		at += rows[i];
	}
	free(block);
	return rc;
}
