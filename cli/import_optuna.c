/* cli/import_optuna.c — a study of Optuna: its distributions, trials and values in ours. */
#include "cli/import_optuna.h"
#include "cli/import.h"
#include "proto/json.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- what the readers build --- */

static cJSON *add_object(cJSON *list)
{
	cJSON *o = cJSON_CreateObject();

	if (o != NULL && cJSON_AddItemToArray(list, o))
		return o;
	cJSON_Delete(o);
	return NULL;
}

cJSON *sw_optuna_study(cJSON *studies, double id, const char *name)
{
	cJSON *s = add_object(studies);

	return cJSON_AddNumberToObject(s, "id", id) != NULL &&
			       cJSON_AddStringToObject(s, "name", name) != NULL &&
			       cJSON_AddArrayToObject(s, "maximize") != NULL &&
			       cJSON_AddArrayToObject(s, "trials") != NULL
		       ? s
		       : NULL;
}

cJSON *sw_optuna_trial(cJSON *study, double id, const char *state)
{
	cJSON *t = add_object(cJSON_GetObjectItemCaseSensitive(study, "trials"));

	return cJSON_AddNumberToObject(t, "id", id) != NULL &&
			       cJSON_AddStringToObject(t, "state", state) != NULL &&
			       cJSON_AddArrayToObject(t, "params") != NULL &&
			       cJSON_AddArrayToObject(t, "steps") != NULL &&
			       cJSON_AddArrayToObject(t, "values") != NULL
		       ? t
		       : NULL;
}

bool sw_optuna_param(cJSON *trial, const char *name, double value, cJSON *distribution)
{
	cJSON *p = add_object(cJSON_GetObjectItemCaseSensitive(trial, "params"));

	if (cJSON_AddStringToObject(p, "name", name) != NULL &&
	    cJSON_AddNumberToObject(p, "value", value) != NULL &&
	    cJSON_AddItemToObject(p, "distribution", distribution))
		return true;
	cJSON_Delete(distribution);
	return false;
}

static bool add_finite(cJSON *o, const char *key, double value)
{
	return isfinite(value) ? cJSON_AddNumberToObject(o, key, value) != NULL
			       : cJSON_AddNullToObject(o, key) != NULL;
}

static int steps_before(const cJSON *steps, double step)
{
	const cJSON *s;
	int n = 0;

	cJSON_ArrayForEach (s, steps)
		n += sw_json_get(s, "step")->valuedouble <= step;
	return n;
}

/* A storage keeps steps as they were reported, which may be in any order: here they ascend. */
bool sw_optuna_step(cJSON *trial, double step, double value)
{
	cJSON *steps = cJSON_GetObjectItemCaseSensitive(trial, "steps"), *s = cJSON_CreateObject();
	const cJSON *last = steps->child != NULL ? steps->child->prev : NULL;
	const bool ascends = last == NULL || sw_json_get(last, "step")->valuedouble <= step;

	if (cJSON_AddNumberToObject(s, "step", step) != NULL && add_finite(s, "value", value) &&
	    (ascends ? cJSON_AddItemToArray(steps, s)
		     : cJSON_InsertItemInArray(steps, steps_before(steps, step), s)))
		return true;
	cJSON_Delete(s);
	return false;
}

bool sw_optuna_value(cJSON *trial, double value)
{
	cJSON *values = cJSON_GetObjectItemCaseSensitive(trial, "values");
	cJSON *v = isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull();

	return v != NULL && cJSON_AddItemToArray(values, v);
}

/* --- which study --- */

static sw_status which(const cJSON *studies, const struct sw_import *im, const char *name,
		       const cJSON **out, struct sw_err *err)
{
	const cJSON *one;
	char list[200] = "";
	size_t n = 0;

	*out = NULL;
	cJSON_ArrayForEach (one, studies) {
		const char *of = sw_json_get(one, "name")->valuestring;

		if (name == NULL || strcmp(of, name) == 0)
			*out = one;
		if (n + strlen(of) + 8 < sizeof list)
			n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n > 0 ? ", " : "",
					      of);
	}
	if (*out == NULL && name != NULL)
		return sw_err_set(err, SW_INVALID, "%s: there is no study \"%.64s\" in it: %s",
				  im->path, name, list);
	if (*out == NULL)
		return sw_err_set(err, SW_INVALID, "%s: there is no study in it", im->path);
	if (name == NULL && cJSON_GetArraySize(studies) > 1)
		return sw_err_set(err, SW_INVALID,
				  "%s: there are several studies in it, name one after the file: "
				  "%s",
				  im->path, list);
	return SW_OK;
}

/* --- parameters --- */

static double attribute(const cJSON *distribution, const char *key)
{
	const cJSON *v = sw_json_get(sw_json_get(distribution, "attributes"), key);

	return cJSON_IsNumber(v) ? v->valuedouble : (double)NAN;
}

