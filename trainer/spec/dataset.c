/* "trainer.dataset": what its keys mean together; schema.json says which keys each format has. */
#include "trainer/spec/dataset.h"
#include "proto/json.h"
#include "spec/keys.h"
#include <math.h>
#include <string.h>

/* --- values that are no number, word or string --- */

static sw_status read_image(const cJSON *dataset, struct sw_dataset *out, struct sw_err *err)
{
	const cJSON *v = sw_json_get(dataset, "image"), *side;
	uint64_t product = 1;
	size_t i = 0;

	cJSON_ArrayForEach (side, v) {
		out->image[i] = (size_t)side->valuedouble;
		product *= out->image[i++]; /* at most 2^48 */
	}
	if (product <= SW_DATASET_MAX_ROW)
		return SW_OK;
	return sw_spec_at_key(
		err, "image",
		"\"image\" must be [channels, height, width], three integers from 1 to 65536 "
		"with a product of at most 2^28");
}

/* The numbers of each channel. */
static size_t read_channels(const cJSON *v, double *to)
{
	const cJSON *one;
	size_t n = 0;

	cJSON_ArrayForEach (one, v)
		to[n++] = one->valuedouble;
	return n;
}

static sw_status read_normalize(const cJSON *v, struct sw_dataset *out, struct sw_err *err)
{
	const size_t stds = read_channels(sw_json_get(v, "std"), out->std);

	out->norm_n = read_channels(sw_json_get(v, "mean"), out->mean);
	return stds == out->norm_n ? SW_OK
				   : sw_err_at(err, SW_INVALID, "/normalize/std",
					       "\"mean\" and \"std\" must have the same length");
}

/* --- formats --- */

/* The name becomes part of a path: no '/', no '.'. */
static sw_status check_name(const char *name, struct sw_err *err)
{
	const char *const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-";

	if (name == NULL || strspn(name, allowed) == strlen(name))
		return SW_OK;
	return sw_spec_at_key(err, "name",
			      "\"name\" must be 1 to 64 of the characters a-z A-Z 0-9 _ -");
}

/* The label's column has a name or, if there is no header, a number: from 0, or -1 for the last. */
static sw_status read_label(const cJSON *label, struct sw_dataset *out, struct sw_err *err)
{
	uint64_t column;

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

/* One rule for the split at a time. */
static sw_status check_split(const struct sw_dataset *d, struct sw_err *err)
{
	return !d->group || !d->by
		       ? SW_OK
		       : sw_spec_at_key(err, "group",
					"\"group\" does not go with \"split\": {\"by\": ...}: rows "
					"are split by one of them");
}

/* Checks which of the four paths are given together. */
static sw_status check_paths(const struct sw_dataset *d, struct sw_err *err)
{
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

static sw_status read_pad(const cJSON *dataset, struct sw_dataset *out, struct sw_err *err)
{
	const cJSON *pad = sw_json_get(dataset, "pad");

	out->next_token = out->label_path == NULL;
	/* Then -1 stands: no row is filled up. */
	if (pad == NULL)
		return SW_OK;
	out->pad = (int64_t)pad->valuedouble;
	if (out->next_token)
		return sw_spec_at_key(
			err, "pad",
			"\"pad\" goes with \"label_path\": rows for the next token are full");
	if (!out->wide && out->pad > UINT16_MAX)
		return sw_spec_at_key(err, "pad", "\"pad\" must be at most %d: ids are uint16",
				      UINT16_MAX);
	return SW_OK;
}

static sw_status read_synthetic(const cJSON *dataset, const struct sw_form *form,
				struct sw_dataset *out, struct sw_err *err)
{
	const cJSON *next = sw_json_get(dataset, "next_token");
	const double part = sw_json_number(dataset, "noise", sw_form_find(form, "noise")->fallback);

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

static sw_status read_of_format(const cJSON *dataset, const struct sw_form *form,
				struct sw_dataset *out, struct sw_err *err)
{
	switch (out->format) {
	case SW_DATASET_CSV:
		return read_label(sw_json_get(dataset, "label"), out, err);
	case SW_DATASET_TOKENS:
		return read_pad(dataset, out, err);
	case SW_DATASET_SYNTHETIC:
		return read_synthetic(dataset, form, out, err);
	default:
		return SW_OK;
	}
}

/* The members that the format's keys fill. */
static void fill(struct sw_dataset *out, const struct sw_form *form, const cJSON *dataset)
{
	const cJSON *augment = sw_json_get(dataset, "augment"),
		    *split = sw_json_get(dataset, "split");

	sw_form_fill(form, dataset, out);
	out->columns = sw_json_get(dataset, "columns");
	out->by = sw_json_text(split, "by", NULL);
	out->test_fraction = sw_json_number(split, "test", 0);
	out->crop = (unsigned)sw_json_number(augment, "crop", 0);
	out->flip = cJSON_IsTrue(sw_json_get(augment, "flip")) != 0;
	for (unsigned i = 0; i < SW_DATASET_FORMAT_N; i++)
		if (strcmp(form->name, sw_dataset_formats[i]) == 0)
			out->format = (enum sw_dataset_format)i;
}

sw_status sw_dataset_read(struct sw_dataset *out, const cJSON *dataset, struct sw_err *err)
{
	struct sw_err first;
	struct sw_faults f = {&first, 1, 0};
	sw_status rc;

	memset(out, 0, sizeof *out);
	out->pad = -1;
	out->header = true;
	if (!cJSON_IsObject(dataset))
		return sw_err_set(err, SW_INVALID, "\"dataset\" must be an object, not %s",
				  dataset != NULL ? sw_json_kind(dataset) : "missing");
	const struct sw_form *form = sw_forms_check(&sw_forms_dataset, dataset, "", &f);
	if (f.n > 0)
		return sw_spec_first(&f, err);
	fill(out, form, dataset);
	if ((rc = check_name(out->name, err)) != SW_OK || (rc = check_paths(out, err)) != SW_OK ||
	    (rc = check_split(out, err)) != SW_OK ||
	    (rc = read_image(dataset, out, err)) != SW_OK ||
	    (rc = read_normalize(sw_json_get(dataset, "normalize"), out, err)) != SW_OK ||
	    (out->name == NULL && (rc = read_of_format(dataset, form, out, err)) != SW_OK))
		return rc;
	return check_image_keys(out, dataset, err);
}
