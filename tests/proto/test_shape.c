/* tests/proto/test_shape.c — the shapes of results as JSON Schema. */
#include "proto/shape.h"
#include "tests/run.h"

static const char types[] = "{\"Point\": {\"x\": \"number\", \"y?\": \"integer\"}}";

static const struct {
	const char *shape, *schema;
} rows[] = {
	{"\"integer\"", "{\"type\":\"integer\"}"},
	{"\"any\"", "{}"},
	{"\"number | null\"", "{\"type\":[\"number\",\"null\"]}"},
	{"\"'a' | 'b c'\"", "{\"enum\":[\"a\",\"b c\"]}"},
	{"\"'a'\"", "{\"enum\":[\"a\"]}"},
	{"\"Point\"", "{\"$ref\":\"#/components/schemas/Point\"}"},
	{"\"Point | null\"",
	 "{\"anyOf\":[{\"$ref\":\"#/components/schemas/Point\"},{\"type\":\"null\"}]}"},
	{"\"string[]\"", "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"},
	{"\"any{}\"", "{\"type\":\"object\",\"additionalProperties\":{}}"},
	{"\"any{} | null\"",
	 "{\"anyOf\":[{\"type\":\"object\",\"additionalProperties\":{}},{\"type\":\"null\"}]}"},
	{"\"(number | 'nan'){}[]\"",
	 "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"additionalProperties\":{\"anyOf\":[{"
	 "\"type\":\"number\"},{\"enum\":[\"nan\"]}]}}}"},
	{"\"'a: b' | 'c|d': why: because\"",
	 "{\"enum\":[\"a: b\",\"c|d\"],\"description\":\"why: because\"}"},
	{"{}", "{\"type\":\"object\",\"properties\":{},\"required\":[],\"additionalProperties\":"
	       "false}"},
	{"{\"n\": \"integer\", \"m?\": {\"k\": \"string\"}}",
	 "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"},\"m\":{\"type\":"
	 "\"object\",\"properties\":{\"k\":{\"type\":\"string\"}},\"required\":[\"k\"],"
	 "\"additionalProperties\":false}},\"required\":[\"n\"],\"additionalProperties\":false}"},
	{"{\"...\": \"Point\", \"z\": \"number\"}",
	 "{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"number\"},\"y\":{\"type\":"
	 "\"integer\"},\"z\":{\"type\":\"number\"}},\"required\":[\"x\",\"z\"],"
	 "\"additionalProperties\":false}"},
};

START_TEST(shape_becomes_its_schema)
{
	cJSON *known = NULL, *shape = NULL;
	struct sw_buf b;
	struct sw_jw w;

	ck_assert_int_eq(sw_json_parse(&known, types, strlen(types), NULL), SW_OK);
	ck_assert_int_eq(sw_json_parse(&shape, rows[_i].shape, strlen(rows[_i].shape), NULL),
			 SW_OK);
	sw_buf_init(&b, 4096);
	sw_jw_init(&w, &b);
	sw_shape_write(&w, known, shape);
	ck_assert_str_eq(b.data, rows[_i].schema);
	sw_buf_fini(&b);
	cJSON_Delete(shape);
	cJSON_Delete(known);
}
END_TEST

SUITE(tcase)
{
	tcase_add_rows(tcase, shape_becomes_its_schema, rows);
}
