/* tests/daemon/sweep/files/test_passed.c — the environment that comes with a submission: what is
 * kept of it, where, and for whom to read. */
#include "daemon/daemon.h"
#include "daemon/sweep/files/passed.h"
#include "tests/run.h"
#include <sys/stat.h>

static struct sw_daemon d;

static void setup(void)
{
	strcpy(d.config.state, "/tmp/sw-passed-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(d.config.state));
}

static void teardown(void)
{
	char command[PATH_MAX + 16];

	(void)snprintf(command, sizeof command, "rm -rf %s", d.config.state);
	ck_assert_int_eq(system(command), 0);
}

/* What the file of sweep 3 says after it was written from a text; "": there is none. */
static const char *kept(const char *text, sw_status want, struct sw_err *err)
{
	static char out[1000];
	cJSON *env = text != NULL ? cJSON_Parse(text) : NULL;
	char path[SW_PASSED_PATH_MAX];
	struct stat st;

	ck_assert_int_eq(sw_passed_write(&d, 3, env, err), want);
	cJSON_Delete(env);
	sw_passed_path(&d, 3, path);
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return "";
	ck_assert(fstat(fileno(f), &st) == 0 && (st.st_mode & 0777) == 0600);
	out[fread(out, 1, sizeof out - 1, f)] = '\0';
	(void)fclose(f);
	return out;
}

static const struct {
	const char *name;
	bool stays;
} names[] = {
	{"PATH", true},
	{"TERM", false},
	{"TERM_PROGRAM", false},
	{"MYTERM", true},
	{"SSH_AUTH_SOCK", false},
	{"SSHD", true},
	{"_", false},
	{"_LMFILES_", true},
	{"PWD", false},
	{"PWDS", true},
	{"RANK", false},
	{"RANKS", true},
	{"SLURM_PROCID", false},
	{"CUDA_VISIBLE_DEVICES", false},
	{"CUDA_HOME", true},
	{"SWEEPD_SOCKET", false},
	{"WANDB_RUN_ID", false},
	{"WANDB_API_KEY", true},
	{"BASH_FUNC_module%%", true},
	{"OMP_NUM_THREADS", true},
};

TEST_ROWS(passed_variable_of_a_login_is_left_out, names)
{
	struct sw_err err = SW_ERR_INIT;
	char text[100], want[100];

	(void)snprintf(text, sizeof text, "{\"%s\":\"a\\nb\"}", names[_i].name);
	(void)snprintf(want, sizeof want, "%s", names[_i].stays ? text : "{}");
	ck_assert_str_eq(kept(text, SW_OK, &err), want);
}

TEST(passed_environment_that_is_empty_is_not_none)
{
	struct sw_err err = SW_ERR_INIT;

	ck_assert_str_eq(kept("{}", SW_OK, &err), "{}");
	ck_assert_str_eq(kept(NULL, SW_OK, &err), ""); /* and that of a crash goes */
	ck_assert_str_eq(kept("{\"A\":1}", SW_INVALID, &err), "");
	ck_assert_str_eq(err.msg, "the value of A must be a string");
	err = (struct sw_err)SW_ERR_INIT;
	ck_assert_str_eq(kept("{\"B\":\"x\",\"A=\":\"y\"}", SW_INVALID, &err), "");
	ck_assert_str_eq(err.msg, "\"A=\" is no variable's name");
	ck_assert_str_eq(err.ptr, "/env");
}

RUN_TESTS(setup, teardown)
