/* trainer/data/data_source.c — which files a data set is, and what they hold as one number. */
#include "base/beat.h"
#include "base/memory.h"
#include "base/text.h"
#include "proto/nearest.h"
#include "trainer/data/data.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define CHUNK ((size_t)1 << 20)

static const struct {
	const char *name, *label;
} known[] = {
	{"digits", "digit"},
	{"breast_cancer", "class"},
	{"wine", "class"},
	{"diabetes", "target"},
};
#define KNOWN_N (sizeof known / sizeof *known)

/* Puts the first existing DIR/name.csv into out. */
static bool locate(char *out, size_t cap, const char *name)
{
	const char *env = getenv("SWEEPD_DATA");
	char dir[2048], self[1024], *slash;
	const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	/* From the most explicit to the most general. */
	for (int place = 0; place < 4; place++) {
		if (place == 0 && env && *env)
			snprintf(dir, sizeof dir, "%s", env);
		else if (place == 1 && slash) /* build/bin in the source tree */
			snprintf(dir, sizeof dir, "%s/../../data", self);
		else if (place == 2 && slash)
			snprintf(dir, sizeof dir, "%s/../share/sweepd/data", self);
		else if (place == 3)
			snprintf(dir, sizeof dir, "%s", SW_DATA_DIR);
		else
			continue;
		snprintf(out, cap, "%s/%s.csv", dir, name);
		if (access(out, R_OK) == 0)
			return true;
	}
	return false;
}

/* Finds one of the data sets that come with sweepd. */
static sw_status named_read(struct sw_data_source *out, struct sw_err *err)
{
	const char *names[KNOWN_N], *near, *name = out->set.name;
	char show[44];

	for (size_t i = 0; i < KNOWN_N; i++) {
		names[i] = known[i].name;
		if (strcmp(known[i].name, name) != 0)
			continue;
		out->label = known[i].label;
		if (locate(out->path, sizeof out->path, known[i].name))
			return SW_OK;
		return sw_err_at(err, SW_NOT_FOUND, "/name",
				 "%s.csv is not found: set SWEEPD_DATA to the folder it is in",
				 known[i].name);
	}
	sw_text_show(name, show);
	near = sw_nearest(name, names, KNOWN_N);
	if (near)
		return sw_err_at(err, SW_NOT_FOUND, "/name",
				 "no data set is named \"%s\": did you mean \"%s\"?", show, near);
	return sw_err_at(err, SW_NOT_FOUND, "/name",
			 "no data set is named \"%s\": there are digits, breast_cancer, wine and "
			 "diabetes",
			 show);
}

sw_status sw_data_source_read(struct sw_data_source *out, const cJSON *dataset, struct sw_err *err)
{
	sw_status rc;

	memset(out, 0, sizeof *out);
	rc = sw_dataset_read(&out->set, dataset, err);
	if (rc != SW_OK)
		return rc;
	if (out->set.name)
		return named_read(out, err);
	out->label = out->set.label;
	snprintf(out->path, sizeof out->path, "%s", out->set.path ? out->set.path : "");
	return SW_OK;
}

/* --- files --- */

/* The first of two spellings that exists, or else the first. */
static void either(const char *folder, const char *a, const char *b,
		   char out[SW_DATASET_MAX_PATH + 64])
{
	snprintf(out, SW_DATASET_MAX_PATH + 64, "%s/%s", folder, a);
	if (access(out, F_OK) == 0)
		return; /* the published name */
	snprintf(out, SW_DATASET_MAX_PATH + 64, "%s/%s", folder, b);
	if (access(out, F_OK) != 0)
		snprintf(out, SW_DATASET_MAX_PATH + 64, "%s/%s", folder, a);
}

/* The file in the data set's folder, or in the folder that its archive makes there. */
static void in_folder(const char *folder, const char *inner, const char *name,
		      char out[SW_DATASET_MAX_PATH + 64])
{
	char longer[64];

	snprintf(longer, sizeof longer, "%s/%s", inner, name);
	either(folder, name, longer, out);
}

