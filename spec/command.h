/*
 * spec/command.h — a sweep whose trials are the user's own program: its argument list, with W&B's
 * macros in it.
 *
 *   ${env}                    /usr/bin/env
 *   ${interpreter}            python
 *   ${program}                the spec's "program"
 *   ${args}                   --k=v for each parameter, a word each
 *   ${args_no_equals}         --k v, two words each
 *   ${args_no_hyphens}        k=v
 *   ${args_no_boolean_flags}  --k where the value is true, nothing where it is false, else --k=v
 *   ${args_append_hydra}      +k=v
 *   ${args_override_hydra}    ++k=v
 *   ${args_json}              the parameters as one JSON text
 *   ${args_json_file}         the path of a file with that text
 *   ${trial_dir}              that of SWEEPD_TRIAL_DIR, also all of run.cwd
 *   ${envvar:NAME}            the value of an environment variable
 *
 * Those that may be several words (${args} and the five after it) stand alone in theirs, the
 * others may have text around them. true, false and null are written True, False and None, as
 * Python scripts read them from W&B; lists and groups of parameters as JSON.
 *
 * Pure.
 * Source   W&B's "Sweep configuration options", the section about command macros.
 */
#ifndef SW_SPEC_COMMAND_H
#define SW_SPEC_COMMAND_H

#include "base/status.h"
#include <cjson/cJSON.h>
#include <stdbool.h>

#define SW_COMMAND_TRIAL_DIR "${trial_dir}"

struct sw_command_values {
	const cJSON *params;     /* an object */
	const char *program;     /* NULL: none */
	const char *interpreter; /* NULL: "python" */
	const char *json_file;   /* the path for ${args_json_file} */
	/* The value of an environment variable, or NULL. */
	const char *(*variable)(void *user, const char *name);
	void *user;
};

/* What "program" alone stands for: ${env} ${interpreter} ${program} ${args}. The caller's; NULL: no
 * memory. */
cJSON *sw_command_default(void);

/* SW_INVALID at "/command/2" unless the array, which passed the check against schema.json, is one
 * of strings without a macro that is not known; after the first a number or a boolean is a word,
 * too. program: the spec's, or NULL. */
SW_NODISCARD sw_status sw_command_check(const cJSON *command, const char *program,
					struct sw_err *err);

/* Does a command that was checked have the macro ("args_json_file")? */
bool sw_command_has(const cJSON *command, const char *macro);

/* Is its ${program} a module's name, behind python's -m? */
bool sw_command_is_module(const cJSON *command);

/* The argument list of a command that was checked; *out ends with NULL and is freed with one
 * free(). SW_INVALID: a variable is not set; SW_TOO_BIG: over 1 MiB in all; SW_NOMEM. */
SW_NODISCARD sw_status sw_command_expand(char ***out, const cJSON *command,
					 const struct sw_command_values *values,
					 struct sw_err *err);

#endif
