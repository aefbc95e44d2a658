/* "trainer.dataset": the keys of each format and which of them go together. */
#include "spec/dataset.h"
#include "proto/json.h"
#include "spec/keys.h"
#include "spec/spec.h"
#include <math.h>
#include <string.h>

const char *const sw_dataset_formats[SW_DATASET_FORMAT_N] = {"csv", "cifar10", "cifar100", "idx",
							     "npy", "tokens",  "synthetic"};

#define CSV       (1u << SW_DATASET_CSV)
#define CIFAR10   (1u << SW_DATASET_CIFAR10)
#define CIFAR100  (1u << SW_DATASET_CIFAR100)
#define IDX       (1u << SW_DATASET_IDX)
#define NPY       (1u << SW_DATASET_NPY)
#define TOKENS    (1u << SW_DATASET_TOKENS)
#define SYNTHETIC (1u << SW_DATASET_SYNTHETIC)
#define NAMED     (1u << SW_DATASET_FORMAT_N)
#define IMAGES    (CSV | NAMED | CIFAR10 | CIFAR100 | IDX | NPY | SYNTHETIC)

const struct sw_dataset_key sw_dataset_keys[SW_DATASET_KEY_N] = {
	{"name", NAMED},
	{"format", ~NAMED},
	{"path", CSV | CIFAR10 | CIFAR100 | IDX | NPY | TOKENS},
	{"label", CSV},
	{"header", CSV},
	{"label_path", IDX | NPY | TOKENS},
	{"val_path", IDX | NPY | TOKENS},
	{"val_label_path", IDX | NPY | TOKENS},
	{"validation", CIFAR10 | CIFAR100 | IDX},
	{"labels", CIFAR100},
	{"image", CSV | NAMED | NPY | SYNTHETIC},
	{"normalize", IMAGES},
	{"augment", IMAGES},
	{"features", SYNTHETIC},
	{"tokens", SYNTHETIC},
	{"length", TOKENS},
	{"dtype", TOKENS},
	{"pad", TOKENS},
	{"vocab", TOKENS | SYNTHETIC},
	{"next_token", SYNTHETIC},
	{"rows", SYNTHETIC},
	{"classes", SYNTHETIC},
	{"seed", SYNTHETIC},
	{"noise", SYNTHETIC},
};

/* Checks that every key is known and goes with the format. */
static sw_status check_keys(const cJSON *dataset, unsigned format, struct sw_err *err)
{
	const char *known[SW_DATASET_KEY_N];
	const struct sw_spec_keys list = {known, SW_DATASET_KEY_N, NULL, 0};
	const cJSON *v;

	for (size_t i = 0; i < SW_DATASET_KEY_N; i++)
		known[i] = sw_dataset_keys[i].name;
	sw_status rc = sw_spec_check_keys(dataset, &list, err);
	cJSON_ArrayForEach (v, dataset) {
		size_t i = 0;

		while (rc == SW_OK && strcmp(sw_dataset_keys[i].name, v->string) != 0)
			i++;
		if (rc != SW_OK || (sw_dataset_keys[i].formats & format) != 0)
			continue;
		if (format == NAMED)
			rc = sw_spec_at_key(err, v->string,
					    "\"%s\" does not go with \"name\": give a name, or "
					    "format, path and label",
					    v->string);
		else
			rc = sw_spec_at_key(err, v->string, "\"%s\" does not go with format \"%s\"",
					    v->string, sw_json_get(dataset, "format")->valuestring);
	}
	return rc;
}

static sw_status read_format(const cJSON *dataset, unsigned *mask, struct sw_dataset *out,
			     struct sw_err *err)
{
	const cJSON *format = sw_json_get(dataset, "format");

	*mask = NAMED;
	if (sw_json_get(dataset, "name") != NULL)
		return SW_OK;
	if (format == NULL)
		return sw_spec_at_key(
			err, "format",
			"a dataset needs \"name\", or \"format\": \"csv\" with path and "
			"label");
	for (unsigned i = 0; cJSON_IsString(format) && i < SW_DATASET_FORMAT_N; i++) {
		if (strcmp(format->valuestring, sw_dataset_formats[i]) != 0)
			continue;
		out->format = (enum sw_dataset_format)i;
		*mask = 1u << i;
		return SW_OK;
	}
	return sw_spec_at_key(
		err, "format",
		"\"format\" must be \"csv\", \"cifar10\", \"cifar100\", \"idx\", \"npy\", "
		"\"tokens\" or \"synthetic\"");
}

