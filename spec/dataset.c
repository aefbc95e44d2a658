/* "trainer.dataset": the keys of each format and which of them go together. */
#include "spec/dataset.h"
#include "proto/json.h"
#include "spec/spec_internal.h"
#include <math.h>
#include <stdio.h>
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

static sw_status at_key(const char *key, struct sw_err *err, const char *text)
{
	char ptr[64] = "";

	sw_json_pointer_add(ptr, sizeof ptr, key);
	return sw_err_at(err, SW_INVALID, ptr, "%s", text);
}

/* Every key is known, and goes with the format. */
static sw_status check_keys(const cJSON *dataset, unsigned format, struct sw_err *err)
{
	const char *known[SW_DATASET_KEY_N];
	const struct sw_spec_keys list = {known, SW_DATASET_KEY_N, NULL, 0};
	const cJSON *v;
	char text[128];

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
			(void)snprintf(text, sizeof text,
				       "\"%s\" does not go with \"name\": give a name, or format, "
				       "path and label",
				       v->string);
		else
			(void)snprintf(text, sizeof text, "\"%s\" does not go with format \"%s\"",
				       v->string, sw_json_get(dataset, "format")->valuestring);
		rc = at_key(v->string, err, text);
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
		return at_key("format", err,
			      "a dataset needs \"name\", or \"format\": \"csv\" with path and "
			      "label");
	for (unsigned i = 0; cJSON_IsString(format) && i < SW_DATASET_FORMAT_N; i++) {
		if (strcmp(format->valuestring, sw_dataset_formats[i]) != 0)
			continue;
		out->format = (enum sw_dataset_format)i;
		*mask = 1u << i;
		return SW_OK;
	}
	return at_key("format", err,
		      "\"format\" must be \"csv\", \"cifar10\", \"cifar100\", \"idx\", \"npy\", "
		      "\"tokens\" or \"synthetic\"");
}

/* --- values of keys; each leaves the default where the key is missing --- */

static sw_status read_size(const cJSON *dataset, const char *key, uint64_t min, uint64_t max,
			   size_t *out, struct sw_err *err)
{
	const cJSON *v = sw_json_get(dataset, key);
	uint64_t n;

	if (v == NULL)
		return SW_OK;
	const sw_status rc = sw_spec_read_u64(v, key, min, max, &n, err);
	if (rc == SW_OK)
		*out = (size_t)n;
	return rc;
}

static sw_status read_path(const cJSON *dataset, const char *key, const char **out,
			   struct sw_err *err)
{
	const cJSON *v = sw_json_get(dataset, key);
	char text[96];

	if (v == NULL)
		return SW_OK;
	if (cJSON_IsString(v) && v->valuestring[0] != '\0' &&
	    strlen(v->valuestring) < SW_DATASET_MAX_PATH) {
		*out = v->valuestring;
		return SW_OK;
	}
	(void)snprintf(text, sizeof text, "\"%s\" must be a string of 1 to %d bytes", key,
		       SW_DATASET_MAX_PATH - 1);
	return at_key(key, err, text);
}

/* One of two words: *out is whether it is the second. */
static sw_status read_choice(const cJSON *dataset, const char *key, const char *first,
			     const char *second, bool *out, struct sw_err *err)
{
	const cJSON *v = sw_json_get(dataset, key);
	char text[96];

	if (v == NULL)
		return SW_OK;
	*out = cJSON_IsString(v) && strcmp(v->valuestring, second) == 0;
	if (*out || (cJSON_IsString(v) && strcmp(v->valuestring, first) == 0))
		return SW_OK;
	(void)snprintf(text, sizeof text, "\"%s\" must be \"%s\" or \"%s\"", key, first, second);
	return at_key(key, err, text);
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
		if (i == 2 && product <= SW_DATASET_MAX_ROW)
			return SW_OK;
	}
	return at_key("image", err,
		      "\"image\" must be [channels, height, width], three integers from 1 to 65536 "
		      "with a product of at most 2^28");
}

