/* tests/proto/test_json.c — what the strict check refuses, where it says so, and the writer. */
#include "base/memory.h"
#include "proto/json.h"
#include "tests/run.h"
#include "tests/walk.h"
#include <float.h>
#include <locale.h>
#include <math.h>

static const struct {
	const char *text, *ptr, *msg;
} bad[] = {
	{"", "", "byte 0: expected a value, not the end of the text"},
	{"  ", "", "byte 2: expected a value, not the end of the text"},
	{"[1] x", "", "byte 4: expected nothing more after the value, not 'x'"},
	{"{} {}", "", "byte 3: expected nothing more after the value, not '{'"},
	{"NaN", "", "byte 0: expected a value (JSON has no NaN or Infinity), not 'N'"},
	{"[-Infinity]", "/0", "byte 2: expected a digit, not 'I'"},
	{"nul", "", "byte 0: expected a value, not 'n'"},
	{"True", "", "byte 0: expected a value, not 'T'"},
	{"01", "", "byte 0: a number must not start with 0"},
	{"-01", "", "byte 0: a number must not start with 0"},
	{"1.", "", "byte 2: expected a digit after the decimal point, not the end of the text"},
	{".5", "", "byte 0: expected a value, not '.'"},
	{"+1", "", "byte 0: expected a value, not '+'"},
	{"1e", "", "byte 2: expected a digit in the exponent, not the end of the text"},
	{"-", "", "byte 1: expected a digit, not the end of the text"},
	{"0x10", "", "byte 1: expected nothing more after the value, not 'x'"},
	{"[1e999]", "/0", "byte 1: a number that is not finite"},
	{"-1e400", "", "byte 0: a number that is not finite"},
	{"1797693134862315.9e293", "", "byte 0: a number that is not finite"},
	{"1e99999999999999999999", "", "byte 0: a number that is not finite"},
	{"{\"a\":1 \"b\"}", "/a", "byte 7: expected ',' or '}', not '\"'"},
	{"{\"a\":1,}", "", "byte 7: expected a key in double quotes after ',', not '}'"},
	{"{'a':1}", "", "byte 1: expected a key in double quotes or '}', not '''"},
	{"{\"a\" 1}", "/a", "byte 5: expected ':' after the key, not '1'"},
	{"{\"a\":}", "/a", "byte 5: expected a value, not '}'"},
	{"{\"a\":[1,{\"b\":tru}]}", "/a/1/b", "byte 13: expected a value, not 't'"},
	{"{\"x\":{\"k\":1},\"y\":{\"z\":01}}", "/y/z", "byte 22: a number must not start with 0"},
	{"[[1],[2,3],[4,x]]", "/2/1", "byte 14: expected a value, not 'x'"},
	{"{\"a/b~c\":?}", "/a~1b~0c", "byte 9: expected a value, not '?'"},
	{"[1,]", "/1", "byte 3: expected a value, not ']'"},
	{"[1 2]", "/0", "byte 3: expected ',' or ']', not '2'"},
	{"[1}", "/0", "byte 2: expected ',' or ']', not '}'"},
	{"[", "/0", "byte 1: expected a value, not the end of the text"},
	{"\"abc", "", "byte 4: a string that has no end"},
	{"\"a\nb\"", "", "byte 2: a control character in a string (write it as an escape)"},
	{"\"\\x\"", "", "byte 2: expected one of \" \\ / b f n r t u after a backslash, not 'x'"},
	{"\"\\u12g4\"", "", "byte 5: expected four hex digits after \\u, not 'g'"},
	{"\"a\\u0000\"", "", "byte 2: \\u0000 is not allowed"},
	{"\"\\ud800\"", "", "byte 1: a high surrogate without a low one after it"},
	{"\"\\ud800\\u0041\"", "", "byte 1: a high surrogate without a low one after it"},
	{"\"\\udc00\"", "", "byte 1: a low surrogate without a high one before it"},
	{"\"\xff\"", "", "byte 1: not valid UTF-8"},
	{"\"\xc0\xaf\"", "", "byte 1: not valid UTF-8"},
	{"\"\xed\xa0\x80\"", "", "byte 1: not valid UTF-8"},
	{"\"\xf4\x90\x80\x80\"", "", "byte 1: not valid UTF-8"},
	{"\"\xe2\x82\"", "", "byte 1: not valid UTF-8"},
	{"\xef\xbb\xbf{}", "", "byte 0: a byte order mark; start with the value"},
	{"\x01", "", "byte 0: expected a value, not byte 0x01"},
	{"{\"a\":1,\"a\":2}", "/a", "byte 7: the key \"a\" appears twice"},
	{"{\"a\":1,\"\\u0061\":2}", "/a", "byte 7: the key \"a\" appears twice"},
	{"{\"\\n\":1,\"\\u000a\":2}", "/?", "byte 8: the key \"?\" appears twice"},
	{"{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}", "/\xf0\x9f\x98\x80",
	 "byte 18: the key \"\xf0\x9f\x98\x80\" appears twice"},
	{"{\"x\":{\"a\":1,\"b\":{},\"a\":2}}", "/x/a", "byte 19: the key \"a\" appears twice"},
	{"{\"b\":1,\"a\":1,\"a\":2,\"b\":3}", "/a", "byte 13: the key \"a\" appears twice"},
};