static bool is_named(const cJSON *distribution, const char *part)
{
	const char *name = cJSON_GetStringValue(sw_json_get(distribution, "name"));

	return name != NULL && strstr(name, part) != NULL;
}

/* Before version 3 there was a class for each: LogUniform, DiscreteUniform, IntUniform, ... */
static bool is_log(const cJSON *distribution)
{
	return is_named(distribution, "LogUniform") ||
	       cJSON_IsTrue(sw_json_get(sw_json_get(distribution, "attributes"), "log"));
}

static const cJSON *choices_of(const cJSON *distribution)
{
	return sw_json_get(sw_json_get(distribution, "attributes"), "choices");
}

static cJSON *add_range(struct sw_import *im, const char *name, const cJSON *distribution)
{
	const double low = attribute(distribution, "low"), high = attribute(distribution, "high");
	const bool real = !is_named(distribution, "Int");
	double step = attribute(distribution, "step");

	if (isnan(step))
		step = attribute(distribution, "q");
	if (is_log(distribution))
		return sw_import_range(im, name, real ? "log_uniform_values" : "int_log_uniform",
				       low, high, real);
	if (isnan(step) || (!real && step == 1))
		return sw_import_range(im, name, real ? "uniform" : "int_uniform", low, high, real);
	return sw_import_steps(im, name, low, high, step, real);
}

/* A study may have widened a range while it went on. */
static void widen(cJSON *body, const cJSON *distribution)
{
	cJSON *min = cJSON_GetObjectItemCaseSensitive(body, "min"),
	      *max = cJSON_GetObjectItemCaseSensitive(body, "max");
	const double low = attribute(distribution, "low"), high = attribute(distribution, "high");

	if (min != NULL && low < min->valuedouble)
		cJSON_SetNumberValue(min, low);
	if (max != NULL && high > max->valuedouble)
		cJSON_SetNumberValue(max, high);
}

static sw_status take_distribution(struct sw_import *im, const char *name,
				   const cJSON *distribution, struct sw_err *err)
{
	cJSON *body = cJSON_GetObjectItemCaseSensitive(im->parameters, name);
	const cJSON *choices = choices_of(distribution);

	if (body != NULL) {
		widen(body, distribution);
		return SW_OK;
	}
	if (cJSON_IsArray(choices))
		body = sw_import_choice(im, name, cJSON_Duplicate(choices, 1));
	else if (isnan(attribute(distribution, "low")) || isnan(attribute(distribution, "high")))
		return sw_err_set(err, SW_INVALID,
				  "%s: parameter \"%.64s\" has a distribution that is not known",
				  im->path, name);
	else
		body = add_range(im, name, distribution);
	return body != NULL ? SW_OK : sw_err_set(err, SW_NOMEM, "out of memory");
}

/* The value as the objective saw it: of a category Optuna keeps the index. */
static cJSON *outer_value(const cJSON *param)
{
	const cJSON *distribution = sw_json_get(param, "distribution");
	const cJSON *choices = choices_of(distribution);
	const double v = sw_json_get(param, "value")->valuedouble;

	if (!cJSON_IsArray(choices))
		return sw_import_number(v, !is_named(distribution, "Int"));
	return cJSON_Duplicate(v >= 0 && v < 1e6 ? cJSON_GetArrayItem(choices, (int)v) : NULL, 1);
}

static sw_status take_params(struct sw_import *im, cJSON *trial, const cJSON *raw,
			     struct sw_err *err)
{
	cJSON *params = cJSON_GetObjectItemCaseSensitive(trial, "params");
	const cJSON *one;

	cJSON_ArrayForEach (one, sw_json_get(raw, "params")) {
		const char *name = sw_json_get(one, "name")->valuestring;
		cJSON *v = outer_value(one);

		if (v == NULL || !cJSON_AddItemToObject(params, name, v)) {
			cJSON_Delete(v);
			return sw_err_set(err, SW_INVALID,
					  "%s: a value of parameter \"%.64s\" is none of its "
					  "choices",
					  im->path, name);
		}
		const sw_status rc =
			take_distribution(im, name, sw_json_get(one, "distribution"), err);
		if (rc != SW_OK)
			return rc;
	}
	return SW_OK;
}

/* --- trials --- */

