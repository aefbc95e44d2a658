/* cli/import_fit.c — which parameters are active when, as far as the trials tell. */
#include "cli/import.h"
#include "proto/json.h"
#include <string.h>

static const cJSON *value_of(const cJSON *trial, const cJSON *param)
{
	return sw_json_get(sw_json_get(trial, "params"), param->string);
}

/* A trial that failed may have ended before it drew what it needed. */
static bool tells(const cJSON *trial)
{
	return strcmp(sw_json_get(trial, "state")->valuestring, "FAILED") != 0;
}

static size_t count_with(const struct sw_import *im, const cJSON *param)
{
	const cJSON *trial;
	size_t n = 0;

	cJSON_ArrayForEach (trial, im->trials)
		n += tells(trial) && value_of(trial, param) != NULL;
	return n;
}

static const cJSON *find_value(const cJSON *list, const cJSON *v)
{
	const cJSON *one;

	cJSON_ArrayForEach (one, list)
		if (cJSON_Compare(one, v, 1))
			return one;
	return NULL;
}

/* with: the values that `by` has in trials that have param. False: no memory. *split: these trials
 * all have `by`, and no other trial has one of these values. */
static bool try_split(const struct sw_import *im, const cJSON *param, const cJSON *by, cJSON *with,
		      bool *split)
{
	const cJSON *trial;

	*split = true;
	cJSON_ArrayForEach (trial, im->trials) {
		const cJSON *v = value_of(trial, by);

		if (!tells(trial) || value_of(trial, param) == NULL)
			continue;
		*split = *split && v != NULL;
		if (v != NULL && find_value(with, v) == NULL &&
		    !cJSON_AddItemToArray(with, cJSON_Duplicate(v, 1)))
			return false;
	}
	cJSON_ArrayForEach (trial, im->trials)
		if (tells(trial) && value_of(trial, param) == NULL && value_of(trial, by) != NULL &&
		    find_value(with, value_of(trial, by)) != NULL)
			*split = false;
	return true;
}

/* One that is there more often: so no two parameters wait for each other. */
static bool may_decide(const struct sw_import *im, const cJSON *by, size_t n)
{
	return sw_json_get(by, "values") != NULL && count_with(im, by) > n;
}

/* "when" of one parameter, if another decides. */
static sw_status find_when(const struct sw_import *im, cJSON *param, size_t n)
{
	const cJSON *by;

	cJSON_ArrayForEach (by, im->parameters) {
		cJSON *with = NULL;
		bool split = false;

		if (!may_decide(im, by, n))
			continue;
		with = cJSON_CreateArray();
		if (with == NULL || !try_split(im, param, by, with, &split)) {
			cJSON_Delete(with);
			return SW_NOMEM;
		}
		if (!split) {
			cJSON_Delete(with);
			continue;
		}
		cJSON *when = cJSON_AddObjectToObject(param, "when");
		if (cJSON_AddItemToObject(when, by->string, with))
			return SW_OK;
		cJSON_Delete(with);
		return SW_NOMEM;
	}
	return SW_OK;
}

static bool is_active(const cJSON *trial, const cJSON *param)
{
	const cJSON *when = sw_json_get(param, "when");

	if (when == NULL)
		return true;
	const cJSON *v = sw_json_get(sw_json_get(trial, "params"), when->child->string);
	return v != NULL && find_value(when->child, v) != NULL;
}

static bool fits(const struct sw_import *im, const cJSON *trial)
{
	const cJSON *param;

	cJSON_ArrayForEach (param, im->parameters)
		if (is_active(trial, param) != (value_of(trial, param) != NULL))
			return false;
	return true;
}

sw_status sw_import_fit(struct sw_import *im, struct sw_err *err)
{
	cJSON *param, *trial, *next;
	size_t all = 0;

	cJSON_ArrayForEach (trial, im->trials)
		all += tells(trial);
	cJSON_ArrayForEach (param, im->parameters) {
		const size_t n = count_with(im, param);

		if (n < all && find_when(im, param, n) != SW_OK)
			return sw_err_set(err, SW_NOMEM, "out of memory");
	}
	for (trial = im->trials->child; trial != NULL; trial = next) {
		next = trial->next;
		if (fits(im, trial))
			continue;
		cJSON_Delete(cJSON_DetachItemViaPointer(im->trials, trial));
		im->n_unfit++;
	}
	if (im->trials->child == NULL)
		return sw_err_set(err, SW_INVALID,
				  "%s: no trial in it has ended with all its "
				  "parameters",
				  im->path);
	return SW_OK;
}
