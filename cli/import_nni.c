/*
 * cli/import_nni.c — an experiment of NNI: its nni.sqlite, in ~/nni-experiments/ID/db.
 *
 * ExperimentProfile.params has the configuration with the search space, TrialJobEvent each change
 * of a trial's state, the first with its parameters, and MetricData what it reported: PERIODICAL
 * numbers, then a FINAL one. Data is JSON, in NNI's own JSON once more.
 */
#include "cli/import.h"
#include "cli/import_db.h"
#include "proto/json.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct nni {
	struct sw_import *im;
	const char *metric;
	/* Array of {"id", "params", "state", "reports": [...], ...}, in the order of their first
	 * events. */
	cJSON *jobs;
};

static sw_status no_memory(struct sw_err *err)
{
	return sw_err_set(err, SW_NOMEM, "out of memory");
}

/* JSON text, or a JSON string of JSON text. */
static cJSON *unpack(const char *text)
{
	cJSON *v = NULL, *inner = NULL;

	if (sw_import_json(&v, text, strlen(text), NULL) != SW_OK)
		return NULL;
	if (!cJSON_IsString(v) ||
	    sw_import_json(&inner, v->valuestring, strlen(v->valuestring), NULL) != SW_OK)
		return v;
	cJSON_Delete(v);
	return inner;
}

/* --- the search space --- */

static double bound(const cJSON *values, int i)
{
	const cJSON *v = cJSON_GetArrayItem(values, i);

	return cJSON_IsNumber(v) ? v->valuedouble : (double)NAN;
}

/* normal and its kin: {"distribution", "mu", "sigma"[, "q"]}. */
static cJSON *add_normal(struct sw_import *im, const char *name, const char *distribution,
			 const cJSON *values)
{
	static const char *const keys[] = {"mu", "sigma", "q"};
	cJSON *body = cJSON_AddObjectToObject(im->parameters, name);

	if (cJSON_AddStringToObject(body, "distribution", distribution) == NULL)
		return NULL;
	for (int i = 0; i < 3 && i < cJSON_GetArraySize(values); i++)
		if (cJSON_AddNumberToObject(body, keys[i], bound(values, i)) == NULL)
			return NULL;
	return body;
}

/* NNI's quniform clips at its ends, so they need not be multiples. */
static cJSON *add_kind(struct sw_import *im, const char *name, const char *kind,
		       const cJSON *values, bool *known)
{
	static const char *const normals[][2] = {{"normal", "normal"},
						 {"qnormal", "q_normal"},
						 {"lognormal", "log_normal"},
						 {"qlognormal", "q_log_normal"}};
	const double low = bound(values, 0), high = bound(values, 1);

	*known = true;
	if (strcmp(kind, "choice") == 0)
		return sw_import_choice(im, name, cJSON_Duplicate(values, 1));
	for (size_t i = 0; i < 4; i++)
		if (strcmp(kind, normals[i][0]) == 0)
			return add_normal(im, name, normals[i][1], values);
	*known = isfinite(low) && isfinite(high);
	if (!*known)
		return NULL;
	if (strcmp(kind, "randint") == 0) /* its end is left out */
		return sw_import_range(im, name, "int_uniform", low, high - 1, false);
	if (strcmp(kind, "uniform") == 0)
		return sw_import_range(im, name, "uniform", low, high, true);
	if (strcmp(kind, "quniform") == 0)
		return sw_import_steps(im, name, low, high, bound(values, 2), true);
	if (strcmp(kind, "loguniform") == 0 || strcmp(kind, "qloguniform") == 0)
		return sw_import_range(im, name, "log_uniform_values", low, high, true);
	*known = false;
	return NULL;
}