/* --- values of keys; each leaves the default where the key is missing --- */

static sw_status read_size(const cJSON *dataset, const char *key, uint64_t min, uint64_t max,
			   size_t *out, struct sw_err *err)
{
	uint64_t n = *out;
	const sw_status rc = sw_spec_key_u64(dataset, key, min, max, &n, err);

	*out = (size_t)n;
	return rc;
}

static sw_status read_path(const cJSON *dataset, const char *key, const char **out,
			   struct sw_err *err)
{
	const cJSON *v = sw_json_get(dataset, key);

	if (v == NULL)
		return SW_OK;
	if (cJSON_IsString(v) && v->valuestring[0] != '\0' &&
	    strlen(v->valuestring) < SW_DATASET_MAX_PATH) {
		*out = v->valuestring;
		return SW_OK;
	}
	return sw_spec_at_key(err, key, "\"%s\" must be a string of 1 to %d bytes", key,
			      SW_DATASET_MAX_PATH - 1);
}

/* Reads one of two words. *out: is it the second? */
static sw_status read_choice(const cJSON *dataset, const char *key, const char *first,
			     const char *second, bool *out, struct sw_err *err)
{
	const cJSON *v = sw_json_get(dataset, key);

	if (v == NULL)
		return SW_OK;
	*out = cJSON_IsString(v) && strcmp(v->valuestring, second) == 0;
	if (*out || (cJSON_IsString(v) && strcmp(v->valuestring, first) == 0))
		return SW_OK;
	return sw_spec_at_key(err, key, "\"%s\" must be \"%s\" or \"%s\"", key, first, second);
}

static sw_status read_image(const cJSON *dataset, struct sw_dataset *out, struct sw_err *err)
{
	const cJSON *v = sw_json_get(dataset, "image");
	uint64_t n, product = 1;

	if (v == NULL)
		return SW_OK;
	for (int i = 0; i < 3 && cJSON_IsArray(v) && cJSON_GetArraySize(v) == 3; i++) {
		if (!sw_json_u64(cJSON_GetArrayItem(v, i), &n) || n < 1 || n > SW_DATASET_MAX_SIDE)
			break;
		product *= n; /* at most 2^48 */
		out->image[i] = (size_t)n;
		/* Only the last side tells how large a row is. */
		if (i == 2 && product <= SW_DATASET_MAX_ROW)
			return SW_OK;
	}
	return sw_spec_at_key(
		err, "image",
		"\"image\" must be [channels, height, width], three integers from 1 to 65536 "
		"with a product of at most 2^28");
}

/* An array of numbers, one for each channel; least: -infinity, or what is above 0. */
static sw_status read_channels(const cJSON *v, const char *key, double least, double *to, size_t *n,
			       struct sw_err *err)
{
	const int size = cJSON_IsArray(v) ? cJSON_GetArraySize(v) : 0;
	bool good = size >= 1 && size <= SW_DATASET_MAX_CHANNELS;

	for (int i = 0; good && i < size; i++) {
		const cJSON *one = cJSON_GetArrayItem(v, i);

		good = cJSON_IsNumber(one) && fabs(one->valuedouble) <= 1e6 &&
		       one->valuedouble >= least;
		to[i] = one->valuedouble;
	}
	*n = (size_t)size;
	if (good)
		return SW_OK;
	return sw_spec_at_key(err, key, "\"%s\" must be a list of 1 to %d numbers%s", key,
			      SW_DATASET_MAX_CHANNELS, least > 0 ? " above 0" : "");
}