TEST_ROWS(json_bad_text_is_refused_at_its_place, bad)
{
	struct sw_err err = SW_ERR_INIT;
	char want[400] = "not valid JSON at ";

	ck_assert_int_eq(sw_json_check(bad[_i].text, strlen(bad[_i].text), &err), SW_PARSE);
	ck_assert_str_eq(err.msg, strcat(want, bad[_i].msg));
	ck_assert_str_eq(err.ptr, bad[_i].ptr);
}

static const char *const good[] = {
	"null",
	" \t\r\n true ",
	"-0",
	"0.5e-3",
	"1E+5",
	"1.7976931348623157e308",
	"1e-999",
	"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\"",
	"\"\xf0\x9f\x98\x80\xed\x9f\xbf\xf4\x8f\xbf\xbf\"",
	"[]",
	"{}",
	"[[],{},[{}]]",
	"{\"a\":1,\"A\":2,\"\":3,\"aa\":{\"a\":1}}",
	"123456789012345678901234567890123456789012345678901234567890123",
};

TEST_ROWS(json_good_text_is_taken_and_parsed, good)
{
	struct sw_err err = SW_ERR_INIT;
	cJSON *tree = NULL;

	ck_assert_int_eq(sw_json_parse(&tree, good[_i], strlen(good[_i]), &err), SW_OK);
	ck_assert_str_eq(err.msg, "");
	ck_assert_ptr_nonnull(tree);
	cJSON_Delete(tree);
}

TEST(json_nul_byte_is_refused)
{
	struct sw_err err = SW_ERR_INIT;

	ck_assert_int_eq(sw_json_check("[1\0]", 4, &err), SW_PARSE);
	ck_assert_str_eq(err.msg, "not valid JSON at byte 2: expected ',' or ']', not byte 0x00");
	err = (struct sw_err)SW_ERR_INIT;
	ck_assert_int_eq(sw_json_check("\"\0\"", 3, &err), SW_PARSE);
}

/* Each limit: exactly at it passes, one more does not. */
TEST(json_over_a_limit_is_refused)
{
	struct sw_err err = SW_ERR_INIT;
	char deep[2 * (SW_JSON_MAX_DEPTH + 1)], digits[SW_JSON_MAX_NUMBER + 1];
	const size_t n = SW_JSON_MAX_DEPTH;
	char *many = malloc(2 * SW_JSON_MAX_VALUES + 8);

	memset(deep, '[', n + 1);
	memset(deep + n + 1, ']', n + 1);
	ck_assert_int_eq(sw_json_check(deep + 1, 2 * n, &err), SW_OK);
	ck_assert_int_eq(sw_json_check(deep, 2 * (n + 1), &err), SW_PARSE);
	ck_assert_str_eq(err.msg, "not valid JSON at byte 32: nested deeper than 32");
	ck_assert_int_eq((int)strlen(err.ptr), 64);

	memset(digits, '7', sizeof digits);
	err = (struct sw_err)SW_ERR_INIT;
	ck_assert_int_eq(sw_json_check(digits, sizeof digits - 1, &err), SW_OK);
	ck_assert_int_eq(sw_json_check(digits, sizeof digits, &err), SW_PARSE);
	ck_assert_str_eq(err.msg, "not valid JSON at byte 0: a number of too many characters");

	many[0] = '[';
	for (size_t i = 0; i < SW_JSON_MAX_VALUES; i++)
		memcpy(many + 1 + 2 * i, "1,", 2);
	err = (struct sw_err)SW_ERR_INIT;
	many[2 * (SW_JSON_MAX_VALUES - 1)] = ']';
	ck_assert_int_eq(sw_json_check(many, 2 * SW_JSON_MAX_VALUES - 1, &err), SW_OK);
	ck_assert_int_eq(
		sw_json_check_most(many, 2 * SW_JSON_MAX_VALUES - 1, SW_JSON_MAX_VALUES - 1, NULL),
		SW_PARSE);
	many[2 * (SW_JSON_MAX_VALUES - 1)] = ',';
	many[2 * SW_JSON_MAX_VALUES] = ']';
	ck_assert_int_eq(sw_json_check(many, 2 * SW_JSON_MAX_VALUES + 1, &err), SW_PARSE);
	ck_assert_ptr_nonnull(strstr(err.msg, "more than 100000 values"));
	free(many);
}

