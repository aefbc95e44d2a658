/* tests/spec/test_command.c — a command's macros: which are refused, and what each becomes. */
#include "spec/command.h"
#include "tests/spec/spec_text.h"
#include "tests/walk.h"

#define PARAMS                                                                                     \
	"{'lr':0.1,'layers':5,'scale':5.0,'opt':'sgd a','fast':true,'slow':false,'none':null,"     \
	"'wide':[1,2],'g':{'wd':0.5}}"
#define PARAMS_JSON                                                                                \
	"{\"lr\":0.1,\"layers\":5,\"scale\":5.0,\"opt\":\"sgd a\",\"fast\":true,\"slow\":false,"   \
	"\"none\":null,\"wide\":[1,2],\"g\":{\"wd\":0.5}}"

static const char *variable(void *user, const char *name)
{
	ck_assert_str_eq(user, "user");
	return strcmp(name, "DATA") == 0 ? "/data" : NULL;
}

/* Each word is followed by a bar. */
static void joined(char **list, char *out, size_t cap)
{
	size_t n = 0;

	*out = '\0';
	for (size_t i = 0; list[i] != NULL; i++)
		n += (size_t)snprintf(out + n, cap - n, "%s|", list[i]);
}

static const struct {
	const char *command, *want;
} expanded[] = {
	{"['${env}','${interpreter}','${program}','end']", "/usr/bin/env|python|train.py|end|"},
	{"['a','${args}']",
	 "a|--lr=0.1|--layers=5|--scale=5.0|--opt=sgd a|--fast=True|--slow=False|"
	 "--none=None|--wide=[1,2]|--g={\"wd\":0.5}|"},
	{"['a','${args_no_equals}']",
	 "a|--lr|0.1|--layers|5|--scale|5.0|--opt|sgd a|--fast|True|--slow|False|--none|None|"
	 "--wide|[1,2]|--g|{\"wd\":0.5}|"},
	{"['a','${args_no_hyphens}']", "a|lr=0.1|layers=5|scale=5.0|opt=sgd a|fast=True|slow=False|"
				       "none=None|wide=[1,2]|g={\"wd\":0.5}|"},
	{"['a','${args_no_boolean_flags}']", "a|--lr=0.1|--layers=5|--scale=5.0|--opt=sgd a|--fast|"
					     "--none=None|--wide=[1,2]|--g={\"wd\":0.5}|"},
	{"['a','${args_append_hydra}']", "a|+lr=0.1|+layers=5|+scale=5.0|+opt=sgd a|+fast=True|"
					 "+slow=False|+none=None|+wide=[1,2]|+g={\"wd\":0.5}|"},
	{"['a','${args_override_hydra}']",
	 "a|++lr=0.1|++layers=5|++scale=5.0|++opt=sgd a|++fast=True|"
	 "++slow=False|++none=None|++wide=[1,2]|++g={\"wd\":0.5}|"},
	{"['a',10,1.0,'x',true,false]", "a|10|1.0|x|True|False|"},
	{"['a','${args_json}']", "a|" PARAMS_JSON "|"},
	{"['a','--config=${args_json_file}.x']", "a|--config=/tmp/p.json.x|"},
	{"['${envvar:DATA}/${program}:${envvar:DATA}']", "/data/train.py:/data|"},
	{"['sh','','$HOME ${ $x} {}']", NULL}, /* "${ $x}" is a macro that is not known */
	{"['sh','','$HOME ${','}']", "sh||$HOME ${|}|"},
};

TEST_ROWS(command_macros_become_words, expanded)
{
	const struct sw_command_values values = {
		.params = parse(PARAMS),
		.program = "train.py",
		.json_file = "/tmp/p.json",
		.variable = variable,
		.user = "user",
	};
	cJSON *command = parse(expanded[_i].command);
	struct sw_err err = SW_ERR_INIT;
	char **list = NULL, line[1000];

	const sw_status rc = sw_command_check(command, "train.py", &err);
	ck_assert_int_eq(rc, expanded[_i].want != NULL ? SW_OK : SW_INVALID);
	if (rc == SW_OK) {
		ck_assert_int_eq(sw_command_expand(&list, command, &values, &err), SW_OK);
		joined(list, line, sizeof line);
		ck_assert_str_eq(line, expanded[_i].want);
	}
	free(list);
	cJSON_Delete(command);
	cJSON_Delete((cJSON *)values.params);
}

TEST(command_without_parameters_leaves_the_macro_out)
{
	const struct sw_command_values values = {
		.params = parse("{}"), .interpreter = "python3", .program = "t.py"};
	cJSON *command = sw_command_default();
	struct sw_err err = SW_ERR_INIT;
	char **list = NULL, line[100];

	ck_assert_int_eq(sw_command_expand(&list, command, &values, &err), SW_OK);
	joined(list, line, sizeof line);
	ck_assert_str_eq(line, "/usr/bin/env|python3|t.py|");
	free(list);
	cJSON_Delete(command);
	cJSON_Delete((cJSON *)values.params);
}

