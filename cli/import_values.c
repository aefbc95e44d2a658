#include "cli/import_values.h"
#include "proto/json.h"
#include <stdio.h>
#include <string.h>

#define MAX_PATH   256
#define MAX_CHOICE 1000 /* different values that are no numbers */

static bool flatten(const cJSON *object, const char *separator, char path[MAX_PATH], size_t len,
		    bool (*leaf)(void *arg, const char *path, const cJSON *v), void *arg)
{
	const cJSON *v;

	cJSON_ArrayForEach (v, object) {
		const int n = snprintf(path + len, MAX_PATH - len, "%s%s", len > 0 ? separator : "",
				       v->string);

		if (n < 0 || len + (size_t)n >= MAX_PATH)
			return false;
		const bool ok = cJSON_IsObject(v) && v->child != NULL
					? flatten(v, separator, path, len + (size_t)n, leaf, arg)
					: leaf(arg, path, v);
		if (!ok)
			return false;
	}
	return true;
}

bool sw_import_flatten(const cJSON *object, const char *separator,
		       bool (*leaf)(void *arg, const char *path, const cJSON *v), void *arg)
{
	char path[MAX_PATH] = "";

	return flatten(object, separator, path, 0, leaf, arg);
}

struct kind {
	bool numbers; /* all of them */
	bool real, objects;
	double min, max;
	size_t n; /* different values */
};

static bool is_listed(const cJSON *list, const cJSON *v)
{
	const cJSON *one;

	cJSON_ArrayForEach (one, list)
		if (cJSON_Compare(one, v, 1))
			return true;
	return false;
}

/* Notes a value; different ones go to list, as far as they are needed. False: no memory. */
static bool note(struct kind *k, cJSON *list, const cJSON *v)
{
	k->objects = k->objects || sw_json_has_object(v);
	if (cJSON_IsNumber(v)) {
		k->real = k->real || !sw_json_is_integer(v);
		k->min = k->n == 0 || v->valuedouble < k->min ? v->valuedouble : k->min;
		k->max = k->n == 0 || v->valuedouble > k->max ? v->valuedouble : k->max;
	}
	if (k->n > MAX_CHOICE || (k->numbers && k->n > 1) || is_listed(list, v))
		return true;
	k->n++;
	return cJSON_AddItemToArray(list, cJSON_Duplicate(v, 1));
}

/* takes list. */
static bool add_body(struct sw_import *im, const char *name, const struct kind *k, cJSON *list)
{
	const char *of_reals = k->min > 0 && k->max >= 100 * k->min ? "log_uniform_values"
								    : "uniform";
	bool ok;

	if (k->n > 1 && !k->numbers)
		return sw_import_choice(im, name, list) != NULL;
	if (k->n > 1) {
		ok = sw_import_range(im, name, k->real ? of_reals : "int_uniform", k->min, k->max,
				     k->real) != NULL;
	} else {
		cJSON *body = cJSON_AddObjectToObject(im->parameters, name);
		ok = cJSON_AddItemToObject(body, "value", cJSON_DetachItemFromArray(list, 0));
	}
	cJSON_Delete(list);
	return ok;
}

static void drop(struct sw_import *im, const char *name)
{
	cJSON *trial;

	cJSON_ArrayForEach (trial, im->trials)
		cJSON_DeleteItemFromObjectCaseSensitive(
			cJSON_GetObjectItemCaseSensitive(trial, "params"), name);
}

static bool infer_one(struct sw_import *im, const char *name)
{
	struct kind k = {.numbers = true};
	cJSON *list = cJSON_CreateArray();
	const cJSON *trial;
	bool ok = list != NULL;

	cJSON_ArrayForEach (trial, im->trials) {
		const cJSON *v = sw_json_get(sw_json_get(trial, "params"), name);

		k.numbers = k.numbers && (v == NULL || cJSON_IsNumber(v));
	}
	cJSON_ArrayForEach (trial, im->trials) {
		const cJSON *v = sw_json_get(sw_json_get(trial, "params"), name);

		if (ok && v != NULL)
			ok = note(&k, list, v);
	}
	if (ok && !(k.n > 1 && !k.numbers && (k.objects || k.n > MAX_CHOICE)))
		return add_body(im, name, &k, list);
	cJSON_Delete(list);
	if (ok)
		drop(im, name);
	return ok;
}

sw_status sw_import_infer(struct sw_import *im, struct sw_err *err)
{
	const cJSON *trial;

	cJSON_ArrayForEach (trial, im->trials) {
		const cJSON *v = sw_json_get(trial, "params")->child, *next;

		for (; v != NULL; v = next) {
			char name[MAX_PATH];

			next = v->next; /* the parameter may be dropped */
			(void)snprintf(name, sizeof name, "%s", v->string);
			if (sw_json_get(im->parameters, name) == NULL && !infer_one(im, name))
				return sw_err_set(err, SW_NOMEM, "out of memory");
		}
	}
	return SW_OK;
}
