#include "proto/methods.h"
#include "base/memory.h"
#include "proto/json.h"
#include "proto/nearest.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* methods.json, and the OpenRPC document made from it, embedded by the build. */
extern const char sw_methods_json[], sw_openrpc_json[];
extern const unsigned long sw_methods_json_len, sw_openrpc_json_len;

enum sw_param_type {
	PARAM_OBJECT,
	PARAM_ARRAY,
	PARAM_STRING,
	PARAM_INTEGER,
	PARAM_NUMBER,
	PARAM_BOOLEAN,
	PARAM_TYPE_N
};

/* One parameter; strings and trees point into the document. */
struct sw_method_param {
	const char *name;
	enum sw_param_type type;
	bool required;
	double min, max;    /* of a number, both ends allowed */
	double max_bytes;   /* of a string */
	const cJSON *words; /* of a string: the array of those allowed, or NULL */
};

struct sw_method {
	const char *name;
	struct sw_method_param *params;
	const char **names; /* of the parameters, for suggestions */
	size_t n_params;
};

struct sw_methods {
	cJSON *doc;
	struct sw_method *all; /* by name */
	size_t n;
};

static const char *const param_type_names[PARAM_TYPE_N] = {
	[PARAM_OBJECT] = "object",   [PARAM_ARRAY] = "array",   [PARAM_STRING] = "string",
	[PARAM_INTEGER] = "integer", [PARAM_NUMBER] = "number", [PARAM_BOOLEAN] = "boolean",
};

/* --- loading: what is wrong here was wrong when it was built --- */

static void load_param(struct sw_method_param *p, const cJSON *v)
{
	const char *type = sw_json_text(v, "type", "");
	size_t t = 0;

	p->name = sw_json_text(v, "name", NULL);
	while (t < PARAM_TYPE_N && strcmp(type, param_type_names[t]) != 0)
		t++;
	p->type = (enum sw_param_type)t;
	p->required = cJSON_IsTrue(sw_json_get(v, "required")) != 0;
	p->min = sw_json_number(v, "min", p->type == PARAM_INTEGER ? -SW_JSON_MAX_INT : -INFINITY);
	p->max = sw_json_number(v, "max", p->type == PARAM_INTEGER ? SW_JSON_MAX_INT : INFINITY);
	p->max_bytes = sw_json_number(v, "max", INFINITY);
	p->words = sw_json_get(v, "enum");
	assert(p->name != NULL && t < PARAM_TYPE_N);
	assert(p->words == NULL || (cJSON_IsArray(p->words) && p->type == PARAM_STRING));
}

