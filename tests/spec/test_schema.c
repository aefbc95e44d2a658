/* tests/spec/test_schema.c — each key of spec/schema.json refuses what it says that it refuses; one
 * of each form stands word for word in test_refused.c. The JSON Schema holds together. What that
 * takes and refuses, tests/e2e/test_spec_schema.py compares with the daemon. */
#include "base/pruning.h"
#include "proto/json.h"
#include "spec/forms.h"
#include "spec/schema.h"
#include "spec/spec.h"
#include "tests/proto/form_check.h"

TEST(key_refuses_other_kinds_and_values_beyond_its_ends)
{
	others_form = &sw_form_rays;
	check_form(&sw_form_top);
	check_form(&sw_form_parameter);
	check_form(&sw_form_rays);
	ck_assert_uint_gt(keys_n, 140);
}

TEST(faults_without_room_are_counted)
{
	struct sw_err first;
	struct sw_faults f = {&first, 1, 0};
	cJSON *object = object_with("qqqq", "", "zzzz");

	sw_form_check(&sw_form_top, object, "", &f);
	ck_assert_uint_eq(f.n, 2);
	ck_assert_str_eq(first.ptr, "/qqqq");
	cJSON_Delete(object);
}

/* Lists that C has by other means. */
TEST(words_of_the_schema_are_those_of_the_tables)
{
	static const char *const pruners[] = {
#define SW_ROW(name, KIND) #name,
		SW_PRUNERS(SW_ROW, SW_NO_ROW)
#undef SW_ROW
	};

	ck_assert_uint_eq(sw_forms_pruner.n, sizeof pruners / sizeof pruners[0]);
	for (size_t i = 0; i < sw_forms_pruner.n; i++)
		ck_assert_str_eq(sw_forms_pruner.list[i].name, pruners[i]);
}

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
	cJSON *tree = NULL;

	ck_assert_int_eq(sw_json_parse(&tree, sw_spec_schema, sw_spec_schema_len, NULL), SW_OK);
	check_references(tree, sw_json_get(tree, "definitions"));
	cJSON_Delete(tree);
}

RUN_TESTS(NULL, NULL)
