#include "cli/import.h"
#include "proto/json.h"
#include <math.h>
#include <string.h>

void sw_import_init(struct sw_import *im, const char *tool, const char *path)
{
	*im = (struct sw_import){.tool = tool, .path = path, .name = "import"};
	im->metrics = cJSON_CreateArray();
	im->parameters = cJSON_CreateObject();
	im->trials = cJSON_CreateArray();
}

void sw_import_fini(struct sw_import *im)
{
	cJSON_Delete(im->metrics);
	cJSON_Delete(im->parameters);
	cJSON_Delete(im->trials);
}

cJSON *sw_import_trial(struct sw_import *im, const char *state)
{
	cJSON *trial = cJSON_CreateObject();

	if (cJSON_AddObjectToObject(trial, "params") != NULL &&
	    cJSON_AddStringToObject(trial, "state", state) != NULL &&
	    cJSON_AddArrayToObject(trial, "reports") != NULL &&
	    cJSON_AddItemToArray(im->trials, trial))
		return trial;
	cJSON_Delete(trial);
	return NULL;
}

bool sw_import_report(cJSON *trial, double step, const char *metric, double value)
{
	cJSON *reports = cJSON_GetObjectItemCaseSensitive(trial, "reports");
	cJSON *last = reports != NULL && reports->child != NULL ? reports->child->prev : NULL;

	if (!isfinite(value))
		return true;
	if (last == NULL || sw_json_get(last, "step")->valuedouble != step) {
		last = cJSON_CreateObject();
		if (cJSON_AddNumberToObject(last, "step", step) == NULL ||
		    cJSON_AddObjectToObject(last, "metrics") == NULL ||
		    !cJSON_AddItemToArray(reports, last)) {
			cJSON_Delete(last);
			return false;
		}
	}
	cJSON *metrics = cJSON_GetObjectItemCaseSensitive(last, "metrics");
	return sw_json_get(metrics, metric) != NULL ||
	       cJSON_AddNumberToObject(metrics, metric, value) != NULL;
}

bool sw_import_final(cJSON *trial, const char *metric, double value)
{
	cJSON *metrics = cJSON_GetObjectItemCaseSensitive(trial, "metrics");

	if (metrics == NULL)
		metrics = cJSON_AddObjectToObject(trial, "metrics");
	if (isfinite(value))
		return cJSON_AddNumberToObject(metrics, metric, value) != NULL;
	return cJSON_AddStringToObject(metrics, metric, "nan") != NULL;
}

bool sw_import_metric(struct sw_import *im, const char *name, bool maximize)
{
	cJSON *metric = cJSON_CreateObject();

	if (cJSON_AddStringToObject(metric, "name", name) != NULL &&
	    cJSON_AddStringToObject(metric, "goal", maximize ? "maximize" : "minimize") != NULL &&
	    cJSON_AddItemToArray(im->metrics, metric))
		return true;
	cJSON_Delete(metric);
	return false;
}

cJSON *sw_import_number(double value, bool real)
{
	cJSON *v = cJSON_CreateNumber(value);

	if (v != NULL && real)
		v->type |= SW_JSON_REAL;
	return v;
}

static cJSON *add_body(struct sw_import *im, const char *name)
{
	return cJSON_AddObjectToObject(im->parameters, name);
}

static bool add_number(cJSON *body, const char *key, double value, bool real)
{
	cJSON *v = sw_import_number(value, real);

	if (v != NULL && cJSON_AddItemToObject(body, key, v))
		return true;
	cJSON_Delete(v);
	return false;
}

cJSON *sw_import_range(struct sw_import *im, const char *name, const char *distribution, double low,
		       double high, bool real)
{
	cJSON *body = add_body(im, name);

	if (low == high)
		return add_number(body, "value", low, real) ? body : NULL;
	return cJSON_AddStringToObject(body, "distribution", distribution) != NULL &&
			       add_number(body, "min", low, real) &&
			       add_number(body, "max", high, real)
		       ? body
		       : NULL;
}

cJSON *sw_import_steps(struct sw_import *im, const char *name, double low, double high, double step,
		       bool real)
{
	const char *plain = real ? "uniform" : "int_uniform";
	const double of_low = low / step, of_high = high / step;
	const bool even = step > 0 && fabs(of_low - round(of_low)) < 1e-9 &&
			  fabs(of_high - round(of_high)) < 1e-9;

	if (!even || low == high)
		return sw_import_range(im, name, plain, low, high, real);
	cJSON *body = sw_import_range(im, name, "q_uniform", low, high, real);
	return add_number(body, "q", step, real) ? body : NULL;
}

cJSON *sw_import_choice(struct sw_import *im, const char *name, cJSON *list)
{
	cJSON *body = list != NULL ? add_body(im, name) : NULL;

	if (body != NULL && cJSON_AddItemToObject(body, "values", list))
		return body;
	cJSON_Delete(list);
	return NULL;
}

/* The length of NaN, Infinity or -Infinity at s[len]; 0: it is none of them. */
static size_t word_of_python(const char *s, size_t len)
{
	static const char *const words[] = {"NaN", "Infinity", "-Infinity"};

	for (size_t i = 0; i < 3; i++) {
		const size_t n = strlen(words[i]);

		if (len >= n && memcmp(s, words[i], n) == 0)
			return n;
	}
	return 0;
}

sw_status sw_import_json(cJSON **out, const char *text, size_t len, struct sw_err *err)
{
	bool quoted = false;
	struct sw_buf json;

	*out = NULL;
	sw_buf_init(&json, 4 * len + 64);
	for (size_t i = 0; i < len; i++) {
		const size_t n = quoted ? 0 : word_of_python(text + i, len - i);

		if (n > 0) {
			(void)sw_buf_adds(&json, "null");
			i += n - 1;
			continue;
		}
		(void)sw_buf_add(&json, text + i, 1);
		if (quoted && text[i] == '\\' && i + 1 < len)
			(void)sw_buf_add(&json, text + ++i, 1);
		else if (text[i] == '"')
			quoted = !quoted;
	}
	const sw_status rc =
		json.failed == SW_OK
			? sw_json_parse(out, json.data != NULL ? json.data : "", json.len, err)
			: sw_err_set(err, json.failed, "%s", sw_status_str(json.failed));
	sw_buf_fini(&json);
	return rc;
}