static sw_status read_normalize(const cJSON *dataset, struct sw_dataset *out, struct sw_err *err)
{
	static const char *const known[] = {"mean", "std"};
	static const struct sw_spec_keys list = {known, SW_SPEC_N(known), NULL, 0};
	const cJSON *v = sw_json_get(dataset, "normalize");
	size_t stds = 0;

	if (v == NULL)
		return SW_OK;
	if (!cJSON_IsObject(v))
		return sw_spec_at_key(
			err, "normalize",
			"\"normalize\" must be {\"mean\": [...], \"std\": [...]}, a number "
			"for each channel");
	sw_status rc = sw_spec_check_keys(v, &list, err);
	if (rc == SW_OK)
		rc = read_channels(sw_json_get(v, "mean"), "mean", -INFINITY, out->mean,
				   &out->norm_n, err);
	if (rc == SW_OK)
		rc = read_channels(sw_json_get(v, "std"), "std", 1e-6, out->std, &stds, err);
	if (rc == SW_OK && stds != out->norm_n)
		rc = sw_spec_at_key(err, "std", "\"mean\" and \"std\" must have the same length");
	sw_err_prefix(err, "/normalize");
	return rc;
}

static sw_status read_augment(const cJSON *dataset, struct sw_dataset *out, struct sw_err *err)
{
	static const char *const known[] = {"crop", "flip"};
	static const struct sw_spec_keys list = {known, SW_SPEC_N(known), NULL, 0};
	const cJSON *v = sw_json_get(dataset, "augment");
	size_t crop = 0;

	if (v == NULL)
		return SW_OK;
	if (!cJSON_IsObject(v))
		return sw_spec_at_key(
			err, "augment",
			"\"augment\" must be {\"crop\": pixels, \"flip\": true or false}");
	sw_status rc = sw_spec_check_keys(v, &list, err);
	if (rc == SW_OK)
		rc = read_size(v, "crop", 0, 1024, &crop, err);
	if (rc == SW_OK)
		rc = sw_spec_key_bool(v, "flip", &out->flip, err);
	out->crop = (unsigned)crop;
	sw_err_prefix(err, "/augment");
	return rc;
}

/* --- formats --- */

static sw_status read_name(const cJSON *dataset, struct sw_dataset *out, struct sw_err *err)
{
	const cJSON *name = sw_json_get(dataset, "name");
	const char *const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-";

	/* The name becomes part of a path: no '/', no '.'. */
	if (!cJSON_IsString(name) || name->valuestring[0] == '\0' ||
	    strlen(name->valuestring) > SW_SPEC_MAX_NAME ||
	    strspn(name->valuestring, allowed) != strlen(name->valuestring))
		return sw_spec_at_key(err, "name",
				      "\"name\" must be 1 to 64 of the characters a-z A-Z 0-9 _ -");
	out->name = name->valuestring;
	return SW_OK;
}

/* The label's column has a name or, if there is no header, a number: from 0, or -1 for the last. */
static sw_status read_csv(const cJSON *dataset, struct sw_dataset *out, struct sw_err *err)
{
	const cJSON *label = sw_json_get(dataset, "label");
	const sw_status rc = sw_spec_key_bool(dataset, "header", &out->header, err);
	uint64_t column;

	if (rc != SW_OK)
		return rc;
	if (label == NULL)
		return sw_spec_at_key(err, "label", "\"label\" is missing: the column to predict");
	if (sw_json_u64(label, &column) && column <= INT32_MAX) {
		out->label_column = (long)column;
		return SW_OK;
	}
	if (cJSON_IsNumber(label) && label->valuedouble == -1) {
		out->label_column = -1;
		return SW_OK;
	}
	if (!cJSON_IsString(label) || label->valuestring[0] == '\0')
		return sw_spec_at_key(
			err, "label",
			"\"label\" must be a column's name or its number from 0 (-1 is the "
			"last)");
	if (!out->header)
		return sw_spec_at_key(
			err, "label",
			"without a header columns have no names: \"label\" must be the "
			"column's number from 0");
	out->label = label->valuestring;
	return SW_OK;
}

