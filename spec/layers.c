#include "spec/layers.h"
#include "proto/json.h"
#include "proto/nearest.h"
#include "spec/keys.h"
#include "spec/presets.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define N(a) (sizeof(a) / sizeof *(a))

static const char *const activations[] = {"relu", "tanh", "gelu", "silu", "sigmoid", NULL};

/* clang-format off */
#define INT(n, low, high, f) {.name = (n), .kind = SW_OPTION_INTEGER, .min = (low), \
			      .max = (high), .fallback = (f), .searched = true}
#define BOOL(n, f) {.name = (n), .kind = SW_OPTION_BOOLEAN, .fallback = (f), .searched = true}
#define POOL INT("kernel", 1, 1e4, NAN), INT("stride", 0, 1e4, 0), INT("padding", 0, 1e4, 0)

const struct sw_layer_form sw_layer_forms[] = {
	{SW_FORM_LINEAR, "linear", {INT("out", 1, 1e6, NAN), BOOL("bias", 1)}, 2, false, true,
	 "{\"linear\": 64}"},
	{SW_FORM_CONV2D, "conv2d",
	 {INT("out", 1, 1e6, NAN), INT("kernel", 1, 1e4, NAN), INT("stride", 1, 1e4, 1),
	  INT("padding", 0, 1e4, 0), BOOL("bias", 1)}, 5, false, false,
	 "{\"conv2d\": {\"out\": 6, \"kernel\": 5}}"},
	{SW_FORM_MAXPOOL2D, "maxpool2d", {POOL}, 3, false, true, "{\"maxpool2d\": 2}"},
	{SW_FORM_AVGPOOL2D, "avgpool2d", {POOL}, 3, false, true, "{\"avgpool2d\": 2}"},
	{SW_FORM_DROPOUT, "dropout",
	 {{.name = "p", .kind = SW_OPTION_REAL, .min = 0, .max = 1, .max_open = true,
	   .fallback = NAN, .searched = true}}, 1, false, true, "{\"dropout\": 0.5}"},
	{SW_FORM_ATTENTION, "attention", {INT("heads", 1, 1e4, NAN), BOOL("causal", 0)}, 2, false, true,
	 "{\"attention\": {\"heads\": 4}}"},
	{SW_FORM_EMBEDDING, "embedding", {INT("dim", 1, 1e6, NAN), INT("vocab", 0, 1e8, 0)}, 2, false,
	 true, "{\"embedding\": 64}"},
	{SW_FORM_POSITIONAL, "positional", {INT("max", 0, 1e6, 0)}, 1, true, true, "\"positional\""},
	{SW_FORM_RESIDUAL, "residual", {{0}}, 0, false, false,
	 "{\"residual\": [{\"linear\": 64}, \"relu\"]}"},
	{SW_FORM_RELU, "relu", {{0}}, 0, true, false, "\"relu\""},
	{SW_FORM_PLAIN, "tanh", {{0}}, 0, true, false, "\"tanh\""},
	{SW_FORM_PLAIN, "gelu", {{0}}, 0, true, false, "\"gelu\""},
	{SW_FORM_PLAIN, "sigmoid", {{0}}, 0, true, false, "\"sigmoid\""},
	{SW_FORM_PLAIN, "silu", {{0}}, 0, true, false, "\"silu\""},
	{SW_FORM_ACTIVATION, "activation",
	 {{.name = "kind", .kind = SW_OPTION_CHOICE, .choices = activations, .fallback = NAN,
	   .searched = true}}, 1, false, true, "{\"activation\": \"relu\"}"},
	{SW_FORM_BATCHNORM, "batchnorm", {{0}}, 0, true, false, "\"batchnorm\""},
	{SW_FORM_BATCHNORM, "batchnorm1d", {{0}}, 0, true, false, "\"batchnorm1d\""},
	{SW_FORM_BATCHNORM, "batchnorm2d", {{0}}, 0, true, false, "\"batchnorm2d\""},
	{SW_FORM_LAYERNORM, "layernorm", {{0}}, 0, true, false, "\"layernorm\""},
	{SW_FORM_PLAIN, "flatten", {{0}}, 0, true, false, "\"flatten\""},
	{SW_FORM_GLOBAL_AVGPOOL, "global_avgpool", {{0}}, 0, true, false, "\"global_avgpool\""},
	{SW_FORM_PLAIN, "mean_tokens", {{0}}, 0, true, false, "\"mean_tokens\""},
};
/* clang-format on */

const size_t sw_layer_forms_n = N(sw_layer_forms);

