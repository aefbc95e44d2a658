/* cli/spec_path.c — a spec's data files and its program's folder, as the daemon finds them. */
#include "cli/spec_path.h"
#include "proto/json.h"
#include "spec/command.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE      4096 /* the longest path that a spec takes, and its end */
#define NAME_MAX_BYTES 256

/* The path below the current directory; false: none of that length, or no such file. */
static bool resolve(const char *path, char out[PATH_SIZE])
{
	char here[PATH_SIZE];

	if (path[0] == '\0' || path[0] == '/' || access(path, F_OK) != 0 ||
	    getcwd(here, sizeof here) == NULL || here[0] != '/')
		return false;
	while (path[0] == '.' && path[1] == '/')
		for (path += 2; path[0] == '/';)
			path++;
	const int n = snprintf(out, PATH_SIZE, "%s%s%s", here, here[1] == '\0' ? "" : "/", path);
	return n > 0 && n < PATH_SIZE;
}

static sw_status make_absolute(const cJSON *dataset, const char *key)
{
	cJSON *given = cJSON_GetObjectItemCaseSensitive(dataset, key);
	char path[PATH_SIZE];

	if (!cJSON_IsString(given) || !resolve(given->valuestring, path))
		return SW_OK; /* the daemon says what is wrong with it, if anything is */
	return cJSON_SetValuestring(given, path) != NULL ? SW_OK : SW_NOMEM;
}

/* --- where its program runs --- */

/* The object under key, made if there is none; NULL: no memory, or there is something else. */
static cJSON *need_object(cJSON *parent, const char *key)
{
	cJSON *v = cJSON_GetObjectItemCaseSensitive(parent, key);

	if (v != NULL)
		return cJSON_IsObject(v) ? v : NULL;
	return cJSON_AddObjectToObject(parent, key);
}

static sw_status fill_cwd(cJSON *run, struct sw_err *err)
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
	const bool set = given != NULL ? cJSON_SetValuestring(given, path) != NULL
				       : cJSON_AddStringToObject(run, "cwd", path) != NULL;
	return set ? SW_OK : SW_NOMEM;
}

static sw_status fill_variable(cJSON *run, const char *name)
{
	const char *value = getenv(name);
	cJSON *env;

	/* the spec's own word counts more than the shell that it is submitted from */
	if (value == NULL || sw_json_get(sw_json_get(run, "env"), name) != NULL)
		return SW_OK;
	env = need_object(run, "env");
	if (env == NULL)
		return sw_json_get(run, "env") != NULL ? SW_OK : SW_NOMEM;
	return cJSON_AddStringToObject(env, name, value) != NULL ? SW_OK : SW_NOMEM;
}

static sw_status fill_variables(cJSON *run, const cJSON *command)
{
	char name[NAME_MAX_BYTES];
	const cJSON *word;
	sw_status rc = SW_OK;

	cJSON_ArrayForEach (word, command) {
		const char *at = cJSON_IsString(word) ? word->valuestring : "";

		while (rc == SW_OK && sw_command_next_variable(&at, name, sizeof name))
			rc = fill_variable(run, name);
	}
	return rc;
}

/* The daemon was started elsewhere: without these the program would not find its packages. */
static sw_status fill_virtual_environment(cJSON *run)
{
	static const char *const names[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
	sw_status rc = SW_OK;
	bool active = false;

	for (size_t i = 0; i < sizeof names / sizeof *names && rc == SW_OK; i++)
		if (getenv(names[i]) != NULL) {
			active = true;
			rc = fill_variable(run, names[i]);
		}
	return rc == SW_OK && active ? fill_variable(run, "PATH") : rc;
}

/* Into a spec with "command" or "program": run.cwd, the current folder, where there is none; a
 * relative one is taken from there. run.env gets the variables that the command names by
 * ${envvar:NAME}, where it has not them and the environment has; and of an active virtual
 * environment PATH and VIRTUAL_ENV or CONDA_PREFIX. SW_NOMEM; SW_IO: there is no current folder. */
static sw_status fill_run(cJSON *spec, struct sw_err *err)
{
	const cJSON *command = sw_json_get(spec, "command");

	if (command == NULL && sw_json_get(spec, "program") == NULL)
		return SW_OK; /* the worker trains it: no program of the user's runs */
	cJSON *run = need_object(spec, "run");
	if (run == NULL)
		return sw_json_get(spec, "run") != NULL ? SW_OK : SW_NOMEM;
	sw_status rc = fill_cwd(run, err);
	if (rc == SW_OK)
		rc = fill_variables(run, command);
	return rc == SW_OK ? fill_virtual_environment(run) : rc;
}

sw_status sw_spec_path_absolute(cJSON *spec, struct sw_err *err)
{
	static const char *const keys[] = {"path", "label_path", "val_path", "val_label_path"};
	const cJSON *dataset = sw_json_get(sw_json_get(spec, "trainer"), "dataset");
	sw_status rc = SW_OK;

	for (size_t i = 0; rc == SW_OK && i < sizeof keys / sizeof keys[0]; i++)
		rc = make_absolute(dataset, keys[i]);
	if (rc == SW_OK)
		rc = fill_run(spec, err);
	return rc == SW_OK ? rc : sw_err_set(err, rc, "%s", sw_status_str(rc));
}
