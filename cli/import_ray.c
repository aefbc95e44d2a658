/*
 * cli/import_ray.c — an experiment of Ray Tune: its folder.
 *
 * Each trial has a folder with params.json, what it was given, and result.json, a line for each
 * report; error.txt if it failed. experiment_state-*.json of the folder above has each trial's
 * state and the metric's name. The search space and the direction are in pickles only: a parameter
 * gets the range of its values (cli/import_values.c), and --goal says the direction. Of trials that
 * a scheduler has stopped Ray says TERMINATED, as of those that ran to their end.
 */
#include "cli/import.h"
#include "cli/import_values.h"
#include "proto/json.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_SIZE 4096

struct ray {
	struct sw_import *im;
	const char *metric;
	cJSON *states;     /* object: trial id -> Ray's word */
	cJSON *seen;       /* object: names of metrics */
	char of_state[64]; /* the metric that the state names */
};

static sw_status no_memory(struct sw_err *err)
{
	return sw_err_set(err, SW_NOMEM, "out of memory");
}

/* Calls line for each line of a file; without the file, nothing. */
static sw_status each_line(const char *path,
			   sw_status (*line)(void *arg, const cJSON *v, struct sw_err *err),
			   void *arg, struct sw_err *err)
{
	FILE *f = fopen(path, "rbe");
	size_t room = 0, n_line = 0;
	sw_status rc = SW_OK;
	char *text = NULL;
	ssize_t n;

	if (f == NULL && errno == ENOENT)
		return SW_OK;
	if (f == NULL)
		return sw_err_set(err, SW_IO, "%s: %s", path, strerror(errno));
	while (rc == SW_OK && (n = getline(&text, &room, f)) > 0) {
		struct sw_err why = SW_ERR_INIT;
		cJSON *v = NULL;

		n_line++;
		rc = sw_import_json(&v, text, (size_t)n, &why);
		if (rc == SW_PARSE && text[n - 1] != '\n') {
			rc = SW_OK; /* a writer died here, or still writes */
			break;
		}
		rc = rc == SW_OK ? line(arg, v, err)
				 : sw_err_set(err, rc, "%s:%zu: %s", path, n_line, why.msg);
		cJSON_Delete(v);
	}
	free(text);
	(void)fclose(f);
	return rc;
}

/* The whole file; *out NULL: there is none. */
static sw_status read_file(cJSON **out, const char *path, struct sw_err *err)
{
	FILE *f = fopen(path, "rbe");
	struct sw_err why = SW_ERR_INIT;
	char *text = NULL;
	size_t room = 0;

	*out = NULL;
	if (f == NULL)
		return errno == ENOENT ? SW_OK
				       : sw_err_set(err, SW_IO, "%s: %s", path, strerror(errno));
	const ssize_t n = getdelim(&text, &room, '\0', f);
	sw_status rc = SW_OK;
	if (n > 0)
		rc = sw_import_json(out, text, (size_t)n, &why);
	if (rc != SW_OK)
		rc = sw_err_set(err, rc, "%s: %s", path, why.msg);
	free(text);
	(void)fclose(f);
	return rc;
}

/* --- experiment_state-*.json --- */

/* A trial there is JSON in a string. */
static bool take_state(struct ray *r, const cJSON *text)
{
	const char *s = cJSON_GetStringValue(text);
	cJSON *trial = NULL;

	if (s == NULL || sw_import_json(&trial, s, strlen(s), NULL) != SW_OK)
		return true;
	const char *id = cJSON_GetStringValue(sw_json_get(trial, "trial_id")),
		   *state = cJSON_GetStringValue(sw_json_get(trial, "status"));
	const bool ok = id == NULL || state == NULL ||
			cJSON_AddStringToObject(r->states, id, state) != NULL;
	cJSON_Delete(trial);
	return ok;
}