/* An array of numbers, one for each channel; sizes[0] and sizes[1] of both are compared. */
static sw_status read_channels(const cJSON *v, const char *key, double min, bool open, double *to,
			       size_t *n, struct sw_err *err)
{
	char text[128];
	const int size = cJSON_IsArray(v) ? cJSON_GetArraySize(v) : 0;

	(void)snprintf(text, sizeof text, "\"%s\" must be a list of 1 to %d numbers%s", key,
		       SW_DATASET_MAX_CHANNELS, open ? " above 0" : "");
	if (size < 1 || size > SW_DATASET_MAX_CHANNELS)
		return at_key(key, err, text);
	for (int i = 0; i < size; i++) {
		const cJSON *one = cJSON_GetArrayItem(v, i);

		if (!cJSON_IsNumber(one) || !(fabs(one->valuedouble) <= 1e6) ||
		    (open && one->valuedouble < min))
			return at_key(key, err, text);
		to[i] = one->valuedouble;
	}
	*n = (size_t)size;
	return SW_OK;
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
		return at_key("normalize", err,
			      "\"normalize\" must be {\"mean\": [...], \"std\": [...]}, a number "
			      "for each channel");
	sw_status rc = sw_spec_check_keys(v, &list, err);
	if (rc == SW_OK)
		rc = read_channels(sw_json_get(v, "mean"), "mean", 0, false, out->mean,
				   &out->norm_n, err);
	if (rc == SW_OK)
		rc = read_channels(sw_json_get(v, "std"), "std", 1e-6, true, out->std, &stds, err);
	if (rc == SW_OK && stds != out->norm_n)
		rc = at_key("std", err, "\"mean\" and \"std\" must have the same length");
	if (rc != SW_OK)
		sw_err_prefix(err, "/normalize");
	return rc;
}

static sw_status read_augment(const cJSON *dataset, struct sw_dataset *out, struct sw_err *err)
{
	static const char *const known[] = {"crop", "flip"};
	static const struct sw_spec_keys list = {known, SW_SPEC_N(known), NULL, 0};
	const cJSON *v = sw_json_get(dataset, "augment"), *flip = sw_json_get(v, "flip");
	size_t crop = 0;

	if (v == NULL)
		return SW_OK;
	if (!cJSON_IsObject(v))
		return at_key("augment", err,
			      "\"augment\" must be {\"crop\": pixels, \"flip\": true or false}");
	sw_status rc = sw_spec_check_keys(v, &list, err);
	if (rc == SW_OK)
		rc = read_size(v, "crop", 0, 1024, &crop, err);
	if (rc == SW_OK && flip != NULL)
		rc = sw_spec_read_bool(flip, "flip", &out->flip, err);
	out->crop = (unsigned)crop;
	if (rc != SW_OK)
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
		return at_key("name", err,
			      "\"name\" must be 1 to 64 of the characters a-z A-Z 0-9 _ -");
	out->name = name->valuestring;
	return SW_OK;
}

/* A column by name; where there is no header, by its number from 0, or -1 for the last. */
static sw_status read_csv(const cJSON *dataset, struct sw_dataset *out, struct sw_err *err)
{
	const cJSON *label = sw_json_get(dataset, "label"),
		    *header = sw_json_get(dataset, "header");
	uint64_t column;

	if (header != NULL) {
		const sw_status rc = sw_spec_read_bool(header, "header", &out->header, err);
		if (rc != SW_OK)
			return rc;
	}
	if (label == NULL)
		return at_key("label", err, "\"label\" is missing: the column to predict");
	if (sw_json_u64(label, &column) && column <= INT32_MAX) {
		out->label_column = (long)column;
		return SW_OK;
	}
	if (cJSON_IsNumber(label) && label->valuedouble == -1) {
		out->label_column = -1;
		return SW_OK;
	}
	if (!cJSON_IsString(label) || label->valuestring[0] == '\0')
		return at_key("label", err,
			      "\"label\" must be a column's name or its number from 0 (-1 is the "
			      "last)");
	if (!out->header)
		return at_key("label", err,
			      "without a header columns have no names: \"label\" must be the "
			      "column's number from 0");
	out->label = label->valuestring;
	return SW_OK;
}

/* Which of the four paths go together. */
static sw_status check_paths(const struct sw_dataset *d, struct sw_err *err)
{
	if (d->format == SW_DATASET_NPY && d->label_path == NULL)
		return at_key("label_path", err,
			      "\"label_path\" is missing: the .npy file of the labels");
	if (d->format == SW_DATASET_IDX && d->label_path != NULL && d->test)
		return at_key("validation", err,
			      "\"validation\": \"test\" goes with a folder: give \"val_path\" and "
			      "\"val_label_path\"");
	if (d->format == SW_DATASET_IDX && d->label_path == NULL && d->val_path != NULL)
		return at_key("val_path", err,
			      "\"val_path\" goes with \"label_path\": for a folder say "
			      "\"validation\": \"test\"");
	if (d->val_path == NULL && d->val_label_path != NULL)
		return at_key("val_path", err, "\"val_label_path\" needs \"val_path\"");
	if (d->val_path != NULL && (d->label_path != NULL) != (d->val_label_path != NULL))
		return at_key("val_label_path", err,
			      "\"val_path\" needs \"val_label_path\" exactly when there is a "
			      "\"label_path\"");
	return SW_OK;
}