/* Checks which of the four paths are given together. */
static sw_status check_paths(const struct sw_dataset *d, struct sw_err *err)
{
	if (d->format == SW_DATASET_NPY && d->label_path == NULL)
		return sw_spec_at_key(err, "label_path",
				      "\"label_path\" is missing: the .npy file of the labels");
	if (d->format == SW_DATASET_IDX && d->label_path != NULL && d->test)
		return sw_spec_at_key(
			err, "validation",
			"\"validation\": \"test\" goes with a folder: give \"val_path\" and "
			"\"val_label_path\"");
	if (d->format == SW_DATASET_IDX && d->label_path == NULL && d->val_path != NULL)
		return sw_spec_at_key(err, "val_path",
				      "\"val_path\" goes with \"label_path\": for a folder say "
				      "\"validation\": \"test\"");
	if (d->val_path == NULL && d->val_label_path != NULL)
		return sw_spec_at_key(err, "val_path", "\"val_label_path\" needs \"val_path\"");
	if (d->val_path != NULL && (d->label_path != NULL) != (d->val_label_path != NULL))
		return sw_spec_at_key(
			err, "val_label_path",
			"\"val_path\" needs \"val_label_path\" exactly when there is a "
			"\"label_path\"");
	return SW_OK;
}

static sw_status read_tokens(const cJSON *dataset, struct sw_dataset *out, struct sw_err *err)
{
	size_t pad = 0;
	sw_status rc;

	if ((rc = read_choice(dataset, "dtype", "uint16", "uint32", &out->wide, err)) != SW_OK ||
	    (rc = read_size(dataset, "length", 1, 1 << 20, &out->tokens, err)) != SW_OK)
		return rc;
	if (out->tokens == 0)
		return sw_spec_at_key(err, "length",
				      "\"length\" is missing: how many tokens a row has");
	const size_t ids = out->wide ? INT32_MAX : UINT16_MAX;
	if ((rc = read_size(dataset, "vocab", 2, INT32_MAX, &out->vocab, err)) != SW_OK ||
	    (rc = read_size(dataset, "pad", 0, ids, &pad, err)) != SW_OK)
		return rc;
	out->next_token = out->label_path == NULL;
	/* Then -1 stands: no row is filled up. */
	if (sw_json_get(dataset, "pad") == NULL)
		return SW_OK;
	out->pad = (int64_t)pad;
	if (out->next_token)
		return sw_spec_at_key(
			err, "pad",
			"\"pad\" goes with \"label_path\": rows for the next token are full");
	return SW_OK;
}

static sw_status read_synthetic(const cJSON *dataset, struct sw_dataset *out, struct sw_err *err)
{
	const cJSON *next = sw_json_get(dataset, "next_token");
	double part = 0.5;
	sw_status rc;

	out->rows = 10000;
	out->classes = 10;
	if ((rc = read_size(dataset, "rows", 2, INT32_MAX, &out->rows, err)) != SW_OK ||
	    (rc = read_size(dataset, "classes", 2, SW_DATASET_MAX_CLASSES, &out->classes, err)) !=
		    SW_OK ||
	    (rc = read_size(dataset, "features", 1, SW_DATASET_MAX_ROW, &out->features, err)) !=
		    SW_OK ||
	    (rc = read_size(dataset, "tokens", 1, 1 << 20, &out->tokens, err)) != SW_OK ||
	    (rc = read_size(dataset, "vocab", 2, INT32_MAX, &out->vocab, err)) != SW_OK ||
	    (rc = sw_spec_key_u64(dataset, "seed", 0, (uint64_t)SW_JSON_MAX_INT, &out->seed,
				  err)) != SW_OK ||
	    (rc = sw_spec_key_real(dataset, "noise", 0, false, 1, &part, err)) != SW_OK ||
	    (rc = sw_spec_key_bool(dataset, "next_token", &out->next_token, err)) != SW_OK)
		return rc;
	out->noise = (unsigned)floor(part * 256 + 0.5);
	if ((out->image[0] != 0) + (out->features != 0) + (out->tokens != 0) != 1)
		return sw_spec_at_key(
			err, "format",
			"a synthetic data set needs one of \"image\": [channels, height, "
			"width], \"features\" and \"tokens\"");
	if (out->tokens == 0 && (out->vocab != 0 || next != NULL))
		return sw_spec_at_key(err, next != NULL ? "next_token" : "vocab",
				      "\"vocab\" and \"next_token\" go with \"tokens\"");
	/* Bytes. */
	if (out->tokens != 0 && out->vocab == 0)
		out->vocab = 256;
	return SW_OK;
}