TEST(json_text_without_nul_is_not_read_beyond_its_end)
{
	static const char *const cut[] = {"{\"a\":12", "\"ab", "[1", "tru", "1.5", "\"\\u00e"};

	for (size_t i = 0; i < ROWS(cut); i++)
		for (size_t n = 0; n <= strlen(cut[i]); n++) {
			char *exact = malloc(n + 1); /* ASan sees a read at exact[n] */
			cJSON *tree = NULL;
			exact = realloc(exact, n > 0 ? n : 1);
			memcpy(exact, cut[i], n);
			(void)!sw_json_parse(&tree, exact, n, NULL);
			cJSON_Delete(tree);
			free(exact);
		}
}

static const struct {
	double v;
	const char *text;
} numbers[] = {
	{0, "0"},
	{-0.0, "-0"},
	{1, "1"},
	{-17, "-17"},
	{0.1, "0.1"},
	{0.30000000000000004, "0.30000000000000004"},
	{1.0 / 3, "0.3333333333333333"},
	{1e-5, "1e-5"},
	{1.5e-7, "1.5e-7"},
	{1e22, "1e22"},
	{9007199254740992.0, "9007199254740992"},
	{1e15, "1000000000000000"},
	{DBL_MAX, "1.7976931348623157e308"},
	{5e-324, "5e-324"},
	{DBL_MIN, "2.2250738585072014e-308"},
	{-2.5, "-2.5"},
};

TEST_ROWS(json_number_is_the_shortest_that_reads_back, numbers)
{
	char text[32];

	sw_json_num_text(numbers[_i].v, text);
	ck_assert_str_eq(text, numbers[_i].text);
	ck_assert(strtod(text, NULL) == numbers[_i].v);
}

TEST(json_any_double_reads_back_equal)
{
	uint64_t x = 88172645463325252u;

	for (int i = 0; i < 20000; i++) {
		char text[32];
		double v;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		memcpy(&v, &x, sizeof v);
		if (!isfinite(v))
			continue;
		sw_json_num_text(v, text);
		ck_assert_msg(strtod(text, NULL) == v, "%a became %s", v, text);
		ck_assert_int_eq(sw_json_check(text, strlen(text), NULL), SW_OK);
	}
}

static const char *const read_numbers[] = {
	"0",
	"-0",
	"1",
	"-12.5,",
	"0.1}",
	"1e5",
	"1.5e-7]",
	"2.5E+3",
	"1e",
	"1.5e",
	"1.",
	"abc",
	"-",
	"1e-400",
	"1e400",
	"1e99999999999999999999",
	"1e-99999999999999999999",
	"0.30000000000000004",
	"9007199254740993.5",
	"9007199254740992.5",
	"9007199254740993.50000000001",
	"0.0000000000000000000000",
	"18446744073709551615.5",
	"9999999999999999999.5",
	"1.2.3",
};

TEST_ROWS(json_number_is_read_as_strtod_reads_it, read_numbers)
{
	const char *text = read_numbers[_i], *end;
	char *rest;
	const double want = strtod(text, &rest), got = sw_json_num_read(text, &end);

	ck_assert_msg(got == want && signbit(got) == signbit(want), "%s: %a, not %a", text, got,
		      want);
	ck_assert_str_eq(end, rest);
}

