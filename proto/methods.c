#include "proto/methods.h"
#include "base/memory.h"
#include "proto/form.h"
#include "proto/json.h"
#include <assert.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

/* methods.json, and the OpenRPC document made from it, embedded by the build. */
extern const char sw_methods_json[], sw_openrpc_json[];
extern const unsigned long sw_methods_json_len, sw_openrpc_json_len;

/* Names and words point into the document. */
struct sw_method {
	const char *name;
	struct sw_form form; /* of its parameters */
	struct sw_form_key *keys;
};

struct sw_methods {
	cJSON *doc;
	struct sw_method *all; /* by name */
	size_t n;
};

/* --- loading: what is wrong here was wrong when it was built --- */

static sw_status load_words(struct sw_form_key *k, const cJSON *list)
{
	const char **words = sw_calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *words);
	const cJSON *word;
	size_t n = 0;

	k->choices = words;
	if (words == NULL)
		return SW_NOMEM;
	cJSON_ArrayForEach (word, list)
		words[n++] = word->valuestring;
	return SW_OK;
}

static sw_status load_param(struct sw_form_key *k, const cJSON *v)
{
	static const char *const kinds[] = {
		[SW_KEY_OBJECT] = "object", [SW_KEY_ARRAY] = "array",
		[SW_KEY_STRING] = "string", [SW_KEY_INTEGER] = "integer",
		[SW_KEY_REAL] = "number",   [SW_KEY_BOOLEAN] = "boolean"};
	const char *type = sw_json_text(v, "type", "");
	const cJSON *words = sw_json_get(v, "enum");
	unsigned kind = SW_KEY_OBJECT;

	k->name = sw_json_text(v, "name", NULL);
	while (kind <= SW_KEY_BOOLEAN && strcmp(type, kinds[kind]) != 0)
		kind++;
	assert(k->name != NULL && kind <= SW_KEY_BOOLEAN);
	k->kind = (enum sw_key_kind)kind;
	k->required = cJSON_IsTrue(sw_json_get(v, "required")) != 0;
	/* Without "min" and "max" an integer is still one that a double holds. */
	k->min = kind == SW_KEY_INTEGER ? -SW_JSON_MAX_INT : kind == SW_KEY_REAL ? -DBL_MAX : 0;
	k->min = sw_json_number(v, "min", k->min);
	k->max = sw_json_number(v, "max", kind == SW_KEY_INTEGER ? SW_JSON_MAX_INT : DBL_MAX);
	if (words == NULL)
		return SW_OK;
	assert(cJSON_IsArray(words) && k->kind == SW_KEY_STRING);
	k->kind = SW_KEY_CHOICE;
	return load_words(k, words);
}

static sw_status load_method(struct sw_method *m, const cJSON *v, struct sw_err *err)
{
	const cJSON *params = sw_json_get(v, "params"), *param;

	m->name = sw_json_text(v, "name", NULL);
	/* The document is a part of the program: what does not hold here was built wrong. */
	assert(m->name != NULL && cJSON_IsArray(params));
	m->keys = sw_calloc((size_t)cJSON_GetArraySize(params) + 1, sizeof *m->keys);
	if (m->keys == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	m->form = (struct sw_form){.name = m->name, .noun = "parameter", .keys = m->keys};
	cJSON_ArrayForEach (param, params)
		if (load_param(&m->keys[m->form.n++], param) != SW_OK)
			return sw_err_set(err, SW_NOMEM, "out of memory");
	return SW_OK;
}

static int by_name(const void *pa, const void *pb)
{
	const struct sw_method *a = pa, *b = pb;

	return strcmp(a->name, b->name);
}

static sw_status load_all(struct sw_methods *m, struct sw_err *err)
{
	sw_status rc = sw_json_parse(&m->doc, sw_methods_json, sw_methods_json_len, err);
	if (rc != SW_OK)
		return rc;
	const cJSON *list = sw_json_get(m->doc, "methods"), *v;
	const size_t n = (size_t)cJSON_GetArraySize(list);
	m->all = sw_calloc(n, sizeof *m->all);
	if (m->all == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	cJSON_ArrayForEach (v, list) {
		rc = load_method(&m->all[m->n++], v, err);
		if (rc != SW_OK)
			return rc;
	}
	/* Indices are of this order from here on; nobody has taken one yet. */
	qsort(m->all, n, sizeof *m->all, by_name);
	for (size_t i = 1; i < n; i++)
		assert(by_name(&m->all[i - 1], &m->all[i]) != 0); /* one of each name */
	return SW_OK;
}

sw_status sw_methods_load(struct sw_methods **out, struct sw_err *err)
{
	struct sw_methods *m = sw_calloc(1, sizeof *m);

	*out = NULL;
	if (m == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	const sw_status rc = load_all(m, err);
	if (rc == SW_OK)
		*out = m;
	else
		sw_methods_destroy(m);
	return rc;
}

void sw_methods_destroy(struct sw_methods *m)
{
	if (m == NULL)
		return;
	for (size_t i = 0; i < m->n; i++) {
		for (size_t k = 0; k < m->all[i].form.n; k++)
			free((void *)m->all[i].keys[k].choices);
		free(m->all[i].keys);
	}
	free(m->all);
	cJSON_Delete(m->doc);
	free(m);
}

size_t sw_methods_size(const struct sw_methods *m)
{
	return m->n;
}

const char *sw_methods_name(const struct sw_methods *m, size_t i)
{
	return m->all[i].name;
}

int sw_methods_find(const struct sw_methods *m, const char *name)
{
	const struct sw_method key = {.name = name};
	const struct sw_method *found = bsearch(&key, m->all, m->n, sizeof key, by_name);

	return found != NULL ? (int)(found - m->all) : -1;
}

const char *sw_methods_openrpc(size_t *n)
{
	*n = sw_openrpc_json_len;
	return sw_openrpc_json;
}

/* --- checking --- */

sw_status sw_methods_check(const struct sw_methods *m, size_t i, const cJSON *params,
			   struct sw_err *err)
{
	/* Only the first of a call's faults is told: clients are programs, and mend one at a
	 * time. */
	struct sw_err first;
	struct sw_faults f = {&first, 1, 0};

	/* JSON-RPC allows an empty array for no parameters. */
	if (cJSON_IsArray(params) && params->child != NULL)
		return sw_err_set(err, SW_INVALID,
				  "parameters go by name: params must be an object");
	if (params != NULL && !cJSON_IsObject(params) && !cJSON_IsArray(params))
		return sw_err_set(err, SW_INVALID, "params must be an object");
	sw_form_check(&m->all[i].form, params, "", &f);
	return f.n == 0 ? SW_OK : sw_err_at(err, first.code, first.ptr, "%s", first.msg);
}
