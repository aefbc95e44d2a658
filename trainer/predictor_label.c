/* trainer/predictor_label.c — the metadata of trainer/file/label.h, read back. */
#include "base/memory.h"
#include "base/text.h"
#include "proto/json.h"
#include "trainer/file/label.h"
#include "trainer/predictor.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static sw_status senseless(const struct sw_predictor *p, const char *key, struct sw_err *err)
{
	return sw_err_set(err, SW_INVALID, "%s: \"%s\" in its metadata makes no sense",
			  p->file.show, key);
}

/* Parses the text of this key as JSON; *out NULL: the file has no such key. */
static sw_status part(const struct sw_predictor *p, const char *key, cJSON **out,
		      struct sw_err *err)
{
	const char *text = sw_safetensors_meta(&p->file, key);
	sw_status rc;

	*out = NULL;
	if (!text)
		return SW_OK; /* the caller knows which keys must be there */
	rc = sw_json_parse_most(out, text, strlen(text), SW_LABEL_VALUES, NULL);
	if (rc == SW_NOMEM)
		return sw_err_set(err, rc, "no memory to read %s", p->file.show);
	return rc == SW_OK ? SW_OK : senseless(p, key, err);
}

static bool size(const cJSON *v, uint64_t most, size_t *out)
{
	uint64_t n;

	if (!sw_json_u64(v, &n) || n < 1 || n > most)
		return false;
	*out = (size_t)n;
	return true;
}

static bool is(const cJSON *object, const char *key, const char *word)
{
	const cJSON *v = sw_json_get(object, key);

	return cJSON_IsString(v) && strcmp(v->valuestring, word) == 0;
}

/* Reads the shape of a row, within the limits of a data set. */
static bool shape_read(struct sw_shape *s, const cJSON *input)
{
	const cJSON *dims = sw_json_get(input, "shape"), *d;
	size_t n[3] = {1, 1, 1}, i = 0;

	if (!cJSON_IsArray(dims))
		return false;
	cJSON_ArrayForEach (d, dims) {
		if (i == 3 || !size(d, SW_DATASET_MAX_ROW, &n[i]))
			return false;
		i++;
	}
	if (is(input, "kind", "numbers") && i == 1)
		*s = sw_shape_flat(n[0]);
	else if (is(input, "kind", "tokens") && i == 1 && n[0] <= 1 << 20)
		*s = sw_shape_tokens(n[0], 0);
	/* In 64 bits: three sides in their limits may multiply to more than 32 hold. */
	else if (is(input, "kind", "image") && i == 3 && n[0] <= SW_DATASET_MAX_SIDE &&
		 n[1] <= SW_DATASET_MAX_SIDE && n[2] <= SW_DATASET_MAX_SIDE &&
		 (uint64_t)n[0] * n[1] * n[2] <= SW_DATASET_MAX_ROW)
		*s = sw_shape_image(n[0], n[1], n[2]);
	else
		return false;
	return true;
}

/* Reads the form of a row. */
static sw_status input_read(struct sw_predictor *p, struct sw_err *err)
{
	struct sw_rows_want *w = &p->want;
	uint64_t pad = 0;
	cJSON *input;
	bool fine;
	sw_status rc = part(p, "input", &input, err);

	if (rc != SW_OK)
		return rc;
	fine = shape_read(&w->shape, input);
	w->bytes = cJSON_IsTrue(sw_json_get(input, "bytes"));
	w->wide = is(input, "dtype", "uint32");
	w->pad = -1;
	if (fine && sw_json_get(input, "pad")) {
		fine = sw_json_u64(sw_json_get(input, "pad"), &pad) && pad <= INT32_MAX;
		w->pad = (int64_t)pad;
	}
	if (fine && w->shape.kind == SW_SHAPE_TOKENS)
		fine = size(sw_json_get(input, "vocab"), INT32_MAX, &w->vocab);
	cJSON_Delete(input);
	return fine ? SW_OK : senseless(p, "input", err);
}

/* Reads what the model predicts; sizes that contradict each other are refused. */
static sw_status output_read(struct sw_predictor *p, struct sw_err *err)
{
	cJSON *output;
	bool fine;
	sw_status rc = part(p, "output", &output, err);

	if (rc != SW_OK)
		return rc;
	p->classes = is(output, "loss", "cross_entropy");
	/* A file may come from anywhere: its sizes are held to those of a data set before memory is
	 * taken for them. */
	fine = (p->classes || is(output, "loss", "mse")) &&
	       size(sw_json_get(output, "outputs"), SW_MODEL_MAX_WIDTH, &p->outputs) &&
	       size(sw_json_get(output, "labels"), 1 << 20, &p->labels) &&
	       (p->classes || (p->outputs == 1 && p->labels == 1)) &&
	       (p->labels == 1 ||
		(p->want.shape.kind == SW_SHAPE_TOKENS && p->labels == p->want.shape.t));
	p->shift = sw_json_number(output, "shift", 0);
	p->unit = sw_json_number(output, "scale", 1);
	fine = fine && isfinite(p->shift) && isfinite(p->unit);
	cJSON_Delete(output);
	return fine ? SW_OK : senseless(p, "output", err);
}

