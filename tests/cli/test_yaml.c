/* tests/cli/test_yaml.c — YAML to JSON: scalars as PyYAML has them, anchors, limits, places. */
#include "cli/yaml.h"
#include "proto/json.h"
#include "tests/run.h"
#include "tests/walk.h"

static struct sw_buf b; /* the last result */
static struct sw_err err;

static void teardown(void)
{
	sw_buf_fini(&b);
}

static sw_status convert(const char *text)
{
	cJSON *tree;
	struct sw_jw w;

	sw_buf_fini(&b);
	sw_buf_init(&b, 1 << 20);
	err = (struct sw_err)SW_ERR_INIT;
	sw_status rc = sw_yaml_read(&tree, "f.yaml", text, strlen(text), &err);
	if (rc == SW_OK) {
		sw_jw_init(&w, &b);
		sw_jw_cjson(&w, tree);
		if (b.failed != SW_OK)
			rc = sw_err_set(&err, b.failed, "no memory for its text");
	} else {
		ck_assert_ptr_null(tree);
	}
	cJSON_Delete(tree);
	return rc;
}

/* The value of a key as it is written, and what becomes of it. */
static const struct {
	const char *yaml, *json;
} scalars[] = {
	{"1", "1"},
	{"-5", "-5"},
	{"+5", "5"},
	{"1.0", "1.0"},
	{"-5.0", "-5.0"},
	{"5.", "5.0"},
	{".5", "0.5"},
	{"0.1", "0.1"},
	{"1e-4", "0.0001"},
	{"1E3", "1000.0"},
	{"1.5e+3", "1500.0"},
	{"1_000", "1000"},
	{"0x1F", "31"},
	{"0b101", "5"},
	{"010", "8"},
	{"-010", "-8"},
	{"0", "0"},
	{"09", "\"09\""},
	{"0o17", "\"0o17\""},
	{"_1", "\"_1\""},
	{"1e", "\"1e\""},
	{"1-2", "\"1-2\""},
	{".", "\".\""},
	{"-", NULL},
	{"1:2:3x", "\"1:2:3x\""},
	{"resnet:18", "\"resnet:18\""},
	{"2001-12-14", "\"2001-12-14\""},
	{"yes", "true"},
	{"No", "false"},
	{"on", "true"},
	{"OFF", "false"},
	{"True", "true"},
	{"y", "\"y\""},
	{"yEs", "\"yEs\""},
	{"", "null"},
	{"~", "null"},
	{"null", "null"},
	{"\"1\"", "\"1\""},
	{"'yes'", "\"yes\""},
	{"\"\"", "\"\""},
	{"\"a\\tb\"", "\"a\\tb\""},
	{"\"\\u00e9\"", "\"\xc3\xa9\""},
	{"a # not b", "\"a\""},
	{"a#b", "\"a#b\""},
	{"${args}", "\"${args}\""},
	{"!!str 1", "\"1\""},
	{"!!float 1", "1.0"},
	{"!!int \"7\"", "7"},
	{"!!null ''", "null"},
	{"|\n  two\n  lines", "\"two\\nlines\\n\""},
	{">-\n  one\n  line", "\"one line\""},
	{"[1, [2.0, x], {}]", "[1,[2.0,\"x\"],{}]"},
	{"{a: 1, \"b\": 2}", "{\"a\":1,\"b\":2}"},
	{"\n- 1\n- a: 2\n  b: 3", "[1,{\"a\":2,\"b\":3}]"},
};

TEST_ROWS(yaml_scalar_becomes_json, scalars)
{
	char text[128], want[128];

	(void)snprintf(text, sizeof text, "k: %s\n", scalars[_i].yaml);
	const sw_status rc = convert(text);
	if (scalars[_i].json == NULL) {
		ck_assert_int_eq(rc, SW_PARSE);
	} else {
		(void)snprintf(want, sizeof want, "{\"k\":%s}", scalars[_i].json);
		ck_assert_msg(rc == SW_OK, "%s: %s", scalars[_i].yaml, err.msg);
		ck_assert_str_eq(b.data, want);
	}
}