static sw_status take_space(struct nni *n, const cJSON *space, struct sw_err *err)
{
	const cJSON *one;

	cJSON_ArrayForEach (one, space) {
		const char *kind = cJSON_GetStringValue(sw_json_get(one, "_type"));
		const cJSON *values = sw_json_get(one, "_value");
		bool known = false;

		if (kind != NULL && cJSON_IsArray(values) &&
		    add_kind(n->im, one->string, kind, values, &known) != NULL)
			continue;
		if (known)
			return no_memory(err);
		return sw_err_set(err, SW_INVALID,
				  "%s: parameter \"%.64s\" is of a type that is not known here",
				  n->im->path, one->string);
	}
	return SW_OK;
}

/* The direction stands where the tuner's arguments do, which has changed from version to version. */
static bool maximizes(const cJSON *v)
{
	const cJSON *child;

	if (v->string != NULL && strcmp(v->string, "optimize_mode") == 0)
		return !(cJSON_IsString(v) && strcmp(v->valuestring, "minimize") == 0);
	cJSON_ArrayForEach (child, v)
		if (!maximizes(child))
			return false;
	return true;
}

static sw_status profile_row(void *arg, sqlite3_stmt *row, struct sw_err *err)
{
	struct nni *n = arg;
	cJSON *params = unpack(sw_import_db_text(row, 0));
	const cJSON *given = sw_json_get(params, "searchSpace");
	const cJSON *name = sw_json_get(params, "experimentName");
	cJSON *space = cJSON_IsString(given) ? unpack(given->valuestring)
					     : cJSON_Duplicate(given, 1);
	sw_status rc;

	if (!cJSON_IsObject(space) || space->child == NULL)
		rc = sw_err_set(err, SW_INVALID, "%s: there is no search space in it", n->im->path);
	else if (!sw_import_metric(n->im, n->metric, maximizes(params)))
		rc = no_memory(err);
	else
		rc = take_space(n, space, err);
	if (cJSON_IsString(name) && name->valuestring[0] != '\0')
		(void)snprintf(n->im->name, sizeof n->im->name, "%s", name->valuestring);
	cJSON_Delete(space);
	cJSON_Delete(params);
	return rc;
}

/* --- trials --- */

static cJSON *find_job(const struct nni *n, const char *id)
{
	cJSON *job;

	cJSON_ArrayForEach (job, n->jobs)
		if (strcmp(sw_json_get(job, "id")->valuestring, id) == 0)
			return job;
	return NULL;
}

static cJSON *need_job(struct nni *n, const char *id)
{
	cJSON *job = find_job(n, id);

	if (job != NULL)
		return job;
	job = cJSON_CreateObject();
	if (cJSON_AddStringToObject(job, "id", id) != NULL &&
	    cJSON_AddStringToObject(job, "state", "WAITING") != NULL &&
	    cJSON_AddArrayToObject(job, "reports") != NULL && cJSON_AddItemToArray(n->jobs, job))
		return job;
	cJSON_Delete(job);
	return NULL;
}

static sw_status event_row(void *arg, sqlite3_stmt *row, struct sw_err *err)
{
	const char *id = sw_import_db_text(row, 0), *event = sw_import_db_text(row, 1);
	cJSON *data = NULL, *params = NULL;
	struct nni *n = arg;

	if (id[0] == '\0')
		return SW_OK;
	cJSON *job = need_job(n, id);
	if (job == NULL)
		return no_memory(err);
	if (strcmp(event, "ADD_HYPERPARAMETER") != 0 &&
	    cJSON_SetValuestring(cJSON_GetObjectItemCaseSensitive(job, "state"), event) == NULL)
		return no_memory(err);
	data = unpack(sw_import_db_text(row, 2));
	params = cJSON_DetachItemFromObjectCaseSensitive(data, "parameters");
	cJSON_Delete(data);
	if (params == NULL || sw_json_get(job, "params") != NULL) {
		cJSON_Delete(params);
		return SW_OK;
	}
	if (cJSON_AddItemToObject(job, "params", params))
		return SW_OK;
	cJSON_Delete(params);
	return no_memory(err);
}

