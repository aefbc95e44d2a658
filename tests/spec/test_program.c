/* tests/spec/test_program.c — "command", "program" and "run": a sweep of the user's own program. */
#include "tests/spec/spec_text.h"

#define SEARCH                                                                                     \
	"{" METRIC ",'parameters':{'lr':{'min':0.0,'max':1.0},'bs':{'values':[16,32]},"            \
	"'one':{'value':4},'opt':{'values':['sgd',2]},'g':{'parameters':{'wd':{'value':1}}}}"
#define PROGRAM SEARCH ",'program':'train.py'"
#define CWD     "'run':{'cwd':'/home/me'}"
#define RUN(x)  PROGRAM ",'run':{'cwd':'/home/me'," x "}}"

TEST(program_alone_is_the_usual_command)
{
	struct sw_spec *s = read_spec(PROGRAM "," CWD "}");

	ck_assert(!sw_spec_driven(s));
	ck_assert_str_eq(s->program, "train.py");
	ck_assert_int_eq(cJSON_GetArraySize(s->command), 4);
	ck_assert_str_eq(cJSON_GetArrayItem(s->command, 3)->valuestring, "${args}");
	ck_assert_str_eq(sw_json_get(s->run, "cwd")->valuestring, "/home/me");
}

TEST(program_beside_command_is_its_macro)
{
	struct sw_spec *s =
		read_spec(PROGRAM ",'command':['uv','run','${program}'],'checkpoint':{}," CWD "}");
	struct sw_spec *plain = read_spec(SEARCH ",'command':['a','${args}']," CWD "}");

	ck_assert_str_eq(s->program, "train.py");
	ck_assert_int_eq(cJSON_GetArraySize(s->command), 3);
	ck_assert_ptr_null(s->usual_command);
	ck_assert_ptr_null(plain->program);
	ck_assert(!sw_spec_driven(plain));
}

TEST(program_takes_every_key_of_run)
{
	struct sw_spec *s = read_spec(RUN(
		"'env':{'A_1':'x','_b':''},'umask':'027','grace_s':0.5,'on_oom':{'halve':'bs'}"));

	ck_assert_ptr_eq(s->run, sw_json_get(s->tree, "run"));
	(void)read_spec(RUN("'env':{},'grace_s':0,'timeout_s':0.5,'silence_s':9e8,'"
			    "max_processes':1,'on_oom':{'halve':'one'}"));
}

#define HALVE "\"halve\" must be the name of a parameter that is a number"

#define UMASK                                                                                      \
	"\"umask\" must be three octal digits as a string, like \"027\" (`sweep submit` fills in " \
	"its own)"

static const struct {
	const char *text, *ptr, *msg;
} bad[] = {
	{SEARCH ",'command':['a','${x}']," CWD "}", "/command/1",
	 "unknown macro ${x}: it is one of ${env}, ${interpreter}, ${program}, ${args}, "
	 "${args_no_equals}, ${args_no_hyphens}, ${args_no_boolean_flags}, "
	 "${args_append_hydra}, ${args_override_hydra}, ${args_json}, ${args_json_file}, "
	 "${trial_dir}, ${envvar:NAME}"},
	{PROGRAM "}", "/run",
	 "\"run\" is missing: {\"cwd\": \"/the/folder\"}, in which the command is run (`sweep "
	 "submit` fills in its own)"},
	{SEARCH "," CWD "}", "/run", "\"run\" needs \"command\" or \"program\""},
	{TRAIN "{" REST "},'command':['a']," CWD "}", "/command",
	 "\"command\" beside \"trainer\": a trial is run by one of them"},
	{TRAIN "{" REST "},'program':'a'," CWD "}", "/program",
	 "\"program\" beside \"trainer\": a trial is run by one of them"},
	{PROGRAM ",'run':{}}", "/run/cwd",
	 "\"cwd\" is missing: the absolute path of the folder in which the command is run (`sweep "
	 "submit` fills in its own)"},
	{PROGRAM ",'run':{'cwd':'me'}}", "/run/cwd",
	 "\"cwd\" must be an absolute path, or ${trial_dir}"},
	{PROGRAM ",'run':{'cwd':'${trial_dir}/x'}}", "/run/cwd",
	 "\"cwd\" must be an absolute path, or ${trial_dir}"},
	{RUN("'env':{'A=':'b'}"), "/run/env/A=", "\"A=\" is no variable's name"},
	{RUN("'env':{'1A':'b'}"), "/run/env/1A", "\"1A\" is no variable's name"},
	{RUN("'env':{'':'b'}"), "/run/env/", "\"\" is no variable's name"},
	{RUN("'env':{'A':1}"), "/run/env/A", "a variable's value must be a string, not a number"},
	{RUN("'env':{'SWEEPD_TRIAL':'1/7'}"), "/run/env/SWEEPD_TRIAL",
	 "variables named SWEEPD_... are sweepd's"},
	{RUN("'umask':'27'"), "/run/umask", UMASK},
	{RUN("'umask':'0027'"), "/run/umask", UMASK},
	{RUN("'umask':'028'"), "/run/umask", UMASK},
	{RUN("'on_oom':{'halve':'batch'}"), "/run/on_oom/halve", HALVE},
	{RUN("'on_oom':{'halve':'opt'}"), "/run/on_oom/halve", HALVE},
	{RUN("'on_oom':{'halve':'g.wd'}"), "/run/on_oom/halve", HALVE},
	{"{'method':'random','metric':{'name':'step'},'parameters':{'lr':{'min':0.0,'max':1.0}},"
	 "'program':'train.py'," CWD "}",
	 "/metric/name",
	 "a program's metric cannot be named \"step\": that key of a report has another meaning"},
	{PROGRAM ",'checkpoint':{'every':2}," CWD "}", "/checkpoint/every",
	 "\"every\" is for trainers: a program says itself when its state is whole"},
};

TEST_ROWS(program_bad_spec_is_refused, bad)
{
	check_refused(bad[_i].text, bad[_i].ptr, bad[_i].msg);
}

TEST(program_has_cores_and_no_lease)
{
	static const char *const want[] = {
		"/lease_s", "\"lease_s\" has no effect: trials on slots have no lease"};
	struct sw_spec *s = read_spec(PROGRAM ",'resources':{'cpu':2},'gpu_hours':1," CWD "}");

	ck_assert_uint_eq(s->cpu, 2);
	ck_assert_uint_eq(s->n_warnings, 0);
	check_warned(PROGRAM ",'lease_s':5," CWD "}", want, 2);
}

RUN_TESTS(NULL, NULL)
