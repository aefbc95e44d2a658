/* tests/cli/test_spec_path.c — the data file of a spec: made absolute, and nothing else changed. */
#include "base/memory.h"
#include "cli/spec_path.h"
#include "proto/json.h"
#include "tests/run.h"
#include "tests/walk.h"
#include <sys/stat.h>

/* The tests run in the root of the tree, where this file is a file. %s: that folder. */
#define HERE "tests/cli/test_spec_path.c"

static const struct {
	const char *text, *want; /* want NULL: as it is */
} rows[] = {
	{"{\"trainer\": {\"dataset\": {\"path\": \"" HERE "\", \"label\": -1}}, \"min\": 5.0}",
	 "{\"trainer\":{\"dataset\":{\"path\":\"%s/" HERE "\",\"label\":-1}},\"min\":5.0}"},
	{"{\"trainer\":{\"dataset\":{\"path\":\".//./" HERE "\"}},\"n\":1e3}",
	 "{\"trainer\":{\"dataset\":{\"path\":\"%s/" HERE "\"}},\"n\":1000.0}"},
	{"{\"trainer\":{\"dataset\":{\"path\":\"/tmp\",\"label_path\":\"tests/"
	 "cli\",\"val_path\":\"no/such\"}}}",
	 "{\"trainer\":{\"dataset\":{\"path\":\"/tmp\",\"label_path\":\"%s/tests/"
	 "cli\",\"val_path\":\"no/such\"}}}"},
	{"{\"trainer\":{\"dataset\":{\"path\":\"no/such.csv\"}},\"min\":5.0}", NULL},
	{"{\"trainer\":{\"dataset\":{\"path\":\"/etc/passwd\"}}}", NULL},
	{"{\"trainer\":{\"dataset\":{\"path\":\"\"}}}", NULL},
	{"{\"trainer\":{\"dataset\":{\"path\":7}}}", NULL},
	{"{\"trainer\":{\"dataset\":{\"name\":\"digits\"}}}", NULL},
	{"{\"trainer\":[],\"path\":\"" HERE "\"}", NULL},
	{"[1]", NULL},
	{"{\"program\": \"t.py\"}",
	 "{\"program\":\"t.py\",\"run\":{\"cwd\":\"%s\",\"umask\":\"027\"}}"},
	{"{\"command\": [\"a\"], \"run\": {\"cwd\": \"sub\", \"env\": {\"A\": \"b\"}}}",
	 "{\"command\":[\"a\"],\"run\":{\"cwd\":\"%s/"
	 "sub\",\"env\":{\"A\":\"b\"},\"umask\":\"027\"}}"},
	{"{\"command\":[\"a\"],\"run\":{\"cwd\":\"/x\",\"umask\":\"002\"},\"q\":5.0}", NULL},
	{"{\"command\":[\"a\"],\"run\":{\"cwd\":7,\"umask\":2}}", NULL},
	{"{\"command\":7,\"run\":[]}", NULL},
	{"{\"run\":{}}", NULL},
	/* a script is not in the trial's own folder */
	{"{\"program\":\"" HERE "\",\"run\":{\"cwd\":\"${trial_dir}\",\"umask\":\"027\"}}",
	 "{\"program\":\"%s/" HERE "\",\"run\":{\"cwd\":\"${trial_dir}\",\"umask\":\"027\"}}"},
	{"{\"program\":\"no.py\",\"run\":{\"cwd\":\"${trial_dir}\",\"umask\":\"027\"}}", NULL},
	/* what a program's words name is found where it runs */
	{"{\"command\":[\"${envvar:HOME}\"],\"run\":{\"cwd\":\"/x\",\"umask\":\"000\"}}", NULL},
};