enum sw_dataset_image sw_dataset_images(const struct sw_dataset *d)
{
	if (d->image[0] != 0 || d->format == SW_DATASET_CIFAR10 ||
	    d->format == SW_DATASET_CIFAR100 || d->format == SW_DATASET_IDX)
		return SW_IMAGES_YES;
	return d->format == SW_DATASET_NPY ? SW_IMAGES_PERHAPS : SW_IMAGES_NO;
}

/* Only images can be normalised and augmented. */
static sw_status check_image_keys(const struct sw_dataset *d, const cJSON *dataset,
				  struct sw_err *err)
{
	static const char *const of_images[] = {"normalize", "augment"};
	const bool perhaps = sw_dataset_images(d) != SW_IMAGES_NO;

	for (size_t i = 0; i < SW_SPEC_N(of_images) && !perhaps; i++)
		if (sw_json_get(dataset, of_images[i]) != NULL)
			return sw_spec_at_key(
				err, of_images[i],
				"\"%s\" is for images: say \"image\": [channels, height, width]",
				of_images[i]);
	return SW_OK;
}

static sw_status read_of_format(const cJSON *dataset, struct sw_dataset *out, struct sw_err *err)
{
	switch (out->format) {
	case SW_DATASET_CSV:
		return read_csv(dataset, out, err);
	case SW_DATASET_CIFAR100:
		return read_choice(dataset, "labels", "fine", "coarse", &out->coarse, err);
	case SW_DATASET_TOKENS:
		return read_tokens(dataset, out, err);
	case SW_DATASET_SYNTHETIC:
		return read_synthetic(dataset, out, err);
	default:
		return SW_OK;
	}
}

sw_status sw_dataset_read(struct sw_dataset *out, const cJSON *dataset, struct sw_err *err)
{
	unsigned mask;

	memset(out, 0, sizeof *out);
	out->pad = -1;
	out->header = true;
	if (!cJSON_IsObject(dataset))
		return sw_err_set(err, SW_INVALID, "\"dataset\" must be an object, not %s",
				  dataset != NULL ? sw_spec_kind(dataset) : "missing");
	sw_status rc = read_format(dataset, &mask, out, err);
	if (rc == SW_OK)
		rc = check_keys(dataset, mask, err);
	if (rc == SW_OK && mask == NAMED)
		rc = read_name(dataset, out, err);
	if (rc == SW_OK && mask != NAMED && mask != SYNTHETIC)
		rc = read_path(dataset, "path", &out->path, err);
	if (rc == SW_OK && mask != NAMED && mask != SYNTHETIC && out->path == NULL)
		rc = sw_spec_at_key(err, "path",
				    mask == CSV ? "\"path\" is missing: the CSV file"
				    : (mask & (CIFAR10 | CIFAR100)) != 0
					    ? "\"path\" is missing: the folder of the .bin files"
					    : "\"path\" is missing: where the data is");
	if (rc != SW_OK ||
	    (rc = read_path(dataset, "label_path", &out->label_path, err)) != SW_OK ||
	    (rc = read_path(dataset, "val_path", &out->val_path, err)) != SW_OK ||
	    (rc = read_path(dataset, "val_label_path", &out->val_label_path, err)) != SW_OK ||
	    (rc = read_choice(dataset, "validation", "split", "test", &out->test, err)) != SW_OK ||
	    (rc = check_paths(out, err)) != SW_OK ||
	    (rc = read_image(dataset, out, err)) != SW_OK ||
	    (rc = read_normalize(dataset, out, err)) != SW_OK ||
	    (rc = read_augment(dataset, out, err)) != SW_OK ||
	    (mask != NAMED && (rc = read_of_format(dataset, out, err)) != SW_OK))
		return rc;
	return check_image_keys(out, dataset, err);
}
