/* Any bytes as the files of a data set. The first byte says in which format, the next two how many
 * of the rest are the first file; what is left is the second. The check, which keeps no rows, and
 * the load agree; what is refused has a line, what is taken has labels and ids in their range. */
#include "trainer/data/data.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[32];

static const struct {
	const char *first, *second; /* files, second NULL: there is one */
	const char *spec;           /* @: the folder */
	bool classes;
} formats[] = {
	{"d.csv", NULL, "{\"format\":\"csv\",\"path\":\"@/d.csv\",\"label\":-1}", true},
	{"train.bin", "test.bin",
	 "{\"format\":\"cifar100\",\"path\":\"@\",\"validation\":\"test\"}", true},
	{"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
	 "{\"format\":\"idx\",\"path\":\"@\"}", true},
	{"x.npy", "y.npy", "{\"format\":\"npy\",\"path\":\"@/x.npy\",\"label_path\":\"@/y.npy\"}",
	 true},
	{"x.npy", "y.npy", "{\"format\":\"npy\",\"path\":\"@/x.npy\",\"label_path\":\"@/y.npy\"}",
	 false},
	{"x.bin", "y.bin",
	 "{\"format\":\"tokens\",\"path\":\"@/x.bin\",\"label_path\":\"@/y.bin\",\"length\":3,"
	 "\"pad\":0}",
	 true},
	{"x.bin", NULL,
	 "{\"format\":\"tokens\",\"path\":\"@/x.bin\",\"length\":3,\"dtype\":\"uint32\"}", true},
	{"d.csv", NULL,
	 "{\"format\":\"csv\",\"path\":\"@/d.csv\",\"label\":0,\"header\":false,"
	 "\"encoding\":\"latin-1\",\"split\":{\"by\":\"1\",\"test\":0.1}}",
	 false},
	{"d.csv", NULL,
	 "{\"format\":\"csv\",\"path\":\"@/d.csv\",\"label\":-1,\"group\":\"g\","
	 "\"columns\":{\"category\":[\"c\"],\"date\":[\"d\"],\"number\":[\"n\"]}}",
	 true},
};
#define FORMAT_N (sizeof formats / sizeof formats[0])

static void leave(void)
{
	char path[96];

	for (size_t i = 0; i < FORMAT_N; i++) {
		(void)snprintf(path, sizeof path, "%s/%s", folder, formats[i].first);
		(void)unlink(path);
		(void)snprintf(path, sizeof path, "%s/%s", folder,
			       formats[i].second != NULL ? formats[i].second : "none");
		(void)unlink(path);
	}
	(void)rmdir(folder);
}

static void put(const char *name, const uint8_t *data, size_t size)
{
	char path[96];

	if (folder[0] == '\0') {
		(void)strcpy(folder, "/tmp/sw-fuzz-XXXXXX");
		if (mkdtemp(folder) == NULL || atexit(leave) != 0)
			abort();
	}
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "wb");
	if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0)
		abort();
}

static cJSON *spec_of(const char *text)
{
	char full[512];
	size_t n = 0;

	for (; *text != '\0'; text++)
		if (*text == '@')
			n += (size_t)snprintf(full + n, sizeof full - n, "%s", folder);
		else
			full[n++] = *text;
	full[n] = '\0';
	cJSON *json = cJSON_Parse(full);
	if (json == NULL)
		abort();
	return json;
}

static void part_check(const struct sw_data *d, const struct sw_data_part *part)
{
	for (size_t i = 0; part->label != NULL && i < part->rows * d->labels; i++)
		if (part->label[i] < 0 || (size_t)part->label[i] >= d->classes)
			abort();
	for (size_t i = 0; part->target != NULL && i < part->rows; i++)
		if (!isfinite(part->target[i]))
			abort();
	for (size_t i = 0; part->x != NULL && i < part->rows * d->features; i++)
		if (!isfinite(part->x[i]))
			abort();
	for (size_t i = 0; part->token != NULL && i < part->rows * d->features; i++)
		if (part->token[i] < 0 || (size_t)part->token[i] >= d->vocab)
			abort();
	for (size_t i = 0; part->length != NULL && i < part->rows; i++)
		if (part->length[i] < 0 || (size_t)part->length[i] > d->input.t)
			abort();
}

static sw_status load(struct sw_data *out, const struct sw_data_source *source, bool classes,
		      const struct sw_ops *ops)
{
	const struct sw_data_want want = {.classes = classes, .val_fraction = 0.5, .split_seed = 1};
	struct sw_err err = SW_ERR_INIT;
	const sw_status status = sw_data_load(out, source, want, ops, NULL, &err);

	if ((status == SW_OK) != (err.msg[0] == '\0') || strchr(err.msg, '\n') != NULL)
		abort();
	return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sw_data_source source;
	struct sw_data checked, loaded;

	if (size < 3)
		return 0;
	const size_t f = data[0] % FORMAT_N, rest = size - 3;
	const size_t cut = (size_t)data[1] | (size_t)data[2] << 8;
	const size_t first = formats[f].second == NULL || cut > rest ? rest : cut;

	put(formats[f].first, data + 3, first);
	if (formats[f].second != NULL)
		put(formats[f].second, data + 3 + first, rest - first);
	cJSON *json = spec_of(formats[f].spec);
	if (sw_data_source_read(&source, json, NULL) != SW_OK)
		abort();
	const sw_status status = load(&checked, &source, formats[f].classes, NULL);
	if (load(&loaded, &source, formats[f].classes, &sw_ops_cpu) != status)
		abort();
	if (status == SW_OK && (checked.train.rows != loaded.train.rows ||
				checked.classes != loaded.classes || checked.bytes != loaded.bytes))
		abort();
	if (status == SW_OK) {
		part_check(&loaded, &loaded.train);
		part_check(&loaded, &loaded.val);
	}
	sw_data_fini(&checked);
	sw_data_fini(&loaded);
	cJSON_Delete(json);
	return 0;
}
