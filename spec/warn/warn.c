#include "spec/warn/warn.h"
#include "proto/json.h"
#include "spec/keys.h"
#include <stdio.h>
#include <string.h>

/* A W&B sweep file has keys for where its runs are shown, what drives them and what a run without a
 * value counts as. */
static void warn_inert(struct sw_spec *s)
{
	static const char *const inert[] = {"project",    "entity", "controller",
					    "apiVersion", "kind",   "scheduler"};
	static const char *const of_metric[] = {"impute", "impute_while_running"};

	for (size_t i = 0; i < SW_SPEC_N(inert); i++) {
		char ptr[32];
		(void)snprintf(ptr, sizeof ptr, "/%s", inert[i]);
		if (sw_json_get(s->tree, inert[i]) != NULL)
			sw_spec_warn(s, ptr, "\"%s\" has no effect here", inert[i]);
	}
	for (size_t i = 0; i < SW_SPEC_N(of_metric); i++)
		if (sw_json_get(sw_json_get(s->tree, "metric"), of_metric[i]) != NULL)
			sw_spec_warn(s, "/metric",
				     "\"%s\" has no effect: samplers learn from a trial without a "
				     "value by a rule of their own",
				     of_metric[i]);
	if (s->command == NULL && sw_json_get(sw_json_get(s->tree, "resources"), "cpu") != NULL)
		sw_spec_warn(s, "/resources/cpu", "\"cpu\" has no effect without \"command\"");
}

/* What the command line reads as a number: a sweep's, or a trial's behind its sweep. */
static void warn_name(struct sw_spec *s)
{
	const char *slash = strrchr(s->name, '/'), *end = slash != NULL ? slash + 1 : s->name;

	if (end[strspn(end, "0123456789")] == '\0' && *end != '\0')
		sw_spec_warn(s, "/name",
			     "`sweep` reads \"%s\" as a %s, not as this name: give it the "
			     "sweep's number",
			     s->name, slash != NULL ? "trial" : "sweep's number");
}

void sw_spec_warn_all(struct sw_spec *s)
{
	warn_inert(s);
	warn_name(s);
	sw_spec_warn_goal(s);
	if (strcmp(s->method, "bayes") != 0 && sw_json_get(s->tree, "suggest_wait_ms") != NULL)
		sw_spec_warn(
			s, "/suggest_wait_ms",
			"\"suggest_wait_ms\" has no effect: method \"%s\" has its suggestions at "
			"once",
			s->method);
	sw_spec_warn_pruner(s);
	if (s->lease_s > 0 && !sw_spec_driven(s))
		sw_spec_warn(s, "/lease_s",
			     "\"lease_s\" has no effect: trials on slots have no lease");
}
