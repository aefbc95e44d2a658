/* tests/proto/test_methods.c — the method table, the check of parameters, rpc.discover, nearest. */
#include "base/memory.h"
#include "proto/json.h"
#include "proto/methods.h"
#include "proto/nearest.h"
#include "proto/rpc.h"
#include "tests/run.h"
#include "tests/walk.h"

static const struct {
	const char *method, *params, *ptr, *msg; /* ptr NULL: fine */
} rows[] = {
	{"sweep.get", "{\"sweep\":9007199254740991}", NULL, NULL},
	{"sweep.list", "{}", NULL, NULL},
	{"sweep.list", "[]", NULL, NULL},
	{"sweep.list", "{\"state\":\"RUNNING\"}", NULL, NULL},
	{"daemon.info", "{}", NULL, NULL},
	{"trial.report",
	 "{\"sweep\":1,\"trial\":1,\"attempt\":1,\"seq\":1,\"step\":1,\"metrics\":{}}", NULL, NULL},
	{"sweep.get", "[1]", "", "parameters go by name: params must be an object"},
	{"sweep.get", "{}", "/sweep",
	 "\"sweep\" is missing: an integer, at least 1 and at most 9007199254740991"},
	{"sweep.get", "{\"swep\":1}", "/swep",
	 "unknown parameter \"swep\"; did you mean \"sweep\"?"},
	{"sweep.get", "{\"sweep\":1,\"zzzzzzzz\":1}", "/zzzzzzzz",
	 "unknown parameter \"zzzzzzzz\"; known here: sweep"},
	{"daemon.info", "{\"a/b\":1}", "/a~1b", "unknown parameter \"a/b\"; none is known here"},
	{"sweep.get", "{\"sweep\":0}", "/sweep",
	 "\"sweep\" must be an integer, at least 1 and at most 9007199254740991"},
	{"sweep.get", "{\"sweep\":1.5}", "/sweep",
	 "\"sweep\" must be an integer, at least 1 and at most 9007199254740991, not a fraction"},
	{"sweep.get", "{\"sweep\":\"1\"}", "/sweep",
	 "\"sweep\" must be an integer, at least 1 and at most 9007199254740991, not a string"},
	{"sweep.get", "{\"sweep\":9007199254740993}", "/sweep",
	 "\"sweep\" must be an integer, at least 1 and at most 9007199254740991"},
	{"sweep.best", "{\"sweep\":1,\"n\":1001}", "/n",
	 "\"n\" must be an integer, at least 1 and at most 1000"},
	{"sweep.best", "{\"sweep\":1,\"scope\":3}", "/scope",
	 "\"scope\" must be a string, not a number"},
	{"sweep.submit", "{\"spec\":[]}", "/spec", "\"spec\" must be an object, not an array"},
	{"sweep.list", "{\"state\":\"running\"}", "/state",
	 "unknown state \"running\"; did you mean \"RUNNING\"?"},
	{"trial.report",
	 "{\"sweep\":1,\"trial\":1,\"attempt\":1,\"seq\":1,\"step\":1,\"metrics\":{},"
	 "\"checkpoint\":true}",
	 NULL, NULL},
	{"worker.report",
	 "{\"sweep\":1,\"trial\":1,\"attempt\":1,\"seq\":1,\"step\":1,\"metrics\":{},"
	 "\"checkpoint\":1}",
	 "/checkpoint", "\"checkpoint\" must be true or false, not a number"},
	{"sweep.edit",
	 "{\"sweep\":1,\"run_cap\":9,\"max_concurrent\":0,\"weight\":0.5,\"time_budget_s\":0,"
	 "\"gpu_hours\":1.5,\"target\":-3,\"ranges\":{\"lr\":{\"min\":1,\"max\":2}}}",
	 NULL, NULL},
	{"sweep.edit", "{\"sweep\":1,\"time_budget_s\":2e9}", "/time_budget_s",
	 "\"time_budget_s\" must be a number, at least 0 and at most 1000000000"},
	{"sweep.simulate", "{\"sweep\":1,\"early_terminate\":{},\"workers\":8}", NULL, NULL},
	{"worker.hello",
	 "{\"worker\":\"0123456789012345678901234567890123456789012345678901234567890123x\","
	 "\"slot\":0,\"version\":\"1\"}",
	 "/worker", "\"worker\" must be a string of 0 to 64 bytes"},
};

TEST_ROWS(methods_params_are_checked, rows)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_methods *m = NULL;
	cJSON *v = NULL;

	ck_assert_int_eq(sw_methods_load(&m, &err), SW_OK);
	ck_assert_int_eq(sw_json_parse(&v, rows[_i].params, strlen(rows[_i].params), &err), SW_OK);
	const int i = sw_methods_find(m, rows[_i].method);
	ck_assert_int_ge(i, 0);
	const sw_status rc = sw_methods_check(m, (size_t)i, v, &err);
	ck_assert_str_eq(err.msg, rows[_i].msg != NULL ? rows[_i].msg : "");
	ck_assert_str_eq(err.ptr, rows[_i].ptr != NULL ? rows[_i].ptr : "");
	ck_assert_int_eq(rc, rows[_i].ptr != NULL ? SW_INVALID : SW_OK);
	cJSON_Delete(v);
	sw_methods_destroy(m);
}