/* Ray 2.7 and later: "trial_data", pairs; before: "checkpoints". */
static sw_status read_states(struct ray *r, const char *path, struct sw_err *err)
{
	const cJSON *one, *list;
	cJSON *v = NULL;

	const sw_status rc = read_file(&v, path, err);
	if (rc != SW_OK)
		return rc;
	bool ok = true;
	list = sw_json_get(v, "trial_data");
	if (list == NULL)
		list = sw_json_get(v, "checkpoints");
	cJSON_ArrayForEach (one, list)
		ok = ok && take_state(r, cJSON_IsArray(one) ? one->child : one);
	const char *metric =
		cJSON_GetStringValue(sw_json_get(sw_json_get(v, "runner_data"), "_metric"));
	if (metric != NULL)
		(void)snprintf(r->of_state, sizeof r->of_state, "%s", metric);
	cJSON_Delete(v);
	return ok ? SW_OK : no_memory(err);
}

/* --- result.json --- */

static bool is_bookkeeping(const char *name)
{
	static const char *const names[] = {
		"training_iteration", "timestamp",          "pid",
		"time_this_iter_s",   "time_total_s",       "time_since_restore",
		"timesteps_total",    "episodes_total",     "timesteps_since_restore",
		"warmup_time",        "episodes_this_iter", "iterations_since_restore"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

struct report {
	struct ray *r;
	cJSON *trial;
	double last;     /* the step of the last report */
	bool has_metric; /* of the flat line */
	cJSON *flat;
};

static bool take_metric(void *arg, const char *name, const cJSON *v)
{
	struct report *p = arg;
	const bool compared = p->r->metric != NULL && strcmp(name, p->r->metric) == 0;

	if (!cJSON_IsNumber(v) || (is_bookkeeping(name) && !compared) ||
	    strncmp(name, "config/", 7) == 0)
		return true;
	p->has_metric = p->has_metric || compared;
	if (sw_json_get(p->r->seen, name) == NULL &&
	    cJSON_AddNullToObject(p->r->seen, name) == NULL)
		return false;
	return cJSON_AddNumberToObject(p->flat, name, v->valuedouble) != NULL;
}

/* After a restart of the trial its steps may come again: the first of each counts. */
static sw_status take_line(void *arg, const cJSON *v, struct sw_err *err)
{
	struct report *p = arg;
	const cJSON *step = sw_json_get(v, "training_iteration"), *one;

	p->has_metric = false;
	p->flat = cJSON_CreateObject();
	bool ok = p->flat != NULL && sw_import_flatten(v, "/", take_metric, p);
	if (p->has_metric && cJSON_IsNumber(step) && step->valuedouble > p->last) {
		p->last = step->valuedouble;
		cJSON_ArrayForEach (one, p->flat)
			ok = ok &&
			     sw_import_report(p->trial, p->last, one->string, one->valuedouble);
	}
	cJSON_Delete(p->flat);
	return ok ? SW_OK : no_memory(err);
}

/* --- a trial's folder --- */

static bool take_param(void *arg, const char *name, const cJSON *v)
{
	cJSON *params = cJSON_GetObjectItemCaseSensitive(arg, "params");
	cJSON *copy = cJSON_Duplicate(v, 1);

	if (copy != NULL && cJSON_AddItemToObject(params, name, copy))
		return true;
	cJSON_Delete(copy);
	return false;
}

static bool exists(const char *folder, const char *name)
{
	char path[PATH_SIZE];

	const int n = snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = n > 0 && n < PATH_SIZE ? fopen(path, "rbe") : NULL;
	if (f != NULL)
		(void)fclose(f);
	return f != NULL;
}

/* The folder's name has the trial's id in it. NULL: it has not ended. */
static const char *state_of(const struct ray *r, const char *folder)
{
	const cJSON *one;

	if (exists(folder, "error.txt"))
		return "FAILED";
	cJSON_ArrayForEach (one, r->states)
		if (strstr(folder, one->string) != NULL) {
			if (strcmp(one->valuestring, "ERROR") == 0)
				return "FAILED";
			return strcmp(one->valuestring, "TERMINATED") == 0 ? "COMPLETED" : NULL;
		}
	return "COMPLETED";
}

static sw_status read_trial(struct ray *r, const char *folder, struct sw_err *err)
{
	const char *state = state_of(r, folder);
	char path[PATH_SIZE + 16];
	cJSON *params = NULL;

	(void)snprintf(path, sizeof path, "%s/params.json", folder);
	sw_status rc = read_file(&params, path, err);
	if (rc != SW_OK || !cJSON_IsObject(params) || state == NULL) {
		r->im->n_open += cJSON_IsObject(params) && state == NULL;
		cJSON_Delete(params);
		return rc;
	}
	struct report p = {.r = r, .trial = sw_import_trial(r->im, state)};
	if (p.trial == NULL || !sw_import_flatten(params, ".", take_param, p.trial))
		rc = no_memory(err);
	cJSON_Delete(params);
	(void)snprintf(path, sizeof path, "%s/result.json", folder);
	return rc == SW_OK ? each_line(path, take_line, &p, err) : rc;
}

/* --- the experiment's folder --- */

static bool is_state_file(const char *name)
{
	const size_t n = strlen(name);

	return strncmp(name, "experiment_state-", 17) == 0 && n > 5 &&
	       strcmp(name + n - 5, ".json") == 0;
}

/* Names sort by time: the state that was written last stands last. */
static sw_status read_folder(struct ray *r, struct dirent *const *entry, int n, struct sw_err *err)
{
	char path[PATH_SIZE];
	sw_status rc = SW_OK;

	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; rc == SW_OK && i < n; i++) {
			const char *name = entry[i]->d_name;
			const int len = snprintf(path, sizeof path, "%s/%s", r->im->path, name);

			if (len <= 0 || len >= PATH_SIZE || name[0] == '.' ||
			    is_state_file(name) != (pass == 0))
				continue;
			if (pass == 0)
				rc = read_states(r, path, err);
			else if (exists(path, "params.json"))
				rc = read_trial(r, path, err);
			if (pass == 0 && r->metric == NULL && r->of_state[0] != '\0')
				r->metric = r->of_state;
		}
	return rc;
}

static sw_status no_metric(const struct ray *r, struct sw_err *err)
{
	char list[160] = "";
	const cJSON *one;
	size_t n = 0;

	cJSON_ArrayForEach (one, r->seen)
		if (n + strlen(one->string) + 3 < sizeof list)
			n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n > 0 ? ", " : "",
					      one->string);
	if (r->metric == NULL)
		return sw_err_set(err, SW_INVALID,
				  "%s: --metric says which of these is compared: "
				  "%s",
				  r->im->path, list);
	return sw_err_set(err, SW_INVALID, "%s: no trial reported \"%.64s\"; reported are: %s",
			  r->im->path, r->metric, list);
}

