#include "cli/spec_run.h"
#include "proto/json.h"
#include "spec/command.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_MAX_BYTES 256

/* The object under key, made if there is none; NULL: no memory, or there is something else. */
static cJSON *need_object(cJSON *parent, const char *key, bool *changed)
{
	cJSON *v = cJSON_GetObjectItemCaseSensitive(parent, key);

	if (v != NULL)
		return cJSON_IsObject(v) ? v : NULL;
	*changed = true;
	return cJSON_AddObjectToObject(parent, key);
}

static sw_status fill_cwd(cJSON *run, bool *changed, struct sw_err *err)
{
	cJSON *given = cJSON_GetObjectItemCaseSensitive(run, "cwd");
	char here[PATH_MAX], path[2 * PATH_MAX];

	if (given != NULL && (!cJSON_IsString(given) || given->valuestring[0] == '/'))
		return SW_OK; /* the daemon says what is wrong with anything else */
	if (getcwd(here, sizeof here) == NULL)
		return sw_err_set(err, SW_IO, "no current folder: %s", strerror(errno));
	const int n = given == NULL
			      ? snprintf(path, sizeof path, "%s", here)
			      : snprintf(path, sizeof path, "%s/%s", here, given->valuestring);
	if (n < 0 || (size_t)n >= sizeof path)
		return SW_OK; /* as it is, and the daemon refuses it */
	*changed = true;
	const bool set = given != NULL ? cJSON_SetValuestring(given, path) != NULL
				       : cJSON_AddStringToObject(run, "cwd", path) != NULL;
	return set ? SW_OK : SW_NOMEM;
}

static sw_status fill_variable(cJSON *run, const char *name, bool *changed)
{
	const char *value = getenv(name);
	cJSON *env;

	/* the spec's own word counts more than the shell that it is submitted from */
	if (value == NULL || sw_json_get(sw_json_get(run, "env"), name) != NULL)
		return SW_OK;
	env = need_object(run, "env", changed);
	if (env == NULL)
		return sw_json_get(run, "env") != NULL ? SW_OK : SW_NOMEM;
	*changed = true;
	return cJSON_AddStringToObject(env, name, value) != NULL ? SW_OK : SW_NOMEM;
}

static sw_status fill_variables(cJSON *run, const cJSON *command, bool *changed)
{
	char name[NAME_MAX_BYTES];
	const cJSON *word;
	sw_status rc = SW_OK;

	cJSON_ArrayForEach (word, command) {
		const char *at = cJSON_IsString(word) ? word->valuestring : "";

		while (rc == SW_OK && sw_command_next_variable(&at, name, sizeof name))
			rc = fill_variable(run, name, changed);
	}
	return rc;
}

/* The daemon was started elsewhere: without these the program would not find its packages. */
static sw_status fill_virtual_environment(cJSON *run, bool *changed)
{
	static const char *const names[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
	sw_status rc = SW_OK;
	bool active = false;

	for (size_t i = 0; i < sizeof names / sizeof *names && rc == SW_OK; i++)
		if (getenv(names[i]) != NULL) {
			active = true;
			rc = fill_variable(run, names[i], changed);
		}
	return rc == SW_OK && active ? fill_variable(run, "PATH", changed) : rc;
}

sw_status sw_spec_run_fill(cJSON *spec, bool *changed, struct sw_err *err)
{
	const cJSON *command = sw_json_get(spec, "command");

	if (command == NULL && sw_json_get(spec, "program") == NULL)
		return SW_OK; /* the worker trains it: no program of the user's runs */
	cJSON *run = need_object(spec, "run", changed);
	if (run == NULL)
		return sw_json_get(spec, "run") != NULL ? SW_OK : SW_NOMEM;
	sw_status rc = fill_cwd(run, changed, err);
	if (rc == SW_OK)
		rc = fill_variables(run, command, changed);
	return rc == SW_OK ? fill_virtual_environment(run, changed) : rc;
}
