/* tests/trainer/data/data_set.h — a folder of data files for a test, and the data set read from
 * them. In a spec "@" stands for the folder. */
#ifndef SW_TESTS_WORKER_DATA_DATA_SET_H
#define SW_TESTS_WORKER_DATA_DATA_SET_H

#include "proto/json.h"
#include "tests/run.h"
#include "tests/walk.h"
#include "trainer/data/data.h"
#include <dirent.h>
#include <sys/stat.h>

static char folder[64];

static const struct sw_data_want as_classes = {
	.classes = true, .val_fraction = 0.5, .split_seed = 1, .scale = SW_SCALE_NONE};

static inline void folder_make(void)
{
	snprintf(folder, sizeof folder, "/tmp/sw-data-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static inline void folder_remove(void)
{
	DIR *dir = opendir(folder);
	struct dirent *e;
	char path[400];

	while (dir && (e = readdir(dir))) {
		snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
		if (e->d_name[0] != '.')
			unlink(path);
	}
	if (dir)
		closedir(dir);
	rmdir(folder);
}

static inline void put(const char *name, const void *bytes, size_t n)
{
	char path[400];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	f = fopen(path, "wb");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
	ck_assert_int_eq(fclose(f), 0);
}

/* text with the folder for each "@" */
static inline const char *with_folder(const char *text, char out[1024])
{
	size_t n = 0;

	for (; *text; text++)
		if (*text == '@')
			n += (size_t)snprintf(out + n, 1024 - n, "%s", folder);
		else
			out[n++] = *text;
	out[n] = '\0';
	return out;
}

static inline sw_status load_ops(struct sw_data *out, const char *spec, struct sw_data_want want,
				 const struct sw_ops *ops, struct sw_err *err)
{
	struct sw_data_source source;
	char text[1024];
	cJSON *json = cJSON_Parse(with_folder(spec, text));
	sw_status status;

	ck_assert_msg(json != NULL, "%s", text);
	memset(out, 0, sizeof *out);
	status = sw_data_source_read(&source, json, err);
	if (status == SW_OK)
		status = sw_data_load(out, &source, want, ops, NULL, err);
	cJSON_Delete(json);
	return status;
}

static inline sw_status load(struct sw_data *out, const char *spec, struct sw_data_want want,
			     struct sw_err *err)
{
	return load_ops(out, spec, want, &sw_ops_cpu, err);
}

/* The data set, which must be fine; the check before (which keeps no rows) says the same of it. */
static inline void load_ok(struct sw_data *out, const char *spec, struct sw_data_want want)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_data before;

	ck_assert_msg(load_ops(&before, spec, want, NULL, &err) == SW_OK, "%s: %s", err.ptr,
		      err.msg);
	ck_assert_msg(load(out, spec, want, &err) == SW_OK, "%s: %s", err.ptr, err.msg);
	ck_assert_uint_eq(before.train.rows, out->train.rows);
	ck_assert_uint_eq(before.val.rows, out->val.rows);
	ck_assert_uint_eq(before.features, out->features);
	ck_assert_uint_eq(before.classes, out->classes);
	ck_assert_uint_eq(before.vocab, out->vocab);
	ck_assert_uint_eq(before.bytes, out->bytes);
	ck_assert_ptr_null(before.memory);
	sw_data_fini(&before);
}

/* The data set is refused with this line, by the check and by the load alike. */
static inline void refused(const char *spec, struct sw_data_want want, const char *ptr,
			   const char *says)
{
	char line[1024];

	with_folder(says, line);
	for (int keep = 0; keep < 2; keep++) {
		struct sw_err err = SW_ERR_INIT;
		struct sw_data data;

		ck_assert_int_ne(load_ops(&data, spec, want, keep ? &sw_ops_cpu : NULL, &err),
				 SW_OK);
		ck_assert_str_eq(err.msg, line);
		ck_assert_str_eq(err.ptr, ptr);
		ck_assert_ptr_null(data.memory);
	}
}

/* Every allocation and every read may fail: cleanly, with the code of its kind. */
static inline void walk_faults(const char *spec, struct sw_data_want want)
{
	for (int kind = 0; kind < 2; kind++) {
		/* synthetic rows are read from no file */
		WALK (kind ? SW_FAULT_IO : SW_FAULT_MALLOC, kind ? 0 : 1) {
			struct sw_err err = SW_ERR_INIT;
			struct sw_data data;
			sw_status status;

			walk_arm();
			status = load(&data, spec, want, &err);
			const unsigned fired = walk_disarm();
			ck_assert_int_eq(status, !fired ? SW_OK : kind ? SW_IO : SW_NOMEM);
			ck_assert_int_eq(err.msg[0] != '\0', fired != 0);
			sw_data_fini(&data);
		}
	}
}

/* --- files by text, a line each ---
 *
 *	NAME: TYPE NUMBERS           of NumPy's types (|u1, <u2, <f8); "3-9" is a row of them
 *	NAME: TYPE(SHAPE)V NUMBERS   the same behind the header of a .npy file of version V
 *	cut NAME N, add NAME N       N bytes of it stay; N zeros are added
 *	set NAME AT BYTE, gone NAME
 */

static unsigned char file_bytes[1 << 18];

/* The header as NumPy pads it; its bytes. */
static inline size_t npy_header(int version, const char *descr, const char *shape)
{
	const size_t pre = version == 1 ? 10 : 12;
	char text[128];
	const size_t used = (size_t)snprintf(
		text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
		descr, shape);
	const size_t n = (pre + used + 1 + 63) / 64 * 64 - pre;

	memset(file_bytes, 0, pre);
	memcpy(file_bytes, "\x93NUMPY", 6);
	file_bytes[6] = (unsigned char)version;
	file_bytes[8] = (unsigned char)n;
	memset(file_bytes + pre, ' ', n);
	memcpy(file_bytes + pre, text, used);
	file_bytes[pre + n - 1] = '\n';
	return pre + n;
}

static inline size_t number_put(unsigned char *to, const char *type, double v)
{
	const size_t size = (size_t)(type[2] - '0');
	const float f4 = (float)v;
	const int64_t i = type[1] == 'f' ? 0 : (int64_t)v;

	if (type[1] == 'f')
		memcpy(to, size == 4 ? (const void *)&f4 : &v, size);
	else
		memcpy(to, &i, size); /* little endian, as the machine */
	return size;
}

static inline void numbers_put(const char *name, const char *type, const char *s, size_t n)
{
	char *end;

	for (double v = strtod(s, &end); end != s; v = strtod(s, &end)) {
		const double last = *end == '-' ? strtod(end + 1, &end) : v;

		for (; v <= last; v++) {
			ck_assert_uint_lt(n + 8, sizeof file_bytes);
			n += number_put(file_bytes + n, type, v);
		}
		s = end;
	}
	put(name, file_bytes, n);
}

/* Of the file's first n bytes and zeros. */
static inline void file_damage(const char *how, const char *name, long at, int byte)
{
	char path[400];
	size_t n;
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	if (strcmp(how, "gone") == 0) {
		ck_assert_int_eq(unlink(path), 0);
		return;
	}
	f = fopen(path, "rb");
	ck_assert_msg(f != NULL, "%s", path);
	memset(file_bytes, 0, sizeof file_bytes);
	n = fread(file_bytes, 1, sizeof file_bytes, f);
	fclose(f);
	if (strcmp(how, "set") == 0)
		file_bytes[at] = (unsigned char)byte;
	put(name, file_bytes, *how == 'c' ? (size_t)at : *how == 'a' ? n + (size_t)at : n);
}

static inline void files_put(const char *text)
{
	for (const char *s = text; *s; s += strcspn(s, "\n"), s += *s == '\n') {
		char name[40], type[8] = "", how[8], shape[40], line[400];
		int n = 0, version, byte = 0;
		long at = 0;

		snprintf(line, sizeof line, "%.*s", (int)strcspn(s, "\n"), s);
		if (sscanf(line, "%39[^:]: %3s(%39[^)])%d%n", name, type, shape, &version, &n) == 4)
			numbers_put(name, type, line + n, npy_header(version, type, shape));
		else if (sscanf(line, "%39[^:]: %3s%n", name, type, &n) == 2)
			numbers_put(name, type, line + n, 0);
		else if (sscanf(line, "%7s %39s %ld %d", how, name, &at, &byte) >= 2)
			file_damage(how, name, at, byte);
	}
}

/* --- a data set as text --- */

static inline int text_order(const void *a, const void *b)
{
	return strcmp(a, b);
}

#define ROW_TEXT 160

static inline size_t part_rows(const struct sw_data *d, const struct sw_data_part *part,
			       char (*rows)[ROW_TEXT])
{
	for (size_t i = 0; i < part->rows; i++) {
		size_t n = 0;

		for (size_t k = 0; k < d->features; k++) {
			const size_t at = i * d->features + k;
			const double v = part->x    ? (double)part->x[at]
					 : part->u8 ? (double)part->u8[at]
						    : (double)part->token[at];

			n += (size_t)snprintf(rows[i] + n, ROW_TEXT - n, "%s%.9g", k ? " " : "", v);
		}
		for (size_t k = 0; part->label && k < d->labels; k++)
			n += (size_t)snprintf(rows[i] + n, ROW_TEXT - n, "%s%d", k ? " " : "=",
					      part->label[i * d->labels + k]);
		if (part->target)
			n += (size_t)snprintf(rows[i] + n, ROW_TEXT - n, "=%.9g",
					      (double)part->target[i]);
		if (part->length)
			snprintf(rows[i] + n, ROW_TEXT - n, "#%d", part->length[i]);
	}
	return part->rows;
}

/* Its form, and its rows in order of their text, with "=label" and "#tokens". apart: those to
 * validate on follow behind " | ". */
static inline const char *data_text(const struct sw_data *d, bool apart)
{
	static const char *const kinds[] = {
		[SW_SHAPE_FLAT] = "flat", [SW_SHAPE_IMAGE] = "image", [SW_SHAPE_TOKENS] = "tokens"};
	static char text[4096], rows[64][ROW_TEXT];
	const size_t first = part_rows(d, &d->train, rows);
	const size_t all = first + part_rows(d, &d->val, rows + first);
	size_t n = (size_t)snprintf(text, sizeof text, "%s", kinds[d->input.kind]);

	if (d->input.kind == SW_SHAPE_IMAGE)
		n += (size_t)snprintf(text + n, sizeof text - n, " %zux%zux%zu of %s",
				      (size_t)d->input.c, (size_t)d->input.h, (size_t)d->input.w,
				      d->train.u8 ? "bytes" : "floats");
	n += (size_t)snprintf(text + n, sizeof text - n, ", %zu classes", d->classes);
	if (d->vocab)
		n += (size_t)snprintf(text + n, sizeof text - n, ", vocab %zu", d->vocab);
	n += (size_t)snprintf(text + n, sizeof text - n, ", %zu+%zu:", first, all - first);
	qsort(rows, apart ? first : all, ROW_TEXT, text_order);
	if (apart)
		qsort(rows + first, all - first, ROW_TEXT, text_order);
	for (size_t i = 0; i < all; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s %s",
				      !i                    ? ""
				      : apart && i == first ? " |"
							    : ",",
				      rows[i]);
	return text;
}

#endif