/* The objective's values come last, unless the last report is the same. */
static bool take_values(const struct sw_import *im, cJSON *trial, const cJSON *raw)
{
	const cJSON *v = sw_json_get(raw, "values")->child, *metric;
	const cJSON *steps = sw_json_get(raw, "steps"),
		    *last = steps->child != NULL ? steps->child->prev : NULL;

	if (im->metrics->child->next == NULL && last != NULL && v != NULL &&
	    cJSON_Compare(sw_json_get(last, "value"), v, 1) && cJSON_IsNumber(v))
		return true;
	cJSON_ArrayForEach (metric, im->metrics) {
		const char *name = sw_json_get(metric, "name")->valuestring;

		if (v == NULL)
			return true;
		if (!sw_import_final(trial, name, cJSON_IsNumber(v) ? v->valuedouble : (double)NAN))
			return false;
		v = v->next;
	}
	return true;
}

static const char *state_of(const cJSON *raw)
{
	static const char *const states[][2] = {
		{"COMPLETE", "COMPLETED"}, {"PRUNED", "PRUNED"}, {"FAIL", "FAILED"}};
	const char *word = sw_json_get(raw, "state")->valuestring;

	for (size_t i = 0; i < 3; i++)
		if (strcmp(states[i][0], word) == 0)
			return states[i][1];
	return NULL;
}

/* from: the first step of all, which may be 0 there and is 1 here. */
static sw_status take_trial(struct sw_import *im, const cJSON *raw, double from, struct sw_err *err)
{
	const char *state = state_of(raw);
	const cJSON *step;

	if (state == NULL) {
		im->n_open++;
		return SW_OK;
	}
	cJSON *trial = sw_import_trial(im, state);
	bool ok = trial != NULL;
	cJSON_ArrayForEach (step, sw_json_get(raw, "steps")) {
		const cJSON *v = sw_json_get(step, "value");

		if (ok && cJSON_IsNumber(v))
			ok = sw_import_report(trial,
					      sw_json_get(step, "step")->valuedouble + 1 - from,
					      sw_json_get(im->metrics->child, "name")->valuestring,
					      v->valuedouble);
	}
	if (ok && strcmp(state, "COMPLETED") == 0)
		ok = take_values(im, trial, raw);
	return ok ? take_params(im, trial, raw, err) : sw_err_set(err, SW_NOMEM, "out of memory");
}

static double first_step(const cJSON *study)
{
	const cJSON *trial, *step;
	double first = 1;

	cJSON_ArrayForEach (trial, sw_json_get(study, "trials"))
		cJSON_ArrayForEach (step, sw_json_get(trial, "steps"))
			first = fmin(first, sw_json_get(step, "step")->valuedouble);
	return first;
}

static sw_status take_metrics(struct sw_import *im, const cJSON *study, const char *metric,
			      struct sw_err *err)
{
	const cJSON *maximize = sw_json_get(study, "maximize"), *name = sw_json_get(study, "names"),
		    *one;
	const bool several = cJSON_GetArraySize(maximize) > 1;
	int i = 0;

	if (several && metric != NULL)
		return sw_err_set(err, SW_INVALID,
				  "%s: the study has several objectives, and "
				  "--metric names one",
				  im->path);
	name = cJSON_IsArray(name) ? name->child : NULL;
	cJSON_ArrayForEach (one, maximize) {
		const char *own = cJSON_GetStringValue(name);
		char text[64] = "value";

		if (metric != NULL)
			(void)snprintf(text, sizeof text, "%s", metric);
		else if (own != NULL)
			(void)snprintf(text, sizeof text, "%s", own);
		else if (several)
			(void)snprintf(text, sizeof text, "value_%d", i);
		if (!sw_import_metric(im, text, cJSON_IsTrue(one)))
			return sw_err_set(err, SW_NOMEM, "out of memory");
		name = name != NULL ? name->next : NULL;
		i++;
	}
	return i > 0 ? SW_OK
		     : sw_err_set(err, SW_INVALID, "%s: the study has no direction", im->path);
}

static bool is_journal(const char *path)
{
	FILE *f = fopen(path, "rb");
	const int first = f != NULL ? fgetc(f) : EOF;

	if (f != NULL)
		(void)fclose(f);
	return first == '{';
}

sw_status sw_import_optuna(struct sw_import *im, const char *study, const char *metric,
			   struct sw_err *err)
{
	const cJSON *chosen = NULL, *raw;
	cJSON *studies = NULL;

	sw_status rc = is_journal(im->path) ? sw_optuna_journal_read(&studies, im->path, err)
					    : sw_optuna_db_read(&studies, im->path, err);
	if (rc == SW_OK)
		rc = which(studies, im, study, &chosen, err);
	if (rc == SW_OK)
		rc = take_metrics(im, chosen, metric, err);
	if (rc == SW_OK) {
		const double from = first_step(chosen);

		(void)snprintf(im->name, sizeof im->name, "%s",
			       sw_json_get(chosen, "name")->valuestring);
		cJSON_ArrayForEach (raw, sw_json_get(chosen, "trials"))
			if (rc == SW_OK)
				rc = take_trial(im, raw, from, err);
	}
	cJSON_Delete(studies);
	return rc;
}