static const struct {
	const char *yaml, *json;
} documents[] = {
	{"a: &x {b: 1}\nc: *x\n", "{\"a\":{\"b\":1},\"c\":{\"b\":1}}"},
	{"a: &x 7\nc: [*x, *x]\n", "{\"a\":7,\"c\":[7,7]}"},
	{"a: &x 1\nb: &x 2\nc: *x\n", "{\"a\":1,\"b\":2,\"c\":2}"},
	{"d: &d {min: 1.0, max: 2}\nlr:\n  <<: *d\n  max: 3\n",
	 "{\"d\":{\"min\":1.0,\"max\":2},\"lr\":{\"max\":3,\"min\":1.0}}"},
	{"a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc: {<<: [*a, *b], z: 3}\n",
	 "{\"a\":{\"x\":1,\"y\":1},\"b\":{\"y\":2,\"z\":2},\"c\":{\"z\":3,\"x\":1,\"y\":1}}"},
	{"a: {<<: &m {x: 1}}\nb: *m\n", "{\"a\":{\"x\":1},\"b\":{\"x\":1}}"},
	{"{\"<<\": 1}", "{\"<<\":1}"},
	{"---\na: 1\n...\n", "{\"a\":1}"},
	{"%YAML 1.1\n---\na: 1\n", "{\"a\":1}"},
	{"# a comment\n\na: 1 # and one more\n", "{\"a\":1}"},
	{"\xef\xbb\xbf"
	 "a: 1\n",
	 "{\"a\":1}"},
	{"1: x\nyes: y\n", "{\"1\":\"x\",\"yes\":\"y\"}"},
	{"{\"a\": [1, 2.0]}", "{\"a\":[1,2.0]}"},
	{"just text", "\"just text\""},
};

TEST_ROWS(yaml_document_becomes_json, documents)
{
	ck_assert_msg(convert(documents[_i].yaml) == SW_OK, "%s", err.msg);
	ck_assert_str_eq(b.data, documents[_i].json);
	ck_assert_int_eq(sw_json_check(b.data, b.len, NULL), SW_OK);
}

static const struct {
	const char *yaml, *line;
} refused[] = {
	{"", "f.yaml:1:1: there is nothing in it"},
	{"# nothing\n", "f.yaml:2:1: there is nothing in it"},
	{"a: 1\nb: 2\na: 3\n", "f.yaml:3:1: the key \"a\" appears twice"},
	{"a:\n  b: 1\n  'b': 2\n", "f.yaml:3:3: the key \"b\" appears twice"},
	{"<<: {a: 1}\n<<: {b: 1}\n", "f.yaml:2:1: the key \"<<\" appears twice"},
	{"a: 1\n b: 2\n", "f.yaml:2:3: mapping values are not allowed in this context"},
	{"a: [1, 2\n",
	 "f.yaml:2:1: did not find expected ',' or ']' while parsing a flow sequence"},
	{"a:\n\tb: 1\n",
	 "f.yaml:2:1: found character that cannot start any token while scanning for the next "
	 "token"},
	{"a: \"x\n", "f.yaml:2:1: found unexpected end of stream while scanning a quoted scalar"},
	{"a: *b\n", "f.yaml:1:4: *b: no value before it has the anchor &b"},
	{"a: &b [*b]\n", "f.yaml:1:8: *b: no value before it has the anchor &b"},
	{"a: .inf\n", "f.yaml:1:4: .inf is not a finite number"},
	{"a: -.NaN\n", "f.yaml:1:4: -.NaN is not a finite number"},
	{"a: 1e999\n", "f.yaml:1:4: 1e999 is not a finite number"},
	{"a: 1:30\n",
	 "f.yaml:1:4: 1:30 is a number in base 60 in YAML 1.1 and a string in 1.2: write the "
	 "number, or put quotes around it"},
	{"a: !!python/tuple [1]\n",
	 "f.yaml:1:4: the tag tag:yaml.org,2002:python/tuple is not supported here"},
	{"a: !mine 1\n", "f.yaml:1:4: the tag !mine is not supported here"},
	{"a: !!int x\n", "f.yaml:1:4: \"x\" is no !!int"},
	{"a: !!bool 1\n", "f.yaml:1:4: \"1\" is no !!bool"},
	{"[a]: 1\n", "f.yaml:1:1: a key must be a plain name"},
	{"? {a: 1}\n: 2\n", "f.yaml:1:3: a key must be a plain name"},
	{"a: {<<: 1}\n", "f.yaml:1:10: << takes a mapping or a list of mappings"},
	{"a: 1\n---\nb: 2\n", "f.yaml:2:1: a second document"},
	{"a: \"\\0\"\n", "f.yaml:1:4: a NUL in a string"},
	{"\"\\0\": 1\n", "f.yaml:1:1: a NUL in a key"},
	{"a: \xff\n", "f.yaml:1:4: invalid leading UTF-8 octet"},
};