TEST(methods_are_found_by_name)
{
	struct sw_methods *m = NULL;

	ck_assert_int_eq(sw_methods_load(&m, NULL), SW_OK);
	ck_assert_uint_ge(sw_methods_size(m), 20);
	for (size_t i = 0; i < sw_methods_size(m); i++)
		ck_assert_int_eq(sw_methods_find(m, sw_methods_name(m, i)), (int)i);
	ck_assert_int_eq(sw_methods_find(m, "sweep"), -1);
	ck_assert_int_eq(sw_methods_find(m, ""), -1);
	ck_assert_int_eq(sw_methods_find(m, "zzz"), -1);
	ck_assert_int_eq(sw_methods_check(m, (size_t)sw_methods_find(m, "daemon.info"), NULL, NULL),
			 SW_OK);
	sw_methods_destroy(m);
	sw_methods_destroy(NULL);
}

TEST(methods_openrpc_lists_every_method)
{
	struct sw_methods *m = NULL;
	cJSON *doc = NULL;
	size_t n;
	const char *text = sw_methods_openrpc(&n);

	ck_assert_int_eq(sw_methods_load(&m, NULL), SW_OK);
	ck_assert_int_eq(sw_json_parse(&doc, text, n, NULL), SW_OK);
	ck_assert_str_eq(sw_json_get(doc, "openrpc")->valuestring, "1.2.6");
	const cJSON *list = sw_json_get(doc, "methods"), *one, *param, *submit = NULL;
	bool seen[500] = {false};
	size_t i = 0;
	cJSON_ArrayForEach (one, list) {
		const char *name = sw_json_get(one, "name")->valuestring;
		const int at = sw_methods_find(m, name);
		ck_assert_msg(at >= 0 && at < 500 && !seen[at], "%s", name);
		ck_assert_str_eq(name, sw_methods_name(m, (size_t)at));
		seen[at] = true;
		i++;
		submit = strcmp(name, "sweep.submit") == 0 ? one : submit;
		ck_assert(cJSON_IsObject(sw_json_get(sw_json_get(one, "result"), "schema")));
		cJSON_ArrayForEach (param, sw_json_get(one, "params"))
			ck_assert(
				cJSON_IsString(sw_json_get(sw_json_get(param, "schema"), "type")));
		const cJSON *code = sw_json_get(one, "errors");
		cJSON_ArrayForEach (param, code)
			ck_assert(cJSON_IsNumber(sw_json_get(param, "code")));
	}
	ck_assert_uint_eq(i, sw_methods_size(m));
	list = sw_json_get(submit, "errors");
	ck_assert_int_eq(cJSON_GetArraySize(list), 2);
	ck_assert_int_eq(sw_json_get(list->child, "code")->valueint, SW_RPC_INVALID_PARAMS);
	ck_assert_int_eq(sw_json_get(list->child->next, "code")->valueint, SW_RPC_DISK_FULL);
	cJSON_Delete(doc);
	sw_methods_destroy(m);
}

static const struct {
	const char *word, *near;
} words[] = {
	{"parametres", "parameters"},
	{"METHOD", "method"},
	{"methdo", "method"},
	{"sed", "seed"},
	{"name", "name"},
	{"q", NULL},
	{"xyzzy", NULL},
	{"", NULL},
	{"012345678901234567890123456789012345678901234567890123456789012345", NULL},
};

TEST_ROWS(nearest_word_is_found_within_its_distance, words)
{
	static const char *const known[] = {"parameters", "method", "seed", "name"};
	const char *near = sw_nearest(words[_i].word, known, ROWS(known));

	if (words[_i].near == NULL)
		ck_assert_ptr_null(near);
	else
		ck_assert_pstr_eq(near, words[_i].near);
}

TEST(methods_without_memory_fail_cleanly_at_each_call)
{
	cJSON_Hooks hooks = {.malloc_fn = sw_malloc, .free_fn = free};

	cJSON_InitHooks(&hooks);
	WALK (SW_FAULT_MALLOC, 100) {
		struct sw_err err = SW_ERR_INIT;
		struct sw_methods *m = NULL;

		walk.nth += walk.nth / 40;
		walk_arm();
		const sw_status rc = sw_methods_load(&m, &err);
		const unsigned fired = walk_disarm();
		ck_assert_int_eq(rc, fired ? SW_NOMEM : SW_OK);
		ck_assert_int_eq(m == NULL, fired);
		sw_methods_destroy(m);
	}
	cJSON_InitHooks(NULL);
}

RUN_TESTS(NULL, NULL)