/* Of any size, and near the middle of two doubles, where one more digit decides. */
TEST(json_any_number_is_read_as_strtod_reads_it)
{
	uint64_t x = 88172645463325252u;

	for (int i = 0; i < 200000; i++) {
		char text[64];
		const char *end;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		const double size = pow(10, (double)(x % 40) - 25);
		const double v = size * (double)(x >> 11) / 9007199254740992.0;
		const double middle = v / 2 + nextafter(v, INFINITY) / 2;
		(void)snprintf(text, sizeof text, x & 1 ? "%.*g" : "%.*f", (int)(x >> 8 & 15) + 5,
			       x & 2 ? v : middle);
		ck_assert_msg(sw_json_num_read(text, &end) == strtod(text, NULL), "%s", text);
		ck_assert_str_eq(end, "");
	}
	for (int i = 0; i < 20000; i++) {
		static const char *const rest[] = {".5", ".501", ".499", ".5e-7"};
		char text[64];
		const char *end;

		/* Between 2^52 and 2^53 a half lies in the middle of two doubles. */
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		(void)snprintf(text, sizeof text, "%llu%s",
			       (unsigned long long)((x >> 12) | ((uint64_t)1 << 52)), rest[i % 4]);
		ck_assert_msg(sw_json_num_read(text, &end) == strtod(text, NULL), "%s", text);
	}
}

TEST(json_writer_places_commas_and_escapes)
{
	struct sw_buf b;
	struct sw_jw w;

	sw_buf_init(&b, 4096);
	sw_jw_init(&w, &b);
	sw_jw_obj(&w);
	sw_jw_kstr(&w, "s", "a\"\\\n\x01\x7f\xc3\xa9\xff!");
	sw_jw_knum(&w, "n", 0.5);
	sw_jw_knum(&w, "nan", NAN);
	sw_jw_kint(&w, "i", -9223372036854775807 - 1);
	sw_jw_kbool(&w, "b", true);
	sw_jw_knull(&w, "z");
	sw_jw_kraw(&w, "r", "[1]");
	sw_jw_kstr(&w, "none", NULL);
	sw_jw_key(&w, "a");
	sw_jw_arr(&w);
	sw_jw_int(&w, 1);
	sw_jw_obj(&w);
	sw_jw_obj_end(&w);
	sw_jw_arr(&w);
	sw_jw_arr_end(&w);
	sw_jw_str(&w, "");
	sw_jw_arr_end(&w);
	sw_jw_obj_end(&w);
	ck_assert_str_eq(b.data,
			 "{\"s\":\"a\\\"\\\\\\n\\u0001\x7f\xc3\xa9\xef\xbf\xbd!\",\"n\":0.5,"
			 "\"nan\":null,\"i\":-9223372036854775808,\"b\":true,\"z\":null,\"r\":[1],"
			 "\"none\":null,\"a\":[1,{},[],\"\"]}");
	ck_assert_int_eq(sw_json_check(b.data, b.len, NULL), SW_OK);
	sw_buf_fini(&b);
}

TEST(json_tree_written_keeps_integers_and_reals_apart)
{
	static const char text[] =
		"{\"x\\\"1.5\":[1,1.0,-2e3,0.25,\"2.0\",-0.0,9,1E2],\"b\":{\"c\":"
		"false,\"d\":3.0},\"e\":[9007199254740992.0,9007199254740994,1e18,"
		"1000000000000000000]}";
	struct sw_buf b;
	struct sw_jw w;
	cJSON *tree = NULL, *copy;

	sw_buf_init(&b, 4096);
	sw_jw_init(&w, &b);
	ck_assert_int_eq(sw_json_parse(&tree, text, strlen(text), NULL), SW_OK);
	copy = cJSON_Duplicate(tree, 1);
	sw_jw_cjson(&w, copy);
	ck_assert_str_eq(b.data,
			 "{\"x\\\"1.5\":[1,1.0,-2000.0,0.25,\"2.0\",-0.0,9,100.0],\"b\":{\"c\":"
			 "false,\"d\":3.0},\"e\":[9007199254740992.0,9007199254740994,1e18,"
			 "1000000000000000000]}");
	const cJSON *list = sw_json_get(tree, "x\"1.5");
	ck_assert(sw_json_is_integer(cJSON_GetArrayItem(list, 0)));
	ck_assert(!sw_json_is_integer(cJSON_GetArrayItem(list, 1)));
	ck_assert(!sw_json_is_integer(cJSON_GetArrayItem(list, 4)));
	ck_assert(!sw_json_is_integer(NULL));
	cJSON_Delete(copy);
	cJSON_Delete(tree);
	sw_buf_fini(&b);
}

