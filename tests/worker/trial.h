/* tests/worker/trial.h — for tests of the worker: a data set, a net of a few layers on it, a folder
 * for its checkpoints. */
#ifndef SW_TESTS_WORKER_TRIAL_H
#define SW_TESTS_WORKER_TRIAL_H

#include "tests/trainer/adam.h"
#include "trainer/file/checkpoint.h"
#include "trainer/train.h"
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct sw_queue *queue;
static struct sw_data data;
static char folder[64]; /* made by trial_setup, removed by trial_teardown */

/* A go_on that nothing stops. */
static inline bool always(void *ctx)
{
	(void)ctx;
	return true;
}

static inline void trial_setup(void)
{
	ck_assert_int_eq(sw_ops_cpu.queue_create(&queue), SW_OK);
	sw_ops_cpu_threads(1);
	strcpy(folder, "/tmp/sw-checkpoint-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

/* How many names a folder has; the last of them in name where it is given. */
static inline size_t names_in(const char *dir, char name[256])
{
	DIR *at = opendir(dir);
	size_t n = 0;

	ck_assert_ptr_nonnull(at);
	for (const struct dirent *e; (e = readdir(at));) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		n++;
		if (name)
			snprintf(name, 256, "%s", e->d_name);
	}
	closedir(at);
	return n;
}

static inline void trial_teardown(void)
{
	char name[256], path[400];

	while (names_in(folder, name) > 0) {
		snprintf(path, sizeof path, "%s/%s", folder, name);
		ck_assert(unlink(path) == 0 || rmdir(path) == 0);
	}
	rmdir(folder);
	sw_data_fini(&data);
	sw_ops_cpu.queue_destroy(queue);
}

static inline void data_load(const char *name, bool classes)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_data_source source;
	cJSON *json = cJSON_CreateObject();

	cJSON_AddStringToObject(json, "name", name);
	ck_assert_msg(sw_data_source_read(&source, json, &err) == SW_OK, "%s", err.msg);
	ck_assert_msg(sw_data_load(&data, &source,
				   (struct sw_data_want){.classes = classes,
							 .val_fraction = 0.2,
							 .split_seed = 7,
							 .scale = SW_SCALE_AUTO},
				   &sw_ops_cpu, queue, &err) == SW_OK,
		      "%s", err.msg);
	cJSON_Delete(json);
}

static inline void model_make(struct sw_model *m, const char *layers, bool classes)
{
	struct sw_err err = SW_ERR_INIT;
	cJSON *json = cJSON_Parse(layers);
	const struct sw_task task = sw_net_task(&data, classes);

	ck_assert_msg(sw_model_compile(m, json, NULL, &task, &err) == SW_OK, "%s", err.msg);
	cJSON_Delete(json);
}

/* The whole file; freed by the caller. */
static inline unsigned char *file_read(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	unsigned char *bytes;

	ck_assert_msg(f != NULL, "%s: %s", path, strerror(errno));
	ck_assert_int_eq(fseek(f, 0, SEEK_END), 0);
	*n = (size_t)ftell(f);
	rewind(f);
	bytes = malloc(*n + 1);
	ck_assert_uint_eq(fread(bytes, 1, *n, f), *n);
	fclose(f);
	return bytes;
}

static inline void file_write(const char *path, const void *bytes, size_t n)
{
	FILE *f = fopen(path, "wb");

	ck_assert_msg(f != NULL, "%s: %s", path, strerror(errno));
	ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
	ck_assert_int_eq(fclose(f), 0);
}

#endif
