#include "spec/schema.h"
#include "spec/schema_internal.h"
#include "spec/spec_internal.h"
#include <stdio.h>
#include <string.h>

/* schema.json, embedded by the build. */
extern const char sw_spec_schema_json[];
extern const unsigned long sw_spec_schema_json_len;

/* --- words --- */

const cJSON *sw_schema_words(struct sw_schema *m, const cJSON *section, const char *name)
{
	const cJSON *v = sw_json_get(section, name);

	if (v == NULL && m->err.code == SW_OK)
		(void)sw_err_set(&m->err, SW_INTERNAL, "schema.json: no words for \"%s\" in \"%s\"",
				 name, section != NULL ? section->string : "words");
	return v;
}

/* As many words as the table has entries: none is of something else. */
const cJSON *sw_schema_section(struct sw_schema *m, const cJSON *in, const char *name, size_t n)
{
	const cJSON *section = sw_schema_words(m, in, name);

	if (section != NULL && (size_t)cJSON_GetArraySize(section) != n && m->err.code == SW_OK)
		(void)sw_err_set(&m->err, SW_INTERNAL, "schema.json: \"%s\" has %d words, not %zu",
				 name, cJSON_GetArraySize(section), n);
	return section;
}

/* Words are a description, or an object with one and more. All of it but `without`. */
void sw_schema_describe(struct sw_schema *m, const cJSON *words, const char *const *without)
{
	const cJSON *v;

	if (cJSON_IsString(words))
		sw_jw_kstr(&m->w, "description", words->valuestring);
	if (!cJSON_IsObject(words))
		return;
	cJSON_ArrayForEach (v, words) {
		const char *const *skip = without;
		while (skip != NULL && *skip != NULL && strcmp(*skip, v->string) != 0)
			skip++;
		if (skip != NULL && *skip != NULL)
			continue;
		sw_jw_key(&m->w, v->string);
		sw_jw_cjson(&m->w, v);
	}
}

/* --- pieces --- */

void sw_schema_open(struct sw_schema *m, const char *key)
{
	if (key != NULL)
		sw_jw_key(&m->w, key);
	sw_jw_obj(&m->w);
}

void sw_schema_list(struct sw_schema *m, const char *key)
{
	sw_jw_key(&m->w, key);
	sw_jw_arr(&m->w);
}

void sw_schema_reference(struct sw_schema *m, const char *key, const char *to)
{
	char ref[64];

	(void)snprintf(ref, sizeof ref, "#/definitions/%s", to);
	sw_schema_open(m, key);
	sw_jw_kstr(&m->w, "$ref", ref);
	sw_jw_obj_end(&m->w);
}

void sw_schema_constant(struct sw_schema *m, const char *key, const char *word)
{
	sw_schema_open(m, key);
	sw_jw_kstr(&m->w, "const", word);
	sw_jw_obj_end(&m->w);
}

void sw_schema_close(struct sw_schema *m)
{
	sw_jw_kbool(&m->w, "additionalProperties", false);
	sw_jw_obj_end(&m->w);
}

/* {"required": [a]} or {"required": [a, b]}. */
void sw_schema_required(struct sw_schema *m, const char *a, const char *b)
{
	sw_schema_open(m, NULL);
	sw_schema_list(m, "required");
	sw_jw_str(&m->w, a);
	if (b != NULL)
		sw_jw_str(&m->w, b);
	sw_jw_arr_end(&m->w);
	sw_jw_obj_end(&m->w);
}

void sw_schema_not_both(struct sw_schema *m, const char *a, const char *b)
{
	sw_schema_open(m, NULL);
	sw_jw_key(&m->w, "not");
	sw_schema_required(m, a, b);
	sw_jw_obj_end(&m->w);
}

/* An allOf is never empty. */
void sw_schema_rules(struct sw_schema *m)
{
	sw_schema_list(m, "allOf");
	sw_jw_bool(&m->w, true);
}

void sw_schema_more_rules(struct sw_schema *m, const cJSON *words)
{
	const cJSON *rule;

	cJSON_ArrayForEach (rule, sw_json_get(words, "rules"))
		sw_jw_cjson(&m->w, rule);
}

/* --- the whole --- */

/* Every key that a spec may have at its top, and no other. */
static void check_top(struct sw_schema *m, const cJSON *top)
{
	const struct sw_spec_keys *keys = sw_spec_top_keys();
	const cJSON *properties = sw_json_get(top, "properties");
	size_t n = keys->n_known;

	for (size_t i = 0; i < keys->n_known; i++)
		(void)sw_schema_words(m, properties, keys->known[i]);
	for (size_t i = 0; i < keys->n_hints; i++)
		if (keys->hints[i].use == NULL && keys->hints[i].line == NULL) {
			(void)sw_schema_words(m, properties, keys->hints[i].key);
			n++;
		}
	(void)sw_schema_section(m, top, "properties", n);
}

static void write_definitions(struct sw_schema *m, const cJSON *by_hand)
{
	static void (*const made[])(struct sw_schema *) = {
		sw_schema_parameter, sw_schema_early_terminate, sw_schema_trainer,
		sw_schema_dataset,   sw_schema_model,           sw_schema_layer};

	sw_schema_open(m, "definitions");
	sw_schema_describe(m, by_hand, NULL);
	for (size_t i = 0; i < SW_SPEC_N(made); i++)
		made[i](m);
	sw_jw_obj_end(&m->w);
}

sw_status sw_spec_schema(struct sw_buf *out, struct sw_err *err)
{
	struct sw_schema m = {.err = SW_ERR_INIT};
	cJSON *tree = NULL;

	sw_status rc = sw_json_parse(&tree, sw_spec_schema_json, sw_spec_schema_json_len, err);
	if (rc != SW_OK)
		return rc;
	m.words = sw_json_get(tree, "words");
	sw_jw_init(&m.w, out);
	sw_schema_open(&m, NULL);
	sw_schema_describe(&m, sw_json_get(tree, "schema"), NULL);
	check_top(&m, sw_json_get(tree, "schema"));
	write_definitions(&m, sw_json_get(tree, "definitions"));
	sw_jw_obj_end(&m.w);
	cJSON_Delete(tree);
	if (m.err.code != SW_OK)
		return sw_err_set(err, m.err.code, "%s", m.err.msg);
	return out->failed == SW_OK ? SW_OK : sw_err_set(err, out->failed, "no room for it");
}