static sw_status check(struct ray *r, bool maximize, struct sw_err *err)
{
	const char *slash = strrchr(r->im->path, '/');

	if (r->im->trials->child == NULL)
		return sw_err_set(err, SW_INVALID,
				  "%s: there is no trial of Ray Tune in it: no folder with a "
				  "params.json, or none that has ended",
				  r->im->path);
	if (r->metric == NULL || sw_json_get(r->seen, r->metric) == NULL)
		return no_metric(r, err);
	(void)snprintf(r->im->name, sizeof r->im->name, "%s",
		       slash != NULL && slash[1] != '\0' ? slash + 1 : "ray");
	if (!sw_import_metric(r->im, r->metric, maximize))
		return no_memory(err);
	return sw_import_infer(r->im, err);
}

sw_status sw_import_ray(struct sw_import *im, const char *metric, const char *goal,
			struct sw_err *err)
{
	struct ray r = {.im = im,
			.metric = metric,
			.states = cJSON_CreateObject(),
			.seen = cJSON_CreateObject()};
	struct dirent **entry = NULL;
	sw_status rc = SW_OK;

	const bool maximize = goal != NULL && strcmp(goal, "maximize") == 0;
	if (!maximize && (goal == NULL || strcmp(goal, "minimize") != 0))
		rc = sw_err_set(err, SW_INVALID,
				"--goal minimize or --goal maximize: Ray's files do not say which");
	const int n = rc == SW_OK ? scandir(im->path, &entry, NULL, alphasort) : 0;
	if (n < 0)
		rc = sw_err_set(err, SW_IO, "%s: %s", im->path, strerror(errno));
	if (rc == SW_OK && (r.states == NULL || r.seen == NULL))
		rc = no_memory(err);
	if (rc == SW_OK)
		rc = read_folder(&r, entry, n, err);
	if (rc == SW_OK)
		rc = check(&r, maximize, err);
	for (int i = 0; i < n; i++)
		free(entry[i]);
	free(entry);
	cJSON_Delete(r.states);
	cJSON_Delete(r.seen);
	return rc;
}
