/* tests/spec/test_schema.c — the spec as a JSON Schema: the tables and schema.json hold together.
 * What it takes and refuses, tests/e2e/test_spec_schema.py compares with the daemon. */
#include "base/fault.h"
#include "base/memory.h"
#include "proto/json.h"
#include "spec/schema.h"
#include "tests/run.h"
#include <stdlib.h>

static const char whole[] = "#/definitions/";

/* Does each reference name a definition? */
static void check_references(const cJSON *v, const cJSON *definitions)
{
	const cJSON *inner;

	if (cJSON_IsString(v) && v->string != NULL && strcmp(v->string, "$ref") == 0) {
		ck_assert_int_eq(strncmp(v->valuestring, whole, sizeof whole - 1), 0);
		ck_assert_msg(sw_json_get(definitions, v->valuestring + sizeof whole - 1) != NULL,
			      "there is no %s", v->valuestring);
	}
	cJSON_ArrayForEach (inner, v)
		check_references(inner, definitions);
}

TEST(schema_has_all_that_it_refers_to)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_buf b;
	cJSON *tree = NULL;

	sw_buf_init(&b, 1 << 20);
	ck_assert_msg(sw_spec_schema(&b, &err) == SW_OK, "%s", err.msg);
	ck_assert_int_eq(sw_json_parse(&tree, b.data, b.len, NULL), SW_OK);
	check_references(tree, sw_json_get(tree, "definitions"));
	cJSON_Delete(tree);
	sw_buf_fini(&b);
}

TEST(schema_without_room_is_refused)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_buf b;

	sw_buf_init(&b, 1000);
	ck_assert_int_eq(sw_spec_schema(&b, &err), SW_TOO_BIG);
	ck_assert_str_eq(err.msg, "no room for it");
	sw_buf_fini(&b);
}

#ifdef SW_FAULTS
TEST(schema_without_memory_fails_cleanly_at_each_call)
{
	cJSON_Hooks hooks = {.malloc_fn = sw_malloc, .free_fn = free};
	unsigned fired = 1;

	cJSON_InitHooks(&hooks);
	for (unsigned nth = 1; fired != 0; nth += 1 + nth / 40) {
		struct sw_err err = SW_ERR_INIT;
		struct sw_buf b;

		ck_assert_uint_lt(nth, 100000);
		sw_buf_init(&b, 1 << 20);
		sw_fault_arm(SW_FAULT_MALLOC, nth, false);
		const sw_status rc = sw_spec_schema(&b, &err);
		fired = sw_fault_fired(SW_FAULT_MALLOC);
		sw_fault_arm(SW_FAULT_MALLOC, 0, false);
		ck_assert_int_eq(rc, fired ? SW_NOMEM : SW_OK);
		ck_assert_int_eq(err.code, rc);
		sw_buf_fini(&b);
	}
	cJSON_InitHooks(NULL);
}
#endif

RUN_TESTS(NULL, NULL)