static sw_status read_tokens(const cJSON *dataset, struct sw_dataset *out, struct sw_err *err)
{
	size_t pad = 0;
	sw_status rc = read_choice(dataset, "dtype", "uint16", "uint32", &out->wide, err);

	if (rc == SW_OK)
		rc = read_size(dataset, "length", 1, 1 << 20, &out->tokens, err);
	if (rc == SW_OK && out->tokens == 0)
		rc = at_key("length", err, "\"length\" is missing: how many tokens a row has");
	if (rc == SW_OK)
		rc = read_size(dataset, "vocab", 2, INT32_MAX, &out->vocab, err);
	if (rc == SW_OK)
		rc = read_size(dataset, "pad", 0, out->wide ? INT32_MAX : UINT16_MAX, &pad, err);
	if (rc != SW_OK)
		return rc;
	out->next_token = out->label_path == NULL;
	if (sw_json_get(dataset, "pad") == NULL)
		return SW_OK;
	out->pad = (int64_t)pad;
	if (out->next_token)
		return at_key("pad", err,
			      "\"pad\" goes with \"label_path\": rows for the next token are full");
	return SW_OK;
}

static sw_status read_synthetic(const cJSON *dataset, struct sw_dataset *out, struct sw_err *err)
{
	const cJSON *noise = sw_json_get(dataset, "noise"), *seed = sw_json_get(dataset, "seed"),
		    *next = sw_json_get(dataset, "next_token");
	double part = 0.5;
	sw_status rc;

	out->rows = 10000;
	out->classes = 10;
	rc = read_size(dataset, "rows", 2, INT32_MAX, &out->rows, err);
	if (rc == SW_OK)
		rc = read_size(dataset, "classes", 2, SW_DATASET_MAX_CLASSES, &out->classes, err);
	if (rc == SW_OK)
		rc = read_size(dataset, "features", 1, SW_DATASET_MAX_ROW, &out->features, err);
	if (rc == SW_OK)
		rc = read_size(dataset, "tokens", 1, 1 << 20, &out->tokens, err);
	if (rc == SW_OK)
		rc = read_size(dataset, "vocab", 2, INT32_MAX, &out->vocab, err);
	if (rc == SW_OK && seed != NULL)
		rc = sw_spec_read_u64(seed, "seed", 0, (uint64_t)SW_JSON_MAX_INT, &out->seed, err);
	if (rc == SW_OK && noise != NULL)
		rc = sw_spec_read_real(noise, "noise", 0, false, 1, &part, err);
	if (rc == SW_OK && next != NULL)
		rc = sw_spec_read_bool(next, "next_token", &out->next_token, err);
	if (rc != SW_OK)
		return rc;
	out->noise = (unsigned)floor(part * 256 + 0.5);
	if ((out->image[0] != 0) + (out->features != 0) + (out->tokens != 0) != 1)
		return at_key("format", err,
			      "a synthetic data set needs one of \"image\": [channels, height, "
			      "width], \"features\" and \"tokens\"");
	if (out->tokens == 0 && (out->vocab != 0 || next != NULL))
		return at_key(next != NULL ? "next_token" : "vocab", err,
			      "\"vocab\" and \"next_token\" go with \"tokens\"");
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

/* Normalisation and augmentation are of images. */
static sw_status check_image_keys(const struct sw_dataset *d, const cJSON *dataset,
				  struct sw_err *err)
{
	static const char *const of_images[] = {"normalize", "augment"};
	const bool perhaps = sw_dataset_images(d) != SW_IMAGES_NO;
	char text[96];

	for (size_t i = 0; i < SW_SPEC_N(of_images) && !perhaps; i++) {
		if (sw_json_get(dataset, of_images[i]) == NULL)
			continue;
		(void)snprintf(text, sizeof text,
			       "\"%s\" is for images: say \"image\": [channels, height, width]",
			       of_images[i]);
		return at_key(of_images[i], err, text);
	}
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
		rc = at_key("path", err,
			    mask == CSV ? "\"path\" is missing: the CSV file"
			    : (mask & (CIFAR10 | CIFAR100)) != 0
				    ? "\"path\" is missing: the folder of the .bin files"
				    : "\"path\" is missing: where the data is");
	if (rc == SW_OK)
		rc = read_path(dataset, "label_path", &out->label_path, err);
	if (rc == SW_OK)
		rc = read_path(dataset, "val_path", &out->val_path, err);
	if (rc == SW_OK)
		rc = read_path(dataset, "val_label_path", &out->val_label_path, err);
	if (rc == SW_OK)
		rc = read_choice(dataset, "validation", "split", "test", &out->test, err);
	if (rc == SW_OK)
		rc = check_paths(out, err);
	if (rc == SW_OK)
		rc = read_image(dataset, out, err);
	if (rc == SW_OK)
		rc = read_normalize(dataset, out, err);
	if (rc == SW_OK)
		rc = read_augment(dataset, out, err);
	if (rc == SW_OK && mask != NAMED)
		rc = read_of_format(dataset, out, err);
	return rc == SW_OK ? check_image_keys(out, dataset, err) : rc;
}