TEST(command_with_a_variable_that_is_not_set_names_it)
{
	const struct sw_command_values values = {
		.params = NULL, .variable = variable, .user = "user"};
	cJSON *command = parse("['a','${envvar:DATA}${envvar:NOT_SET}']");
	struct sw_err err = SW_ERR_INIT;
	char **list = NULL;

	ck_assert_int_eq(sw_command_expand(&list, command, &values, &err), SW_INVALID);
	ck_assert_str_eq(err.msg, "${envvar:NOT_SET} has no value here");
	ck_assert_ptr_null(list);
	cJSON_Delete(command);
}

TEST(command_knows_which_macros_it_has)
{
	cJSON *command = parse("['a',7,'--c=${args_json_file}','${args}']");

	ck_assert(sw_command_has(command, "args_json_file"));
	ck_assert(sw_command_has(command, "args"));
	ck_assert(!sw_command_has(command, "args_json"));
	ck_assert(!sw_command_has(command, "envvar"));
	cJSON_Delete(command);
}

#define MACROS                                                                                     \
	"it is one of ${env}, ${interpreter}, ${program}, ${args}, ${args_no_equals}, "            \
	"${args_no_hyphens}, ${args_no_boolean_flags}, ${args_append_hydra}, "                     \
	"${args_override_hydra}, ${args_json}, ${args_json_file}, ${trial_dir}, ${envvar:NAME}"

static const struct {
	const char *command, *ptr, *msg;
} bad[] = {
	{"['']", "/command/0", "the program to run is empty"},
	{"['a',null]", "/command/1",
	 "\"command\" must be an array of strings (or numbers, true and false)"},
	{"['a',[1]]", "/command/1",
	 "\"command\" must be an array of strings (or numbers, true and false)"},
	{"[1]", "/command/0", "the program to run must be a string"},
	{"['a','${arg}']", "/command/1", "unknown macro ${arg}: " MACROS},
	{"['a','-x=${}']", "/command/1", "unknown macro ${}: " MACROS},
	{"['${env:X}']", "/command/0", "unknown macro ${env:X}: " MACROS},
	{"['${envvar}']", "/command/0", "unknown macro ${envvar}: " MACROS},
	{"['${envvar:}']", "/command/0", "unknown macro ${envvar:}: " MACROS},
	{"['a','-x ${args}']", "/command/1", "${args} may be several words: it must stand alone"},
	{"['a','${args_no_hyphens} ']", "/command/1",
	 "${args_no_hyphens} may be several words: it must stand alone"},
	{"['a','${program}']", "/command/1", "${program} needs \"program\""},
	{"['${args_no_boolean_flags}']", "/command/0",
	 "${args_no_boolean_flags} are arguments: the program comes first"},
	{"['${args_json}','a']", "/command/0",
	 "${args_json} are arguments: the program comes first"},
	{"['${env}','${args}']", "/command/1", "${args} are arguments: the program comes first"},
};

static const char *const good[] = {
	"['a','${args}']",
	"['${envvar:TOOL}','${args_json}']",
	"['${env}','a','${args}']",
	"['a','${args_json}','b']",
};

TEST_ROWS(command_with_a_program_before_its_arguments_is_good, good)
{
	cJSON *command = parse(good[_i]);
	struct sw_err err = SW_ERR_INIT;

	ck_assert_msg(sw_command_check(command, NULL, &err) == SW_OK, "%s", err.msg);
	cJSON_Delete(command);
}

TEST_ROWS(command_that_cannot_be_expanded_is_refused, bad)
{
	cJSON *command = parse(bad[_i].command);
	struct sw_err err = SW_ERR_INIT;

	ck_assert_int_eq(sw_command_check(command, NULL, &err), SW_INVALID);
	ck_assert_str_eq(err.msg, bad[_i].msg);
	ck_assert_str_eq(err.ptr, bad[_i].ptr);
	cJSON_Delete(command);
}

TEST(command_without_memory_is_a_clean_error)
{
	const struct sw_command_values values = {.params = parse(PARAMS), .program = "train.py"};
	cJSON *command = parse("['${program}','${args}','${args_json}']");

	WALK (SW_FAULT_MALLOC, 1) {
		struct sw_err err = SW_ERR_INIT;
		char **list = NULL;

		walk_arm();
		const sw_status rc = sw_command_expand(&list, command, &values, &err);
		const unsigned fired = walk_disarm();
		ck_assert_int_eq(rc, fired ? SW_NOMEM : SW_OK);
		ck_assert_int_eq(list == NULL, fired);
		free(list);
	}
	cJSON_Delete(command);
	cJSON_Delete((cJSON *)values.params);
}

RUN_TESTS(NULL, NULL)
