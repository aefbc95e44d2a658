/* The definitions of what a trainer takes: options, layers, presets, data sets. */
#include "spec/dataset.h"
#include "spec/presets.h"
#include "spec/read/read.h"
#include "spec/schema/write.h"
#include <math.h>
#include <string.h>

/* --- options of the trainer, of layers and of presets --- */

/* Writes the kind and the range of a literal. */
static void write_literal(struct sw_schema *m, const struct sw_trainer_option *o)
{
	switch (o->kind) {
	case SW_OPTION_BOOLEAN:
		sw_jw_kstr(&m->w, "type", "boolean");
		return;
	case SW_OPTION_CHOICE:
		sw_schema_choices(m, o->choices);
		return;
	case SW_OPTION_INTEGER:
	case SW_OPTION_REAL:
		sw_jw_kstr(&m->w, "type", o->kind == SW_OPTION_REAL ? "number" : "integer");
		sw_jw_knum(&m->w, o->min_open ? "exclusiveMinimum" : "minimum", o->min);
		sw_jw_knum(&m->w, o->max_open ? "exclusiveMaximum" : "maximum", o->max);
		return;
	}
}

static void write_default(struct sw_schema *m, const struct sw_trainer_option *o)
{
	if (o->kind == SW_OPTION_CHOICE && !isnan(o->fallback))
		sw_jw_kstr(&m->w, "default", o->choices[0]);
	else if (o->kind == SW_OPTION_BOOLEAN)
		sw_jw_kbool(&m->w, "default", o->fallback != 0);
	else if (!isnan(o->fallback))
		sw_jw_knum(&m->w, "default", o->fallback);
}

/* The keys of an option's schema: a literal, or the name of a parameter where it is searched. */
static void write_option(struct sw_schema *m, const struct sw_trainer_option *o)
{
	if (!o->searched) {
		write_literal(m, o);
		write_default(m, o);
		return;
	}
	sw_schema_list(m, "anyOf");
	sw_schema_open(m, NULL);
	write_literal(m, o);
	sw_jw_obj_end(&m->w);
	sw_schema_reference(m, NULL, "parameter_name");
	sw_jw_arr_end(&m->w);
	write_default(m, o);
}

void sw_schema_trainer(struct sw_schema *m)
{
	static const char *const needed[] = {"dataset", "model"};
	const size_t n = SW_SPEC_N(needed);
	const cJSON *words = sw_schema_section(m, m->words, "trainer", SW_TRAINER_OPTION_N);

	sw_schema_open(m, "trainer");
	sw_jw_kstr(&m->w, "type", "object");
	sw_jw_kstr(&m->w, "description",
		   "What the built-in workers train, in epochs. An option may be searched: by a "
		   "parameter of its name, or by one whose name stands here.");
	sw_schema_open(m, "properties");
	for (size_t i = 0; i < n; i++)
		sw_schema_reference(m, needed[i], needed[i]);
	for (size_t i = 0; i < SW_TRAINER_OPTION_N; i++) {
		sw_schema_open(m, sw_trainer_options[i].name);
		sw_schema_describe(m, sw_schema_words(m, words, sw_trainer_options[i].name), NULL);
		write_option(m, &sw_trainer_options[i]);
		sw_jw_obj_end(&m->w);
	}
	sw_jw_obj_end(&m->w);
	sw_schema_list(m, "required");
	for (size_t i = 0; i < n; i++)
		sw_jw_str(&m->w, needed[i]);
	sw_jw_arr_end(&m->w);
	sw_schema_close(m);
}

/* The keys of {"out": 6, ...}: all options of a form, with `preset` before them where it is one. */
static void write_form(struct sw_schema *m, const struct sw_layer_form *f, bool preset)
{
	sw_jw_kstr(&m->w, "type", "object");
	sw_schema_open(m, "properties");
	if (preset)
		sw_schema_constant(m, "preset", f->name);
	for (size_t k = 0; k < f->keys_n; k++) {
		const cJSON *words = sw_schema_words(m, m->words, "options");

		sw_schema_open(m, f->key[k].name);
		sw_schema_describe(m, sw_schema_words(m, words, f->key[k].name), NULL);
		write_option(m, &f->key[k]);
		sw_jw_obj_end(&m->w);
	}
	sw_jw_obj_end(&m->w);
	sw_schema_list(m, "required");
	if (preset)
		sw_jw_str(&m->w, "preset");
	for (size_t k = 0; k < f->keys_n; k++)
		if (isnan(f->key[k].fallback))
			sw_jw_str(&m->w, f->key[k].name);
	sw_jw_arr_end(&m->w);
	sw_jw_kbool(&m->w, "additionalProperties", false);
}

/* Writes the schema of the value in {"linear": ...}. */
static void write_layer_value(struct sw_schema *m, const struct sw_layer_form *f)
{
	if (f->id == SW_FORM_RESIDUAL) {
		sw_jw_kstr(&m->w, "type", "array");
		sw_jw_kint(&m->w, "minItems", 1);
		sw_schema_reference(m, "items", "layer");
	} else if (!f->bare) {
		write_form(m, f, false);
	} else {
		sw_schema_list(m, "anyOf");
		sw_schema_open(m, NULL);
		write_option(m, &f->key[0]);
		sw_jw_obj_end(&m->w);
		sw_schema_open(m, NULL);
		write_form(m, f, false);
		sw_jw_obj_end(&m->w);
		sw_jw_arr_end(&m->w);
	}
}