TEST_ROWS(spec_path_row_becomes_its_text, rows)
{
	struct sw_err err = SW_ERR_INIT;
	char here[2048], want[4096];
	cJSON *spec;
	struct sw_buf b;
	struct sw_jw w;

	ck_assert_ptr_nonnull(getcwd(here, sizeof here));
	(void)umask(027);
	(void)snprintf(want, sizeof want, "%s", rows[_i].text);
	const char *gap = rows[_i].want != NULL ? strstr(rows[_i].want, "%s") : NULL;
	if (rows[_i].want != NULL && gap == NULL)
		(void)snprintf(want, sizeof want, "%s", rows[_i].want);
	if (gap != NULL)
		(void)snprintf(want, sizeof want, "%.*s%s%s", (int)(gap - rows[_i].want),
			       rows[_i].want, here, gap + 2);
	ck_assert_int_eq(sw_json_parse(&spec, rows[_i].text, strlen(rows[_i].text), NULL), SW_OK);
	ck_assert_msg(sw_spec_path_absolute(spec, NULL, &err) == SW_OK, "%s", err.msg);
	sw_buf_init(&b, 10000);
	sw_jw_init(&w, &b);
	sw_jw_cjson(&w, spec);
	ck_assert_str_eq(b.data, want);
	sw_buf_fini(&b);
	cJSON_Delete(spec);
}

/* A project's spec may be submitted from anywhere; what lies in the current folder goes before. */
TEST(what_is_not_here_is_looked_for_beside_the_spec)
{
	static const char text[] =
		"{\"program\":\"t.py\",\"trainer\":{\"dataset\":{\"path\":\"./d.csv\","
		"\"val_path\":\"README.md\",\"label_path\":\"no.csv\"}},\"run\":{\"umask\":\"027\"}"
		"}";
	char beside[] = "/tmp/beside-XXXXXX", file[64], here[2048], want[4096];
	struct sw_err err = SW_ERR_INIT;
	cJSON *spec;

	ck_assert_ptr_nonnull(mkdtemp(beside));
	ck_assert_ptr_nonnull(getcwd(here, sizeof here));
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = {"t.py", "d.csv", "README.md"};
		(void)snprintf(file, sizeof file, "%s/%s", beside, names[i]);
		FILE *f = fopen(file, "w");
		ck_assert_ptr_nonnull(f);
		(void)fclose(f);
	}
	ck_assert_int_eq(sw_json_parse(&spec, text, strlen(text), NULL), SW_OK);
	ck_assert_msg(sw_spec_path_absolute(spec, beside, &err) == SW_OK, "%s", err.msg);
	(void)snprintf(want, sizeof want,
		       "{\"program\":\"t.py\",\"trainer\":{\"dataset\":{\"path\":\"%s/d.csv\","
		       "\"val_path\":\"%s/README.md\",\"label_path\":\"no.csv\"}},"
		       "\"run\":{\"umask\":\"027\",\"cwd\":\"%s\"}}",
		       beside, here, beside);
	char *got = cJSON_PrintUnformatted(spec);
	ck_assert_str_eq(got, want);
	cJSON_free(got);
	cJSON_Delete(spec);
}

static const char *const changed[] = {
	"{\"trainer\": {\"dataset\": {\"path\": \"" HERE "\"}}}",
	"{\"program\": \"t.py\", \"command\": [\"a\"]}",
};

TEST_ROWS(spec_path_without_memory_fails_cleanly_at_each_call, changed)
{
	cJSON_Hooks hooks = {.malloc_fn = sw_malloc, .free_fn = free};

	cJSON_InitHooks(&hooks);
	WALK (SW_FAULT_MALLOC, 1) {
		struct sw_err err = SW_ERR_INIT;
		cJSON *spec;

		ck_assert_int_eq(sw_json_parse(&spec, changed[_i], strlen(changed[_i]), NULL),
				 SW_OK);
		walk_arm();
		const sw_status rc = sw_spec_path_absolute(spec, NULL, &err);
		const unsigned fired = walk_disarm();
		ck_assert_int_eq(rc, fired ? SW_NOMEM : SW_OK);
		ck_assert_int_eq(err.code, rc);
		cJSON_Delete(spec);
	}
}

RUN_TESTS(NULL, NULL)