static bool cifar_file(const struct sw_data_source *s, size_t i, char out[SW_DATASET_MAX_PATH + 64])
{
	static const char *const ten[] = {"data_batch_1.bin", "data_batch_2.bin",
					  "data_batch_3.bin", "data_batch_4.bin",
					  "data_batch_5.bin", "test_batch.bin"};
	static const char *const hundred[] = {"train.bin", "test.bin"};
	const bool is_ten = s->set.format == SW_DATASET_CIFAR10;
	const size_t n = (is_ten ? 5u : 1u) + (s->set.test ? 1u : 0u);

	if (i >= n)
		return false;
	in_folder(s->path, is_ten ? "cifar-10-batches-bin" : "cifar-100-binary",
		  is_ten ? ten[i] : hundred[i], out);
	return true;
}

static bool idx_file(const struct sw_data_source *s, size_t i, char out[SW_DATASET_MAX_PATH + 64])
{
	/* as they are published, and as an unpacker that makes a dot of the last dash writes
	 * them */
	static const char *const names[][2] = {
		{"train-images-idx3-ubyte", "train-images.idx3-ubyte"},
		{"train-labels-idx1-ubyte", "train-labels.idx1-ubyte"},
		{"t10k-images-idx3-ubyte", "t10k-images.idx3-ubyte"},
		{"t10k-labels-idx1-ubyte", "t10k-labels.idx1-ubyte"}};

	if (i >= (s->set.test ? 4u : 2u))
		return false;
	either(s->path, names[i][0], names[i][1], out);
	return true;
}

bool sw_data_source_file(const struct sw_data_source *s, size_t i,
			 char out[SW_DATASET_MAX_PATH + 64])
{
	const char *const paths[] = {s->path, s->set.label_path, s->set.val_path,
				     s->set.val_label_path};
	size_t seen = 0;

	if (s->set.format == SW_DATASET_CIFAR10 || s->set.format == SW_DATASET_CIFAR100)
		return cifar_file(s, i, out);
	if (s->set.format == SW_DATASET_IDX && !s->set.label_path)
		return idx_file(s, i, out);
	for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) {
		if (!paths[k] || !*paths[k] || seen++ != i)
			continue;
		snprintf(out, SW_DATASET_MAX_PATH + 64, "%s", paths[k]);
		return true;
	}
	return false;
}

/* --- their sum --- */

static sw_status add_file(XXH3_state_t *sum, const char *path, void *chunk, struct sw_err *err)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	while (fd >= 0 && (n = read(fd, chunk, CHUNK)) > 0) {
		(void)XXH3_64bits_update(sum, chunk, (size_t)n);
		sw_beat();
	}
	const int why = errno;
	if (fd >= 0)
		(void)close(fd);
	return n == 0 ? SW_OK
		      : sw_err_at(err, SW_IO, "/path", "cannot read %s: %s", path, strerror(why));
}

sw_status sw_data_source_sum(const struct sw_data_source *source, uint64_t *out, struct sw_err *err)
{
	char file[SW_DATASET_MAX_PATH + 64];
	XXH3_state_t *sum = XXH3_createState();
	void *chunk = sw_malloc(CHUNK);
	sw_status rc = SW_OK;
	size_t n = 0;

	*out = 0;
	if (sum == NULL || chunk == NULL)
		rc = sw_err_set(err, SW_NOMEM, "no memory to read the data set");
	else
		(void)XXH3_64bits_reset(sum);
	/* In the order of the options: two sets with the same files in other roles have other
	 * sums. */
	for (; rc == SW_OK && sw_data_source_file(source, n, file); n++)
		rc = add_file(sum, file, chunk, err);
	if (rc == SW_OK && n > 0)
		*out = XXH3_64bits_digest(sum) >> 11 | 1; /* 53 bits: all that a double keeps */
	free(chunk);
	(void)XXH3_freeState(sum);
	return rc;
}