/* A word, or an object with one key. */
void sw_schema_layer(struct sw_schema *m)
{
	const cJSON *words = sw_schema_section(m, m->words, "layers", sw_layer_forms_n);

	sw_schema_open(m, "layer");
	sw_schema_list(m, "anyOf");
	for (size_t i = 0; i < sw_layer_forms_n; i++) {
		const struct sw_layer_form *f = &sw_layer_forms[i];
		if (!f->word)
			continue;
		sw_schema_open(m, NULL);
		sw_jw_kstr(&m->w, "const", f->name);
		sw_schema_describe(m, sw_schema_words(m, words, f->name), NULL);
		sw_jw_obj_end(&m->w);
	}
	sw_schema_open(m, NULL);
	sw_jw_kstr(&m->w, "type", "object");
	sw_jw_kint(&m->w, "minProperties", 1);
	sw_jw_kint(&m->w, "maxProperties", 1);
	sw_schema_open(m, "properties");
	for (size_t i = 0; i < sw_layer_forms_n; i++) {
		const struct sw_layer_form *f = &sw_layer_forms[i];
		if (f->keys_n == 0 && f->id != SW_FORM_RESIDUAL)
			continue;
		sw_schema_open(m, f->name);
		sw_schema_describe(m, sw_schema_words(m, words, f->name), NULL);
		write_layer_value(m, f);
		sw_jw_obj_end(&m->w);
	}
	sw_jw_obj_end(&m->w);
	sw_schema_close(m);
	sw_jw_arr_end(&m->w);
	sw_jw_obj_end(&m->w);
}

void sw_schema_model(struct sw_schema *m)
{
	const cJSON *words = sw_schema_section(m, m->words, "presets", SW_PRESET_N);

	sw_schema_open(m, "model");
	sw_jw_kstr(&m->w, "description",
		   "The layers in order, at least one with parameters; or a preset.");
	sw_schema_list(m, "anyOf");
	sw_schema_open(m, NULL);
	sw_jw_kstr(&m->w, "type", "array");
	sw_jw_kint(&m->w, "minItems", 1);
	sw_schema_reference(m, "items", "layer");
	sw_jw_obj_end(&m->w);
	for (size_t i = 0; i < SW_PRESET_N; i++) {
		sw_schema_open(m, NULL);
		sw_schema_describe(m, sw_schema_words(m, words, sw_presets[i].name), NULL);
		write_form(m, &sw_presets[i], true);
		sw_jw_obj_end(&m->w);
	}
	sw_jw_arr_end(&m->w);
	sw_jw_obj_end(&m->w);
}

/* --- data sets --- */

/* A data set of one format; "name" is that of those that come with sweepd. */
static void write_format(struct sw_schema *m, size_t format, const cJSON *words, const cJSON *keys)
{
	const bool named = format == SW_DATASET_FORMAT_N;
	static const char *const apart[] = {"rules", "required", NULL};
	const cJSON *key;

	sw_schema_open(m, NULL);
	sw_schema_describe(m, words, apart);
	sw_jw_kstr(&m->w, "type", "object");
	sw_schema_open(m, "properties");
	for (size_t i = 0; i < SW_DATASET_KEY_N; i++) {
		const char *name = sw_dataset_keys[i].name;
		if ((sw_dataset_keys[i].formats >> format & 1) == 0)
			continue;
		if (strcmp(name, "format") == 0) {
			sw_schema_constant(m, name, sw_dataset_formats[format]);
			continue;
		}
		sw_jw_key(&m->w, name);
		sw_jw_cjson(&m->w, sw_schema_words(m, keys, name));
	}
	sw_jw_obj_end(&m->w);
	sw_schema_list(m, "required");
	if (!named)
		sw_jw_str(&m->w, "format");
	cJSON_ArrayForEach (key, sw_json_get(words, "required"))
		sw_jw_cjson(&m->w, key);
	sw_jw_arr_end(&m->w);
	sw_schema_rules(m);
	sw_schema_more_rules(m, words);
	sw_jw_arr_end(&m->w);
	sw_schema_close(m);
}

void sw_schema_dataset(struct sw_schema *m)
{
	const cJSON *keys = sw_schema_section(m, m->words, "dataset", SW_DATASET_KEY_N);
	const cJSON *formats = sw_schema_section(m, m->words, "formats", SW_DATASET_FORMAT_N + 1);

	sw_schema_open(m, "dataset");
	sw_jw_kstr(&m->w, "description", "What is trained on.");
	sw_schema_list(m, "anyOf");
	for (size_t i = 0; i <= SW_DATASET_FORMAT_N; i++)
		write_format(
			m, i,
			sw_schema_words(m, formats,
					i < SW_DATASET_FORMAT_N ? sw_dataset_formats[i] : "name"),
			keys);
	sw_jw_arr_end(&m->w);
	sw_jw_obj_end(&m->w);
}