/* The format of a file of new rows, if nothing else tells it. */
static sw_status dataset_read(struct sw_predictor *p, struct sw_err *err)
{
	cJSON *dataset;
	const sw_status rc = part(p, "dataset", &dataset, err);

	p->want.format = SW_DATASET_SYNTHETIC;
	for (unsigned i = 0; i < SW_DATASET_FORMAT_N; i++)
		if (is(dataset, "format", sw_dataset_formats[i]))
			p->want.format = (enum sw_dataset_format)i;
	cJSON_Delete(dataset);
	return rc;
}

/* A list of n texts, or none. */
static sw_status names_read(const struct sw_predictor *p, const char *key, size_t n, cJSON **out,
			    struct sw_err *err)
{
	const cJSON *one;
	sw_status rc = part(p, key, out, err);
	bool fine;

	if (rc != SW_OK || !*out)
		return rc;
	fine = cJSON_IsArray(*out) && (size_t)cJSON_GetArraySize(*out) == n;
	cJSON_ArrayForEach (one, *out)
		fine = fine && cJSON_IsString(one);
	return fine ? SW_OK : senseless(p, key, err);
}

/* A list of n numbers, or none. */
static sw_status numbers_read(const struct sw_predictor *p, const char *key, size_t n,
			      bool positive, double **out, struct sw_err *err)
{
	const cJSON *one;
	cJSON *list;
	size_t i = 0;
	sw_status rc = part(p, key, &list, err);
	bool fine;

	if (rc != SW_OK || !list)
		return rc;
	fine = cJSON_IsArray(list) && (size_t)cJSON_GetArraySize(list) == n;
	*out = fine ? sw_malloc(n * sizeof **out) : NULL;
	if (fine && !*out)
		rc = sw_err_set(err, SW_NOMEM, "no memory to read %s", p->file.show);
	cJSON_ArrayForEach (one, list) {
		fine = fine && cJSON_IsNumber(one) && isfinite(one->valuedouble) &&
		       (!positive || one->valuedouble > 0);
		if (fine && *out)
			(*out)[i++] = one->valuedouble;
	}
	cJSON_Delete(list);
	return rc != SW_OK || fine ? rc : senseless(p, key, err);
}

/* Reads what the columns of a table are, where it was one. */
static sw_status table_read(struct sw_predictor *p, struct sw_err *err)
{
	cJSON *json;
	sw_status rc = part(p, "table", &json, err);

	if (rc != SW_OK || !json)
		return rc;
	rc = sw_encoder_read(&p->table, json);
	cJSON_Delete(json);
	if (rc == SW_OK && (p->want.shape.kind == SW_SHAPE_TOKENS ||
			    p->table.features != sw_shape_count(&p->want.shape)))
		rc = SW_INVALID;
	/* a pixel is a number of a column */
	for (size_t i = 0; rc == SW_OK && p->want.shape.kind == SW_SHAPE_IMAGE && i < p->table.n;
	     i++)
		if (p->table.input[i].kind != SW_KIND_NUMBER || p->table.input[i].hole)
			rc = SW_INVALID;
	p->want.table = &p->table;
	return rc == SW_INVALID ? senseless(p, "table", err)
	       : rc != SW_OK    ? sw_err_set(err, rc, "no memory to read %s", p->file.show)
				: SW_OK;
}

/* Reads names and scales, each as long as the shapes say. */
static sw_status lists_read(struct sw_predictor *p, struct sw_err *err)
{
	const struct sw_shape *s = &p->want.shape;
	const size_t count = sw_shape_count(s), scales = s->kind == SW_SHAPE_IMAGE ? s->c : count;
	sw_status rc = table_read(p, err);

	if (rc == SW_OK && p->classes)
		rc = names_read(p, "classes", p->outputs, &p->names, err);
	if (rc == SW_OK && s->kind != SW_SHAPE_TOKENS)
		rc = numbers_read(p, "mean", scales, false, &p->mean, err);
	if (rc == SW_OK && s->kind != SW_SHAPE_TOKENS)
		rc = numbers_read(p, "std", scales, true, &p->std, err);
	if (rc == SW_OK && (p->mean == NULL) != (p->std == NULL))
		rc = senseless(p, p->mean ? "mean" : "std", err);
	/* images have one; the columns of a table are scaled one by one */
	if (rc == SW_OK && (s->kind == SW_SHAPE_IMAGE ? !p->mean : p->mean && p->want.table))
		rc = senseless(p, "mean", err);
	p->want.mean = p->mean;
	p->want.plane = s->kind == SW_SHAPE_IMAGE ? s->h * s->w : 1;
	return rc;
}

sw_status sw_predictor_label(struct sw_predictor *p, struct sw_err *err)
{
	const char *version = sw_safetensors_meta(&p->file, "sweepd");
	char show[44];
	sw_status rc;

	if (!version)
		return sw_err_set(err, SW_INVALID,
				  "%s does not say what its model is: it has no metadata of "
				  "sweepd, or is from before it wrote any (sweep checkpoint and "
				  "sweep fit make such files)",
				  p->file.show);
	if (strcmp(version, "1") != 0)
		return sw_err_set(err, SW_INVALID,
				  "%s has metadata of version %s, this program reads %d",
				  p->file.show, sw_text_show(version, show), SW_LABEL_VERSION);
	rc = input_read(p, err);
	if (rc == SW_OK)
		rc = output_read(p, err);
	if (rc == SW_OK)
		rc = dataset_read(p, err);
	if (rc == SW_OK)
		rc = lists_read(p, err);
	if (rc == SW_OK)
		rc = part(p, "model", &p->list, err);
	return rc == SW_OK && !p->list ? senseless(p, "model", err) : rc;
}