/* A locale whose decimal point is a comma must change nothing. */
TEST(json_numbers_in_a_comma_locale_keep_their_point)
{
	static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
	char text[32];
	size_t i = 0;

	while (i < ROWS(names) && setlocale(LC_NUMERIC, names[i]) == NULL)
		i++;
	if (i == ROWS(names))
		fprintf(stderr, "skipped: no locale with a decimal comma is installed\n");
	sw_json_num_text(0.5, text);
	ck_assert_str_eq(text, "0.5");
	ck_assert_int_eq(sw_json_check("1.5e400", 7, NULL), SW_PARSE);
	ck_assert_int_eq(sw_json_check("1.5e300", 7, NULL), SW_OK);
	(void)setlocale(LC_NUMERIC, "C");
}

TEST(json_get_and_u64_are_exact)
{
	static const char text[] = "{\"Key\":1,\"key\":9007199254740991,\"f\":1.5,\"n\":-1,\"s\":"
				   "\"1\",\"big\":9007199254740992}";
	cJSON *tree = NULL;
	uint64_t v = 0;

	ck_assert_int_eq(sw_json_parse(&tree, text, strlen(text), NULL), SW_OK);
	ck_assert(sw_json_u64(sw_json_get(tree, "key"), &v));
	ck_assert_uint_eq(v, 9007199254740991u);
	ck_assert(sw_json_u64(sw_json_get(tree, "Key"), &v));
	ck_assert_uint_eq(v, 1);
	ck_assert(!sw_json_u64(sw_json_get(tree, "f"), &v));
	ck_assert(!sw_json_u64(sw_json_get(tree, "n"), &v));
	ck_assert(!sw_json_u64(sw_json_get(tree, "s"), &v));
	ck_assert(!sw_json_u64(sw_json_get(tree, "big"), &v));
	ck_assert(!sw_json_u64(NULL, &v));
	ck_assert_ptr_null(sw_json_get(tree, "KEY"));
	ck_assert_ptr_null(sw_json_get(NULL, "key"));
	ck_assert_ptr_null(sw_json_get(sw_json_get(tree, "s"), "key"));
	cJSON_Delete(tree);
}

TEST(json_pointer_escapes_and_cuts)
{
	char ptr[12] = "";

	sw_json_pointer_add(ptr, sizeof ptr, "a/b");
	ck_assert_str_eq(ptr, "/a~1b");
	sw_json_pointer_add(ptr, sizeof ptr, "~");
	ck_assert_str_eq(ptr, "/a~1b/~0");
	sw_json_pointer_add(ptr, sizeof ptr, "long~");
	ck_assert_str_eq(ptr, "/a~1b/~0/lo");
	sw_json_pointer_add(ptr, sizeof ptr, "x");
	ck_assert_str_eq(ptr, "/a~1b/~0/lo");
}

TEST(json_without_memory_fails_cleanly_at_each_call)
{
	cJSON_Hooks hooks = {.malloc_fn = sw_malloc, .free_fn = free};
	struct sw_buf b;

	sw_buf_init(&b, 100000);
	(void)sw_buf_adds(&b, "{\"k\":[1,\"two\",null]");
	for (int i = 0; i < 100; i++)
		(void)sw_buf_addf(&b, ",\"key%d\":%d", i, i);
	(void)sw_buf_adds(&b, "}");
	cJSON_InitHooks(&hooks);
	WALK (SW_FAULT_MALLOC, 1) {
		struct sw_err err = SW_ERR_INIT;
		cJSON *tree = NULL;

		walk_arm();
		const sw_status rc = sw_json_parse(&tree, b.data, b.len, &err);
		const unsigned fired = walk_disarm();
		ck_assert_int_eq(rc, fired ? SW_NOMEM : SW_OK);
		ck_assert_int_eq(err.code, rc);
		ck_assert_int_eq(tree == NULL, fired);
		cJSON_Delete(tree);
	}
	cJSON_InitHooks(NULL);
	sw_buf_fini(&b);
}

RUN_TESTS(NULL, NULL)
