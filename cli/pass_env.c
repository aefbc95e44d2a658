#include "cli/pass_env.h"
#include <stdio.h>
#include <string.h>

extern char **environ;

/* pattern: "NAME", or "PREFIX*". entry: "NAME=value". */
static bool matches(const char *pattern, const char *entry, size_t n)
{
	const size_t m = strcspn(pattern, "*");

	return strncmp(pattern, entry, m) == 0 && (pattern[m] == '*' || m == n);
}

static bool is_passed(const cJSON *list, const char *entry, size_t n)
{
	/* of a run of the submitter's own */
	static const char *const own[] = {"WANDB_SERVICE", "WANDB_RUN_ID", "WANDB_SWEEP_ID",
					  "WANDB_SWEEP_PARAM_PATH"};
	const cJSON *v;

	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (matches(own[i], entry, n))
			return false;
	if (matches("WANDB_*", entry, n) || matches("HF_*", entry, n) || matches("AWS_*", entry, n))
		return true;
	cJSON_ArrayForEach (v, list)
		if (cJSON_IsString(v) && matches(v->valuestring, entry, n))
			return true;
	return false;
}

void sw_pass_env_write(struct sw_jw *w, const cJSON *spec)
{
	const cJSON *list = sw_json_get(sw_json_get(spec, "run"), "env_pass");
	char name[256];

	if (sw_json_get(spec, "command") == NULL && sw_json_get(spec, "program") == NULL)
		return;
	sw_jw_kobj(w, "env");
	for (char **at = environ; *at != NULL; at++) {
		const size_t n = strcspn(*at, "=");

		if (n >= sizeof name || (*at)[n] != '=' || !is_passed(list, *at, n))
			continue;
		(void)snprintf(name, sizeof name, "%.*s", (int)n, *at);
		sw_jw_kstr(w, name, *at + n + 1);
	}
	sw_jw_obj_end(w);
}