static const char *const later[] = {"conv1d", "conv3d", "softmax",  "leaky_relu", "lstm",
				    "gru",    "rnn",    "upsample", "groupnorm",  "softplus"};

static const struct sw_layer_form *form_find(const char *name)
{
	for (size_t i = 0; i < N(sw_layer_forms); i++)
		if (strcmp(sw_layer_forms[i].name, name) == 0)
			return &sw_layer_forms[i];
	return NULL;
}

const struct sw_layer_form *sw_layer_activation(const char *word)
{
	for (size_t i = 0; activations[i] != NULL; i++)
		if (strcmp(activations[i], word) == 0)
			return form_find(word);
	return NULL;
}

static sw_status unknown_layer(const char *name, const char *ptr, struct sw_err *err)
{
	const char *names[N(sw_layer_forms)];
	char list[SW_SPEC_KNOWN_HERE];

	/* PyTorch has these, and they are near to no name of ours. */
	for (size_t i = 0; i < N(later); i++)
		if (strcmp(later[i], name) == 0)
			return sw_err_at(err, SW_INVALID, ptr,
					 "layer \"%s\" is not supported by this version", name);
	for (size_t i = 0; i < N(sw_layer_forms); i++)
		names[i] = sw_layer_forms[i].name;
	sw_spec_known_here(names, N(sw_layer_forms), list);
	return sw_spec_unknown("layer", name, names, N(sw_layer_forms), list, ptr, err);
}

/* The values of {"kind": {...}} or of a preset; ptr: that object's. */
static sw_status read_keys(struct sw_layer_item *out, const cJSON *object, bool preset, char *ptr,
			   size_t cap, struct sw_err *err)
{
	const struct sw_layer_form *form = out->form;
	const char *names[SW_LAYER_KEYS];
	char did[SW_DID_YOU_MEAN];
	const cJSON *v;

	for (size_t k = 0; k < form->keys_n; k++)
		names[k] = form->key[k].name;
	cJSON_ArrayForEach (v, object) {
		size_t k = 0;

		if (preset && strcmp(v->string, "preset") == 0)
			continue;
		while (k < form->keys_n && strcmp(names[k], v->string) != 0)
			k++;
		if (k < form->keys_n) {
			out->value[k] = v;
			continue;
		}
		sw_json_pointer_add(ptr, cap, v->string);
		return sw_err_at(err, SW_INVALID, ptr, "\"%.64s\" is no option of %s%s", v->string,
				 form->name,
				 sw_did_you_mean(sw_nearest(v->string, names, form->keys_n), did));
	}
	for (size_t k = 0; k < form->keys_n; k++)
		if (out->value[k] == NULL && isnan(form->key[k].fallback))
			return sw_err_at(err, SW_INVALID, ptr, "%s needs \"%s\": %s", form->name,
					 form->key[k].name, form->example);
	return SW_OK;
}

static sw_status read_object(struct sw_layer_item *out, const cJSON *v, char *ptr, size_t cap,
			     struct sw_err *err)
{
	const cJSON *value = v->child;

	if (value == NULL || value->next != NULL)
		return sw_err_at(err, SW_INVALID, ptr,
				 "a layer is a string or an object with one key, like {\"linear\": "
				 "64}");
	out->form = form_find(value->string);
	if (out->form == NULL)
		return unknown_layer(value->string, ptr, err);
	/* Its value is a list, which walk_list() goes into. */
	if (out->form->id == SW_FORM_RESIDUAL) {
		sw_json_pointer_add(ptr, cap, value->string);
		if (!cJSON_IsArray(value) || value->child == NULL)
			return sw_err_at(err, SW_INVALID, ptr,
					 "\"residual\" holds a list of layers: %s",
					 out->form->example);
		out->list = value;
		return SW_OK;
	}
	if (out->form->keys_n == 0)
		return sw_err_at(err, SW_INVALID, ptr, "layer \"%s\" takes nothing: write \"%s\"",
				 value->string, value->string);
	sw_json_pointer_add(ptr, cap, value->string);
	if (cJSON_IsObject(value))
		return read_keys(out, value, false, ptr, cap, err);
	if (!out->form->bare)
		return sw_err_at(err, SW_INVALID, ptr, "\"%s\" takes options: %s", value->string,
				 out->form->example);
	out->value[0] = value;
	return SW_OK;
}

