/* tests/worker/data/data_set.h — a folder of data files for a test, and the data set read from
 * them. In a spec "@" stands for the folder. */
#ifndef SW_TESTS_WORKER_DATA_DATA_SET_H
#define SW_TESTS_WORKER_DATA_DATA_SET_H

#include "base/fault.h"
#include "proto/json.h"
#include "tests/run.h"
#include "worker/data/data.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static const struct sw_data_want as_classes = {
	.classes = true, .val_fraction = 0.5, .split_seed = 1, .standardize = false};

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
#ifdef SW_FAULTS
	for (int kind = 0; kind < 2; kind++) {
		const enum sw_fault_kind k = kind ? SW_FAULT_IO : SW_FAULT_MALLOC;
		unsigned fired = 1, nth = 1;

		for (; fired != 0; nth++) {
			struct sw_err err = SW_ERR_INIT;
			struct sw_data data;
			sw_status status;

			ck_assert_uint_lt(nth, 2000);
			sw_fault_arm(k, nth, false);
			status = load(&data, spec, want, &err);
			fired = sw_fault_fired(k);
			sw_fault_arm(k, 0, false);
			ck_assert_int_eq(status, !fired ? SW_OK : kind ? SW_IO : SW_NOMEM);
			ck_assert_int_eq(err.msg[0] != '\0', fired != 0);
			sw_data_fini(&data);
		}
	}
#else
	(void)spec;
	(void)want;
#endif
}

/* What is done to a good file. */
struct damage {
	const char *file;
	enum { SET, CUT, ADD, GONE } how;
	size_t at; /* SET: the byte's place; CUT: the bytes that stay; ADD: zeros at the end */
	int value; /* SET */
	const char *ptr, *says;
};

/* Does it to `n` bytes of the file and writes that; 256 KiB are enough. */
static inline void damage_put(const struct damage *d, const void *bytes, size_t n)
{
	static unsigned char copy[1 << 18];

	ck_assert_uint_le(n + 16, sizeof copy);
	memcpy(copy, bytes, n);
	memset(copy + n, 0, 16);
	if (d->how == SET)
		copy[d->at] = (unsigned char)d->value;
	put(d->file, copy, d->how == CUT ? d->at : d->how == ADD ? n + d->at : n);
	if (d->how == GONE) {
		char path[400];

		snprintf(path, sizeof path, "%s/%s", folder, d->file);
		unlink(path);
	}
}

#endif
