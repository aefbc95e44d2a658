/* "command", "program" and "run": trials that are the user's own program. */
#include "spec/command.h"
#include "base/memory.h"
#include "proto/json.h"
#include "spec/forms.h"
#include "spec/read/read.h"
#include <stdio.h>
#include <string.h>

#define MAX_VARIABLES 256

sw_status sw_spec_program_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	s->program = v->valuestring;
	/* "command", which is read next, names the program by ${program}. */
	if (sw_json_get(s->tree, "command") != NULL)
		return SW_OK;
	/* usual_command is what the spec owns and frees; command may point into its tree
	 * instead. */
	s->command = s->usual_command = sw_command_default();
	return s->command != NULL ? SW_OK : sw_err_set(err, SW_NOMEM, "out of memory");
}

sw_status sw_spec_command_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	const sw_status rc = sw_spec_check_exact(v, "/command", err);

	s->command = v;
	return rc == SW_OK ? sw_command_check(v, s->program, err) : rc;
}

/* --- "run": errors are relative to it --- */

static sw_status check_cwd(const char *cwd, struct sw_err *err)
{
	if (cwd == NULL)
		return sw_err_at(err, SW_INVALID, "/cwd", "\"cwd\" is missing: %s",
				 sw_form_find(&sw_form_run, "cwd")->missing);
	/* A relative path would mean another folder on each worker's host. */
	if (*cwd == '/' || strcmp(cwd, SW_COMMAND_TRIAL_DIR) == 0)
		return SW_OK;
	return sw_spec_at_key(err, "cwd", "\"cwd\" must be %s",
			      sw_form_find(&sw_form_run, "cwd")->must);
}

static bool is_variable_name(const char *s)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";

	return strspn(s, letters) > 0 &&
	       s[strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789")] ==
		       '\0';
}

static sw_status check_variable(const cJSON *v, struct sw_err *err)
{
	char ptr[sizeof err->ptr] = "/env";

	sw_json_pointer_add(ptr, sizeof ptr, v->string);
	if (!is_variable_name(v->string))
		return sw_err_at(err, SW_INVALID, ptr, "\"%.64s\" is no variable's name",
				 v->string);
	if (strncmp(v->string, "SWEEPD_", 7) == 0)
		return sw_err_at(err, SW_INVALID, ptr, "variables named SWEEPD_... are sweepd's");
	if (!cJSON_IsString(v))
		return sw_err_at(err, SW_INVALID, ptr,
				 "a variable's value must be a string, not %s", sw_json_kind(v));
	return SW_OK;
}

/* schema.json says that it must be an object. */
static sw_status check_env(const cJSON *env, struct sw_err *err)
{
	const cJSON *v;
	sw_status rc = SW_OK;

	if (!cJSON_IsObject(env))
		return SW_OK;
	if (cJSON_GetArraySize(env) > MAX_VARIABLES)
		return sw_err_at(err, SW_INVALID, "/env", "more than %d variables", MAX_VARIABLES);
	cJSON_ArrayForEach (v, env) {
		if (rc == SW_OK)
			rc = check_variable(v, err);
	}
	return rc;
}

/* Without one that of the daemon's workers counts. */
static sw_status check_umask(const char *text, struct sw_err *err)
{
	if (text == NULL || (strlen(text) == 3 && strspn(text, "01234567") == 3))
		return SW_OK;
	return sw_spec_at_key(err, "umask", "\"umask\" must be %s",
			      sw_form_find(&sw_form_run, "umask")->must);
}

/* Without it a trial that runs out of memory has failed. */
static sw_status check_on_oom(const struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	const char *halve = sw_json_text(v, "halve", "");
	const int i = sw_spec_param_find(s, halve);

	/* A grouped parameter is not taken: the worker halves a number at the top of the trial's
	 * JSON. */
	if (!cJSON_IsObject(v) ||
	    (i >= 0 && s->params[i].group == NULL && sw_spec_param_word(&s->params[i]) == NULL))
		return SW_OK;
	return sw_err_at(err, SW_INVALID, "/on_oom/halve",
			 "\"halve\" must be the name of a parameter that is a number");
}

sw_status sw_spec_run_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	s->run = v;
	s->launch_ranks = strcmp(sw_json_text(v, "launch", ""), "rank") == 0;
	s->visible_uuid = strcmp(sw_json_text(v, "visible", ""), "uuid") == 0;
	sw_status rc = check_cwd(sw_json_text(v, "cwd", NULL), err);
	if (rc == SW_OK)
		rc = check_env(sw_json_get(v, "env"), err);
	if (rc == SW_OK)
		rc = check_umask(sw_json_text(v, "umask", NULL), err);
	if (rc == SW_OK)
		rc = check_on_oom(s, sw_json_get(v, "on_oom"), err);
	sw_err_prefix(err, "/run");
	return rc;
}

/* A report has "step" and "checkpoint" with a meaning of their own, so a metric of that name would
 * never be seen. */
static sw_status check_metrics(const struct sw_spec *s, struct sw_err *err)
{
	for (size_t i = 0; i < s->n_metrics; i++) {
		const char *name = s->metrics[i].name;

		if (strcmp(name, "step") == 0 || strcmp(name, "checkpoint") == 0)
			return sw_err_at(
				err, SW_INVALID, s->n_metrics > 1 ? "/metrics" : "/metric/name",
				"a program's metric cannot be named \"%s\": that key of a report "
				"has another meaning",
				name);
	}
	return SW_OK;
}

sw_status sw_spec_command_check(struct sw_spec *s, struct sw_err *err)
{
	const char *key = s->usual_command != NULL ? "program" : "command";
	char ptr[16];

	if (s->command == NULL && s->run != NULL)
		return sw_err_at(err, SW_INVALID, "/run",
				 "\"run\" needs \"command\" or \"program\"");
	/* A trainer or a client runs the trials. */
	if (s->command == NULL)
		return SW_OK;
	(void)snprintf(ptr, sizeof ptr, "/%s", key);
	if (s->trainer != NULL)
		return sw_err_at(err, SW_INVALID, ptr,
				 "\"%s\" beside \"trainer\": a trial is run by one of them", key);
	if (s->run == NULL)
		return sw_err_at(err, SW_INVALID, "/run",
				 "\"run\" is missing: {\"cwd\": \"/the/folder\"}, in which the "
				 "command is run (`sweep submit` fills in its own)");
	if (s->launch_ranks && s->cpu_slots == 0 && !(s->gpu > 1))
		return sw_err_at(
			err, SW_INVALID, "/run/launch",
			"\"rank\" starts a process on each slot of the trial: \"resources\" "
			"must say how many, as in {\"cpu_slots\": 2} or {\"gpu\": 2}");
	return check_metrics(s, err);
}