static sw_status load_method(struct sw_method *m, const cJSON *v, struct sw_err *err)
{
	const cJSON *params = sw_json_get(v, "params"), *param;

	m->name = sw_json_text(v, "name", NULL);
	assert(m->name != NULL && cJSON_IsArray(params));
	const size_t n = (size_t)cJSON_GetArraySize(params);
	m->params = sw_calloc(n + 1, sizeof *m->params);
	m->names = sw_calloc(n + 1, sizeof *m->names);
	if (m->params == NULL || m->names == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	cJSON_ArrayForEach (param, params) {
		load_param(&m->params[m->n_params], param);
		m->names[m->n_params] = m->params[m->n_params].name;
		m->n_params++;
	}
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
		free(m->all[i].params);
		free(m->all[i].names);
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

static sw_status wrong_type(const char *ptr, const struct sw_method_param *p, struct sw_err *err)
{
	const char *type = param_type_names[p->type];

	return sw_err_at(err, SW_INVALID, ptr, "\"%s\" must be %s %s", p->name,
			 strchr("aeiou", type[0]) != NULL ? "an" : "a", type);
}

static sw_status check_number(const char *ptr, const struct sw_method_param *p, double v,
			      struct sw_err *err)
{
	const bool low = v < p->min;
	char end[32];

	if (p->type == PARAM_INTEGER && v != floor(v))
		return wrong_type(ptr, p, err);
	if (!low && v <= p->max)
		return SW_OK;
	sw_json_num_text(low ? p->min : p->max, end);
	return sw_err_at(err, SW_INVALID, ptr, "\"%s\" must be at %s %s", p->name,
			 low ? "least" : "most", end);
}

static sw_status check_word(const char *ptr, const struct sw_method_param *p, const char *v,
			    struct sw_err *err)
{
	const cJSON *word;
	struct sw_buf list;

	cJSON_ArrayForEach (word, p->words) {
		if (strcmp(word->valuestring, v) == 0)
			return SW_OK;
	}
	sw_buf_init(&list, 200);
	cJSON_ArrayForEach (word, p->words)
		(void)sw_buf_addf(&list, "%s%s", list.len > 0 ? ", " : "", word->valuestring);
	const sw_status rc = sw_err_at(err, SW_INVALID, ptr, "\"%s\" must be one of %s", p->name,
				       list.data != NULL ? list.data : "its words");
	sw_buf_fini(&list);
	return rc;
}

static sw_status check_value(const struct sw_method_param *p, const cJSON *v, struct sw_err *err)
{
	static int (*const is_type[PARAM_TYPE_N])(const cJSON *) = {
		[PARAM_OBJECT] = cJSON_IsObject, [PARAM_ARRAY] = cJSON_IsArray,
		[PARAM_STRING] = cJSON_IsString, [PARAM_INTEGER] = cJSON_IsNumber,
		[PARAM_NUMBER] = cJSON_IsNumber, [PARAM_BOOLEAN] = cJSON_IsBool,
	};
	char ptr[sizeof err->ptr] = "";

	sw_json_pointer_add(ptr, sizeof ptr, p->name);
	if (!is_type[p->type](v))
		return wrong_type(ptr, p, err);
	if (p->type == PARAM_INTEGER || p->type == PARAM_NUMBER)
		return check_number(ptr, p, v->valuedouble, err);
	/* Objects, arrays and booleans have no range. */
	if (p->type != PARAM_STRING)
		return SW_OK;
	if ((double)strlen(v->valuestring) > p->max_bytes)
		return sw_err_at(err, SW_INVALID, ptr, "\"%s\" is longer than %.0f bytes", p->name,
				 p->max_bytes);
	return p->words != NULL ? check_word(ptr, p, v->valuestring, err) : SW_OK;
}

static sw_status unknown_name(const struct sw_method *method, const char *name, struct sw_err *err)
{
	const char *near = sw_nearest(name, method->names, method->n_params);
	char ptr[sizeof err->ptr] = "";

	sw_json_pointer_add(ptr, sizeof ptr, name);
	if (near != NULL)
		return sw_err_at(err, SW_INVALID, ptr,
				 "unknown parameter \"%.64s\"; did you mean \"%s\"?", name, near);
	return sw_err_at(err, SW_INVALID, ptr, "unknown parameter \"%.64s\": %s takes %s", name,
			 method->name,
			 method->n_params > 0 ? "no parameter of that name" : "no parameters");
}

sw_status sw_methods_check(const struct sw_methods *m, size_t i, const cJSON *params,
			   struct sw_err *err)
{
	const struct sw_method *method = &m->all[i];
	const cJSON *v;

	/* JSON-RPC allows an empty array for no parameters. */
	if (cJSON_IsArray(params) && params->child != NULL)
		return sw_err_set(err, SW_INVALID,
				  "parameters go by name: params must be an object");
	if (params != NULL && !cJSON_IsObject(params) && !cJSON_IsArray(params))
		return sw_err_set(err, SW_INVALID, "params must be an object");
	cJSON_ArrayForEach (v, params) {
		size_t k = 0;
		while (k < method->n_params && strcmp(method->names[k], v->string) != 0)
			k++;
		const sw_status rc = k == method->n_params
					     ? unknown_name(method, v->string, err)
					     : check_value(&method->params[k], v, err);
		if (rc != SW_OK)
			return rc;
	}
	for (size_t k = 0; k < method->n_params; k++) {
		const struct sw_method_param *p = &method->params[k];
		char ptr[sizeof err->ptr] = "";
		/* Names first, then what is missing: a misspelt one is told of by its own name. */
		if (!p->required || sw_json_get(params, p->name) != NULL)
			continue;
		sw_json_pointer_add(ptr, sizeof ptr, p->name);
		return sw_err_at(err, SW_INVALID, ptr, "\"%s\" is missing", p->name);
	}
	return SW_OK;
}
