/* "command", "program" and "run": trials that are the user's own program. */
#include "spec/command.h"
#include "base/memory.h"
#include "proto/json.h"
#include "spec/read/read.h"
#include <stdio.h>
#include <string.h>

#define MAX_VARIABLES 256
#define MAX_GRACE_S   3600.0
#define MAX_PROCESSES 4194304 /* the most that Linux has */

sw_status sw_spec_program_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	if (!cJSON_IsString(v) || v->valuestring[0] == '\0')
		return sw_err_at(err, SW_INVALID, "/program",
				 "\"program\" must be the name of a script, such as \"train.py\"");
	s->program = v->valuestring;
	/* "command", which is read next, names the program by ${program}. */
	if (sw_json_get(s->tree, "command") != NULL)
		return SW_OK;
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

static sw_status check_cwd(const cJSON *v, struct sw_err *err)
{
	if (v == NULL)
		return sw_err_at(err, SW_INVALID, "/cwd",
				 "\"cwd\" is missing: the absolute path of the folder in which the "
				 "command is run (`sweep submit` fills in its own)");
	if (!cJSON_IsString(v) ||
	    (v->valuestring[0] != '/' && strcmp(v->valuestring, SW_COMMAND_TRIAL_DIR) != 0))
		return sw_err_at(err, SW_INVALID, "/cwd",
				 "\"cwd\" must be an absolute path, or " SW_COMMAND_TRIAL_DIR);
	return SW_OK;
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
				 "a variable's value must be a string, not %s", sw_spec_kind(v));
	return SW_OK;
}

static sw_status check_env(const cJSON *env, struct sw_err *err)
{
	const cJSON *v;
	sw_status rc = SW_OK;

	/* "env" adds to the environment, and may be left out. */
	if (env == NULL)
		return SW_OK;
	if (!cJSON_IsObject(env))
		return sw_err_at(err, SW_INVALID, "/env",
				 "\"env\" must be an object like {\"OMP_NUM_THREADS\": \"2\"}");
	if (cJSON_GetArraySize(env) > MAX_VARIABLES)
		return sw_err_at(err, SW_INVALID, "/env", "more than %d variables", MAX_VARIABLES);
	cJSON_ArrayForEach (v, env) {
		if (rc == SW_OK)
			rc = check_variable(v, err);
	}
	return rc;
}

static sw_status check_umask(const cJSON *v, struct sw_err *err)
{
	const char *text = cJSON_GetStringValue(v);

	if (v == NULL || (text != NULL && strlen(text) == 3 && strspn(text, "01234567") == 3))
		return SW_OK; /* without it that of the daemon's workers counts */
	return sw_err_at(err, SW_INVALID, "/umask",
			 "\"umask\" must be three octal digits as a string, like \"027\" (`sweep "
			 "submit` fills in its own)");
}

static sw_status check_on_oom(const struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	static const char *const known[] = {"halve"};
	static const struct sw_spec_keys keys = {known, 1, NULL, 0};
	const cJSON *halve = sw_json_get(v, "halve");

	/* Without it a trial that runs out of memory has failed. */
	if (v == NULL)
		return SW_OK;
	if (!cJSON_IsObject(v) || v->child == NULL)
		return sw_err_at(err, SW_INVALID, "/on_oom",
				 "\"on_oom\" must be an object like {\"halve\": \"batch_size\"}");
	sw_status rc = sw_spec_check_keys(v, &keys, err);
	if (rc != SW_OK) {
		sw_err_prefix(err, "/on_oom");
		return rc;
	}
	const int i = cJSON_IsString(halve) ? sw_spec_param_find(s, halve->valuestring) : -1;
	if (i < 0 || s->params[i].group != NULL || sw_spec_param_word(&s->params[i]) != NULL)
		return sw_err_at(err, SW_INVALID, "/on_oom/halve",
				 "\"halve\" must be the name of a parameter that is a number");
	return SW_OK;
}

static sw_status check_launch(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	const char *how = cJSON_GetStringValue(v);

	/* Once is the default. */
	if (v == NULL)
		return SW_OK;
	if (how == NULL || (strcmp(how, "once") != 0 && strcmp(how, "rank") != 0))
		return sw_err_at(
			err, SW_INVALID, "/launch",
			"\"launch\" must be \"once\", or \"rank\" for a process on each slot");
	s->launch_ranks = strcmp(how, "rank") == 0;
	return SW_OK;
}

static sw_status check_run(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	static const char *const known[] = {"cwd",           "env",    "umask",     "grace_s",
					    "on_oom",        "launch", "timeout_s", "silence_s",
					    "max_processes", "warm"};
	static const struct sw_spec_keys keys = {known, SW_SPEC_N(known), NULL, 0};
	double seconds;
	uint64_t processes;
	bool warm;

	sw_status rc = sw_spec_check_keys(v, &keys, err);
	if (rc == SW_OK)
		rc = check_cwd(sw_json_get(v, "cwd"), err);
	if (rc == SW_OK)
		rc = check_env(sw_json_get(v, "env"), err);
	if (rc == SW_OK)
		rc = check_umask(sw_json_get(v, "umask"), err);
	if (rc == SW_OK)
		rc = sw_spec_key_real(v, "grace_s", 0, false, MAX_GRACE_S, &seconds, err);
	if (rc == SW_OK)
		rc = sw_spec_key_real(v, "timeout_s", 0, true, SW_SPEC_MAX_TIME_S, &seconds, err);
	if (rc == SW_OK)
		rc = sw_spec_key_real(v, "silence_s", 0, true, SW_SPEC_MAX_TIME_S, &seconds, err);
	if (rc == SW_OK)
		rc = sw_spec_key_u64(v, "max_processes", 1, MAX_PROCESSES, &processes, err);
	if (rc == SW_OK)
		rc = sw_spec_key_bool(v, "warm", &warm, err);
	if (rc == SW_OK)
		rc = check_on_oom(s, sw_json_get(v, "on_oom"), err);
	if (rc == SW_OK)
		rc = check_launch(s, sw_json_get(v, "launch"), err);
	return rc;
}

sw_status sw_spec_run_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	if (!cJSON_IsObject(v))
		return sw_err_at(err, SW_INVALID, "/run",
				 "\"run\" must be an object like {\"cwd\": \"/home/me/project\"}, "
				 "not %s",
				 sw_spec_kind(v));
	s->run = v;
	const sw_status rc = check_run(s, v, err);
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