TEST_ROWS(yaml_that_is_wrong_is_one_line_with_its_place, refused)
{
	ck_assert_int_eq(convert(refused[_i].yaml), SW_PARSE);
	ck_assert_str_eq(err.msg, refused[_i].line);
}

/* As deep as JSON may be, and one deeper. */
TEST(yaml_depth_has_json_s_limit)
{
	char text[256];

	for (size_t depth = SW_JSON_MAX_DEPTH; depth <= SW_JSON_MAX_DEPTH + 1; depth++) {
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		text[2 * depth] = '\0';
		const bool fits = depth == SW_JSON_MAX_DEPTH;
		ck_assert_int_eq(convert(text), fits ? SW_OK : SW_PARSE);
		if (!fits)
			ck_assert_str_eq(err.msg, "f.yaml:1:33: nested deeper than 32");
		else
			ck_assert_int_eq(sw_json_check(b.data, b.len, NULL), SW_OK);
	}
}

/* Below the limit where it stands, above it where the alias does. */
TEST(yaml_depth_of_an_alias_counts_where_it_stands)
{
	ck_assert_int_eq(convert("a: &a [[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]\n"
				 "b: &b [[[[[[[[[[[[[[[*a]]]]]]]]]]]]]]]\n"),
			 SW_PARSE);
	ck_assert_str_eq(err.msg, "f.yaml:2:22: nested deeper than 32");
}

/* Nine lines that stand for 10^9 values. */
TEST(yaml_aliases_of_aliases_end_at_the_limit)
{
	struct sw_buf text;

	sw_buf_init(&text, 4096);
	(void)sw_buf_adds(&text, "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n");
	for (int i = 1; i < 9; i++) {
		(void)sw_buf_addf(&text, "a%d: &a%d [", i, i);
		for (int k = 0; k < 10; k++)
			(void)sw_buf_addf(&text, "%s*a%d", k > 0 ? ", " : "", i - 1);
		(void)sw_buf_adds(&text, "]\n");
	}
	ck_assert_int_eq(convert(text.data), SW_PARSE);
	ck_assert_msg(strstr(err.msg, "more than 100000 values") != NULL, "%s", err.msg);
	sw_buf_fini(&text);
}

/* A thousand times a long string: no more of them is made than the result may have bytes. */
TEST(yaml_aliases_of_text_end_at_the_limit)
{
	struct sw_buf text;

	sw_buf_init(&text, 1 << 20);
	(void)sw_buf_adds(&text, "- &a ");
	for (int i = 0; i < 100000; i++)
		(void)sw_buf_adds(&text, "x");
	for (int i = 0; i < 1000; i++)
		(void)sw_buf_adds(&text, "\n- *a");
	ck_assert_int_eq(convert(text.data), SW_PARSE);
	ck_assert_str_eq(err.msg, "f.yaml:11:3: more than 1048576 bytes");
	sw_buf_fini(&text);
}

TEST(yaml_mapping_and_anchors_have_a_limit)
{
	struct sw_buf text;

	sw_buf_init(&text, 1 << 20);
	for (int i = 0; i <= 1000; i++)
		(void)sw_buf_addf(&text, "k%d: 1\n", i);
	ck_assert_int_eq(convert(text.data), SW_PARSE);
	ck_assert_str_eq(err.msg, "f.yaml:1001:1: a mapping has at most 1000 keys");
	sw_buf_clear(&text);
	for (int i = 0; i <= 256; i++)
		(void)sw_buf_addf(&text, "- &a%d 1\n", i);
	ck_assert_int_eq(convert(text.data), SW_PARSE);
	ck_assert_str_eq(err.msg, "f.yaml:257:3: more than 256 anchors");
	sw_buf_fini(&text);
}

TEST(yaml_without_memory_fails_cleanly_at_each_call)
{
	static const char text[] = "a: &x {b: [1, 2.0], c: y}\nd: {<<: *x, e: *x}\n";

	WALK (SW_FAULT_MALLOC, 1) {
		walk_arm();
		const sw_status rc = convert(text);
		const unsigned fired = walk_disarm();
		ck_assert_int_eq(rc, fired ? SW_NOMEM : SW_OK);
		ck_assert_int_eq(err.code, rc);
	}
}

RUN_TESTS(NULL, teardown)