sw_status sw_layer_read(struct sw_layer_item *out, const cJSON *v, char *ptr, size_t cap,
			struct sw_err *err)
{
	memset(out, 0, sizeof *out);
	if (cJSON_IsObject(v))
		return read_object(out, v, ptr, cap, err);
	if (!cJSON_IsString(v))
		return sw_err_at(err, SW_INVALID, ptr,
				 "a layer is a string or an object with one key, not %s",
				 cJSON_IsNumber(v)  ? "a number"
				 : cJSON_IsArray(v) ? "an array"
				 : cJSON_IsBool(v)  ? "a boolean"
						    : "null");
	out->form = form_find(v->valuestring);
	if (out->form == NULL)
		return unknown_layer(v->valuestring, ptr, err);
	if (out->form->word)
		return SW_OK;
	return sw_err_at(err, SW_INVALID, ptr, "layer \"%s\" needs %s: %s", v->valuestring,
			 out->form->bare                     ? "a number"
			 : out->form->id == SW_FORM_RESIDUAL ? "a list"
							     : "options",
			 out->form->example);
}

static bool is_bare(const struct sw_layer_item *item, size_t k)
{
	const cJSON *v = item->value[k];

	return item->form->id != SW_FORM_PRESET && k == 0 && v != NULL && v->string != NULL &&
	       strcmp(v->string, item->form->name) == 0;
}

void sw_layer_pointer(const struct sw_layer_item *item, size_t k, const char *ptr, char *out,
		      size_t cap)
{
	(void)snprintf(out, cap, "%s", ptr);
	if (item->form->id != SW_FORM_PRESET)
		sw_json_pointer_add(out, cap, item->form->name);
	if (!is_bare(item, k))
		sw_json_pointer_add(out, cap, item->form->key[k].name);
}

struct sw_trainer_option sw_layer_option(const struct sw_layer_item *item, size_t k)
{
	struct sw_trainer_option o = item->form->key[k];

	if (is_bare(item, k))
		o.name = item->form->name;
	return o;
}

bool sw_layer_sizes(enum sw_layer_form_id layer, const struct sw_trainer_option *o)
{
	return layer != SW_FORM_DROPOUT && o->kind != SW_OPTION_REAL;
}

static sw_status visit_item(const struct sw_layer_item *item, const char *ptr,
			    const struct sw_layer_visit *visit, struct sw_err *err)
{
	for (size_t k = 0; k < item->form->keys_n; k++) {
		const struct sw_trainer_option o = sw_layer_option(item, k);
		char place[sizeof err->ptr];

		if (item->value[k] == NULL)
			continue;
		sw_layer_pointer(item, k, ptr, place, sizeof place);
		const sw_status rc =
			visit->value(visit->ctx, &o, item->form->id, item->value[k], place, err);
		if (rc != SW_OK)
			return rc;
	}
	return SW_OK;
}

static sw_status walk_list(const cJSON *list, const char *ptr, unsigned depth,
			   const struct sw_layer_visit *visit, bool *trains, struct sw_err *err)
{
	const cJSON *v;
	size_t i = 0;

	if (depth == SW_LAYER_DEPTH)
		return sw_err_at(err, SW_INVALID, ptr, "lists lie at most %d deep in each other",
				 SW_LAYER_DEPTH);
	cJSON_ArrayForEach (v, list) {
		char here[sizeof err->ptr], place[sizeof err->ptr];
		struct sw_layer_item item;

		(void)snprintf(here, sizeof here, "%s/%zu", ptr, i++);
		memcpy(place, here, sizeof place);
		sw_status rc = sw_layer_read(&item, v, place, sizeof place, err);
		assert(rc != SW_OK || item.form != NULL);
		if (rc == SW_OK && item.form->id == SW_FORM_RESIDUAL)
			rc = walk_list(item.list, place, depth + 1, visit, trains, err);
		else if (rc == SW_OK)
			rc = visit_item(&item, here, visit, err);
		if (rc != SW_OK)
			return rc;
		*trains = *trains || item.form->id == SW_FORM_LINEAR ||
			  item.form->id == SW_FORM_CONV2D || item.form->id == SW_FORM_EMBEDDING;
	}
	return SW_OK;
}

sw_status sw_layers_walk(const cJSON *model, const struct sw_layer_visit *visit, bool *trains,
			 struct sw_err *err)
{
	struct sw_layer_item item = {0};
	char ptr[sizeof err->ptr] = "";
	bool ignored, *any = trains != NULL ? trains : &ignored;

	*any = false;
	if (cJSON_IsArray(model))
		return walk_list(model, "", 0, visit, any, err);
	/* Every preset has layers with parameters. */
	*any = true;
	sw_status rc = sw_preset_find(model, &item.form, err);
	if (rc == SW_OK)
		rc = read_keys(&item, model, true, ptr, sizeof ptr, err);
	return rc == SW_OK ? visit_item(&item, "", visit, err) : rc;
}