/* A number, or an object whose "default" is what the tuner compares. */
static double default_of(const char *text)
{
	cJSON *v = unpack(text);
	const cJSON *of = cJSON_IsObject(v) ? sw_json_get(v, "default") : v;
	const double number = cJSON_IsNumber(of)   ? of->valuedouble
			      : cJSON_IsString(of) ? strtod(of->valuestring, NULL)
						   : (double)NAN;

	cJSON_Delete(v);
	return number;
}

static sw_status metric_row(void *arg, sqlite3_stmt *row, struct sw_err *err)
{
	struct nni *n = arg;
	cJSON *job = find_job(n, sw_import_db_text(row, 0));
	const bool final = strcmp(sw_import_db_text(row, 1), "FINAL") == 0;
	const double value = default_of(sw_import_db_text(row, 3));
	bool ok = true;

	if (job == NULL)
		return SW_OK;
	if (!final)
		ok = sw_import_report(job, sqlite3_column_double(row, 2) + 1, n->metric, value);
	else if (sw_json_get(job, "metrics") == NULL)
		ok = sw_import_final(job, n->metric, value);
	return ok ? SW_OK : no_memory(err);
}

static const char *state_of(const cJSON *job)
{
	static const char *const states[][2] = {
		{"SUCCEEDED", "COMPLETED"}, {"EARLY_STOPPED", "PRUNED"}, {"FAILED", "FAILED"}};
	const char *word = sw_json_get(job, "state")->valuestring;

	for (size_t i = 0; i < 3; i++)
		if (strcmp(states[i][0], word) == 0)
			return states[i][1];
	return NULL;
}

/* Jobs are trials but for the state's word. */
static sw_status take_jobs(struct nni *n, struct sw_err *err)
{
	cJSON *job;

	while ((job = cJSON_DetachItemFromArray(n->jobs, 0)) != NULL) {
		const char *state = state_of(job);

		if (state == NULL || sw_json_get(job, "params") == NULL) {
			n->im->n_open++;
			cJSON_Delete(job);
			continue;
		}
		if (cJSON_SetValuestring(cJSON_GetObjectItemCaseSensitive(job, "state"), state) ==
		    NULL) {
			cJSON_Delete(job);
			return no_memory(err);
		}
		(void)cJSON_AddItemToArray(n->im->trials, job);
	}
	return SW_OK;
}

/* The profile is stored again and again: the last one counts. */
static const struct {
	const char *sql;
	sw_status (*row)(void *arg, sqlite3_stmt *row, struct sw_err *err);
} queries[] = {
	{"SELECT params FROM ExperimentProfile ORDER BY revision DESC LIMIT 1", profile_row},
	{"SELECT trialJobId, event, data FROM TrialJobEvent ORDER BY rowid", event_row},
	{"SELECT trialJobId, type, sequence, data FROM MetricData WHERE type IN ('PERIODICAL', "
	 "'FINAL') ORDER BY trialJobId, type = 'FINAL', sequence",
	 metric_row},
};

sw_status sw_import_nni(struct sw_import *im, const char *metric, struct sw_err *err)
{
	struct nni n = {im, metric != NULL ? metric : "default", cJSON_CreateArray()};
	sqlite3 *db = NULL;

	sw_status rc = n.jobs != NULL ? sw_import_db_open(&db, im->path, err) : no_memory(err);
	for (size_t i = 0; rc == SW_OK && i < sizeof queries / sizeof queries[0]; i++)
		rc = sw_import_db_each(db, im->path, "an nni.sqlite", queries[i].sql,
				       queries[i].row, &n, err);
	if (rc == SW_OK && im->metrics->child == NULL)
		rc = sw_err_set(err, SW_INVALID, "%s: there is no experiment in it", im->path);
	if (rc == SW_OK)
		rc = take_jobs(&n, err);
	(void)sqlite3_close(db);
	cJSON_Delete(n.jobs);
	return rc;
}
