/* cli/spec_path.c — a spec's data files and its program's folder, as the daemon finds them. */
#include "cli/spec_path.h"
#include "proto/json.h"
#include "spec/command.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 4096 /* the longest path that a spec takes, and its end */

/* Where the relative path leads: from the current directory, or else from beside the spec's file.
 * False: it is not relative, or there is no such file, or its path is too long. */
static bool resolve(const char *path, const char *beside, char out[PATH_SIZE])
{
	char here[PATH_SIZE];

	if (path[0] == '\0' || path[0] == '/')
		return false;
	const bool is_here = access(path, F_OK) == 0;
	if (is_here ? getcwd(here, sizeof here) == NULL || here[0] != '/'
		    : beside == NULL || realpath(beside, here) == NULL)
		return false;
	/* "./data.csv" and "data.csv" are one file, so they become one path. */
	while (path[0] == '.' && path[1] == '/')
		for (path += 2; path[0] == '/';)
			path++;
	const int n = snprintf(out, PATH_SIZE, "%s%s%s", here, here[1] == '\0' ? "" : "/", path);
	return n > 0 && n < PATH_SIZE && (is_here || access(out, F_OK) == 0);
}

static sw_status make_absolute(const cJSON *dataset, const char *key, const char *beside)
{
	cJSON *given = cJSON_GetObjectItemCaseSensitive(dataset, key);
	char path[PATH_SIZE];

	if (!cJSON_IsString(given) || !resolve(given->valuestring, beside, path))
		return SW_OK; /* the daemon says what is wrong with it, if anything is */
	return cJSON_SetValuestring(given, path) != NULL ? SW_OK : SW_NOMEM;
}

/* --- where its program runs --- */

/* The object under key, made if it is missing; NULL: no memory, or the key holds something else. */
static cJSON *need_object(cJSON *parent, const char *key)
{
	cJSON *v = cJSON_GetObjectItemCaseSensitive(parent, key);

	if (v != NULL)
		return cJSON_IsObject(v) ? v : NULL;
	return cJSON_AddObjectToObject(parent, key);
}

/* The folder of a program that lies beside the spec's file and not in the current folder: whoever
 * submits from elsewhere means that project. Else NULL. */
static const char *home_of(const cJSON *spec, const char *beside)
{
	const char *program = sw_json_text(spec, "program", "");
	char path[PATH_SIZE];

	return access(program, F_OK) != 0 && resolve(program, beside, path) ? beside : NULL;
}

/* home: the folder to run in where none is given; NULL: the current one. */
static sw_status fill_cwd(cJSON *run, const char *home, struct sw_err *err)
{
	cJSON *given = cJSON_GetObjectItemCaseSensitive(run, "cwd");
	char here[PATH_MAX], path[2 * PATH_MAX];

	if (given != NULL && (!cJSON_IsString(given) || given->valuestring[0] == '/' ||
			      strcmp(given->valuestring, SW_COMMAND_TRIAL_DIR) == 0))
		return SW_OK; /* the daemon says what is wrong with anything else */
	if (given == NULL && home != NULL ? realpath(home, here) == NULL
					  : getcwd(here, sizeof here) == NULL)
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

/* The files of its trials have the modes that its own would have here. */
static sw_status fill_umask(cJSON *run)
{
	/* umask() can only be read by setting it. */
	const mode_t mask = umask(077);
	char text[8];

	(void)umask(mask);
	(void)snprintf(text, sizeof text, "%03o", (unsigned)mask & 0777);
	if (sw_json_get(run, "umask") != NULL)
		return SW_OK;
	return cJSON_AddStringToObject(run, "umask", text) != NULL ? SW_OK : SW_NOMEM;
}

/* Into a spec with "command" or "program": run.cwd where there is none, which is the current folder
 * or the program's (a relative one is taken from the current folder), and run.umask. SW_NOMEM;
 * SW_IO: there is no current folder. */
static sw_status fill_run(cJSON *spec, const char *beside, struct sw_err *err)
{
	if (sw_json_get(spec, "command") == NULL && sw_json_get(spec, "program") == NULL)
		return SW_OK; /* the worker trains it: no program of the user's runs */
	cJSON *run = need_object(spec, "run");
	if (run == NULL)
		return sw_json_get(spec, "run") != NULL ? SW_OK : SW_NOMEM;
	sw_status rc = fill_cwd(run, home_of(spec, beside), err);
	/* in the trial's own folder there is no such script */
	if (rc == SW_OK && strcmp(sw_json_text(run, "cwd", ""), SW_COMMAND_TRIAL_DIR) == 0)
		rc = make_absolute(spec, "program", beside);
	return rc == SW_OK ? fill_umask(run) : rc;
}

sw_status sw_spec_path_absolute(cJSON *spec, const char *beside, struct sw_err *err)
{
	static const char *const keys[] = {"path", "label_path", "val_path", "val_label_path"};
	const cJSON *dataset = sw_json_get(sw_json_get(spec, "trainer"), "dataset");
	sw_status rc = SW_OK;

	for (size_t i = 0; rc == SW_OK && i < sizeof keys / sizeof keys[0]; i++)
		rc = make_absolute(dataset, keys[i], beside);
	if (rc == SW_OK)
		rc = fill_run(spec, beside, err);
	return rc == SW_OK ? rc : sw_err_set(err, rc, "%s", sw_status_str(rc));
}
