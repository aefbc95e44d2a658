#include "spec/schema/write.h"
#include <stdio.h>
#include <string.h>

/* --- words --- */

const cJSON *sw_schema_words(struct sw_schema *m, const cJSON *section, const char *name)
{
	const cJSON *v = sw_json_get(section, name);

	if (v == NULL && m->err.code == SW_OK)
		(void)sw_err_set(&m->err, SW_INTERNAL, "schema.json: no words for \"%s\" in \"%s\"",
				 name, section != NULL ? section->string : "words");
	return v;
}

/* The section must have as many words as the table has entries, so that no word is left of an entry
 * that is gone. */
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

void sw_schema_choices(struct sw_schema *m, const char *const *choices)
{
	sw_schema_list(m, "enum");
	for (size_t i = 0; choices[i] != NULL; i++)
		sw_jw_str(&m->w, choices[i]);
	sw_jw_arr_end(&m->w);
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

/* An allOf must not be empty, so it begins with one that is always true. */
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
