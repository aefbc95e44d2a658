#include "trainer/spec/layers.h"
#include "proto/json.h"
#include "proto/nearest.h"
#include "spec/keys.h"
#include "trainer/spec/presets.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const later[] = {"conv1d", "conv3d", "softmax",  "leaky_relu", "lstm",
				    "gru",    "rnn",    "upsample", "groupnorm",  "softplus"};

static const struct sw_layer_form *form_find(const char *name)
{
	for (size_t i = 0; i < sw_layer_forms_n; i++)
		if (strcmp(sw_layer_forms[i].name, name) == 0)
			return &sw_layer_forms[i];
	return NULL;
}

const struct sw_layer_form *sw_layer_activation(const char *word)
{
	const char *const *words = form_find("activation")->key[0].choices;

	for (size_t i = 0; words[i] != NULL; i++)
		if (strcmp(words[i], word) == 0)
			return form_find(word);
	return NULL;
}

static sw_status unknown_layer(const char *name, const char *ptr, struct sw_err *err)
{
	const char *names[SW_LAYER_FORMS_MAX];
	char list[SW_KNOWN_HERE], did[SW_DID_YOU_MEAN];

	/* PyTorch has these, and they are near to no name of ours. */
	for (size_t i = 0; i < SW_SPEC_N(later); i++)
		if (strcmp(later[i], name) == 0)
			return sw_err_at(err, SW_INVALID, ptr,
					 "layer \"%s\" is not supported by this version", name);
	for (size_t i = 0; i < sw_layer_forms_n; i++)
		names[i] = sw_layer_forms[i].name;
	const char *near = sw_nearest(name, names, sw_layer_forms_n);
	sw_known_here(names, sw_layer_forms_n, list);
	return sw_err_at(err, SW_INVALID, ptr, "unknown layer \"%.64s\"%s", name,
			 near != NULL ? sw_did_you_mean(near, did) : list);
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

struct sw_form_key sw_layer_option(const struct sw_layer_item *item, size_t k)
{
	struct sw_form_key o = item->form->key[k];

	if (is_bare(item, k))
		o.name = item->form->name;
	return o;
}

bool sw_layer_sizes(enum sw_layer_form_id layer, const struct sw_form_key *o)
{
	return layer != SW_FORM_DROPOUT && o->kind != SW_KEY_REAL;
}

static void visit_item(const struct sw_layer_item *item, const char *ptr,
		       const struct sw_layer_visit *visit, struct sw_faults *f)
{
	for (size_t k = 0; k < item->form->keys_n; k++) {
		const struct sw_form_key o = sw_layer_option(item, k);
		struct sw_err err = SW_ERR_INIT;
		char place[sizeof err.ptr];

		if (item->value[k] == NULL)
			continue;
		sw_layer_pointer(item, k, ptr, place, sizeof place);
		if (visit->value(visit->ctx, &o, item->form->id, item->value[k], place, &err) !=
		    SW_OK)
			sw_fault_note(f, err.ptr, "%s", err.msg);
	}
}

static void walk_list(const cJSON *list, const char *ptr, unsigned depth,
		      const struct sw_layer_visit *visit, bool *trains, struct sw_faults *f)
{
	const cJSON *v;
	size_t i = 0;

	if (depth == SW_LAYER_DEPTH) {
		sw_fault_note(f, ptr, "lists lie at most %d deep in each other", SW_LAYER_DEPTH);
		return;
	}
	cJSON_ArrayForEach (v, list) {
		struct sw_err err = SW_ERR_INIT;
		char here[sizeof err.ptr], place[sizeof err.ptr];
		struct sw_layer_item item;

		(void)snprintf(here, sizeof here, "%s/%zu", ptr, i++);
		memcpy(place, here, sizeof place);
		if (sw_layer_read(&item, v, place, sizeof place, &err) != SW_OK) {
			sw_fault_note(f, err.ptr, "%s", err.msg);
			continue;
		}
		assert(item.form != NULL); /* it was read */
		if (item.form->id == SW_FORM_RESIDUAL)
			walk_list(item.list, place, depth + 1, visit, trains, f);
		else
			visit_item(&item, here, visit, f);
		*trains = *trains || item.form->id == SW_FORM_LINEAR ||
			  item.form->id == SW_FORM_CONV2D || item.form->id == SW_FORM_EMBEDDING;
	}
}

void sw_layers_walk(const cJSON *model, const char *ptr, const struct sw_layer_visit *visit,
		    bool *trains, struct sw_faults *f)
{
	struct sw_layer_item item = {0};
	struct sw_err err = SW_ERR_INIT;
	char place[sizeof err.ptr] = "";
	bool ignored, *any = trains != NULL ? trains : &ignored;

	*any = false;
	if (cJSON_IsArray(model)) {
		walk_list(model, ptr, 0, visit, any, f);
		return;
	}
	/* Every preset has layers with parameters. */
	*any = true;
	if (sw_preset_find(model, &item.form, &err) == SW_OK &&
	    read_keys(&item, model, true, place, sizeof place, &err) == SW_OK) {
		visit_item(&item, ptr, visit, f);
		return;
	}
	sw_err_prefix(&err, ptr);
	sw_fault_note(f, err.ptr, "%s", err.msg);
}
